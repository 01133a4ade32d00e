"""Parts of a schema that surely have an instance. They are lowered only when a text enters them.

    parts               the schemas in a document, references, simple parts
    assertions          types, strings and names that a schema requires; schemas that exclude others
    instances           search for an instance where keywords interact
    lazy_parts          the pass over a document that classifies its parts

Any other part is decided when compiling.
"""
