"""The compiled inner loops of the mask engine: flat functions over one context array.

    layout              slots of the context; kinds and fields of nodes; codes
    record_layout       the same for the context of records
    intern, tries       hash-consing of nodes, stacks, forks, texts; tries of tokens
    records, derive     regular expressions: hash-consing, normal forms, derivatives
    lexer_states        lexical states: the state after each byte
    bounds              lengths of bounded patterns
    state_masks         tokens and exits of a lexical state, and the bytes that lead back to it
    shared_closures, closure
                        macro states (sets of configurations): guards, epsilon closure, steps
    macro_states, liveness
                        what a macro state reads, and the search for an end
    object_keys         objects: allowed keys
    lalr, lexer_closure Lark's automaton: its stack, its lexer
    token_rows, fill    work lists of a mask, tokens of a row, masks
    entry               the functions that Python calls

`automaton.jit` compiles them.

Rules: no class, dict or list crosses the boundary; integers are int64 inside, narrower in arrays.
Errors are negative return codes: Python serves the slot WANT and calls again. All that a kernel has
made stays valid, so the second call goes further. Nothing here raises.
"""
