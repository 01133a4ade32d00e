"""The model's tokens as bytes. Knows no grammars."""
