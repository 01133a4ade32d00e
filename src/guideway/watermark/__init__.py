"""Watermarks: settings, keyed numbers of tokens, evidence in a text."""
