"""What we run on: the only modules that import transformers."""
