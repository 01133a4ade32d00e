"""Text, or a Python type, to a tree with places. Knows no bytes and simplifies nothing."""
