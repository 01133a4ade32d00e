"""Tokens of a mask row, and of bounded patterns."""

import numpy as np

from guideway.masks.kernels import layout as at
from guideway.masks.kernels.bounds import alive, know_length
from guideway.masks.kernels.intern import pair_of
from guideway.masks.kernels.macros import MOST_PUT_OFF, PUT_OFF_COUNT, judge_put_off, put_off, step
from guideway.masks.kernels.pictures import is_lead
from guideway.masks.kernels.returns import leads_back
from guideway.masks.kernels.tries import set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    once,
    uint8s,
    uint16s,
    uint32s,
    uint64s,
)


@inner
def note_unsure(context: Context, first: int, last: int) -> None:
    """Mark the tokens at these trie nodes as unsure: they depend on a text that is not kept."""
    context[at.UNSURE_COUNT] = 1
    set_tokens(context, uint32s(context, at.UNSURE), first, last)


@inner
def walk(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """Set the tokens at the trie nodes [first, last) that `macro` reads from their depth on."""
    depths, bytes_ = uint16s(context, at.TRIE_DEPTH), uint8s(context, at.TRIE_BYTE)
    ends = int32s(context, at.TRIE_END)
    macros = int32s(context, at.WALK)
    starts = int32s(context, at.MACRO)
    if first < last:
        macros[depths[first] - 1] = macro
    node = first
    while node < last:
        depth = depths[node]
        after = step(context, int(macros[depth - 1]), int(bytes_[node]))
        if after < 0 and (after != at.NEED_JUDGE or not put_off(context)):
            return after
        if after <= 0:
            node = ends[node]
        elif starts[after * 4 + 3] != 0:
            note_unsure(context, node, int(ends[node]))
            node = ends[node]
        else:
            macros[depth] = after
            set_tokens(context, row, node, node + 1)
            node += 1
    return judge_put_off(context)


@inner
def walk_below(context: Context, row: Words, below: int, macro: int) -> int:
    """Set the tokens below a trie node that `macro` reads."""
    roots = int32s(context, at.TRIE_ROOT)
    ends = int32s(context, at.TRIE_END)
    first = uint64s(context, at.FIRST)
    if below > 0:
        if int32s(context, at.MACRO)[macro * 4 + 3] != 0:
            note_unsure(context, below + 1, int(ends[below]))
        return walk(context, row, below + 1, int(ends[below]), macro)
    for byte in range(256):
        node = roots[byte]
        if node >= 0 and is_lead(first, macro * 4, byte):
            code = walk(context, row, node, int(ends[node]), macro)
            if code < 0 and (code != at.NEED_JUDGE or context[PUT_OFF_COUNT] == MOST_PUT_OFF):
                return code
    return judge_put_off(context)


@inner
def add_row(context: Context, row: Words, slot: int, number: int) -> None:
    words, rows = context[at.ROW_WORDS], uint32s(context, slot)
    start = number * words
    for word in range(words):
        row[word] |= rows[start + word]


@inner
def add_picture(context: Context, row: Words, picture: int) -> None:
    """Add the tokens of a picture, and mark the unsure ones."""
    pictures, tokens = int32s(context, at.PICTURE), int32s(context, at.LISTED)
    first, doubts = pictures[picture * 6 + at.P_BASE], pictures[picture * 6 + at.P_DOUBTS]
    if doubts > 0:
        ends = int32s(context, at.TRIE_END)
        for index in range(doubts, doubts + tokens[doubts - 1]):
            note_unsure(context, int(tokens[index]), int(ends[tokens[index]]))
    if first >= 0:
        add_row(context, row, at.BASE, int(first))
    else:
        for index in range(
            pictures[picture * 6 + at.P_LISTED], pictures[picture * 6 + at.P_LISTED + 1]
        ):
            token = tokens[index]
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@inner
def add_items(context: Context, row: Words, picture: int, items: int) -> None:
    """Add the tokens that begin at most so many counted items (-1: any)."""
    pictures = int32s(context, at.PICTURE)
    most = int(pictures[picture * 6 + at.P_MOST])
    wanted = most if items < 0 else min(items, most)
    add_row(context, row, at.BASE, int(pictures[picture * 6 + at.P_BASE]) + wanted)


_DEEP = 255  # a height of at least this

# Effects of a byte: it fails, ends the text, goes on, or accepts the whole subtree.
LEFT, ENDED, INSIDE, WHOLE = 0, 1, 2, 3


@inner
def _read_on(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """Set the tokens at trie nodes after the closing byte, read with `macro`."""
    if macro == 0 or first == last:
        return at.OK
    if int32s(context, at.MACRO)[macro * 4 + 3] != 0:
        note_unsure(context, first, last)
        return at.OK
    return walk(context, row, first, last, macro)


@inner
def _read_pair(context: Context, place: int, between: int) -> int:
    """Read the byte of a trie node into the pair at its depth: LEFT, ENDED or INSIDE."""
    rows, pairs = int32s(context, at.LEX), int32s(context, at.BOUND_WALK)
    start = int(uint16s(context, at.TRIE_DEPTH)[place]) * 3
    byte = int(uint8s(context, at.TRIE_BYTE)[place])
    state, inside, count = int(pairs[start - 3]), int(pairs[start - 2]), int(pairs[start - 1])
    after, within = int(rows[state * 256 + byte]), int(rows[inside * 256 + byte])
    if after == 0 or within == 0:
        context[at.WANT] = state if after == 0 else inside
        return at.NEED_LEX
    if after < 0:
        return LEFT
    pairs[start], pairs[start + 1], pairs[start + 2] = after, within, count
    if within < 0:
        return ENDED
    pairs[start + 2] = count + (1 if inside == between else 0)
    return INSIDE


@once
def bounded_walk(context: Context, row: Words, below: int, node: int, macro: int) -> int:
    """Set the tokens of a BOUNDED node below a trie node; after its end, those of `macro`."""
    nodes = int32s(context, at.NODE)
    pairs = int32s(context, at.BOUND_WALK)
    ends = int32s(context, at.TRIE_END)
    depths = uint16s(context, at.TRIE_DEPTH)
    low, between = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 4])
    inside = int(nodes[node * 6 + 5])
    start = int(depths[below]) * 3
    pairs[start], pairs[start + 1] = nodes[node * 6 + 1], between if inside == 0 else inside
    pairs[start + 2] = 0
    context[at.LAST_STATE] = 0
    place, last = below + 1, int(ends[below])
    if context[at.BOUND_PLACE] != 0 and context[at.BOUND_NODE] == (node << 32) | below:
        place = int(context[at.BOUND_PLACE])
    context[at.BOUND_PLACE] = 0
    while place < last:
        code = _read_pair(context, place, between)
        if code == INSIDE:
            code = _has_room(context, int(depths[place]) * 3, node)
            if code == INSIDE:
                code = _has_room_below(context, place, node)
        elif code == ENDED and pairs[int(depths[place]) * 3 + 2] >= low:
            set_tokens(context, row, place, place + 1)
            code = _read_on(context, row, place + 1, int(ends[place]), macro)
        if code < 0:
            context[at.BOUND_PLACE], context[at.BOUND_NODE] = place, (node << 32) | below
            return code
        end = place + 1 if code == INSIDE else int(ends[place])
        if code >= INSIDE:
            set_tokens(context, row, place, end)
        place = end
    return at.OK


@inner
def _has_room(context: Context, place: int, node: int) -> int:
    """INSIDE if the bounds allow a text from the pair at a depth, else LEFT; cached in LAST_*."""
    pairs = int32s(context, at.BOUND_WALK)
    nodes = int32s(context, at.NODE)
    lengths = int32s(context, at.LENGTH)
    state, within, count = int(pairs[place]), int(pairs[place + 1]), int(pairs[place + 2])
    low, high = max(int(nodes[node * 6 + 2]) - count, 0), int(nodes[node * 6 + 3])
    between = int(nodes[node * 6 + 4])
    if high >= 0:
        high -= count
        if high < 0:
            return LEFT
    if context[at.LAST_STATE] != (state << 32) | within:
        pair = pair_of(context, state, within)
        code = know_length(context, pair, between, at.L_SINGLE) if pair > 0 else pair
        if code < 0:
            return code
        context[at.LAST_STATE] = (state << 32) | within
        context[at.LAST_FEWEST] = lengths[pair * at.L_ROW + at.L_SINGLE] - 1
        context[at.LAST_STEADY] = lengths[pair * at.L_ROW + at.L_STEADY + at.L_SINGLE]
    fewest = context[at.LAST_FEWEST]
    if fewest <= (high if high >= 0 else at.ENDLESS - 2) and (
        low <= fewest or context[at.LAST_STEADY] != 0
    ):
        return INSIDE
    living = alive(context, state, within, between, low, high)
    return INSIDE if living > 0 else min(living, LEFT)


@inner
def _has_room_below(context: Context, place: int, node: int) -> int:
    """WHOLE if all below a trie node leads back to its pair and has room, else INSIDE."""
    nodes, pairs = int32s(context, at.NODE), int32s(context, at.BOUND_WALK)
    count = int(pairs[int(uint16s(context, at.TRIE_DEPTH)[place]) * 3 + 2])
    low, high = int(nodes[node * 6 + 2]) - count, int(nodes[node * 6 + 3])
    fewest, height = context[at.LAST_FEWEST], int(uint8s(context, at.HEIGHT)[place])
    if fewest > at.ENDLESS - 2 or (low > fewest and context[at.LAST_STEADY] == 0):
        return INSIDE
    if high >= 0 and (height == _DEEP or count + fewest + height > high):
        return INSIDE
    return _pair_leads_back(context, place, int(nodes[node * 6 + 4]))


@inner
def _pair_leads_back(context: Context, place: int, between: int) -> int:
    """WHOLE if all below a trie node leads back to the pair there, else INSIDE."""
    pairs, start = int32s(context, at.BOUND_WALK), int(uint16s(context, at.TRIE_DEPTH)[place]) * 3
    if pairs[start + 1] != between or place >= int32s(context, at.TRIE_END)[0]:
        return INSIDE
    code = leads_back(context, place, int(pairs[start]))
    if code > 0:
        code = leads_back(context, place, between)
    return INSIDE + code if code >= 0 else code
