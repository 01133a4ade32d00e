"""The trie of all tokens, and tries of rests of tokens, in the same arrays.

The vocabulary's trie comes first. A trie is the number of its root, which has no byte and no token;
so any node stands for the trie below it.
"""

import numpy as np

from guideway.masks.kernels.layout import (
    EVERY,
    ROW_WORDS,
    TRIE_AT,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_FREE,
    TRIE_ROOT,
    TRIE_TOKEN,
)
from guideway.masks.kernels.views import (
    Context,
    WholeInts,
    Words,
    inner,
    int32s,
    uint8s,
    uint16s,
    uint32s,
)

_LEVEL = 3  # fields of a level: next index of its segment, end, parent node
COUNTS = 256  # counts of bytes, before the levels
_SHORT = 24  # shorter segments are sorted by insertion


@inner
def has_below(context: Context, node: int) -> bool:
    return int32s(context, TRIE_END)[node] > node + 1


@inner
def set_tokens(context: Context, row: Words, first: int, last: int) -> None:
    """Set the bits of the tokens at the trie nodes [first, last)."""
    at = int32s(context, TRIE_AT)
    set_listed(context, row, int(at[first]), int(at[last]))


@inner
def clear_tokens(context: Context, row: Words, first: int, last: int) -> None:
    at = int32s(context, TRIE_AT)
    clear_listed(context, row, int(at[first]), int(at[last]))


@inner
def set_listed(context: Context, row: Words, begin: int, end: int) -> None:
    """Set the bits of the tokens at [begin, end) of TRIE_TOKEN."""
    tokens = int32s(context, TRIE_TOKEN)
    for index in range(begin, end):
        row[tokens[index] >> 5] |= np.uint32(1) << np.uint32(tokens[index] & 31)


@inner
def clear_listed(context: Context, row: Words, begin: int, end: int) -> None:
    tokens = int32s(context, TRIE_TOKEN)
    for index in range(begin, end):
        row[tokens[index] >> 5] &= ~(np.uint32(1) << np.uint32(tokens[index] & 31))


@inner
def draw_picture(context: Context, holes: WholeInts, row: Words) -> None:
    """Write the tokens that `pictures.take_picture` has found to a row of zeros."""
    every = int(int32s(context, TRIE_AT)[int32s(context, TRIE_END)[0]])
    missing, begin = 0, 0
    for hole in range(0, holes.shape[0], 2):
        missing += int(holes[hole + 1]) - int(holes[hole])
    mostly = 2 * missing < every
    if mostly:
        words, tokens = context[ROW_WORDS], uint32s(context, EVERY)
        for word in range(words):
            row[word] = tokens[word]
    for hole in range(0, holes.shape[0], 2):
        if mostly:
            clear_listed(context, row, int(holes[hole]), int(holes[hole + 1]))
        else:
            set_listed(context, row, begin, int(holes[hole]))
        begin = int(holes[hole + 1])
    if not mostly:
        set_listed(context, row, begin, every)


@inner
def child_of(context: Context, node: int, byte: int) -> int:
    """The child of a node by its byte, -1 if none."""
    if node == 0:
        return int(int32s(context, TRIE_ROOT)[byte])
    bytes_, ends = uint8s(context, TRIE_BYTE), int32s(context, TRIE_END)
    child, last = node + 1, ends[node]
    while child < last and bytes_[child] < byte:
        child = int(ends[child])
    return child if child < last and bytes_[child] == byte else -1


@inner
def _sort(context: Context, segments: WholeInts, levels: WholeInts, first: int, last: int) -> None:
    """Sort the nodes of a segment by their bytes; needs as much room after it."""
    bytes_ = uint8s(context, TRIE_BYTE)
    if last - first <= _SHORT:
        for index in range(first + 1, last):
            node, place = segments[index], index
            while place > first and bytes_[segments[place - 1]] > bytes_[node]:
                segments[place] = segments[place - 1]
                place -= 1
            segments[place] = node
        return
    for byte in range(COUNTS):
        levels[byte] = 0
    for index in range(first, last):
        levels[int(bytes_[segments[index]])] += 1
    total = last
    for byte in range(COUNTS):
        count = levels[byte]
        levels[byte] = total
        total += count
    for index in range(first, last):
        byte = int(bytes_[segments[index]])
        segments[levels[byte]] = segments[index]
        levels[byte] += 1
    for index in range(first, last):
        segments[index] = segments[index + last - first]


@inner
def _copy_tokens(context: Context, node: int, held: int, most: int) -> int:
    """Append the tokens of a node; return the new end, -1 without room."""
    at, ids = int32s(context, TRIE_AT), int32s(context, TRIE_TOKEN)
    if held + at[node + 1] - at[node] > most:
        return -1
    for index in range(at[node], at[node + 1]):
        ids[held] = ids[index]
        held += 1
    return held


@inner
def _copy_part(context: Context, node: int, free: int, depth: int, nodes: int, tokens: int) -> int:
    """Append the subtree of a node at this depth; return its end, -1 without room."""
    bytes_, depths, ends = (
        uint8s(context, TRIE_BYTE),
        uint16s(context, TRIE_DEPTH),
        int32s(context, TRIE_END),
    )
    at, ids = int32s(context, TRIE_AT), int32s(context, TRIE_TOKEN)
    end, first, last = int(ends[node]), int(at[node]), int(at[ends[node]])
    further, higher, more = free - node, depth - int(depths[node]), int(at[free]) - first
    if end + further > nodes or last + more > tokens:
        return -1
    for one in range(node, end):
        bytes_[one + further], depths[one + further] = bytes_[one], depths[one] + higher
        ends[one + further], at[one + further + 1] = ends[one] + further, at[one + 1] + more
    for index in range(first, last):
        ids[index + more] = ids[index]
    return end + further


@inner
def _list_children(context: Context, segments: WholeInts, node: int, top: int, most: int) -> int:
    """Append the children of a node to `segments`; return the end, -1 without room."""
    ends, child = int32s(context, TRIE_END), node + 1
    while child < ends[node]:
        if top == most:
            return -1
        segments[top] = child
        top += 1
        child = int(ends[child])
    return top


@inner
def merge(
    context: Context, count: int, segments: WholeInts, levels: WholeInts, nodes: int, tokens: int
) -> int:
    """Append the merged trie of `count` nodes of `segments` at TRIE_FREE; return its end, or -1."""
    bytes_, depths, ends = (
        uint8s(context, TRIE_BYTE),
        uint16s(context, TRIE_DEPTH),
        int32s(context, TRIE_END),
    )
    at = int32s(context, TRIE_AT)
    root = context[TRIE_FREE]
    bytes_[root], depths[root], free, held = 0, 0, root + 1, int(at[root])
    at[free] = held
    most = segments.shape[0] // 2
    if count > most:
        return -1
    _sort(context, segments, levels, 0, count)
    depth, level = 1, COUNTS
    levels[level], levels[level + 1], levels[level + 2] = 0, count, root
    while depth > 0:
        level = COUNTS + (depth - 1) * _LEVEL
        first, last = int(levels[level]), int(levels[level + 1])
        if first == last:
            ends[levels[level + 2]] = free
            depth -= 1
            continue
        node, byte, place, top = free, bytes_[segments[first]], first, last
        if first + 1 == last or bytes_[segments[first + 1]] != byte:
            free = _copy_part(context, int(segments[first]), free, depth, nodes, tokens)
            if free < 0:
                return -1
            held, levels[level] = int(at[free]), first + 1
            continue
        while place < last and bytes_[segments[place]] == byte:
            held = _copy_tokens(context, int(segments[place]), held, tokens)
            top = _list_children(context, segments, int(segments[place]), top, most)
            if held < 0 or top < 0:
                return -1
            place += 1
        free += 1
        if free > nodes:
            return -1
        bytes_[node], depths[node], at[free] = byte, depth, held
        levels[level] = place
        if top == last:
            ends[node] = free
            continue
        _sort(context, segments, levels, last, top)
        depth, level = depth + 1, level + _LEVEL
        levels[level], levels[level + 1], levels[level + 2] = last, top, node
    return free
