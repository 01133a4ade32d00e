"""Regular expressions, as `re` and ECMA-262 read them: from text to an expression over bytes.

    parser ─▶ tree ─▶ plain ─▶ lowering
    unicode             character classes and case folding
    references          references back to groups of a few texts
    numerals            patterns of numbers in a range
    backtracking_program ─▶ backtracking_automaton ─▶ backtracking
                        lookbehind and word boundaries; the match that `re.match` prefers, which
                        Lark's lexer takes

A construct that is not regular is refused by name.
"""
