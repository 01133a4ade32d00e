"""Tokens of a row: those of a picture, and those found by walking below trie nodes."""

import numpy as np

from fairlead.masks.kernels.layout import (
    BASE,
    EXIT,
    FIRST,
    LISTED,
    MACRO,
    OK,
    P_BASE,
    P_LISTED,
    P_MOST,
    P_RUN,
    PICTURE,
    ROW_WORDS,
    RUN,
    TRIE_AT,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_ROOT,
    TRIE_TOKEN,
    UNSURE,
    UNSURE_COUNT,
    WALK,
)
from fairlead.masks.kernels.step import step
from fairlead.masks.kernels.views import (
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
def set_tokens(context: Context, row: Words, first: int, last: int) -> None:
    """Set the bits of the tokens at the trie nodes [first, last)."""
    at, tokens = int32s(context, TRIE_AT), int32s(context, TRIE_TOKEN)
    for index in range(at[first], at[last]):
        token = tokens[index]
        row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@inner
def clear_tokens(context: Context, row: Words, first: int, last: int) -> None:
    at, tokens = int32s(context, TRIE_AT), int32s(context, TRIE_TOKEN)
    for index in range(at[first], at[last]):
        token = tokens[index]
        row[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))


@inner
def _note_unsure(context: Context, first: int, last: int) -> None:
    """The tokens at these trie nodes depend on a text that is not kept."""
    at, tokens, unsure = (
        int32s(context, TRIE_AT),
        int32s(context, TRIE_TOKEN),
        int32s(context, UNSURE),
    )
    for index in range(at[first], at[last]):
        unsure[context[UNSURE_COUNT]] = tokens[index]
        context[UNSURE_COUNT] += 1


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
        if after < 0:
            return after
        if after == 0:
            node = ends[node]
        elif at[after * 4 + 3] != 0:
            _note_unsure(context, node, int(ends[node]))
            node = ends[node]
        else:
            macros[depth] = after
            set_tokens(context, row, node, node + 1)
            node += 1
    return OK


@once
def walk_all(context: Context, row: Words, macro: int) -> int:
    """The same for the whole trie."""
    roots, ends, first = (
        int32s(context, TRIE_ROOT),
        int32s(context, TRIE_END),
        uint64s(context, FIRST),
    )
    for byte in range(256):
        lead = (first[macro * 4 + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1)
        node = roots[byte]
        if lead != 0 and node >= 0:
            code = walk(context, row, node, int(ends[node]), macro)
            if code < 0:
                return code
    return OK


@inner
def add_base(context: Context, row: Words, picture: int, items: int) -> None:
    """The tokens that stay within a lexical state; of counts, within so many items (-1: any)."""
    pictures, base, words = int32s(context, PICTURE), uint32s(context, BASE), context[ROW_WORDS]
    first = pictures[picture * 6 + P_BASE]
    if first < 0:
        tokens = int32s(context, LISTED)
        for index in range(pictures[picture * 6 + P_LISTED], pictures[picture * 6 + P_LISTED + 1]):
            token = tokens[index]
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        return
    most = pictures[picture * 6 + P_MOST]
    at = (first + (most if items < 0 else min(items, most))) * words
    for word in range(words):
        row[word] |= base[at + word]


@inner
def walk_exits(context: Context, row: Words, picture: int, macro: int, low: int, high: int) -> int:
    """The tokens that leave a lexical state after `low` to `high` items (-1: any number)."""
    pictures, runs, exits = int32s(context, PICTURE), int32s(context, RUN), int32s(context, EXIT)
    ends, first = int32s(context, TRIE_END), uint64s(context, FIRST)
    unsure = int32s(context, MACRO)[macro * 4 + 3] != 0
    run = pictures[picture * 6 + P_RUN]
    for index in range(run + 1, pictures[picture * 6 + P_RUN + 1]):
        byte = runs[index * 2]
        lead = (first[macro * 4 + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1)
        if lead == 0 and not unsure:
            continue
        for place in range(runs[index * 2 - 1], runs[index * 2 + 1]):
            node, items = int(exits[place * 2]), exits[place * 2 + 1]
            if items < low or (high >= 0 and items > high):
                continue
            if unsure:
                _note_unsure(context, node, int(ends[node]))
                continue
            code = walk(context, row, node, int(ends[node]), macro)
            if code < 0:
                return code
    return OK
