"""Pictures of lexical states: the tokens that stay within a state, and its exits."""

import numpy as np

from guideway.masks.kernels import layout as at
from guideway.masks.kernels.returns import EVERYWHERE, SMALL, leads_back, stays
from guideway.masks.kernels.views import (
    Context,
    Ints,
    Sets,
    WholeInts,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint16s,
    uint32s,
    uint64s,
)


@inner
def is_lead(leads: Sets, place: int, byte: int) -> bool:
    """Return True if a byte is in the set whose four words begin at `place`."""
    return (leads[place + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1) != 0


@inner
def take_picture(
    context: Context, below: int, state: int, holes: WholeInts, exits: WholeInts, leads: Sets
) -> int:
    """Find the tokens below a trie node that stay within a lexical state, and its exits.

    Tokens are in trie order, so the tokens that do not stay are written as ranges, `holes`. An exit
    is the trie node of the first byte outside, if that byte is in `leads`. Nodes below which tokens
    are unsure are written from the end of `exits` backwards. BEGUN has the numbers of holes, exits
    and unsure nodes. If at most FEW tokens stay, or below another node than the root, they are
    listed after the holes.

    Returns tokens << 32 | exits, counting entries without room too (for holes: one token too many),
    or a code; at least MANY_EXITS if not all exits were listed, which happens only if all bytes are
    in `leads`. After a code it resumes at CURSOR with the numbers in BEGUN.
    """
    rows, flags = int32s(context, at.LEX), uint8s(context, at.LEX_FLAG)
    depths = uint16s(context, at.TRIE_DEPTH)
    bytes_ = uint8s(context, at.TRIE_BYTE)
    ends = int32s(context, at.TRIE_END)
    states, so_far = int32s(context, at.WALK), int32s(context, at.BEGUN)
    count, left, last = int(so_far[0]), int(so_far[1]), int(ends[below])
    states[depths[below]] = state
    node = max(int(context[at.CURSOR]), below + 1)
    while node < last:
        depth = depths[node]
        after = rows[int(states[depth - 1]) * 256 + bytes_[node]]
        if after < 0 or flags[after] & at.DOUBTS:
            _list_doubt(so_far, int(after), exits, left, node)
            count = _note_hole(context, holes, count, node)
            node = int(ends[node])
            continue
        states[depth] = after
        whole = 0
        if after == 0:
            context[at.WANT], whole = states[depth - 1], at.NEED_LEX
        elif below == 0 and ends[node] - node >= SMALL:
            whole = _look_below(context, node, int(after), leads, left >= at.MANY_EXITS)
        if whole < 0:
            context[at.CURSOR], so_far[0], so_far[1] = node, count, left
            return whole
        left = _leave_at(context, node, whole, exits, left, leads)
        node = int(ends[node]) if whole else node + 1
    so_far[0] = count
    found = _count_inside(context, below, holes, count)
    if below != 0 or found <= context[at.FEW]:
        _list_inside(context, below, holes, count)
    return (found << 32) | left


@inner
def _look_below(context: Context, node: int, state: int, leads: Sets, wide: bool) -> int:
    """As `stays`; `wide`: exits are no longer listed, as there are MANY_EXITS."""
    if wide:
        back = leads_back(context, node, state)
        if back != 0:
            return back
    return stays(context, node, state, leads)


@inner
def _leave_at(
    context: Context, node: int, whole: int, exits: WholeInts, left: int, leads: Sets
) -> int:
    """List the exits at a node, given the result of `stays`; return their number."""
    if whole == EVERYWHERE:
        return max(left, at.MANY_EXITS)
    after = int(int32s(context, at.WALK)[int(uint16s(context, at.TRIE_DEPTH)[node])])
    if whole == 0 and uint8s(context, at.LEX_FLAG)[after] & at.ACCEPTS and left < at.MANY_EXITS:
        return list_exits(context, node, exits, left, leads)
    return left


@once
def _note_hole(context: Context, holes: WholeInts, count: int, node: int) -> int:
    """Add the tokens of a subtree to the holes; return the number of holes."""
    starts = int32s(context, at.TRIE_AT)
    begin = int(starts[node])
    end = int(starts[int32s(context, at.TRIE_END)[node]])
    place = 2 * count
    if 0 < place <= holes.shape[0] and holes[place - 1] == begin:
        holes[place - 1] = end
        return count
    if place + 2 <= holes.shape[0]:
        holes[place], holes[place + 1] = begin, end
    return count + 1


@once
def _count_inside(context: Context, below: int, holes: WholeInts, count: int) -> int:
    """The number of tokens that stay; too large if the holes had no room."""
    starts, ends = int32s(context, at.TRIE_AT), int32s(context, at.TRIE_END)
    if 2 * count > holes.shape[0]:
        return holes.shape[0] + 1
    found = int(starts[ends[below]]) - int(starts[below + 1])
    for index in range(count):
        found -= int(holes[2 * index + 1]) - int(holes[2 * index])
    return found


@once
def _list_inside(context: Context, below: int, holes: WholeInts, count: int) -> None:
    """List the tokens that stay after the holes, if there is room."""
    starts = int32s(context, at.TRIE_AT)
    ids = int32s(context, at.TRIE_TOKEN)
    ends = int32s(context, at.TRIE_END)
    begin, to, room = int(starts[below + 1]), 2 * count, holes.shape[0]
    for hole in range(count + 1 if 2 * count <= room else 0):
        end = int(holes[2 * hole]) if hole < count else int(starts[ends[below]])
        for index in range(begin, min(end, begin + room - to)):
            holes[to] = ids[index]
            to += 1
        begin = int(holes[2 * hole + 1]) if hole < count else end


@inner
def _list_doubt(so_far: Ints, after: int, exits: WholeInts, left: int, node: int) -> None:
    """List an unsure node at the end of the exits, if there is room."""
    if after < 0:
        return
    so_far[2] += 1
    if left + so_far[2] <= exits.shape[0]:
        exits[exits.shape[0] - so_far[2]] = node


@inner
def list_exits(context: Context, node: int, exits: WholeInts, count: int, leads: Sets) -> int:
    """List the children of a node whose byte is in `leads`; return the new count."""
    bytes_, ends = uint8s(context, at.TRIE_BYTE), int32s(context, at.TRIE_END)
    child = node + 1
    while child < ends[node]:
        if is_lead(leads, 0, int(bytes_[child])):
            if count < exits.shape[0]:
                exits[count] = child
            count += 1
        child = int(ends[child])
    return count


@inner
def _exits_outside(
    context: Context, exits: WholeInts, node: int, between: int, items: int, count: int
) -> int:
    """List the children that no item begins with, and the backslash; return the new count."""
    ends = int32s(context, at.TRIE_END)
    bytes_ = uint8s(context, at.TRIE_BYTE)
    first = uint64s(context, at.LEX_FIRST)
    child = node + 1
    while child < ends[node]:
        byte = int(bytes_[child])
        if byte == at.BACKSLASH or not is_lead(first, between * 4, byte):
            if count * 2 < exits.shape[0]:
                exits[count * 2], exits[count * 2 + 1] = child, items
            count += 1
        child = int(ends[child])
    return count


@inner
def count_rows(context: Context, between: int, items: WholeInts, exits: WholeInts) -> int:
    """Count the items that each token begins, from between two items; -1 if it is rejected.

    Lists exits with the items before each; returns their number or a code. Resumes at CURSOR, exits
    so far << 32 | trie node; BEGUN has the items at each depth.
    """
    rows = int32s(context, at.LEX)
    depths = uint16s(context, at.TRIE_DEPTH)
    bytes_ = uint8s(context, at.TRIE_BYTE)
    ends = int32s(context, at.TRIE_END)
    states = int32s(context, at.WALK)
    starts = int32s(context, at.TRIE_AT)
    tokens = int32s(context, at.TRIE_TOKEN)
    begun = int32s(context, at.BEGUN)
    states[0], begun[0] = between, 0
    node, count = max(int(context[at.CURSOR] & 0xFFFFFFFF), 1), int(context[at.CURSOR] >> 32)
    while node < ends[0]:
        depth = depths[node]
        before = int(states[depth - 1])
        after = rows[before * 256 + bytes_[node]]
        if after == 0:
            context[at.WANT] = before
            context[at.CURSOR] = (count << 32) | node
            return at.NEED_LEX
        if after < 0:
            node = int(ends[node])
            continue
        states[depth] = after
        begun[depth] = begun[depth - 1] + (1 if before == between else 0)
        for index in range(starts[node], starts[node + 1]):
            items[tokens[index]] = begun[depth]
        if after == between:
            count = _exits_outside(context, exits, node, between, int(begun[depth]), count)
        node += 1
    return count


@inner
def stack_rows(context: Context, items: WholeInts, place: int, most: int) -> None:
    """Write the base rows for 0 to `most` items, one after another from `place` on."""
    base, words = uint32s(context, at.BASE), context[at.ROW_WORDS]
    for token in range(items.shape[0]):
        if items[token] >= 0:
            start = (place + items[token]) * words + (token >> 5)
            base[start] |= np.uint32(1) << np.uint32(token & 31)
    for word in range((place + 1) * words, (place + most + 1) * words):
        base[word] |= base[word - words]


@inner
def _picture_place(context: Context, key: int) -> int:
    """Index of `key` in the table of pictures, or of its free place."""
    keys, last = int64s(context, at.PICTURE_KEY), 2 * context[at.PICTURE_ROOM] - 1
    place = (key * -7046029254386353131) >> 20 & last
    while keys[place] != 0 and keys[place] != key:
        place = (place + 1) & last
    return place


@inner
def picture_of(context: Context, below: int, state: int) -> int:
    """The picture of a lexical state below a trie node, NO_PICTURE, or 0 if unknown."""
    if below == 0:
        return int(int32s(context, at.PICTURE_AT)[state])
    key = (below << 32) | state
    place = _picture_place(context, key)
    if int64s(context, at.PICTURE_KEY)[place] == key:
        return int(int32s(context, at.PICTURE_VALUE)[place])
    return at.NO_PICTURE if int32s(context, at.PICTURE)[at.CLOSED] != 0 else 0


@inner
def remember_picture(context: Context, below: int, state: int, picture: int) -> None:
    """Memoise the picture of a lexical state below a trie node other than the root."""
    key = (below << 32) | state
    place = _picture_place(context, key)
    int32s(context, at.PICTURE_VALUE)[place] = picture
    int64s(context, at.PICTURE_KEY)[place] = key
