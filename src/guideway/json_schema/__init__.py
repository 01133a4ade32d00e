"""JSON Schema: from a document to an expression over bytes.

    source, resources           what users give; drafts, URIs, anchors, meta-schemas
    text                        a strict JSON reader and writer
    parser ─▶ tree              `$ref` followed; each keyword read once, or refused
    satisfiability/             parts that surely have an instance: lowered when a text enters them
    meaning ─▶ formulas         a schema as a boolean formula over the keywords of a JSON type
    cases, discriminators       disjunctive forms; `enum`, exclusive branches, `unevaluated…`
    formula_derivative          the rest of a formula after one member or item
    objects, members, shortest_members, key_classes
                                objects, read one member at a time
    arrays                      arrays, read one item at a time
    scalars, numbers, formats
                                strings and numbers
    spelling                    escapes, whitespace, JSON in strings
    lowering                    the whole, and the keywords that conflict where there is no instance
    closed_objects              schemas whose objects get no undeclared names

To mend a keyword, find its reader in `tree`, its atom in `formulas`, and its text in `objects`,
`arrays`, `numbers` or `scalars`.
"""
