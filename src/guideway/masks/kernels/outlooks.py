"""Outlooks of lexers: the tokens that a macro state of terminals reads below a trie node, and
exits.

An exit is a TOOK or APART node with the trie nodes where a token reaches it. As a picture of a
lexical state, an outlook is made once for all stacks; at the root the walk takes a millisecond.
After an exit the LALR states give the next LEXER, with another outlook. If an exit has many trie
nodes, the rests of their tokens are merged to one trie.
"""

from typing import Final

from guideway.masks.kernels import layout as at
from guideway.masks.kernels.intern import full, outlook_of
from guideway.masks.kernels.macros import learn_lexer, step
from guideway.masks.kernels.pictures import is_lead
from guideway.masks.kernels.scans import leaves_lexer
from guideway.masks.kernels.views import (
    Context,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint16s,
    uint64s,
)

_FEW_NODES: Final = 4  # trie nodes of an exit; with more, the rests are merged to a trie
_FEW_TOKENS: Final = 2048  # tokens that are listed as ranges; more become a row


@inner
def learn(context: Context, code: int) -> int:
    if code != at.NEED_OUTLOOK:
        return learn_lexer(context, code)
    return _make_outlook(context, int(context[at.WANT]), int(context[at.WANT_BELOW]))


@once
def _make_outlook(context: Context, macro: int, below: int) -> int:
    """Walk all below a trie node, and write the outlook of a macro state of terminals."""
    number = outlook_of(context, below, macro)
    if number < 0:
        return number
    context[at.LEAVINGS] = 0
    ranges, groups = _walked(context, macro, below)
    if ranges < 0:
        return ranges
    outlooks, start = int32s(context, at.OUTLOOK_AT), int(context[at.SEEN_LISTED])
    used = _packed(context, start, ranges)
    if used < 0:
        return used
    last = _write_exits(context, start + used, groups)
    if last < 0:
        return last
    place = number * 4
    outlooks[place + at.S_TOKENS], outlooks[place + at.S_EXITS] = start, start + used
    outlooks[place + at.S_RANGES] = ranges if used == 2 * ranges else at.WHOLE_ROW
    outlooks[place + at.S_KNOWN] = 1
    context[at.SEEN_LISTED] = last
    return at.OK


@inner
def _walked(context: Context, macro: int, below: int) -> tuple[int, int]:
    """Write ranges after SEEN_LISTED and exits to LEFT_AT; return their numbers, or a code."""
    depths = uint16s(context, at.TRIE_DEPTH)
    bytes_ = uint8s(context, at.TRIE_BYTE)
    ends = int32s(context, at.TRIE_END)
    macros, node, last = int32s(context, at.WALK), below + 1, int(ends[below])
    ranges, groups = 0, 0
    macros[depths[below]] = macro
    while node < last:
        after = step(context, int(macros[depths[node] - 1]), int(bytes_[node]))
        if after < 0:
            return after, 0
        if after == 0:
            node = int(ends[node])
            continue
        macros[depths[node]] = after
        ranges = _add_range(context, ranges, node, after)
        if ranges < 0:
            return ranges, 0
        groups = _leave(context, after, node, groups)
        if groups < 0:
            return groups, 0
        node += 1
    return ranges, groups


@inner
def _add_range(context: Context, ranges: int, node: int, macro: int) -> int:
    """Add the tokens at a trie node; return the number of ranges, or FULL."""
    starts, listed = int32s(context, at.TRIE_AT), int32s(context, at.SEEN_LIST)
    first, last = int(starts[node]), int(starts[node + 1])
    if first == last or not _reads(context, macro):
        return ranges
    place = int(context[at.SEEN_LISTED]) + 2 * ranges
    if place + 2 > context[at.SEEN_LIST_ROOM]:
        return full(context, at.SEEN_LISTED)
    if ranges > 0 and listed[place - 1] == first:
        listed[place - 1] = last
        return ranges
    listed[place], listed[place + 1] = first, last
    return ranges + 1


@inner
def _reads(context: Context, macro: int) -> bool:
    """Return True if a macro state of terminals has other nodes than APART."""
    macros = int32s(context, at.MACRO)
    configs = int64s(context, at.CONFIG)
    nodes = int32s(context, at.NODE)
    first = int(macros[macro * 4])
    for index in range(first, first + macros[macro * 4 + 1]):
        if nodes[(configs[index] >> 32) * 6] != at.APART:
            return True
    return False


@inner
def _leave(context: Context, macro: int, node: int, groups: int) -> int:
    """Note the exits of a macro state at a trie node; return the number of exits, or FULL."""
    macros = int32s(context, at.MACRO)
    configs = int64s(context, at.CONFIG)
    nodes = int32s(context, at.NODE)
    by, left = int64s(context, at.LEFT_BY), int64s(context, at.LEFT_AT)
    first = int(macros[macro * 4])
    for index in range(first, first + macros[macro * 4 + 1]):
        config = int(configs[index])
        if not leaves_lexer(context, config >> 32):
            continue
        if nodes[(config >> 32) * 6] != at.APART and not _may_go_on(context, config >> 32, node):
            continue
        group = 0
        while group < groups and by[group * 3] != config:
            group += 1
        if context[at.LEAVINGS] >= context[at.LEAVING_ROOM] or group >= context[at.LEAVING_ROOM]:
            return full(context, at.LEAVINGS)
        if group == groups:
            by[group * 3], by[group * 3 + 1], by[group * 3 + 2] = config, 0, 0
            groups += 1
        left[context[at.LEAVINGS]] = (by[group * 3 + 2] << 32) | node
        context[at.LEAVINGS] += 1
        by[group * 3 + 1] += 1
        by[group * 3 + 2] = context[at.LEAVINGS]
    return groups


@inner
def _may_go_on(context: Context, by: int, node: int) -> bool:
    """Return True if the guards of an exit accept some byte below a trie node."""
    bytes_, ends, child = uint8s(context, at.TRIE_BYTE), int32s(context, at.TRIE_END), node + 1
    while child < ends[node]:
        if _lets_pass(context, by, int(bytes_[child])):
            return True
        child = int(ends[child])
    return False


@inner
def _lets_pass(context: Context, by: int, byte: int) -> bool:
    nodes, first = int32s(context, at.NODE), uint64s(context, at.LEX_FIRST)
    guard = int(nodes[by * 6 + 2]) if nodes[by * 6] == at.GUARDED else 0
    while guard != 0:
        if not is_lead(first, int(nodes[guard * 6 + 1]) * 4, byte):
            return False
        guard = int(nodes[guard * 6 + 3])
    return True


@inner
def _packed(context: Context, start: int, ranges: int) -> int:
    """Turn ranges of many tokens into a row; return the length of either, or FULL."""
    listed, ids, tokens = int32s(context, at.SEEN_LIST), int32s(context, at.TRIE_TOKEN), 0
    for index in range(ranges):
        tokens += listed[start + 2 * index + 1] - listed[start + 2 * index]
    words, behind = int(context[at.ROW_WORDS]), start + 2 * ranges
    if tokens <= _FEW_TOKENS or 2 * ranges == words:
        return 2 * ranges
    if behind + words > context[at.SEEN_LIST_ROOM]:
        return full(context, at.SEEN_LISTED)
    for word in range(words):
        listed[behind + word] = 0
    for index in range(ranges):
        for place in range(listed[start + 2 * index], listed[start + 2 * index + 1]):
            token = int(ids[place])
            listed[behind + (token >> 5)] |= 1 << (token & 31)
    for word in range(words):
        listed[start + word] = listed[behind + word]
    return words


@inner
def _write_exits(context: Context, place: int, groups: int) -> int:
    """Write the exits of an outlook; return their end, or FULL."""
    by, listed = int64s(context, at.LEFT_BY), int32s(context, at.SEEN_LIST)
    if place >= context[at.SEEN_LIST_ROOM]:
        return full(context, at.SEEN_LISTED)
    listed[place] = groups
    place += 1
    for group in range(groups):
        node, count = int(by[group * 3] >> 32), int(by[group * 3 + 1])
        many = count > _FEW_NODES and int32s(context, at.NODE)[node * 6] != at.APART
        if place + at.X_NODES + count > context[at.SEEN_LIST_ROOM]:
            return full(context, at.SEEN_LISTED)
        listed[place + at.X_NODE], listed[place + at.X_STACK] = node, by[group * 3] & 0xFFFFFFFF
        listed[place + at.X_ROOT] = at.MANY_NODES if many else 0
        last = _write_nodes(context, place + at.X_NODES, int(by[group * 3 + 2]), node, many)
        if last < 0:
            return last
        listed[place + at.X_COUNT] = last - place - at.X_NODES
        place = last
    return place


@inner
def _write_nodes(context: Context, place: int, last: int, by: int, many: bool) -> int:
    """Write the trie nodes of an exit, or if `many`, their children; return the end, or FULL."""
    left, listed = int64s(context, at.LEFT_AT), int32s(context, at.SEEN_LIST)
    bytes_ = uint8s(context, at.TRIE_BYTE)
    ends = int32s(context, at.TRIE_END)
    room = context[at.SEEN_LIST_ROOM]
    while last != 0:
        node, last = int(left[last - 1] & 0xFFFFFFFF), int(left[last - 1] >> 32)
        if not many:
            listed[place] = node
            place += 1
            continue
        child = node + 1
        while child < ends[node]:
            if _lets_pass(context, by, int(bytes_[child])):
                if place >= room:
                    return full(context, at.SEEN_LISTED)
                listed[place] = child
                place += 1
            child = int(ends[child])
    return place
