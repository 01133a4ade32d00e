"""Parts of the vocabulary's trie that a lexical state reads without ever leaving itself.

Within a string almost every text leads back to where it began: "a" does, and so does any other
character but a few. If all that is below a trie node is of such characters, all of it can be read,
and nobody has to walk there. What a part of the trie consists of is written down once.
"""

from typing import Final

import numpy as np

from fairlead.masks.kernels.layout import (
    ACCEPTS,
    EXPANDED,
    HOLD,
    LEX,
    LEX_FLAG,
    LOOP,
    LOOPS,
    NEED_LEX,
    PART,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    WALK,
    WANT,
)
from fairlead.masks.kernels.views import (
    Context,
    Sets,
    inner,
    int32s,
    uint8s,
    uint16s,
    uint64s,
)

_OTHER: Final = 1  # a part has bytes that are not ASCII,
_BROKEN: Final = 2  # or not UTF-8 from the root on;
_INSIDE: Final = 4  # its node is within a character;
_LINES: Final = 8  # it has the byte that U+2028, which "." does not read, begins with
_KNOWN: Final = 1  # the loops of a state are known;
_ALL_ELSE: Final = 2  # all characters that are not ASCII are among them, but those of _LINES,
_ALL: Final = 4  # which are, too
_INVALID: Final = 8
_LINE: Final = 0xE2
EVERYWHERE: Final = 2
_SMALL: Final = 5  # parts that are walked as fast as they are looked at
_LARGE: Final = 64  # a part with exits everywhere is worth no list of them


@inner
def _utf8_after(state: int, byte: int) -> int:
    """UTF-8, byte by byte (RFC 3629 §4): 0 between characters, 1–7 within one, or _INVALID."""
    if state == 0:
        return _utf8_lead(byte)
    low = 0xA0 if state == 4 else 0x90 if state == 6 else 0x80
    high = 0x9F if state == 5 else 0x8F if state == 7 else 0xBF
    if state == _INVALID or byte < low or byte > high:
        return _INVALID
    return state - 1 if state <= 3 else 1 if state <= 5 else 2


@inner
def _utf8_lead(byte: int) -> int:
    if byte < 0xC2 or byte > 0xF4:
        return 0 if byte < 0x80 else _INVALID
    if byte < 0xE0:
        return 1
    if byte < 0xF0:
        return 4 if byte == 0xE0 else 5 if byte == 0xED else 2
    return 6 if byte == 0xF0 else 7 if byte == 0xF4 else 3


@inner
def survey_parts(context: Context, scratch: Sets) -> None:
    """Write what is below each node of the vocabulary's trie; `scratch` is zeros, 3 a depth."""
    bytes_, depths = uint8s(context, TRIE_BYTE), uint16s(context, TRIE_DEPTH)
    holds, parts, states = uint64s(context, HOLD), uint8s(context, PART), int32s(context, WALK)
    nodes = int(int32s(context, TRIE_END)[0])
    states[0] = 0
    for node in range(1, nodes):
        depth = depths[node]
        state = _utf8_after(int(states[depth - 1]), int(bytes_[node]))
        states[depth] = state
        parts[node] = _BROKEN if state == _INVALID else 0 if state == 0 else _INSIDE
    for node in range(nodes - 1, 0, -1):
        at, byte, own = depths[node] * 3, int(bytes_[node]), int(parts[node])
        holds[node * 2], holds[node * 2 + 1] = scratch[at + 3], scratch[at + 4]
        parts[node] = own | int(scratch[at + 5])
        scratch[at + 2] |= np.uint64(parts[node] & (_OTHER | _BROKEN | _LINES))
        scratch[at] |= scratch[at + 3]
        scratch[at + 1] |= scratch[at + 4]
        if byte < 0x80:
            scratch[at + (byte >> 6)] |= np.uint64(1) << np.uint64(byte & 63)
        else:
            scratch[at + 2] |= np.uint64(_OTHER | (_LINES if byte == _LINE else 0))
        scratch[at + 3] = scratch[at + 4] = scratch[at + 5] = np.uint64(0)


@inner
def stays(context: Context, node: int, state: int, leads: Sets) -> int:
    """Whether a state reads all that is below a node of the vocabulary's trie and stays itself.

    0 if not, or where it was not worth looking, or where it could be left before a byte of `leads`;
    1 if so; EVERYWHERE if so, but it can be left almost everywhere, and all bytes are in `leads`;
    or a code below 0.
    """
    if int32s(context, TRIE_END)[node] - node < _SMALL:
        return 0
    loops = uint64s(context, LOOP)
    if uint8s(context, LOOPS)[state] == 0:
        code = find_loops(context, state)
        if code < 0:
            return code
    holds, part = uint64s(context, HOLD), uint8s(context, PART)[node]
    if holds[node * 2] & ~loops[state * 2] != 0 or holds[node * 2 + 1] & ~loops[state * 2 + 1] != 0:
        return 0
    if part & _OTHER and not _all_loop(int(part), int(uint8s(context, LOOPS)[state])):
        return 0
    if uint8s(context, LEX_FLAG)[state] & ACCEPTS == 0:
        return 1
    return _leaves_from(context, node, leads)


@inner
def _all_loop(part: int, loops: int) -> bool:
    """Whether the characters of a part that are not ASCII lead back."""
    wanted = _ALL_ELSE | (_ALL if part & _LINES else 0)
    return part & (_BROKEN | _INSIDE) == 0 and loops & wanted == wanted


@inner
def all_else_loop(loops: int) -> int:
    """Which characters that are not ASCII lead back: 0: not all, 1: but those of _LINES, 2: all."""
    return 0 if loops & _ALL_ELSE == 0 else 2 if loops & _ALL else 1


@inner
def is_in_characters(byte: int, part: int) -> int:
    """What a node with this byte and what is below is of that is not ASCII: 0 nothing, -1 no UTF-8.

    Else what has to lead back, as in `all_else_loop`. The node may be within a character if that
    begins with it.
    """
    if byte < 0x80 and part & _OTHER == 0:
        return 0
    if part & _BROKEN or (part & _INSIDE and byte < 0xC0):
        return -1
    return 2 if part & _LINES or byte == _LINE else 1


@inner
def _leaves_from(context: Context, node: int, leads: Sets) -> int:
    """What `stays` gives for a state that can be left at any place."""
    holds, part = uint64s(context, HOLD), uint8s(context, PART)[node]
    inside = (holds[node * 2] & leads[0]) | (holds[node * 2 + 1] & leads[1])
    if part & _OTHER:
        inside |= leads[2] | leads[3]
    if inside == 0:
        return 1
    every = leads[0] & leads[1] & leads[2] & leads[3]
    many = int32s(context, TRIE_END)[node] - node >= _LARGE
    return EVERYWHERE if many and ~every == 0 else 0


@inner
def find_loops(context: Context, state: int) -> int:
    """Write down which characters lead from a state back to it."""
    rows, loops = int32s(context, LEX), uint64s(context, LOOP)
    if uint8s(context, LEX_FLAG)[state] & EXPANDED == 0:
        context[WANT] = state
        return NEED_LEX
    loops[state * 2] = loops[state * 2 + 1] = np.uint64(0)
    for byte in range(0x80):
        if rows[state * 256 + byte] == state:
            loops[state * 2 + (byte >> 6)] |= np.uint64(1) << np.uint64(byte & 63)
    code = _all_else(context, state)
    if code < 0:
        return code
    same = rows[state * 256 + _LINE] == rows[state * 256 + _LINE - 1]
    uint8s(context, LOOPS)[state] = _KNOWN | (_ALL_ELSE if code else 0) | (_ALL if same else 0)
    return 0


@inner
def _all_else(context: Context, state: int) -> int:
    """Whether all characters that are not ASCII, but those of _LINES, lead back; or a code."""
    rows, flags = int32s(context, LEX), uint8s(context, LEX_FLAG)
    leads = (0, 0xC2, 0xE1, 0xF1, 0xE0, 0xED, 0xF0, 0xF4)
    for byte in range(0xC2, 0xF5):
        first = leads[_utf8_after(0, byte)]
        if byte == _LINE:
            continue
        if rows[state * 256 + byte] <= 0 or rows[state * 256 + byte] != rows[state * 256 + first]:
            return 0
    for within in range(1, 8):
        at = int(rows[state * 256 + leads[within]])
        if flags[at] & EXPANDED == 0:
            context[WANT] = at
            return NEED_LEX
        if flags[at] & ACCEPTS:
            return 0
        for byte in range(0x80, 0xC0):
            after = _utf8_after(within, byte)
            if after == _INVALID:
                continue
            wanted = state if after == 0 else rows[state * 256 + leads[after]]
            if rows[at * 256 + byte] != wanted:
                return 0
    return 1
