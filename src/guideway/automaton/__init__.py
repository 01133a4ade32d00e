"""An expression meets the tokens of a vocabulary: which tokens may come next.

    regex_records ─▶ lexer_dfa          regular parts as lexer states, shared by all constraints
    token_tries ─▶ token_mask_cache     the tokens that a lexer state reads, stored as masks
    arena, pushdown_automaton           what nests: nodes and stacks in flat arrays
    object_tables, lark_tables          objects, unique items and LALR automata in these arrays
    states                              a position in a text: its mask, its successors
    completion_cost                     bytes that suffice to reach an end
    plain_masks, outline                masks of the plain engine; lines for `guideway explain`
    kernels/, jit/                      the inner loops, and their compiler

How a mask is made: `states` asks the constraint's `pushdown_automaton` for the row of a macro state
(a set of configurations). The kernel `fill` copies stored masks of lexer states and walks the trie
where tokens leave them. The row is stored.
"""
