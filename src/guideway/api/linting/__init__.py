"""How each part of a source is enforced, here and by other engines."""
