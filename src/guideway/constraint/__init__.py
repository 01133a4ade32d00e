"""Compiled constraints: from a source and a vocabulary to masks.

    lowering                any source to an expression over bytes
    compile                 checks, the cache of constraints
    compiled                `CompiledConstraint`: start, mask, advance, accepts, distance
    matcher, batch          the mutable cursor of serving engines; many rows in several threads
    closing                 token budgets
    longest_path            the most tokens that can follow a state
    comparison              inclusion and equality, and why a source has no text
    special_tokens          special tokens in a source
    canonical_paths         only the token sequences that the tokenizer itself produces
    pattern_intersections   patterns of a schema that compiling tries: they may have 2^n states
    tables                  small constraints as arrays for a GPU
    caches                  sizes of all caches, warm-up

No module here imports torch.
"""
