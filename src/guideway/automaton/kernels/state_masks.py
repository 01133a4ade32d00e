"""The mask of a lexer state: tokens that it reads whole, exits, and loops that need no walk."""

from typing import Final

import numpy as np

from guideway.automaton.jit.views import (
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
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.lexer_states import expand_wanted
from guideway.automaton.kernels.tries import (
    INVALID,
    begins_space,
    code_after,
    is_space,
    utf8_after,
    utf8_lead,
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


@inner
def is_lead(leads: Sets, place: int, byte: int) -> bool:
    """Return True if a byte is in the set whose four words begin at `place`."""
    return (leads[place + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1) != 0


@inner
def take_state_mask(
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
def _state_mask_place(context: Context, key: int) -> int:
    """Index of `key` in the table of state masks, or of its free place."""
    keys, last = int64s(context, at.PICTURE_KEY), 2 * context[at.PICTURE_ROOM] - 1
    place = (key * -7046029254386353131) >> 20 & last
    while keys[place] != 0 and keys[place] != key:
        place = (place + 1) & last
    return place


@inner
def state_mask_of(context: Context, below: int, state: int) -> int:
    """The state mask of a lexical state below a trie node, NO_PICTURE, or 0 if unknown."""
    if below == 0:
        return int(int32s(context, at.PICTURE_AT)[state])
    key = (below << 32) | state
    place = _state_mask_place(context, key)
    if int64s(context, at.PICTURE_KEY)[place] == key:
        return int(int32s(context, at.PICTURE_VALUE)[place])
    return at.NO_PICTURE if int32s(context, at.PICTURE)[at.CLOSED] != 0 else 0


@inner
def remember_state_mask(context: Context, below: int, state: int, state_mask: int) -> None:
    """Memoise the state mask of a lexical state below a trie node other than the root."""
    key = (below << 32) | state
    place = _state_mask_place(context, key)
    int32s(context, at.PICTURE_VALUE)[place] = state_mask
    int64s(context, at.PICTURE_KEY)[place] = key
