"""Parts of the vocabulary's trie that a macro state reads without ever leaving itself.

As `skips`, for what walks read: where each of the characters below a trie node leads back, nobody
has to walk there. In a comment that was all but the ends of lines.
"""

from typing import Final

import numpy as np

from guideway.masks.kernels.layout import (
    CONFIG,
    GUARDED,
    HOLD,
    LEX,
    LEX_FIRST,
    LEXEME,
    LINE,
    LITERAL,
    LOOP,
    LOOPS,
    MACRO,
    MACRO_ELSE,
    MACRO_LOOP,
    NODE,
    PART,
    POOL,
    TOOK,
    TRIE_BYTE,
    TRIE_END,
)
from guideway.masks.kernels.lexer_layout import APART
from guideway.masks.kernels.macros import step
from guideway.masks.kernels.pictures import is_lead
from guideway.masks.kernels.returns import all_else_loop, find_loops
from guideway.masks.kernels.skips import is_in_characters
from guideway.masks.kernels.views import (
    Context,
    inner,
    int32s,
    int64s,
    lowest_bit,
    once,
    uint8s,
    uint64s,
)

_UNKNOWN: Final = 0
_NONE: Final = 1  # of the characters that are not ASCII,
_SOME: Final = 2  # all but those that white space begins as,
_ALL: Final = 3  # or all lead back
_SMALL: Final = 8  # parts that are walked as fast as they are looked at


@inner
def loops_below(context: Context, node: int, macro: int) -> int:
    """Whether all that is at a trie node and below leads from a macro state back: 1, 0, or a code.

    0 also where it is not worth looking, and in the tries of exits, of which nothing is known.
    """
    ends = int32s(context, TRIE_END)
    if node >= ends[0] or ends[node] - node < _SMALL:
        return 0
    byte, part = int(uint8s(context, TRIE_BYTE)[node]), int(uint8s(context, PART)[node])
    return _loops(context, node, byte, part, macro)


@once
def _loops(context: Context, node: int, byte: int, part: int, macro: int) -> int:
    holds, loops = uint64s(context, HOLD), uint64s(context, MACRO_LOOP)
    low, high = holds[node * 2], holds[node * 2 + 1]
    if byte < 64:
        low |= np.uint64(1) << np.uint64(byte)
    elif byte < 128:
        high |= np.uint64(1) << np.uint64(byte - 64)
    for word in range(2):
        wanted = low if word == 0 else high
        unknown = wanted & ~loops[macro * 4 + word]
        if wanted & ~unknown & ~loops[macro * 4 + 2 + word] != 0:
            return 0
        rest = int(np.int64(unknown))
        while rest != 0:
            bit = lowest_bit(rest)
            rest &= rest - 1
            after = step(context, macro, word * 64 + bit)
            if after < 0:
                return after
            loops[macro * 4 + word] |= np.uint64(1) << np.uint64(bit)
            if after != macro:
                return 0
            loops[macro * 4 + 2 + word] |= np.uint64(1) << np.uint64(bit)
    return _loops_elsewhere(context, byte, part, macro)


@inner
def _loops_elsewhere(context: Context, byte: int, part: int, macro: int) -> int:
    """The same for the characters that are not ASCII."""
    kind = is_in_characters(byte, part)
    if kind <= 0:
        return 1 + kind
    known = uint8s(context, MACRO_ELSE)
    if known[macro] == _UNKNOWN:
        found = _find_else(context, macro)
        if found < 0:
            return found
        known[macro] = found
    return 1 if known[macro] > kind else 0


@once
def _find_else(context: Context, macro: int) -> int:
    """Which of all characters that are not ASCII lead back; or a code below 0.

    Those do after which the same configurations are left as after an ASCII one that does: each of
    these reads all such characters and is then what it was, and no other reads any.
    """
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    loops, byte = uint64s(context, MACRO_LOOP), 0
    while byte < 128 and not is_lead(loops, macro * 4 + 2, byte):
        byte += 1
    if byte == 128:
        return _UNKNOWN
    found, first = _ALL, int(macros[macro * 4])
    for index in range(first, first + macros[macro * 4 + 1]):
        kind = _config_else(context, int(configs[index] >> 32), byte)
        if kind < 0:
            return kind
        found = min(found, kind)
    return found


@inner
def _config_else(context: Context, node: int, byte: int) -> int:
    """The same for one configuration, `byte` being one that leads back."""
    nodes, guards = int32s(context, NODE), 0
    if nodes[node * 6] == GUARDED:
        node, guards = int(nodes[node * 6 + 1]), int(nodes[node * 6 + 2])
    kind, state = nodes[node * 6], int(nodes[node * 6 + 1])
    if kind in (TOOK, APART):
        return _ALL  # it reads none
    if kind == LITERAL:
        first = int(uint8s(context, POOL)[state])
        return _ALL if first != byte and first < 128 else _NONE
    if kind not in (LEXEME, LINE):
        return _NONE
    begins = uint64s(context, LEX_FIRST)
    if int32s(context, LEX)[state * 256 + byte] < 0:
        return _ALL if begins[state * 4 + 2] | begins[state * 4 + 3] == 0 else _NONE
    found = _state_else(context, state, byte)
    while guards != 0 and found > _NONE:
        of_guard = _state_else(context, int(nodes[guards * 6 + 1]), byte)
        found, guards = min(found, of_guard), int(nodes[guards * 6 + 3])
    return found


@inner
def _state_else(context: Context, state: int, byte: int) -> int:
    """The same for a lexical state."""
    if uint8s(context, LOOPS)[state] == 0:
        code = find_loops(context, state)
        if code < 0:
            return code
    loops = uint64s(context, LOOP)
    if not is_lead(loops, state * 2, byte):
        return _NONE
    return _NONE + all_else_loop(int(uint8s(context, LOOPS)[state]))
