"""Canonical tokens: the token sequences that a tokenizer itself produces."""
