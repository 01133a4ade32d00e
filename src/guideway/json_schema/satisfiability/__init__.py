"""Which parts of a schema surely have instances, so that they are lowered when entered."""
