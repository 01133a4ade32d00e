"""The compiled inner loops of the mask engine: flat functions over one context array.

What stands where, and how kernels are made:

    layout, record_layout     slots of the context; kinds and fields of nodes and of records
    views, declarations       arrays from its pointers; what is an inner kernel, and what a word
    statements, expressions,  kernels in LLVM's language,
    operands, linking         their machine code, and how Python calls it
    intern, tries             hash-consing: nodes, stacks, frames, texts; tries of tokens
    worklist, reach           the work lists of a closure and of a mask

Lexical states, from records of regular expressions:

    records, algebra          hash-consing and normal forms
    superfluous               options that say nothing new
    derive, counts, meets     derivatives; repeats as counts; where three or more meet
    lexemes                   rows of lexical states: where each byte leads
    bounds, text_searches,    what a text must still have, and masks as far as there is room
    bounded
    skips                     parts of the trie that are read without leaving a state
    pictures, leaves          what is remembered of a state: its tokens, its exits;

Macro states, which are sets of configurations:

    closure, entries, step,   what one comes to without a byte, and with one
    forks
    guards                    what lookaheads still want of the bytes to come
    verdicts, searches        whether they can come to an end, and the search for one
    frames, keys, key_walks   objects: which keys may come, and the tokens of keys
    lalr, scans               Lark's automaton: its stack, and what is read from it
    walks, fill, shelf        tokens of a row, masks, rows that are kept once
    entry                     the few functions that Python calls

Rules: no class, dict or list crosses the boundary; integers are int64 inside, narrower in arrays;
errors are negative return codes, after which Python serves what `WANT` names and calls again: all
that a kernel has made stays valid, so the second call goes further. Nothing here raises.

What these modules do not know: expressions. `masks.network` translates them.
"""
