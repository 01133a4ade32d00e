"""The compiled inner loops of the mask engine: flat functions over one context array.

    layout, record_layout     slots of the context; kinds and fields of nodes and records
    views, declarations       arrays from its pointers; declarations of kernels and instructions
    statements, expressions,  translation into LLVM,
    operands, linking         machine code and calls from Python
    intern, tries             hash-consing of nodes, stacks, frames, texts; tries of tokens
    worklist, reach           work lists of a closure and of a mask
    records, algebra,         lexical states: hash-consing, normal forms, derivatives
    derive, superfluous, ...
    lexemes                   rows of lexical states: the state after each byte
    bounds, text_searches,    lengths of bounded patterns, and their masks
    bounded
    pictures, skips, leaves   tokens and exits of a lexical state
    closure, entries, step,   macro states (sets of configurations): epsilon closure, steps
    forks
    guards                    lookaheads in progress
    verdicts, searches        liveness of configurations, and the search for it
    frames, keys, key_walks   objects: allowed keys, and the tokens of keys
    lalr, scans, lexers, ...  Lark's automaton: its stack and its lexer
    walks, fill, shelf        tokens of a row, masks, rows that are kept once
    entry                     the functions that Python calls

Rules: no class, dict or list crosses the boundary; integers are int64 inside, narrower in arrays.
Errors are negative return codes: Python serves the slot WANT and calls again. All that a kernel has
made stays valid, so the second call goes further. Nothing here raises.
"""
