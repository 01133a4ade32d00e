"""Chat formats: tools, formats of their calls, messages, the parts of a source."""
