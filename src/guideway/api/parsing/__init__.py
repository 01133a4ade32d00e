"""Finished and partial texts, read back as values."""
