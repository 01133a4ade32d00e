"""Automata over bytes for core expressions. Knows no tokens."""
