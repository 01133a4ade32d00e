"""Marks in the choice of tokens that a secret key makes visible. Knows no constraint, no model."""
