"""The loop: models, sequences, steps."""
