"""Backends: the only modules that import transformers."""
