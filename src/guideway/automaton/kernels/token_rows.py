"""Walks of macro states over the trie of tokens: they set the tokens of a row."""

from typing import Final

import numpy as np

from guideway.automaton.jit.views import (
    Context,
    Words,
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
from guideway.automaton.kernels.bounds import alive, know_length
from guideway.automaton.kernels.closure import close, leads_of_found, value_follows
from guideway.automaton.kernels.intern import full, mixed, pair_of
from guideway.automaton.kernels.macro_states import (
    MOST_PUT_OFF,
    PUT_OFF_COUNT,
    judge_put_off,
    put_off,
    settle_found,
    step,
)
from guideway.automaton.kernels.object_keys import (
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
from guideway.automaton.kernels.shared_closures import begin
from guideway.automaton.kernels.state_masks import is_lead, leads_back
from guideway.automaton.kernels.tries import child_of, clear_tokens, has_below, set_tokens


@inner
def note_unsure(context: Context, first: int, last: int) -> None:
    """Mark the tokens at these trie nodes as unsure: they depend on a text that is not kept."""
    context[at.UNSURE_COUNT] = 1
    set_tokens(context, uint32s(context, at.UNSURE), first, last)


@inner
def walk(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """Set the tokens at the trie nodes [first, last) that `macro` reads from their depth on."""
    depths, bytes_ = uint16s(context, at.TRIE_DEPTH), uint8s(context, at.TRIE_BYTE)
    ends = int32s(context, at.TRIE_END)
    macros = int32s(context, at.WALK)
    starts = int32s(context, at.MACRO)
    if first < last:
        macros[depths[first] - 1] = macro
    node = first
    while node < last:
        depth = depths[node]
        after = step(context, int(macros[depth - 1]), int(bytes_[node]))
        if after < 0 and (after != at.NEED_JUDGE or not put_off(context)):
            return after
        if after <= 0:
            node = ends[node]
        elif starts[after * 4 + 3] != 0:
            note_unsure(context, node, int(ends[node]))
            node = ends[node]
        else:
            macros[depth] = after
            set_tokens(context, row, node, node + 1)
            node += 1
    return judge_put_off(context)


@inner
def walk_below(context: Context, row: Words, below: int, macro: int) -> int:
    """Set the tokens below a trie node that `macro` reads."""
    roots = int32s(context, at.TRIE_ROOT)
    ends = int32s(context, at.TRIE_END)
    first = uint64s(context, at.FIRST)
    if below > 0:
        if int32s(context, at.MACRO)[macro * 4 + 3] != 0:
            note_unsure(context, below + 1, int(ends[below]))
        return walk(context, row, below + 1, int(ends[below]), macro)
    for byte in range(256):
        node = roots[byte]
        if node >= 0 and is_lead(first, macro * 4, byte):
            code = walk(context, row, node, int(ends[node]), macro)
            if code < 0 and (code != at.NEED_JUDGE or context[PUT_OFF_COUNT] == MOST_PUT_OFF):
                return code
    return judge_put_off(context)


@inner
def add_row(context: Context, row: Words, slot: int, number: int) -> None:
    words, rows = context[at.ROW_WORDS], uint32s(context, slot)
    start = number * words
    for word in range(words):
        row[word] |= rows[start + word]


@inner
def add_state_mask(context: Context, row: Words, state_mask: int) -> None:
    """Add the tokens of a state mask, and mark the unsure ones."""
    state_masks, tokens = int32s(context, at.PICTURE), int32s(context, at.LISTED)
    first, doubts = (
        state_masks[state_mask * 6 + at.P_BASE],
        state_masks[state_mask * 6 + at.P_DOUBTS],
    )
    if doubts > 0:
        ends = int32s(context, at.TRIE_END)
        for index in range(doubts, doubts + tokens[doubts - 1]):
            note_unsure(context, int(tokens[index]), int(ends[tokens[index]]))
    if first >= 0:
        add_row(context, row, at.BASE, int(first))
    else:
        for index in range(
            state_masks[state_mask * 6 + at.P_LISTED], state_masks[state_mask * 6 + at.P_LISTED + 1]
        ):
            token = tokens[index]
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@inner
def add_items(context: Context, row: Words, state_mask: int, items: int) -> None:
    """Add the tokens that begin at most so many counted items (-1: any)."""
    state_masks = int32s(context, at.PICTURE)
    most = int(state_masks[state_mask * 6 + at.P_MOST])
    wanted = most if items < 0 else min(items, most)
    add_row(context, row, at.BASE, int(state_masks[state_mask * 6 + at.P_BASE]) + wanted)


_DEEP = 255  # a height of at least this

# Effects of a byte: it fails, ends the text, goes on, or accepts the whole subtree.
LEFT, ENDED, INSIDE, WHOLE = 0, 1, 2, 3


@inner
def _read_on(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """Set the tokens at trie nodes after the closing byte, read with `macro`."""
    if macro == 0 or first == last:
        return at.OK
    if int32s(context, at.MACRO)[macro * 4 + 3] != 0:
        note_unsure(context, first, last)
        return at.OK
    return walk(context, row, first, last, macro)


@inner
def _read_pair(context: Context, place: int, between: int) -> int:
    """Read the byte of a trie node into the pair at its depth: LEFT, ENDED or INSIDE."""
    rows, pairs = int32s(context, at.LEX), int32s(context, at.BOUND_WALK)
    start = int(uint16s(context, at.TRIE_DEPTH)[place]) * 3
    byte = int(uint8s(context, at.TRIE_BYTE)[place])
    state, inside, count = int(pairs[start - 3]), int(pairs[start - 2]), int(pairs[start - 1])
    after, within = int(rows[state * 256 + byte]), int(rows[inside * 256 + byte])
    if after == 0 or within == 0:
        context[at.WANT] = state if after == 0 else inside
        return at.NEED_LEX
    if after < 0:
        return LEFT
    pairs[start], pairs[start + 1], pairs[start + 2] = after, within, count
    if within < 0:
        return ENDED
    pairs[start + 2] = count + (1 if inside == between else 0)
    return INSIDE


@once
def bounded_walk(context: Context, row: Words, below: int, node: int, macro: int) -> int:
    """Set the tokens of a BOUNDED node below a trie node; after its end, those of `macro`."""
    nodes = int32s(context, at.NODE)
    pairs = int32s(context, at.BOUND_WALK)
    ends = int32s(context, at.TRIE_END)
    depths = uint16s(context, at.TRIE_DEPTH)
    low, between = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 4])
    inside = int(nodes[node * 6 + 5])
    start = int(depths[below]) * 3
    pairs[start], pairs[start + 1] = nodes[node * 6 + 1], between if inside == 0 else inside
    pairs[start + 2] = 0
    context[at.LAST_STATE] = 0
    place, last = below + 1, int(ends[below])
    if context[at.BOUND_PLACE] != 0 and context[at.BOUND_NODE] == (node << 32) | below:
        place = int(context[at.BOUND_PLACE])
    context[at.BOUND_PLACE] = 0
    while place < last:
        code = _read_pair(context, place, between)
        if code == INSIDE:
            code = _has_room(context, int(depths[place]) * 3, node)
            if code == INSIDE:
                code = _has_room_below(context, place, node)
        elif code == ENDED and pairs[int(depths[place]) * 3 + 2] >= low:
            set_tokens(context, row, place, place + 1)
            code = _read_on(context, row, place + 1, int(ends[place]), macro)
        if code < 0:
            context[at.BOUND_PLACE], context[at.BOUND_NODE] = place, (node << 32) | below
            return code
        end = place + 1 if code == INSIDE else int(ends[place])
        if code >= INSIDE:
            set_tokens(context, row, place, end)
        place = end
    return at.OK


@inner
def _has_room(context: Context, place: int, node: int) -> int:
    """INSIDE if the bounds allow a text from the pair at a depth, else LEFT; cached in LAST_*."""
    pairs = int32s(context, at.BOUND_WALK)
    nodes = int32s(context, at.NODE)
    lengths = int32s(context, at.LENGTH)
    state, within, count = int(pairs[place]), int(pairs[place + 1]), int(pairs[place + 2])
    low, high = max(int(nodes[node * 6 + 2]) - count, 0), int(nodes[node * 6 + 3])
    between = int(nodes[node * 6 + 4])
    if high >= 0:
        high -= count
        if high < 0:
            return LEFT
    if context[at.LAST_STATE] != (state << 32) | within:
        pair = pair_of(context, state, within)
        code = know_length(context, pair, between, at.L_SINGLE) if pair > 0 else pair
        if code < 0:
            return code
        context[at.LAST_STATE] = (state << 32) | within
        context[at.LAST_FEWEST] = lengths[pair * at.L_ROW + at.L_SINGLE] - 1
        context[at.LAST_STEADY] = lengths[pair * at.L_ROW + at.L_STEADY + at.L_SINGLE]
    fewest = context[at.LAST_FEWEST]
    if fewest <= (high if high >= 0 else at.ENDLESS - 2) and (
        low <= fewest or context[at.LAST_STEADY] != 0
    ):
        return INSIDE
    living = alive(context, state, within, between, low, high)
    return INSIDE if living > 0 else min(living, LEFT)


@inner
def _has_room_below(context: Context, place: int, node: int) -> int:
    """WHOLE if all below a trie node leads back to its pair and has room, else INSIDE."""
    nodes, pairs = int32s(context, at.NODE), int32s(context, at.BOUND_WALK)
    count = int(pairs[int(uint16s(context, at.TRIE_DEPTH)[place]) * 3 + 2])
    low, high = int(nodes[node * 6 + 2]) - count, int(nodes[node * 6 + 3])
    fewest, height = context[at.LAST_FEWEST], int(uint8s(context, at.HEIGHT)[place])
    if fewest > at.ENDLESS - 2 or (low > fewest and context[at.LAST_STEADY] == 0):
        return INSIDE
    if high >= 0 and (height == _DEEP or count + fewest + height > high):
        return INSIDE
    return _pair_leads_back(context, place, int(nodes[node * 6 + 4]))


@inner
def _pair_leads_back(context: Context, place: int, between: int) -> int:
    """WHOLE if all below a trie node leads back to the pair there, else INSIDE."""
    pairs, start = int32s(context, at.BOUND_WALK), int(uint16s(context, at.TRIE_DEPTH)[place]) * 3
    if pairs[start + 1] != between or place >= int32s(context, at.TRIE_END)[0]:
        return INSIDE
    code = leads_back(context, place, int(pairs[start]))
    if code > 0:
        code = leads_back(context, place, between)
    return INSIDE + code if code >= 0 else code


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
def leave_found(context: Context, state_mask: int) -> int:
    """Continue at the exits of a state mask with the closure's configurations."""
    if context[at.FOUND] == 0 and context[at.DOUBTFUL] == 0:
        return at.OK
    exits = int(int32s(context, at.PICTURE)[state_mask * 6 + at.P_EXITS])
    if exits == at.WIDE_EXITS:
        exits = _wide_exits(context, state_mask)
    if exits < 0:
        context[at.WANT] = state_mask
        return at.NEED_EXITS
    return spread_found(context, exits) if exits > 0 else at.OK


@once
def _wide_exits(context: Context, state_mask: int) -> int:
    """The trie of exits that begin as the closure's configurations do; 0 if none, -1 unknown."""
    leads_of_found(context)
    wide, leads = int64s(context, at.WIDE), int64s(context, at.LEADS)
    place = int(int32s(context, at.PICTURE)[state_mask * 6 + at.P_WIDE])
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
