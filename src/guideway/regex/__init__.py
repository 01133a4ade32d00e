"""Regular expressions: parser, Unicode, lookaround, expressions."""
