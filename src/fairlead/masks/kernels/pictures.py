"""What is remembered of lexical states: the tokens that stay within them, and their exits.

Both walks go over the whole trie, once in the life of a vocabulary for each state.
"""

import numpy as np

from fairlead.masks.kernels.layout import (
    ACCEPTS,
    BASE,
    BEGUN,
    CURSOR,
    LEX,
    LEX_FIRST,
    LEX_FLAG,
    NEED_LEX,
    ROW_WORDS,
    TRIE_AT,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_NODES,
    TRIE_TOKEN,
    WALK,
    WANT,
)
from fairlead.masks.kernels.views import (
    Context,
    Ints,
    Words,
    inner,
    int32s,
    uint8s,
    uint16s,
    uint32s,
    uint64s,
)
from fairlead.masks.kernels.walks import set_tokens


@inner
def base_row(context: Context, state: int, row: Words, exits: Ints, most: int) -> int:
    """Write the base row of a lexical state, and its exits; how many, or a code below 0.

    Goes on at CURSOR, exits so far << 32 | trie node, so that a state that must be expanded first
    costs no second walk. More than `most` exits are counted, not written.
    """
    rows, flags = int32s(context, LEX), uint8s(context, LEX_FLAG)
    depths, bytes_, ends = (
        uint16s(context, TRIE_DEPTH),
        uint8s(context, TRIE_BYTE),
        int32s(context, TRIE_END),
    )
    states = int32s(context, WALK)
    states[0] = state
    node, count = int(context[CURSOR] & 0xFFFFFFFF), int(context[CURSOR] >> 32)
    while node < context[TRIE_NODES]:
        depth = depths[node]
        after = rows[int(states[depth - 1]) * 256 + bytes_[node]]
        if after == 0:
            context[WANT] = states[depth - 1]
            context[CURSOR] = (count << 32) | node
            return NEED_LEX
        if after < 0:
            node = int(ends[node])
            continue
        states[depth] = after
        set_tokens(context, row, node, node + 1)
        if flags[after] & ACCEPTS:
            count = _exits_below(context, exits, node, 0, count, most)
        node += 1
    return count


@inner
def _exits_below(
    context: Context, exits: Ints, node: int, items: int, count: int, most: int
) -> int:
    """Write the children of a node as exits, as far as there is room; how many there are now."""
    ends = int32s(context, TRIE_END)
    child = node + 1
    while child < ends[node]:
        if count < most:
            exits[count * 2], exits[count * 2 + 1] = child, items
        count += 1
        child = int(ends[child])
    return count


@inner
def _exits_outside(
    context: Context,
    exits: Ints,
    node: int,
    between: int,
    items: int,
    count: int,
    most: int,
) -> int:
    """The same for those children only that no item begins with."""
    ends, bytes_, first = (
        int32s(context, TRIE_END),
        uint8s(context, TRIE_BYTE),
        uint64s(context, LEX_FIRST),
    )
    child = node + 1
    while child < ends[node]:
        byte = int(bytes_[child])
        if (first[between * 4 + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1) == 0:
            if count < most:
                exits[count * 2], exits[count * 2 + 1] = child, items
            count += 1
        child = int(ends[child])
    return count


@inner
def count_rows(context: Context, between: int, items: Ints, exits: Ints, most: int) -> int:
    """How many items each token begins from between two of them, -1 where it cannot be read.

    Also its exits, with the items before each. Gives their number, or a code below 0; goes on at
    CURSOR as `base_row` does, the items at each depth being kept behind the states.
    """
    rows, depths, bytes_ = (
        int32s(context, LEX),
        uint16s(context, TRIE_DEPTH),
        uint8s(context, TRIE_BYTE),
    )
    ends = int32s(context, TRIE_END)
    states, at, tokens = (
        int32s(context, WALK),
        int32s(context, TRIE_AT),
        int32s(context, TRIE_TOKEN),
    )
    begun = int32s(context, BEGUN)
    states[0], begun[0] = between, 0
    node, count = int(context[CURSOR] & 0xFFFFFFFF), int(context[CURSOR] >> 32)
    while node < context[TRIE_NODES]:
        depth = depths[node]
        before = int(states[depth - 1])
        after = rows[before * 256 + bytes_[node]]
        if after == 0:
            context[WANT] = before
            context[CURSOR] = (count << 32) | node
            return NEED_LEX
        if after < 0:
            node = int(ends[node])
            continue
        states[depth] = after
        begun[depth] = begun[depth - 1] + (1 if before == between else 0)
        for index in range(at[node], at[node + 1]):
            items[tokens[index]] = begun[depth]
        if after == between:
            count = _exits_outside(context, exits, node, between, int(begun[depth]), count, most)
        node += 1
    return count


@inner
def stack_rows(context: Context, items: Ints, place: int, most: int) -> None:
    """The base rows for 0 to `most` items, one after another from `place` on."""
    base, words = uint32s(context, BASE), context[ROW_WORDS]
    for token in range(items.shape[0]):
        if items[token] >= 0:
            at = (place + items[token]) * words + (token >> 5)
            base[at] |= np.uint32(1) << np.uint32(token & 31)
    for word in range((place + 1) * words, (place + most + 1) * words):
        base[word] |= base[word - words]
