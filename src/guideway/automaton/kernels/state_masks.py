"""The mask of a lexer state: tokens that it reads whole, exits, and loops that need no walk."""

from typing import Final

import numpy as np

from guideway.automaton.jit.operands import Sets, WholeInts, checked, exists, inner, once
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.layout import Context
from guideway.automaton.kernels.lexer_states import expand_wanted
from guideway.automaton.kernels.tries import (
    INVALID,
    begins_space,
    code_after,
    is_space,
)

_KNOWN: Final = 1  # the loops of a state are known
ALL_ELSE: Final = 2  # they include all non-ASCII characters except white space
ALL: Final = 4  # they include all non-ASCII characters


@inner
def expand_state(context: Context, state: int) -> int:
    """Make the row of a state, if it has none and that is allowed; else NEED_LEX with `want`."""
    if context.lexer_flags[state] & at.EXPANDED:
        return at.OK
    context.want = state
    return at.OK if exists(context.regexes) and expand_wanted(context) else at.NEED_LEX


@inner
def find_loops(context: Context, state: int) -> int:
    rows, loops = context.transitions, context.loops
    checked(expand_state(context, state))
    loops[state].words[0] = loops[state].words[1] = np.uint64(0)
    for byte in range(0x80):
        if rows[state].after[byte] == state:
            loops[state].words[byte >> 6] |= np.uint64(1) << np.uint64(byte & 63)
    flags = _KNOWN
    if checked(_lead_back(context, state, state, 0, False)) > 0:
        flags |= ALL_ELSE
        if checked(_lead_back(context, state, state, 0, True)) > 0:
            flags |= ALL
    context.loop_flags[state] = flags
    return 0


@inner
def _lead_back(context: Context, state: int, place: int, read: int, spaced: bool) -> int:
    """Return 1 if non-ASCII characters lead back to a state, white space (`spaced`) or others.

    `place` is the state after the first bytes of a character, `read` (`tries.code_after`).
    """
    rows, last = context.transitions, 0
    if read != 0:
        if place <= 0:
            return 0
        checked(expand_state(context, place))
        if context.lexer_flags[place] & at.ACCEPTS:
            return 0
    for byte in range(0x80, 0x100):
        code, target = code_after(read, byte), rows[place].after[byte]
        within, branches = code & 15, begins_space(code >> 4)
        if within == INVALID:
            continue
        if within == 0:
            if target != state and is_space(code >> 4) == spaced:
                return 0
        elif branches or (not spaced and (target << 4) | within != last):
            last = 0 if branches else (target << 4) | within
            if checked(_lead_back(context, state, target, code, spaced)) == 0:
                return 0
    return 1


@inner
def leaves(context: Context, state: int, between: int) -> int:
    """Return 1 if a byte that begins no character leads on, else 0."""
    first, outside = context.lexer_leads, np.uint64(0)
    checked(expand_state(context, state))
    checked(expand_state(context, between))
    for word in range(4):
        outside |= first[state].words[word] & ~first[between].words[word]
    return 1 if outside != 0 else 0


@inner
def repeats(context: Context, state: int, between: int) -> bool:
    """Return True if a one-byte character leads back to the state."""
    rows = context.transitions
    for byte in range(256):
        if rows[state].after[byte] == state and rows[between].after[byte] == between:
            return True
    return False


OTHER: Final = 1  # a subtree has non-ASCII bytes
_BROKEN: Final = 2  # it has bytes that are no UTF-8 from the root on
_INSIDE: Final = 4  # its node is within a character
_SPACED: Final = 8  # it has non-ASCII white space, which \S and "." exclude
SMALL: Final = 5  # smaller subtrees are walked as fast as they are checked


@inner
def survey_parts(context: Context, scratch: Sets) -> None:
    """Write the flags of each subtree of the vocabulary; `scratch` is zeros, 3 for each depth."""
    bytes_, depths = context.trie_bytes, context.trie_depths
    holds = context.subtree_bytes
    parts = context.subtree_flags
    states = context.walk
    nodes = context.trie_ends[0]
    states[0] = 0
    for node in range(1, nodes):
        depth = depths[node]
        code = code_after(states[depth - 1], bytes_[node])
        state, states[depth] = code & 15, code
        parts[node] = _BROKEN if state == INVALID else 0 if state == 0 else _INSIDE
        if state == 0 and is_space(code >> 4):
            parts[node] = _SPACED
    for node in range(nodes - 1, 0, -1):
        place, byte, own = depths[node] * 3, bytes_[node], parts[node]
        holds[node].words[0], holds[node].words[1] = scratch[place + 3], scratch[place + 4]
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
    ends, heights = context.trie_ends, context.heights
    for node in range(nodes - 1, 0, -1):
        child, height = node + 1, 0
        while child < ends[node]:
            height = max(height, heights[child] + 1)
            child = ends[child]
        heights[node] = min(height, 255)


@inner
def stays(context: Context, node: int, state: int, leads: Sets) -> int:
    """Return 1 if a state reads all below a node and stays itself, without exits before `leads`.

    Return 0 if not, or if it is not worth checking.
    """
    code = leads_back(context, node, state)
    if code <= 0 or context.lexer_flags[state] & at.ACCEPTS == 0:
        return code
    words = context.subtree_bytes[node].words
    inside = (words[0] & leads[0]) | (words[1] & leads[1])
    if context.subtree_flags[node] & OTHER:
        inside |= leads[2] | leads[3]
    return 1 if inside == 0 else 0


@inner
def leads_back(context: Context, node: int, state: int) -> int:
    """Return 1 if all below a node leads from a state back to it; 0 if not or not checked."""
    if context.trie_ends[node] - node < SMALL:
        return 0
    if context.loop_flags[state] == 0:
        checked(find_loops(context, state))
    holds, part = context.subtree_bytes, context.subtree_flags[node]
    if (
        holds[node].words[0] & ~context.loops[state].words[0] != 0
        or holds[node].words[1] & ~context.loops[state].words[1] != 0
    ):
        return 0
    if part & OTHER == 0:
        return 1
    needed = ALL if part & _SPACED else ALL_ELSE
    return 1 if part & (_BROKEN | _INSIDE) == 0 and context.loop_flags[state] & needed else 0


@inner
def is_lead(leads: Sets, byte: int) -> bool:
    """Return True if a byte is in a set."""
    return (leads[byte >> 6] >> np.uint64(byte & 63)) & np.uint64(1) != 0


@inner
def take_state_mask(
    context: Context, below: int, state: int, ranges: WholeInts, exits: WholeInts, leads: Sets
) -> int:
    """Find the tokens below a trie node that stay within a lexical state, and its exits.

    The tokens that stay are written as `ranges` of `trie_tokens`. An exit is the trie node of the
    first byte outside, if that byte is in `leads`. Returns the number of ranges, or a code; after a
    code it resumes at `cursor`. `begun` has the number of ranges but the last and of exits, entries
    without room included, and whether any state accepts.
    """
    rows, flags = context.transitions, context.lexer_flags
    depths = context.trie_depths
    bytes_ = context.trie_bytes
    ends = context.trie_ends
    states, so_far = context.walk, context.begun
    count, left, last = so_far[0], so_far[1], ends[below]
    states[depths[below]] = state
    ranges[0] = context.trie_at[below + 1]
    node = max(context.cursor, below + 1)
    while node < last:
        depth = depths[node]
        after = rows[states[depth - 1]].after[bytes_[node]]
        if after < 0:
            count = _end_range(context, ranges, count, node)
            node = ends[node]
            continue
        states[depth] = after
        whole = 0
        if after == 0:
            context.want, whole = states[depth - 1], at.NEED_LEX
        elif below == 0 and ends[node] - node >= SMALL:
            whole = stays(context, node, int(after), leads)
        if whole < 0:
            context.cursor, so_far[0], so_far[1] = node, count, left
            return whole
        if flags[after] & at.ACCEPTS:
            so_far[2] = 1
            if whole == 0:
                left = list_exits(context, node, exits, left, leads)
        node = ends[node] if whole else node + 1
    so_far[0], so_far[1] = count, left
    if 2 * count + 1 < len(ranges):
        ranges[2 * count + 1] = context.trie_at[last]
    return count + 1


@once
def _end_range(context: Context, ranges: WholeInts, count: int, node: int) -> int:
    """End the last range before the tokens of a subtree; return the number of ended ranges."""
    begin = context.trie_at[node]
    end = context.trie_at[context.trie_ends[node]]
    place = 2 * count
    if place < len(ranges) and count > 0 and ranges[place] == begin:
        ranges[place] = end
        return count
    if place + 2 < len(ranges):
        ranges[place + 1], ranges[place + 2] = begin, end
    return count + 1


@inner
def list_exits(context: Context, node: int, exits: WholeInts, count: int, leads: Sets) -> int:
    """List the children of a node whose byte is in `leads`; return the new count."""
    bytes_, ends = context.trie_bytes, context.trie_ends
    child = node + 1
    while child < ends[node]:
        if is_lead(leads, bytes_[child]):
            if count < len(exits):
                exits[count] = child
            count += 1
        child = ends[child]
    return count


@inner
def _exits_outside(
    context: Context, exits: WholeInts, node: int, between: int, items: int, count: int
) -> int:
    """List the children that no item begins with, and the backslash; return the new count."""
    ends = context.trie_ends
    bytes_ = context.trie_bytes
    first = context.lexer_leads
    child = node + 1
    while child < ends[node]:
        byte = bytes_[child]
        if byte == at.BACKSLASH or not is_lead(first[between].words, byte):
            if count * 2 < len(exits):
                exits[count * 2], exits[count * 2 + 1] = child, items
            count += 1
        child = ends[child]
    return count


@inner
def count_rows(context: Context, between: int, items: WholeInts, exits: WholeInts) -> int:
    """Count the items that each token begins, from between two items; -1 if it is rejected.

    Lists exits with the items before each; returns their number or a code. Resumes at `cursor`,
    exits so far << 32 | trie node; `begun` has the items at each depth.
    """
    rows = context.transitions
    depths = context.trie_depths
    bytes_ = context.trie_bytes
    ends = context.trie_ends
    states = context.walk
    starts = context.trie_at
    tokens = context.trie_tokens
    begun = context.begun
    states[0], begun[0] = between, 0
    node, count = max((context.cursor & 0xFFFFFFFF), 1), (context.cursor >> 32)
    while node < ends[0]:
        depth = depths[node]
        before = states[depth - 1]
        after = rows[before].after[bytes_[node]]
        if after == 0:
            context.want = before
            context.cursor = (count << 32) | node
            return at.NEED_LEX
        if after < 0:
            node = ends[node]
            continue
        states[depth] = after
        begun[depth] = begun[depth - 1] + (1 if before == between else 0)
        for index in range(starts[node], starts[node + 1]):
            items[tokens[index]] = begun[depth]
        if after == between:
            count = _exits_outside(context, exits, node, between, begun[depth], count)
        node += 1
    return count


@inner
def stack_rows(context: Context, items: WholeInts, place: int, most: int) -> None:
    """Write the base rows for 0 to `most` items, one after another from `place` on."""
    base, words = context.base_rows, context.row_words
    for token in range(len(items)):
        if items[token] >= 0:
            start = (place + items[token]) * words + (token >> 5)
            base[start] |= np.uint32(1) << np.uint32(token & 31)
    for word in range((place + 1) * words, (place + most + 1) * words):
        base[word] |= base[word - words]


@inner
def _state_mask_place(context: Context, key: int) -> int:
    """Index of `key` in the table of state masks, or of its free place."""
    keys, last = context.state_mask_keys, 2 * context.state_mask_room - 1
    place = (key * -7046029254386353131) >> 20 & last
    while keys[place] != 0 and keys[place] != key:
        place = (place + 1) & last
    return place


@inner
def state_mask_of(context: Context, below: int, state: int) -> int:
    """The state mask of a lexical state below a trie node, 0 if unknown."""
    if below == 0:
        return context.state_mask_at[state]
    key = (below << 32) | state
    place = _state_mask_place(context, key)
    if context.state_mask_keys[place] == key:
        return context.state_mask_values[place]
    return 0


@inner
def remember_state_mask(context: Context, below: int, state: int, state_mask: int) -> None:
    """Memoise the state mask of a lexical state below a trie node other than the root."""
    key = (below << 32) | state
    place = _state_mask_place(context, key)
    context.state_mask_values[place] = state_mask
    context.state_mask_keys[place] = key
