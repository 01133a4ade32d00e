"""Expressions over bytes: constructors, derivatives, emptiness, shortest strings, set algebra."""
