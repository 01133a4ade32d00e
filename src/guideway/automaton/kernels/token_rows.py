"""Walks of macro states over the trie of tokens: they set the tokens of a row."""

from typing import Final

import numpy as np

from guideway.automaton.jit.operands import Sets, Words, checked, inner, once
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.bounds import alive, know_length
from guideway.automaton.kernels.closure import close, leads_of_found, value_follows
from guideway.automaton.kernels.intern import full, mixed, pair_of
from guideway.automaton.kernels.layout import Context
from guideway.automaton.kernels.macro_states import (
    settle_found,
    step,
)
from guideway.automaton.kernels.object_keys import (
    IN_DOUBT,
    frame_after_name,
    frame_after_other,
    has_extra,
    is_special,
    key_ends,
    key_step,
    may_come,
    may_end,
    name_of,
)
from guideway.automaton.kernels.shared_closures import begin
from guideway.automaton.kernels.state_masks import is_lead, leads_back
from guideway.automaton.kernels.tries import (
    child_of,
    clear_tokens,
    has_below,
    set_listed,
    set_tokens,
)


@inner
def note_unsure(context: Context, first: int, last: int) -> None:
    """Mark the tokens at these trie nodes as unsure: they depend on a text that is not kept."""
    context.any_unsure = 1
    set_tokens(context, context.unsure, first, last)


@inner
def walk(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """Set the tokens at the trie nodes [first, last) that `macro` reads from their depth on."""
    depths, bytes_ = context.trie_depths, context.trie_bytes
    ends = context.trie_ends
    macros = context.walk
    if first < last:
        macros[depths[first] - 1] = macro
    node = first
    while node < last:
        depth = depths[node]
        after = step(context, macros[depth - 1], bytes_[node])
        if after < 0:
            return after
        if after <= 0:
            node = ends[node]
        elif context.macros[after].unsure != 0:
            note_unsure(context, node, ends[node])
            node = ends[node]
        else:
            macros[depth] = after
            set_tokens(context, row, node, node + 1)
            node += 1
    return at.OK


@inner
def walk_below(context: Context, row: Words, below: int, macro: int) -> int:
    """Set the tokens below a trie node that `macro` reads."""
    roots = context.trie_roots
    ends = context.trie_ends
    if below > 0:
        if context.macros[macro].unsure != 0:
            note_unsure(context, below + 1, ends[below])
        return walk(context, row, below + 1, ends[below], macro)
    for byte in range(256):
        node = roots[byte]
        if node >= 0 and is_lead(context.macros[macro].leads, byte):
            checked(walk(context, row, node, ends[node], macro))
    return at.OK


@inner
def add_row(context: Context, row: Words, rows: Words, number: int) -> None:
    start = number * context.row_words
    for word in range(context.row_words):
        row[word] |= rows[start + word]


@inner
def add_state_mask(context: Context, row: Words, state_mask: int) -> None:
    """Add the tokens of a state mask."""
    mask, listed = context.state_masks[state_mask], context.listed
    if mask.base >= 0:
        add_row(context, row, context.base_rows, mask.base)
    else:
        for index in range(mask.first, mask.last, 2):
            set_listed(context, row, listed[index], listed[index + 1])


@inner
def add_items(context: Context, row: Words, state_mask: int, items: int) -> None:
    """Add the tokens that begin at most so many counted items (-1: any)."""
    mask = context.count_masks[state_mask]
    wanted = mask.most if items < 0 else min(items, mask.most)
    add_row(context, row, context.base_rows, mask.base + wanted)


_DEEP = 255  # a height of at least this

# Effects of a byte: it fails, ends the text, goes on, or accepts the whole subtree.
LEFT, ENDED, INSIDE, WHOLE = 0, 1, 2, 3


@inner
def _read_on(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """Set the tokens at trie nodes after the closing byte, read with `macro`."""
    if macro == 0 or first == last:
        return at.OK
    if context.macros[macro].unsure != 0:
        note_unsure(context, first, last)
        return at.OK
    return walk(context, row, first, last, macro)


@inner
def _read_pair(context: Context, place: int, between: int) -> int:
    """Read the byte of a trie node into the pair at its depth: LEFT, ENDED or INSIDE."""
    depth, byte = context.trie_depths[place], context.trie_bytes[place]
    before, pair = context.bound_walk[depth - 1], context.bound_walk[depth]
    after = context.transitions[before.state].after[byte]
    within = context.transitions[before.inside].after[byte]
    if after == 0 or within == 0:
        context.want = before.state if after == 0 else before.inside
        return at.NEED_LEX
    if after < 0:
        return LEFT
    pair.state, pair.inside, pair.count = after, within, before.count
    if within < 0:
        return ENDED
    pair.count += 1 if before.inside == between else 0
    return INSIDE


@once
def bounded_walk(context: Context, row: Words, below: int, node: int, macro: int) -> int:
    """Set the tokens of a BOUNDED node below a trie node; after its end, those of `macro`."""
    pairs = context.bound_walk
    ends = context.trie_ends
    depths = context.trie_depths
    low, between = context.nodes[node].b, context.nodes[node].d
    inside = context.nodes[node].e
    pair = pairs[depths[below]]
    pair.state, pair.inside = context.nodes[node].a, between if inside == 0 else inside
    pair.count = 0
    context.last_state = 0
    place, last = below + 1, ends[below]
    if context.bound_place != 0 and context.bound_node == (node << 32) | below:
        place = context.bound_place
    context.bound_place = 0
    while place < last:
        code = _read_pair(context, place, between)
        if code == INSIDE:
            code = _has_room(context, depths[place], node)
            if code == INSIDE:
                code = _has_room_below(context, place, node)
        elif code == ENDED and pairs[depths[place]].count >= low:
            set_tokens(context, row, place, place + 1)
            code = _read_on(context, row, place + 1, ends[place], macro)
        if code < 0:
            context.bound_place, context.bound_node = place, (node << 32) | below
            return code
        end = place + 1 if code == INSIDE else ends[place]
        if code >= INSIDE:
            set_tokens(context, row, place, end)
        place = end
    return at.OK


@inner
def _has_room(context: Context, depth: int, node: int) -> int:
    """INSIDE if the bounds allow a text from the pair at a depth, else LEFT; cached in `last_…`."""
    read, bounded, lengths = context.bound_walk[depth], context.nodes[node], context.lengths
    state, within, count = read.state, read.inside, read.count
    low, high, between = max(bounded.b - count, 0), bounded.c, bounded.d
    if high >= 0:
        high -= count
        if high < 0:
            return LEFT
    if context.last_state != (state << 32) | within:
        pair = pair_of(context, state, within)
        checked(know_length(context, pair, between) if pair > 0 else pair)
        context.last_state = (state << 32) | within
        context.last_fewest = lengths[pair].fewest - 1
        context.last_steady = lengths[pair].steady
    fewest = context.last_fewest
    if fewest <= (high if high >= 0 else at.ENDLESS - 2) and (
        low <= fewest or context.last_steady != 0
    ):
        return INSIDE
    living = alive(context, state, within, between, low, high)
    return INSIDE if living > 0 else min(living, LEFT)


@inner
def _has_room_below(context: Context, place: int, node: int) -> int:
    """WHOLE if all below a trie node leads back to its pair and has room, else INSIDE."""
    nodes = context.nodes
    count = context.bound_walk[context.trie_depths[place]].count
    low, high = nodes[node].b - count, nodes[node].c
    fewest, height = context.last_fewest, context.heights[place]
    if fewest > at.ENDLESS - 2 or (low > fewest and context.last_steady == 0):
        return INSIDE
    if high >= 0 and (height == _DEEP or count + fewest + height > high):
        return INSIDE
    return _pair_leads_back(context, place, nodes[node].d)


@inner
def _pair_leads_back(context: Context, place: int, between: int) -> int:
    """WHOLE if all below a trie node leads back to the pair there, else INSIDE."""
    pair = context.bound_walk[context.trie_depths[place]]
    if pair.inside != between or place >= context.trie_ends[0]:
        return INSIDE
    code = leads_back(context, place, pair.state)
    if code > 0:
        code = leads_back(context, place, between)
    return INSIDE + code if code >= 0 else code


@inner
def clear_items(context: Context) -> None:
    context.items.generation += 1
    context.items.used = 0
    context.items.visited = 0


@inner
def put(context: Context, below: int, config: int) -> int:
    """Put a configuration on the list, once."""
    seen, room = context.items.visits, context.items.room
    last, generation = 2 * room - 1, context.items.generation
    place = mixed(mixed(below, 0), config) & last
    while seen[place].generation == generation:
        if seen[place].config == config and seen[place].below == below:
            return at.OK
        place = (place + 1) & last
    if context.items.visited == room:
        return full(context, at.ITEMS)
    context.items.visited += 1
    seen[place].generation, seen[place].config, seen[place].below = generation, config, below
    items, start = context.items, context.items.used
    items[start].config, items[start].below = config, below
    context.items.used = start + 1
    return at.OK


@inner
def queue_found(context: Context, below: int) -> int:
    """Put the closure's configurations on the list."""
    if not has_below(context, below):
        return at.OK
    checked(settle_found(context))
    if context.doubtful != 0:
        note_unsure(context, below + 1, context.trie_ends[below])
    found = context.work.configs
    for index in range(context.found):
        checked(put(context, below, found[index]))
    return at.OK


@inner
def queue_closure(context: Context, below: int, node: int, stack: int) -> int:
    """Put the closure of a configuration on the list."""
    if not has_below(context, below):
        return at.OK
    begin(context)
    checked(close(context, node, stack))
    return queue_found(context, below)


@inner
def queue_exits(context: Context, state_mask: int) -> int:
    """Continue at the exits of a state mask with the closure's configurations."""
    if context.found == 0 and context.doubtful == 0:
        return at.OK
    leads_of_found(context)
    tries, place = context.exit_tries, context.state_masks[state_mask].exits
    while place != 0 and not _are_leads(context, tries[place].leads):
        place = tries[place].link
    if place == 0:
        context.want = state_mask
        return at.NEED_EXITS
    return queue_found(context, tries[place].root) if tries[place].root > 0 else at.OK


@once
def _are_leads(context: Context, leads: Sets) -> bool:
    """Return True if a set is that of the first bytes of the closure's configurations."""
    different = np.uint64(0)
    for word in range(4):
        different |= leads[word] ^ context.leads[word]
    return different == 0


@inner
def queue_counted_exits(context: Context, first: int, last: int, low: int, high: int) -> int:
    """Continue at exits after `low` to `high` items (-1: unbounded)."""
    exits = context.counted_exits
    for place in range(first, last):
        items = exits[place].items
        if items >= low and (high < 0 or items <= high):
            checked(queue_found(context, exits[place].root))
    return at.OK


@inner
def leaves_surely(context: Context, between: int) -> bool:
    """Return True if items and what follows share no first byte, a backslash aside."""
    leads_of_found(context)
    lexical = context.lexer_leads
    common = np.uint64(0)
    for word in range(4):
        both = context.leads[word] & lexical[between].words[word]
        if word == at.BACKSLASH >> 6:
            both &= ~(np.uint64(1) << np.uint64(at.BACKSLASH & 63))
        common |= both
    return common == 0


@once
def doubtful_after(context: Context, node: int, stack: int) -> int:
    """Return 1 if it is in doubt whether anything follows a node (an enum is used up), else 0."""
    begin(context)
    behind = context.nodes[node].c if context.nodes[node].kind == at.LITERAL else at.NIL
    checked(close(context, behind, stack))
    return context.doubtful


_CLOSED: Final = 0  # only declared names may come
_AGAIN: Final = 1  # undeclared names too; their tokens are set already
_OPEN: Final = 2  # undeclared names too


@once
def _begin_key(context: Context, row: Words, below: int, node: int, how: int) -> int:
    """Load the key of a KEY or MEMBER; return the trie node below which it goes on, -1 if none."""
    if context.nodes[node].kind != at.MEMBER:
        context.key.trie, context.key.text = context.nodes[node].b, context.nodes[node].c
        context.key.state, context.key.escape = context.nodes[node].d, context.nodes[node].e
        return below
    thing = context.frames[context.nodes[node].a].thing
    context.key.trie, context.key.text = context.objects[thing].keys, 0
    context.key.state, context.key.escape = context.objects[thing].start, 0
    quote = child_of(context, below, at.QUOTE_BYTE)
    if quote >= 0 and how != _AGAIN:
        set_tokens(context, row, quote, quote + 1)
    return quote


@inner
def walk_keys(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of keys below a trie node; what follows them goes on the work list."""
    frame = context.nodes[node].a
    how = _CLOSED if context.frames[frame].others == 0 else _AGAIN if below == 0 else _OPEN
    texts = context.frames[frame].extras if how != _CLOSED else 0
    place = _begin_key(context, row, below, node, how)
    if place < 0 or (how == _AGAIN and not is_special(context, frame)):
        return at.OK
    bytes_ = context.trie_bytes
    ends = context.trie_ends
    above = context.key_walk
    top = context.trie_depths[place]
    _store(context, top, place)
    start, depth = place + 1, top
    while depth >= top:
        parent = above[depth].node
        if start == ends[parent]:
            depth -= 1
            continue
        byte = bytes_[start]
        _load(context, depth)
        if byte == at.QUOTE_BYTE and context.key.escape == 0:
            checked(_end_name(context, row, frame, stack, start, how))
            start = ends[start]
            continue
        alive = checked(key_step(context, frame, byte, texts))
        if alive == IN_DOUBT:
            clear_tokens(context, row, start, ends[start])
            note_unsure(context, start, ends[start])
        if alive in (0, IN_DOUBT) or (how == _AGAIN and not is_special(context, frame)):
            start = ends[start]
            continue
        if how != _AGAIN:
            set_tokens(context, row, start, start + 1)
        depth += 1
        _store(context, depth, start)
        start += 1
    return at.OK


@inner
def _store(context: Context, depth: int, node: int) -> None:
    keys = context.key_walk
    keys[depth].trie, keys[depth].text = context.key.trie, context.key.text
    keys[depth].state, keys[depth].escape = context.key.state, context.key.escape
    keys[depth].node = node


@inner
def _load(context: Context, depth: int) -> None:
    keys = context.key_walk
    context.key.trie, context.key.text = keys[depth].trie, keys[depth].text
    context.key.state, context.key.escape = keys[depth].state, keys[depth].escape


@once
def _end_name(context: Context, row: Words, frame: int, stack: int, place: int, how: int) -> int:
    """Set the tokens at and below the trie node of a closing quote."""
    thing, trie = context.frames[frame].thing, context.key.trie
    extras, end = context.frames[frame].extras, context.trie_ends[place]
    rank = key_ends(context, thing, trie) if trie >= 0 else -1
    if rank < 0:
        came = has_extra(context, extras, context.key.text)
        if how == _AGAIN and came:
            clear_tokens(context, row, place, end)
        ends = may_end(context, context.key.state) if how == _OPEN and not came else 0
        if ends <= 0:
            return ends
        if has_extra(context, extras, at.UNKNOWN_TEXT):
            note_unsure(context, place, end)
            return at.OK
        after = frame_after_other(context, frame, at.UNKNOWN_TEXT)
        return _value(context, row, thing, context.objects[thing].other, after, stack, place)
    if how == _AGAIN:
        clear_tokens(context, row, place, end)
    if not may_come(context, frame, rank):
        return at.OK
    value = name_of(context, thing, rank).value
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
    checked(value_follows(context, thing, value, frame, stack))
    return queue_found(context, place)
