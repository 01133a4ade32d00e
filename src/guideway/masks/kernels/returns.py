"""Characters that lead from a lexical state back to it."""

from typing import Final

import numpy as np

from guideway.masks.kernels import layout as at
from guideway.masks.kernels.lexemes import expand_wanted
from guideway.masks.kernels.tries import (
    INVALID,
    begins_space,
    code_after,
    is_space,
    utf8_after,
    utf8_lead,
)
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

_KNOWN: Final = 1  # the loops of a state are known
ALL_ELSE: Final = 2  # they include all non-ASCII characters except white space
ALL: Final = 4  # they include all non-ASCII characters


@inner
def is_expanded(context: Context, state: int) -> bool:
    """Return True if a state has its row; expands it if allowed, else sets WANT."""
    if uint8s(context, at.LEX_FLAG)[state] & at.EXPANDED:
        return True
    context[at.WANT] = state
    return context[at.LEXICON] != 0 and expand_wanted(context)


@inner
def all_else_loop(loops: int) -> int:
    """Non-ASCII characters that lead back: 0 not all, 1 all but white space, 2 all."""
    return 0 if loops & ALL_ELSE == 0 else 2 if loops & ALL else 1


@inner
def find_loops(context: Context, state: int) -> int:
    rows, loops = int32s(context, at.LEX), uint64s(context, at.LOOP)
    if not is_expanded(context, state):
        return at.NEED_LEX
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
    uint8s(context, at.LOOPS)[state] = flags
    return 0


@inner
def _all_lead_back(context: Context, state: int, spaced: bool) -> int:
    """Return 1 if all non-ASCII characters lead back, white space (`spaced`) or others; else 0."""
    rows, last, code = int32s(context, at.LEX), 0, 1
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
def _some_lead_back(context: Context, state: int, place: int, lead: int, spaced: bool) -> int:
    """As `_all_lead_back`, after a byte that may begin white space."""
    rows = int32s(context, at.LEX)
    last = 0
    code = _is_within(context, place)
    within = utf8_lead(lead)
    for byte in range(0x80, 0xC0):
        if code <= 0:
            continue
        target, read = int(rows[place * 256 + byte]), (lead << 8) | byte
        if within == 1:
            code = 1 if is_space(read) != spaced or target == state else 0
        elif begins_space(read):
            code, last = _some_end_back(context, state, target, read, spaced), 0
        elif not spaced and target != last:
            code, last = _ends_back(context, state, target), target
    return code


@once
def _some_end_back(context: Context, state: int, place: int, before: int, spaced: bool) -> int:
    """As `_all_lead_back`, after two such bytes."""
    rows, code = int32s(context, at.LEX), _is_within(context, place)
    for byte in range(0x80, 0xC0):
        if is_space((before << 8) | byte) == spaced and rows[place * 256 + byte] != state:
            code = min(code, 0)
    return code


@inner
def _leads_back_from(context: Context, state: int, place: int, within: int) -> int:
    """Return 1 if all characters lead back, after a first byte that begins no white space."""
    if within == 1:
        return _ends_back(context, state, place)
    rows, last = int32s(context, at.LEX), 0
    code = _is_within(context, place)
    for byte in range(0x80, 0xC0):
        after = utf8_after(within, byte)
        if code <= 0 or after == INVALID:
            continue
        target = int(rows[place * 256 + byte])
        if target != last:
            one = after == 1
            code = _ends_back(context, state, target) if one else _goes_back(context, state, target)
        last = target
    return code


@inner
def _goes_back(context: Context, state: int, place: int) -> int:
    """Return 1 if all characters lead back, two bytes before their end."""
    rows, last, code = int32s(context, at.LEX), 0, _is_within(context, place)
    for byte in range(0x80, 0xC0):
        if code > 0 and int(rows[place * 256 + byte]) != last:
            last = int(rows[place * 256 + byte])
            code = _ends_back(context, state, last)
    return code


@inner
def _ends_back(context: Context, state: int, place: int) -> int:
    """Return 1 if all characters lead back, one byte before their end."""
    rows, code = int32s(context, at.LEX), _is_within(context, place)
    for byte in range(0x80, 0xC0):
        if code > 0 and rows[place * 256 + byte] != state:
            code = 0
    return code


@inner
def _is_within(context: Context, place: int) -> int:
    """Return 1 for a state that is alive and does not accept, else 0."""
    if place <= 0:
        return 0
    if not is_expanded(context, place):
        return at.NEED_LEX
    return 0 if uint8s(context, at.LEX_FLAG)[place] & at.ACCEPTS else 1


@inner
def leaves(context: Context, state: int, between: int) -> int:
    """Return 1 if a byte that begins no character leads on, else 0."""
    first, outside = uint64s(context, at.LEX_FIRST), np.uint64(0)
    if not is_expanded(context, state) or not is_expanded(context, between):
        return at.NEED_LEX
    for word in range(4):
        outside |= first[state * 4 + word] & ~first[between * 4 + word]
    return 1 if outside != 0 else 0


@inner
def repeats(context: Context, state: int, between: int) -> bool:
    """Return True if a one-byte character leads back to the state."""
    rows = int32s(context, at.LEX)
    for byte in range(256):
        if rows[state * 256 + byte] == state and rows[between * 256 + byte] == between:
            return True
    return False


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
    bytes_, depths = uint8s(context, at.TRIE_BYTE), uint16s(context, at.TRIE_DEPTH)
    holds = uint64s(context, at.HOLD)
    parts = uint8s(context, at.PART)
    states = int32s(context, at.WALK)
    nodes = int(int32s(context, at.TRIE_END)[0])
    states[0] = 0
    for node in range(1, nodes):
        depth = depths[node]
        code = code_after(int(states[depth - 1]), int(bytes_[node]))
        state, states[depth] = code & 15, code
        parts[node] = _BROKEN if state == INVALID else 0 if state == 0 else _INSIDE
        if state == 0 and is_space(code >> 4):
            parts[node] = _SPACED
    for node in range(nodes - 1, 0, -1):
        place, byte, own = depths[node] * 3, int(bytes_[node]), int(parts[node])
        holds[node * 2], holds[node * 2 + 1] = scratch[place + 3], scratch[place + 4]
        parts[node] = own | int(np.int64(scratch[place + 5]))
        scratch[place + 2] |= np.uint64(parts[node] & (OTHER | _BROKEN | _SPACED))
        scratch[place] |= scratch[place + 3]
        scratch[place + 1] |= scratch[place + 4]
        if byte < 0x80:
            scratch[place + (byte >> 6)] |= np.uint64(1) << np.uint64(byte & 63)
        else:
            scratch[place + 2] |= np.uint64(OTHER)
        scratch[place + 3] = scratch[place + 4] = scratch[place + 5] = np.uint64(0)
    _survey_heights(context, nodes)


@once
def _survey_heights(context: Context, nodes: int) -> None:
    ends, heights = int32s(context, at.TRIE_END), uint8s(context, at.HEIGHT)
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
    if code <= 0 or uint8s(context, at.LEX_FLAG)[state] & at.ACCEPTS == 0:
        return code
    return _leaves_from(context, node, leads)


@inner
def leads_back(context: Context, node: int, state: int) -> int:
    """Return 1 if all below a node leads from a state back to it; 0 if not or not checked."""
    if int32s(context, at.TRIE_END)[node] - node < SMALL:
        return 0
    loops = uint64s(context, at.LOOP)
    if uint8s(context, at.LOOPS)[state] == 0:
        code = find_loops(context, state)
        if code < 0:
            return code
    holds, part = uint64s(context, at.HOLD), uint8s(context, at.PART)[node]
    if holds[node * 2] & ~loops[state * 2] != 0 or holds[node * 2 + 1] & ~loops[state * 2 + 1] != 0:
        return 0
    others = all_else_loop(int(uint8s(context, at.LOOPS)[state]))
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
    holds, part = uint64s(context, at.HOLD), uint8s(context, at.PART)[node]
    inside = (holds[node * 2] & leads[0]) | (holds[node * 2 + 1] & leads[1])
    if part & OTHER:
        inside |= leads[2] | leads[3]
    if inside == 0:
        return 1
    many = int32s(context, at.TRIE_END)[node] - node >= _LARGE
    return EVERYWHERE if many and are_all(leads) else 0


@inner
def are_all(leads: Sets) -> bool:
    return ~(leads[0] & leads[1] & leads[2] & leads[3]) == 0
