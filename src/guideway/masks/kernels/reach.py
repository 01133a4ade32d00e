"""The work list of a mask, and walks of keys."""

from typing import Final

import numpy as np

from guideway.masks.kernels import layout as at
from guideway.masks.kernels.closure import close, leads_of_found, value_follows
from guideway.masks.kernels.entries import begin
from guideway.masks.kernels.intern import full, mixed
from guideway.masks.kernels.keys import (
    IN_DOUBT,
    frame_after_name,
    frame_after_other,
    frame_field,
    has_extra,
    is_special,
    key_ends,
    key_step,
    may_come,
    may_end,
    name_field,
    object_field,
)
from guideway.masks.kernels.macros import settle_found
from guideway.masks.kernels.tries import child_of, clear_tokens, has_below, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint16s,
    uint64s,
)
from guideway.masks.kernels.walks import note_unsure


@inner
def reach_begin(context: Context) -> None:
    context[at.REACH_GENERATION] += 1
    context[at.REACHED] = 0
    context[at.REACH_VISITED] = 0


@inner
def put(context: Context, below: int, config: int) -> int:
    """Put a configuration on the list, once."""
    seen, room = int64s(context, at.REACH_SEEN), context[at.REACH_ROOM]
    last, generation = 2 * room - 1, context[at.REACH_GENERATION]
    place = mixed(mixed(below, 0), config) & last
    while seen[place * 3] == generation:
        if seen[place * 3 + 1] == config and seen[place * 3 + 2] == below:
            return at.OK
        place = (place + 1) & last
    if context[at.REACH_VISITED] == room:
        return full(context, at.REACHED)
    context[at.REACH_VISITED] += 1
    seen[place * 3], seen[place * 3 + 1], seen[place * 3 + 2] = generation, config, below
    items, start = int64s(context, at.REACH_ITEM), context[at.REACHED]
    items[start * 2], items[start * 2 + 1] = config, below
    context[at.REACHED] = start + 1
    return at.OK


@inner
def spread_found(context: Context, below: int) -> int:
    """Put the closure's configurations on the list."""
    if not has_below(context, below):
        return at.OK
    code = settle_found(context)
    if code < 0:
        return code
    if context[at.DOUBTFUL] != 0:
        note_unsure(context, below + 1, int(int32s(context, at.TRIE_END)[below]))
    found = int64s(context, at.SCRATCH)
    for index in range(context[at.FOUND]):
        code = put(context, below, int(found[index]))
        if code < 0:
            return code
    return at.OK


@inner
def spread(context: Context, below: int, node: int, stack: int) -> int:
    """Put the closure of a configuration on the list."""
    if not has_below(context, below):
        return at.OK
    begin(context)
    code = close(context, node, stack)
    return spread_found(context, below) if code == at.OK else code


@inner
def leave_found(context: Context, picture: int) -> int:
    """Continue at the exits of a picture with the closure's configurations."""
    if context[at.FOUND] == 0 and context[at.DOUBTFUL] == 0:
        return at.OK
    exits = int(int32s(context, at.PICTURE)[picture * 6 + at.P_EXITS])
    if exits == at.WIDE_EXITS:
        exits = _wide_exits(context, picture)
    if exits < 0:
        context[at.WANT] = picture
        return at.NEED_EXITS
    return spread_found(context, exits) if exits > 0 else at.OK


@once
def _wide_exits(context: Context, picture: int) -> int:
    """The trie of exits that begin as the closure's configurations do; 0 if none, -1 unknown."""
    leads_of_found(context)
    wide, leads = int64s(context, at.WIDE), int64s(context, at.LEADS)
    place = int(int32s(context, at.PICTURE)[picture * 6 + at.P_WIDE])
    while place != 0:
        same = True
        for word in range(4):
            same = same and wide[place * 6 + word] == leads[word]
        if same:
            return int(wide[place * 6 + 4])
        place = int(wide[place * 6 + 5])
    return -1


@inner
def leave_counted(context: Context, first: int, last: int, low: int, high: int) -> int:
    """Continue at exits after `low` to `high` items (-1: unbounded)."""
    exits = int32s(context, at.EXIT)
    for place in range(first, last):
        items = exits[place * 2]
        if items >= low and (high < 0 or items <= high):
            code = spread_found(context, int(exits[place * 2 + 1]))
            if code < 0:
                return code
    return at.OK


@inner
def leaves_surely(context: Context, between: int) -> bool:
    """Return True if items and what follows share no first byte, a backslash aside."""
    leads_of_found(context)
    first, lexical = uint64s(context, at.LEADS), uint64s(context, at.LEX_FIRST)
    common = np.uint64(0)
    for word in range(4):
        both = first[word] & lexical[between * 4 + word]
        if word == at.BACKSLASH >> 6:
            both &= ~(np.uint64(1) << np.uint64(at.BACKSLASH & 63))
        common |= both
    return common == 0


@once
def doubtful_behind(context: Context, node: int, stack: int) -> int:
    """Return 1 if it is in doubt whether anything follows a node (an enum is used up), else 0."""
    nodes = int32s(context, at.NODE)
    begin(context)
    behind = int(nodes[node * 6 + 3]) if nodes[node * 6] == at.LITERAL else at.NIL
    code = close(context, behind, stack)
    return int(context[at.DOUBTFUL]) if code == at.OK else code


_CLOSED: Final = 0  # only declared names may come
_AGAIN: Final = 1  # undeclared names too; their tokens are set already
_OPEN: Final = 2  # undeclared names too


@once
def _begin_key(context: Context, row: Words, below: int, node: int, how: int) -> int:
    """Load the key of a KEY or MEMBER; return the trie node below which it goes on, -1 if none."""
    nodes = int32s(context, at.NODE)
    if nodes[node * 6] != at.MEMBER:
        context[at.KEY_TRIE], context[at.KEY_TEXT] = nodes[node * 6 + 2], nodes[node * 6 + 3]
        context[at.KEY_STATE], context[at.KEY_ESCAPE] = nodes[node * 6 + 4], nodes[node * 6 + 5]
        return below
    thing = frame_field(context, int(nodes[node * 6 + 1]), 0)
    context[at.KEY_TRIE], context[at.KEY_TEXT] = object_field(context, thing, at.O_KEYS), 0
    context[at.KEY_STATE], context[at.KEY_ESCAPE] = object_field(context, thing, at.O_START), 0
    quote = child_of(context, below, at.QUOTE_BYTE)
    if quote >= 0 and how != _AGAIN:
        set_tokens(context, row, quote, quote + 1)
    return quote


@inner
def walk_keys(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of keys below a trie node; what follows them goes on the work list."""
    frame = int(int32s(context, at.NODE)[node * 6 + 1])
    how = _CLOSED if frame_field(context, frame, 5) == 0 else _AGAIN if below == 0 else _OPEN
    texts = frame_field(context, frame, 2) if how != _CLOSED else 0
    place = _begin_key(context, row, below, node, how)
    if place < 0 or (how == _AGAIN and not is_special(context, frame)):
        return at.OK
    bytes_ = uint8s(context, at.TRIE_BYTE)
    ends = int32s(context, at.TRIE_END)
    above = int32s(context, at.KEY_WALK)
    top = int(uint16s(context, at.TRIE_DEPTH)[place])
    _store(context, top, place)
    start, depth = place + 1, top
    while depth >= top:
        parent = int(above[depth * 5 + 4])
        if start == ends[parent]:
            depth -= 1
            continue
        byte = int(bytes_[start])
        _load(context, depth)
        if byte == at.QUOTE_BYTE and context[at.KEY_ESCAPE] == 0:
            code = _end_name(context, row, frame, stack, start, how)
            if code < 0:
                return code
            start = int(ends[start])
            continue
        alive = key_step(context, frame, byte, texts)
        if alive < 0:
            return alive
        if alive == IN_DOUBT:
            clear_tokens(context, row, start, int(ends[start]))
            note_unsure(context, start, int(ends[start]))
        if alive in (0, IN_DOUBT) or (how == _AGAIN and not is_special(context, frame)):
            start = int(ends[start])
            continue
        if how != _AGAIN:
            set_tokens(context, row, start, start + 1)
        depth += 1
        _store(context, depth, start)
        start += 1
    return at.OK


@inner
def _store(context: Context, depth: int, node: int) -> None:
    keys = int32s(context, at.KEY_WALK)
    keys[depth * 5], keys[depth * 5 + 1] = context[at.KEY_TRIE], context[at.KEY_TEXT]
    keys[depth * 5 + 2], keys[depth * 5 + 3] = context[at.KEY_STATE], context[at.KEY_ESCAPE]
    keys[depth * 5 + 4] = node


@inner
def _load(context: Context, depth: int) -> None:
    keys = int32s(context, at.KEY_WALK)
    context[at.KEY_TRIE], context[at.KEY_TEXT] = keys[depth * 5], keys[depth * 5 + 1]
    context[at.KEY_STATE], context[at.KEY_ESCAPE] = keys[depth * 5 + 2], keys[depth * 5 + 3]


@once
def _end_name(context: Context, row: Words, frame: int, stack: int, place: int, how: int) -> int:
    """Set the tokens at and below the trie node of a closing quote."""
    thing, trie = frame_field(context, frame, 0), int(context[at.KEY_TRIE])
    extras, end = frame_field(context, frame, 2), int(int32s(context, at.TRIE_END)[place])
    rank = key_ends(context, thing, trie) if trie >= 0 else -1
    if rank < 0:
        came = has_extra(context, extras, int(context[at.KEY_TEXT]))
        if how == _AGAIN and came:
            clear_tokens(context, row, place, end)
        ends = may_end(context, int(context[at.KEY_STATE])) if how == _OPEN and not came else 0
        if ends <= 0:
            return ends
        if has_extra(context, extras, at.UNKNOWN_TEXT):
            note_unsure(context, place, end)
            return at.OK
        after = frame_after_other(context, frame, at.UNKNOWN_TEXT)
        return _value(
            context, row, thing, object_field(context, thing, at.O_OTHER), after, stack, place
        )
    if how == _AGAIN:
        clear_tokens(context, row, place, end)
    if not may_come(context, frame, rank):
        return at.OK
    value = name_field(context, thing, rank, at.N_VALUE)
    after = frame_after_name(context, frame, rank)
    return _value(context, row, thing, value, after, stack, place)


@inner
def _value(
    context: Context, row: Words, thing: int, value: int, frame: int, stack: int, place: int
) -> int:
    """Set the token that ends with a name, and go on with its value."""
    set_tokens(context, row, place, place + 1)
    if not has_below(context, place):
        return at.OK
    begin(context)
    code = value_follows(context, thing, value, frame, stack)
    return spread_found(context, place) if code == at.OK else code
