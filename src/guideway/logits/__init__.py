"""Arithmetic on rows of logits; torch begins here."""
