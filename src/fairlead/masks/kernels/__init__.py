"""The compiled inner loops of the mask engine: flat numba functions over one context array.

    layout      what stands where: slots of the context, kinds and fields of nodes
    views       arrays from the pointers in the context; how inner functions are declared
    linking     how numba makes one kernel of the functions that it calls
    intern      hash-consing: nodes, stacks, macro states, frames, texts
    frames      objects: which keys may come
    keys        one byte within a key
    closure     what a macro state comes to without a byte
    step        one byte of a macro state
    forks       many configurations of one node as one
    guards      what lookaheads still want of the bytes to come
    verdicts    what can come to an end, where something is looked ahead for
    searches    the search for such an end
    pictures    what is remembered of lexical states: their tokens, their exits
    walks       tokens of a row: of pictures, and below nodes of the token trie
    key_masks   tokens of keys that may be undeclared ones
    fill        masks
    shelf       rows that are kept once
    entry       the few functions that Python calls

Rules: no class, dict or list crosses the boundary; integers are int64 inside, narrower in arrays;
errors are negative return codes, after which Python serves what `WANT` names and calls again: all
that a kernel has made stays valid, so the second call goes further. Nothing here raises.

What these modules do not know: expressions. `masks.network` translates them.
"""
