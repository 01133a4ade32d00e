"""Characters that lead from a lexical state back to it.

Within a string nearly all do. Non-ASCII characters are one class, or two: white space and others,
as patterns mostly distinguish no more.
"""

from typing import Final

import numpy as np

from guideway.masks.kernels.characters import (
    INVALID,
    begins_space,
    is_space,
    utf8_after,
    utf8_lead,
)
from guideway.masks.kernels.layout import (
    ACCEPTS,
    EXPANDED,
    LEX,
    LEX_FLAG,
    LEXICON,
    LOOP,
    LOOPS,
    NEED_LEX,
    WANT,
)
from guideway.masks.kernels.lexemes import expand_wanted
from guideway.masks.kernels.views import Context, inner, int32s, once, uint8s, uint64s

_KNOWN: Final = 1  # the loops of a state are known
ALL_ELSE: Final = 2  # they include all non-ASCII characters except white space
ALL: Final = 4  # they include all non-ASCII characters


@inner
def is_expanded(context: Context, state: int) -> bool:
    """Return True if a state has its row; expands it if allowed, else sets WANT."""
    if uint8s(context, LEX_FLAG)[state] & EXPANDED:
        return True
    context[WANT] = state
    return context[LEXICON] != 0 and expand_wanted(context)


@inner
def all_else_loop(loops: int) -> int:
    """Non-ASCII characters that lead back: 0 not all, 1 all but white space, 2 all."""
    return 0 if loops & ALL_ELSE == 0 else 2 if loops & ALL else 1


@inner
def find_loops(context: Context, state: int) -> int:
    rows, loops = int32s(context, LEX), uint64s(context, LOOP)
    if not is_expanded(context, state):
        return NEED_LEX
    loops[state * 2] = loops[state * 2 + 1] = np.uint64(0)
    for byte in range(0x80):
        if rows[state * 256 + byte] == state:
            loops[state * 2 + (byte >> 6)] |= np.uint64(1) << np.uint64(byte & 63)
    flags = _KNOWN
    for spaced in range(2):
        code = _all_lead_back(context, state, spaced != 0) if spaced == 0 or flags != _KNOWN else 0
        if code < 0:
            return code
        flags |= 0 if code == 0 else ALL if spaced else ALL_ELSE
    uint8s(context, LOOPS)[state] = flags
    return 0


@inner
def _all_lead_back(context: Context, state: int, spaced: bool) -> int:
    """Return 1 if all non-ASCII characters lead back, white space (`spaced`) or others; else 0."""
    rows, last, code = int32s(context, LEX), 0, 1
    for byte in range(0xC2, 0xF5):
        target, within = int(rows[state * 256 + byte]), utf8_lead(byte)
        if code <= 0:
            continue
        if begins_space(byte):
            code, last = _some_lead_back(context, state, target, byte, spaced), 0
        elif not spaced and (target != last or byte in (0xE0, 0xED, 0xEE, 0xF0, 0xF1, 0xF4)):
            code, last = _leads_back_from(context, state, target, within), target
    return code


@once
def _some_lead_back(context: Context, state: int, at: int, lead: int, spaced: bool) -> int:
    """As `_all_lead_back`, after a byte that may begin white space."""
    rows, last, code, within = int32s(context, LEX), 0, _is_within(context, at), utf8_lead(lead)
    for byte in range(0x80, 0xC0):
        if code <= 0:
            continue
        target, read = int(rows[at * 256 + byte]), (lead << 8) | byte
        if within == 1:
            code = 1 if is_space(read) != spaced or target == state else 0
        elif begins_space(read):
            code, last = _some_end_back(context, state, target, read, spaced), 0
        elif not spaced and target != last:
            code, last = _ends_back(context, state, target), target
    return code


@once
def _some_end_back(context: Context, state: int, at: int, before: int, spaced: bool) -> int:
    """As `_all_lead_back`, after two such bytes."""
    rows, code = int32s(context, LEX), _is_within(context, at)
    for byte in range(0x80, 0xC0):
        if is_space((before << 8) | byte) == spaced and rows[at * 256 + byte] != state:
            code = min(code, 0)
    return code


@inner
def _leads_back_from(context: Context, state: int, at: int, within: int) -> int:
    """Return 1 if all characters lead back, after a first byte that begins no white space."""
    if within == 1:
        return _ends_back(context, state, at)
    rows, last = int32s(context, LEX), 0
    code = _is_within(context, at)
    for byte in range(0x80, 0xC0):
        after = utf8_after(within, byte)
        if code <= 0 or after == INVALID:
            continue
        target = int(rows[at * 256 + byte])
        if target != last:
            one = after == 1
            code = _ends_back(context, state, target) if one else _goes_back(context, state, target)
        last = target
    return code


@inner
def _goes_back(context: Context, state: int, at: int) -> int:
    """Return 1 if all characters lead back, two bytes before their end."""
    rows, last, code = int32s(context, LEX), 0, _is_within(context, at)
    for byte in range(0x80, 0xC0):
        if code > 0 and int(rows[at * 256 + byte]) != last:
            last = int(rows[at * 256 + byte])
            code = _ends_back(context, state, last)
    return code


@inner
def _ends_back(context: Context, state: int, at: int) -> int:
    """Return 1 if all characters lead back, one byte before their end."""
    rows, code = int32s(context, LEX), _is_within(context, at)
    for byte in range(0x80, 0xC0):
        if code > 0 and rows[at * 256 + byte] != state:
            code = 0
    return code


@inner
def _is_within(context: Context, at: int) -> int:
    """Return 1 for a state that is alive and does not accept, else 0."""
    if at <= 0:
        return 0
    if not is_expanded(context, at):
        return NEED_LEX
    return 0 if uint8s(context, LEX_FLAG)[at] & ACCEPTS else 1
