"""Expressions over bytes: sets of byte strings, and the questions that they answer.

    nodes, expr             nodes of an expression; constructors that keep a normal form
    regular, finite_automata   derivatives of regular expressions; automata as expressions
    derivative              the plain engine: the rest of an expression after a byte
    shortest_string         a shortest text, least in byte order
    lookahead_search        emptiness and shortest texts under lookahead
    finite_languages        membership, all texts of a small language
    set_algebra             intersection and difference of expressions that nest
    pushdown                stacks and moves of a parser
    special_tokens, utf8    special tokens and characters as bytes
    values                  frozen values with slots
    fuel, budget            limits of the work

No module here knows a front end. A front end calls the constructors; a rule that is too large to
write out is a `Template`, which unfolds when a text enters it.
"""
