"""Compiled constraints: start, mask, advance, accepts."""
