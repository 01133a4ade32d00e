"""A row to a token. Knows no constraint and no model."""
