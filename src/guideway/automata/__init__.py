"""The core expression to something that reads bytes. Knows no tokens."""
