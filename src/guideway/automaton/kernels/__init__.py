"""The compiled inner loops of the mask engine: flat functions over one record of arrays.

    layout              the records of a constraint's automaton; kinds of nodes; codes
    regex_layout        the records of a lexer DFA
    intern, tries       hash-consing of nodes, stacks, forks, texts; tries of tokens
    regexes, derive     regular expressions: hash-consing, normal forms, derivatives
    lexer_states        lexical states: the state after each byte
    bounds              lengths of bounded patterns
    state_masks         tokens and exits of a lexical state, and the bytes that lead back to it
    shared_closures, closure
                        guards, nodes shared by stacks; epsilon closure, steps
    macro_states, liveness
                        sets of configurations after a byte; the search for an end
    object_keys         objects: allowed keys
    lalr, lexer_closure Lark's automaton: its stack, its lexer
    token_rows, fill    work lists of a mask, tokens of a row, masks
    entry               the functions that Python calls

`automaton.jit` compiles them.

Rules: only records, arrays and numbers cross the boundary; integers are int64 inside, narrower in
arrays. Errors are negative return codes: Python serves what `want` tells and calls again. All that
a kernel has made stays valid, so the second call goes further. Nothing here raises.
"""
