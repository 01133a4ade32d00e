"""Tries of tokens: children, rows of the tokens below a node, merged tries, states of UTF-8."""

from typing import Final

import numpy as np

from guideway.automaton.jit.operands import WholeInts, Words, inner
from guideway.automaton.kernels.intern import mixed
from guideway.automaton.kernels.layout import Context

_LEVEL = 3  # fields of a level: next index of its segment, end, parent node
COUNTS = 256  # counts of bytes, before the levels
_SHORT = 24  # shorter segments are sorted by insertion


@inner
def has_below(context: Context, node: int) -> bool:
    return context.trie_ends[node] > node + 1


@inner
def set_tokens(context: Context, row: Words, first: int, last: int) -> None:
    """Set the bits of the tokens at the trie nodes [first, last)."""
    set_listed(context, row, context.trie_at[first], context.trie_at[last])


@inner
def clear_tokens(context: Context, row: Words, first: int, last: int) -> None:
    clear_listed(context, row, context.trie_at[first], context.trie_at[last])


@inner
def set_listed(context: Context, row: Words, begin: int, end: int) -> None:
    """Set the bits of the tokens at [begin, end) of `trie_tokens`."""
    tokens = context.trie_tokens
    for index in range(begin, end):
        row[tokens[index] >> 5] |= np.uint32(1) << np.uint32(tokens[index] & 31)


@inner
def clear_listed(context: Context, row: Words, begin: int, end: int) -> None:
    tokens = context.trie_tokens
    for index in range(begin, end):
        row[tokens[index] >> 5] &= ~(np.uint32(1) << np.uint32(tokens[index] & 31))


@inner
def draw_state_mask(context: Context, ranges: WholeInts, row: Words) -> None:
    """Write the tokens of `state_masks.take_state_mask` to a row of zeros."""
    first, last, kept = ranges[0], ranges[len(ranges) - 1], 0
    for index in range(0, len(ranges), 2):
        kept += ranges[index + 1] - ranges[index]
    if 2 * kept <= last - first:
        for index in range(0, len(ranges), 2):
            set_listed(context, row, ranges[index], ranges[index + 1])
        return
    words, tokens = context.row_words, context.every_row
    for word in range(words):
        row[word] = tokens[word]
    for index in range(1, len(ranges) - 1, 2):
        clear_listed(context, row, ranges[index], ranges[index + 1])


@inner
def child_of(context: Context, node: int, byte: int) -> int:
    """The child of a node by its byte, -1 if none."""
    if node == 0:
        return context.trie_roots[byte]
    bytes_, ends = context.trie_bytes, context.trie_ends
    child, last = node + 1, ends[node]
    while child < last and bytes_[child] < byte:
        child = ends[child]
    return child if child < last and bytes_[child] == byte else -1


@inner
def _sort(context: Context, segments: WholeInts, levels: WholeInts, first: int, last: int) -> None:
    """Sort the nodes of a segment by their bytes; needs as much room after it."""
    bytes_ = context.trie_bytes
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
        levels[bytes_[segments[index]]] += 1
    total = last
    for byte in range(COUNTS):
        count = levels[byte]
        levels[byte] = total
        total += count
    for index in range(first, last):
        byte = bytes_[segments[index]]
        segments[levels[byte]] = segments[index]
        levels[byte] += 1
    for index in range(first, last):
        segments[index] = segments[index + last - first]


@inner
def _copy_tokens(context: Context, node: int, held: int, most: int) -> int:
    """Append the tokens of a node; return the new end, -1 without room."""
    starts, ids = context.trie_at, context.trie_tokens
    if held + starts[node + 1] - starts[node] > most:
        return -1
    for index in range(starts[node], starts[node + 1]):
        ids[held] = ids[index]
        held += 1
    return held


@inner
def _copy_part(context: Context, node: int, free: int, depth: int, nodes: int, tokens: int) -> int:
    """Append the subtree of a node at this depth; return its end, -1 without room."""
    bytes_ = context.trie_bytes
    depths = context.trie_depths
    ends = context.trie_ends
    starts, ids = context.trie_at, context.trie_tokens
    end, first, last = ends[node], starts[node], starts[ends[node]]
    further, higher, more = free - node, depth - depths[node], starts[free] - first
    if end + further > nodes or last + more > tokens:
        return -1
    for one in range(node, end):
        bytes_[one + further], depths[one + further] = bytes_[one], depths[one] + higher
        ends[one + further], starts[one + further + 1] = ends[one] + further, starts[one + 1] + more
    for index in range(first, last):
        ids[index + more] = ids[index]
    return end + further


@inner
def _list_children(context: Context, segments: WholeInts, node: int, top: int, most: int) -> int:
    """Append the children of a node to `segments`; return the end, -1 without room."""
    ends, child = context.trie_ends, node + 1
    while child < ends[node]:
        if top == most:
            return -1
        segments[top] = child
        top += 1
        child = ends[child]
    return top


@inner
def merge(
    context: Context, count: int, segments: WholeInts, levels: WholeInts, nodes: int, tokens: int
) -> int:
    """Append the merged trie of `count` nodes of `segments`; return its end, or -1."""
    bytes_ = context.trie_bytes
    depths = context.trie_depths
    ends = context.trie_ends
    starts = context.trie_at
    root = context.trie_free
    bytes_[root], depths[root], free, held = 0, 0, root + 1, starts[root]
    starts[free] = held
    most = len(segments) // 2
    if count > most:
        return -1
    _sort(context, segments, levels, 0, count)
    depth, level = 1, COUNTS
    levels[level], levels[level + 1], levels[level + 2] = 0, count, root
    while depth > 0:
        level = COUNTS + (depth - 1) * _LEVEL
        first, last = levels[level], levels[level + 1]
        if first == last:
            ends[levels[level + 2]] = free
            depth -= 1
            continue
        node, byte, place, top = free, bytes_[segments[first]], first, last
        if first + 1 == last or bytes_[segments[first + 1]] != byte:
            free = _copy_part(context, segments[first], free, depth, nodes, tokens)
            if free < 0:
                return -1
            held, levels[level] = starts[free], first + 1
            continue
        while place < last and bytes_[segments[place]] == byte:
            held = _copy_tokens(context, segments[place], held, tokens)
            top = _list_children(context, segments, segments[place], top, most)
            if held < 0 or top < 0:
                return -1
            place += 1
        free += 1
        if free > nodes:
            return -1
        bytes_[node], depths[node], starts[free] = byte, depth, held
        levels[level] = place
        if top == last:
            ends[node] = free
            continue
        _sort(context, segments, levels, last, top)
        depth, level = depth + 1, level + _LEVEL
        levels[level], levels[level + 1], levels[level + 2] = last, top, node
    return free


INVALID: Final = 8


@inner
def utf8_after(state: int, byte: int) -> int:
    """UTF-8 state after a byte (RFC 3629 §4): 0 between characters, 1–7 within one, or INVALID."""
    if state == 0:
        return utf8_lead(byte)
    low = 0xA0 if state == 4 else 0x90 if state == 6 else 0x80
    high = 0x9F if state == 5 else 0x8F if state == 7 else 0xBF
    if state == INVALID or byte < low or byte > high:
        return INVALID
    return state - 1 if state <= 3 else 1 if state <= 5 else 2


@inner
def utf8_lead(byte: int) -> int:
    if byte < 0xC2 or byte > 0xF4:
        return 0 if byte < 0x80 else INVALID
    if byte < 0xE0:
        return 1
    if byte < 0xF0:
        return 4 if byte == 0xE0 else 5 if byte == 0xED else 2
    return 6 if byte == 0xF0 else 7 if byte == 0xF4 else 3


@inner
def code_after(code: int, byte: int) -> int:
    """The last three bytes of a character << 4 | the UTF-8 state after `byte`, 0 at its end."""
    before = code & 15
    read = ((code >> 4) << 8 | byte) & 0xFFFFFF if before != 0 else byte
    return read << 4 | utf8_after(before, byte)


@inner
def is_space(read: int) -> bool:
    """Return True for white space outside ASCII: U+0085, A0, 1680, 2000 to 200A, …"""
    if 0xE28080 <= read <= 0xE2808A or read in (0xC285, 0xC2A0, 0xE19A80, 0xE280A8, 0xE280A9):
        return True
    return read in (0xE280AF, 0xE2819F, 0xE38080, 0xEFBBBF)


@inner
def begins_space(read: int) -> bool:
    """Return True if these one or two bytes begin such white space."""
    if read in (0xC2, 0xE1, 0xE2, 0xE3, 0xEF):
        return True
    return read in (0xE19A, 0xE280, 0xE281, 0xE380, 0xEFBB)


@inner
def stored_row(context: Context, row: Words) -> int:
    """The number of the equal row, 0 if none; sets `row_code` to the hash."""
    words, total = context.row_words, np.uint64(0)
    for word in range(words):
        total += np.uint64(row[word]) * np.uint64(np.uint32((2 * word + 1) * 0x9E3779B1))
    code = mixed(int(np.int64(total)), words)
    context.row_code = code
    table, codes = context.stored, context.stored_codes
    last = 2 * context.stored_room - 1
    place = code & last
    while table[place] != 0:
        number = table[place]
        if codes[number] == code and _equal_rows(row, context.stored_rows[number], words):
            return number
        place = (place + 1) & last
    return 0


@inner
def _equal_rows(row: Words, other: Words, words: int) -> bool:
    different = np.uint32(0)
    for word in range(words):
        different |= row[word] ^ other[word]
    return different == 0
