"""Enforcement of each part of a source, here and by other engines."""
