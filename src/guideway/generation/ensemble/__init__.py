"""An expression over models, with the prompts and caches that its leaves read."""
