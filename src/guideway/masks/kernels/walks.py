"""Tokens of a row: from pictures, and from walks below trie nodes."""

import numpy as np

from guideway.masks.kernels.layout import (
    BASE,
    FIRST,
    LISTED,
    MACRO,
    NEED_JUDGE,
    P_BASE,
    P_DOUBTS,
    P_LISTED,
    P_MOST,
    PICTURE,
    ROW_WORDS,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_ROOT,
    UNSURE,
    UNSURE_COUNT,
    WALK,
)
from guideway.masks.kernels.macros import step
from guideway.masks.kernels.pictures import is_lead
from guideway.masks.kernels.searches import MOST_PUT_OFF, PUT_OFF_COUNT, judge_put_off, put_off
from guideway.masks.kernels.tries import set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    uint8s,
    uint16s,
    uint32s,
    uint64s,
)


@inner
def note_unsure(context: Context, first: int, last: int) -> None:
    """Mark the tokens at these trie nodes as unsure: they depend on a text that is not kept."""
    context[UNSURE_COUNT] = 1
    set_tokens(context, uint32s(context, UNSURE), first, last)


@inner
def walk(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """Set the tokens at the trie nodes [first, last) that `macro` reads from their depth on."""
    depths, bytes_ = uint16s(context, TRIE_DEPTH), uint8s(context, TRIE_BYTE)
    ends, macros, at = int32s(context, TRIE_END), int32s(context, WALK), int32s(context, MACRO)
    if first < last:
        macros[depths[first] - 1] = macro
    node = first
    while node < last:
        depth = depths[node]
        after = step(context, int(macros[depth - 1]), int(bytes_[node]))
        if after < 0 and (after != NEED_JUDGE or not put_off(context)):
            return after
        if after <= 0:
            node = ends[node]
        elif at[after * 4 + 3] != 0:
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
    roots, ends, first = (
        int32s(context, TRIE_ROOT),
        int32s(context, TRIE_END),
        uint64s(context, FIRST),
    )
    if below > 0:
        if int32s(context, MACRO)[macro * 4 + 3] != 0:
            note_unsure(context, below + 1, int(ends[below]))
        return walk(context, row, below + 1, int(ends[below]), macro)
    for byte in range(256):
        node = roots[byte]
        if node >= 0 and is_lead(first, macro * 4, byte):
            code = walk(context, row, node, int(ends[node]), macro)
            if code < 0 and (code != NEED_JUDGE or context[PUT_OFF_COUNT] == MOST_PUT_OFF):
                return code
    return judge_put_off(context)


@inner
def add_row(context: Context, row: Words, slot: int, number: int) -> None:
    words, rows = context[ROW_WORDS], uint32s(context, slot)
    start = number * words
    for word in range(words):
        row[word] |= rows[start + word]


@inner
def add_picture(context: Context, row: Words, picture: int) -> None:
    """Add the tokens of a picture, and mark the unsure ones."""
    pictures, tokens = int32s(context, PICTURE), int32s(context, LISTED)
    first, doubts = pictures[picture * 6 + P_BASE], pictures[picture * 6 + P_DOUBTS]
    if doubts > 0:
        ends = int32s(context, TRIE_END)
        for index in range(doubts, doubts + tokens[doubts - 1]):
            note_unsure(context, int(tokens[index]), int(ends[tokens[index]]))
    if first >= 0:
        add_row(context, row, BASE, int(first))
    else:
        for index in range(pictures[picture * 6 + P_LISTED], pictures[picture * 6 + P_LISTED + 1]):
            token = tokens[index]
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@inner
def add_items(context: Context, row: Words, picture: int, items: int) -> None:
    """Add the tokens that begin at most so many counted items (-1: any)."""
    pictures = int32s(context, PICTURE)
    most = int(pictures[picture * 6 + P_MOST])
    wanted = most if items < 0 else min(items, most)
    add_row(context, row, BASE, int(pictures[picture * 6 + P_BASE]) + wanted)
