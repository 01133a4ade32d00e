"""Parts of a schema that surely have an instance. They are lowered only when a text enters them.

    parts               the schemas in a document, references, parts with an instance
    lazy_parts          the pass over a document that classifies its parts

Whether any other part has one is decided when a text enters what is around it, or when compiling.
"""
