"""Subtrees of the vocabulary's trie that a lexical state reads without leaving itself."""

from typing import Final

import numpy as np

from guideway.masks.kernels.characters import INVALID, code_after, is_space
from guideway.masks.kernels.layout import (
    ACCEPTS,
    HEIGHT,
    HOLD,
    LEX_FLAG,
    LOOP,
    LOOPS,
    PART,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    WALK,
)
from guideway.masks.kernels.returns import all_else_loop, find_loops
from guideway.masks.kernels.views import (
    Context,
    Sets,
    inner,
    int32s,
    once,
    uint8s,
    uint16s,
    uint64s,
)

OTHER: Final = 1  # a subtree has non-ASCII bytes
_BROKEN: Final = 2  # it has bytes that are no UTF-8 from the root on
_INSIDE: Final = 4  # its node is within a character
_SPACED: Final = 8  # it has non-ASCII white space, which \S and "." exclude
EVERYWHERE: Final = 2
SMALL: Final = 5  # smaller subtrees are walked as fast as they are checked
_LARGE: Final = 64  # subtrees of this size with exits everywhere get no list of exits


@inner
def survey_parts(context: Context, scratch: Sets) -> None:
    """Write the flags of each subtree of the vocabulary; `scratch` is zeros, 3 for each depth."""
    bytes_, depths = uint8s(context, TRIE_BYTE), uint16s(context, TRIE_DEPTH)
    holds, parts, states = uint64s(context, HOLD), uint8s(context, PART), int32s(context, WALK)
    nodes = int(int32s(context, TRIE_END)[0])
    states[0] = 0
    for node in range(1, nodes):
        depth = depths[node]
        code = code_after(int(states[depth - 1]), int(bytes_[node]))
        state, states[depth] = code & 15, code
        parts[node] = _BROKEN if state == INVALID else 0 if state == 0 else _INSIDE
        if state == 0 and is_space(code >> 4):
            parts[node] = _SPACED
    for node in range(nodes - 1, 0, -1):
        at, byte, own = depths[node] * 3, int(bytes_[node]), int(parts[node])
        holds[node * 2], holds[node * 2 + 1] = scratch[at + 3], scratch[at + 4]
        parts[node] = own | int(np.int64(scratch[at + 5]))
        scratch[at + 2] |= np.uint64(parts[node] & (OTHER | _BROKEN | _SPACED))
        scratch[at] |= scratch[at + 3]
        scratch[at + 1] |= scratch[at + 4]
        if byte < 0x80:
            scratch[at + (byte >> 6)] |= np.uint64(1) << np.uint64(byte & 63)
        else:
            scratch[at + 2] |= np.uint64(OTHER)
        scratch[at + 3] = scratch[at + 4] = scratch[at + 5] = np.uint64(0)
    _survey_heights(context, nodes)


@once
def _survey_heights(context: Context, nodes: int) -> None:
    ends, heights = int32s(context, TRIE_END), uint8s(context, HEIGHT)
    for node in range(nodes - 1, 0, -1):
        child, height = node + 1, 0
        while child < ends[node]:
            height = max(height, int(heights[child]) + 1)
            child = int(ends[child])
        heights[node] = min(height, 255)


@inner
def stays(context: Context, node: int, state: int, leads: Sets) -> int:
    """Decide whether a state reads all below a node and stays itself.

    Returns 0 if not, if not worth checking, or if it has exits before bytes in `leads`; 1 if so;
    EVERYWHERE if so, but with exits almost everywhere, and all bytes in `leads`; or a code.
    """
    code = leads_back(context, node, state)
    if code <= 0 or uint8s(context, LEX_FLAG)[state] & ACCEPTS == 0:
        return code
    return _leaves_from(context, node, leads)


@inner
def leads_back(context: Context, node: int, state: int) -> int:
    """Return 1 if all below a node leads from a state back to it; 0 if not or not checked."""
    if int32s(context, TRIE_END)[node] - node < SMALL:
        return 0
    loops = uint64s(context, LOOP)
    if uint8s(context, LOOPS)[state] == 0:
        code = find_loops(context, state)
        if code < 0:
            return code
    holds, part = uint64s(context, HOLD), uint8s(context, PART)[node]
    if holds[node * 2] & ~loops[state * 2] != 0 or holds[node * 2 + 1] & ~loops[state * 2 + 1] != 0:
        return 0
    others = all_else_loop(int(uint8s(context, LOOPS)[state]))
    if part & OTHER and not _all_loop(int(part), others):
        return 0
    return 1


@inner
def _all_loop(part: int, others: int) -> bool:
    """Return True if the non-ASCII characters of a subtree lead back."""
    return part & (_BROKEN | _INSIDE) == 0 and others >= (2 if part & _SPACED else 1)


@inner
def _leaves_from(context: Context, node: int, leads: Sets) -> int:
    """The result of `stays` for an accepting state."""
    holds, part = uint64s(context, HOLD), uint8s(context, PART)[node]
    inside = (holds[node * 2] & leads[0]) | (holds[node * 2 + 1] & leads[1])
    if part & OTHER:
        inside |= leads[2] | leads[3]
    if inside == 0:
        return 1
    many = int32s(context, TRIE_END)[node] - node >= _LARGE
    return EVERYWHERE if many and are_all(leads) else 0


@inner
def are_all(leads: Sets) -> bool:
    return ~(leads[0] & leads[1] & leads[2] & leads[3]) == 0
