"""The children of the nodes of tries by their bytes, where they are many.

A child is found by going from one to the next, each somewhere else in memory: behind a quote there
are a hundred. Before a key that was three hundred steps a mask, for a few letters that names begin
with.
"""

from typing import Final

import numpy as np

from guideway.masks.kernels.layout import TRIE_BYTE, TRIE_END
from guideway.masks.kernels.views import (
    Context,
    Sets,
    bit_count,
    inner,
    int32s,
    lowest_bit,
    uint8s,
    uint64s,
)

# Of the vocabulary:
CHILDREN_AT: Final = 256  # int32[nodes]: 0, or the number of a node with many children
CHILD_SET: Final = 257  # uint64[n, 4]: their bytes
CHILD_FIRST: Final = 258  # int32[n]: where they begin in
CHILD_NODE: Final = 259  # int32[n]: children, ascending
INDEXED: Final = 260  # scalars: the last of these numbers,
CHILDREN: Final = 261  # and the children that are listed

MANY: Final = 8


@inner
def index_children(context: Context, first: int, last: int) -> None:
    """List the children of the nodes [first, last) that have many."""
    bytes_, ends = uint8s(context, TRIE_BYTE), int32s(context, TRIE_END)
    indices, firsts, listed = (
        int32s(context, CHILDREN_AT),
        int32s(context, CHILD_FIRST),
        int32s(context, CHILD_NODE),
    )
    sets = uint64s(context, CHILD_SET)
    for node in range(first, last):
        end, child, count = int(ends[node]), node + 1, 0
        if end - node > MANY:
            while child < end:
                count += 1
                child = int(ends[child])
        if count < MANY:
            continue
        number, place = context[INDEXED] + 1, context[CHILDREN]
        context[INDEXED], context[CHILDREN] = number, place + count
        indices[node], firsts[number], child = number, place, node + 1
        while child < end:
            byte = int(bytes_[child])
            sets[number * 4 + (byte >> 6)] |= np.uint64(1) << np.uint64(byte & 63)
            listed[place] = child
            place, child = place + 1, int(ends[child])


@inner
def index_vocabulary(context: Context) -> None:
    """The same of all in the vocabulary's trie."""
    index_children(context, 0, int(int32s(context, TRIE_END)[0]))


@inner
def index_of(context: Context, node: int) -> int:
    """The number of a node with many children, 0 if it has few."""
    few = int32s(context, TRIE_END)[node] - node <= MANY
    return 0 if few else int(int32s(context, CHILDREN_AT)[node])


@inner
def listed_child(context: Context, number: int, byte: int) -> int:
    """The child by its byte, which is one of the set."""
    sets, word = uint64s(context, CHILD_SET), byte >> 6
    below = (np.uint64(1) << np.uint64(byte & 63)) - np.uint64(1)
    rank = bit_count(sets[number * 4 + word] & below)
    for before in range(word):
        rank += bit_count(sets[number * 4 + before])
    return int(int32s(context, CHILD_NODE)[int32s(context, CHILD_FIRST)[number] + rank])


@inner
def next_child(context: Context, node: int, place: int, leads: Sets, at: int) -> int:
    """The first child of a node from `place` on whose byte is in a set; where it ends if none is.

    `place` is one of its children, or where it ends.
    """
    bytes_, ends = uint8s(context, TRIE_BYTE), int32s(context, TRIE_END)
    end, number = int(ends[node]), index_of(context, node)
    if number == 0 or place == end:
        while place < end:
            byte = int(bytes_[place])
            if (leads[at + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1) != 0:
                return place
            place = int(ends[place])
        return end
    sets = uint64s(context, CHILD_SET)
    first = int(bytes_[place]) if place > node + 1 else 0
    rest = ~np.uint64(0) << np.uint64(first & 63)
    for word in range(first >> 6, 4):
        found = sets[number * 4 + word] & leads[at + word] & rest
        if found != 0:
            return listed_child(context, number, word * 64 + lowest_bit(int(np.int64(found))))
        rest = ~np.uint64(0)
    return end
