"""The compiled inner loops of the mask engine: flat functions over one context array.

    layout              slots of the context; kinds and fields of nodes; codes
    record_layout       the same for the context of records
    views               arrays from its pointers; declarations of kernels, operands in LLVM
    statements          translation into LLVM, machine code and calls from Python
    intern, tries       hash-consing of nodes, stacks, forks, texts; tries of tokens
    records, derive     regular expressions: hash-consing, normal forms, derivatives
    lexemes             lexical states: the state after each byte
    bounds              lengths of bounded patterns
    pictures            tokens and exits of a lexical state, and the bytes that lead back to it
    entries, closure    macro states (sets of configurations): guards, epsilon closure, steps
    macros, verdicts    what a macro state reads, and the search for an end
    keys                objects: allowed keys
    lalr, scans         Lark's automaton: its stack, its lexer
    reach, fill         work lists of a mask, tokens of a row, masks
    entry               the functions that Python calls

Rules: no class, dict or list crosses the boundary; integers are int64 inside, narrower in arrays.
Errors are negative return codes: Python serves the slot WANT and calls again. All that a kernel has
made stays valid, so the second call goes further. Nothing here raises.
"""
