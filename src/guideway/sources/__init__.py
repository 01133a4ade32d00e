"""Sources, as users write them: frozen values that combine like sets.

    sources             `Regex`, `Choice`, `Gbnf`, `Text`, Python types; `+`, `|`, `&`, `-`, `~`
    regions             free text up to a stop, tags in free text, captures, special tokens
    json_style          order of keys, whitespace, spelling
    reading             places in a text, files, pickling
    names, mistakes     suggestions for misspelled names and for wrong values

`JsonSchema` and `Lark` are in their rooms. No module here parses a source.
"""
