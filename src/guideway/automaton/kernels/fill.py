"""Masks of macro states, and lexer masks of Lark's lexer.

A lexer mask has the tokens that a macro state of terminals reads below a trie node, and its exits:
LEXED and PER_STACK nodes, each with the trie nodes where a token reaches it. It is made once for
all LALR stacks; at the root the walk takes a millisecond. After an exit the LALR states of a stack
give the next LEXER, which has another lexer mask. If an exit has many trie nodes, the rests of
their tokens are merged to one trie.
"""

from typing import Final

import numpy as np

from guideway.automaton.jit.operands import Words, checked, inner, once
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.closure import close, leads_of_found, value_follows
from guideway.automaton.kernels.intern import full, lexer_mask_of, macro_of, node_of
from guideway.automaton.kernels.layout import Context, Exit, LexerMask
from guideway.automaton.kernels.lexer_closure import (
    bare_node,
    leaves_lexer,
    node_on_states,
    stack_on_states,
)
from guideway.automaton.kernels.macro_states import (
    finish,
    learn_lexer,
    set_first,
    settle_found,
    step,
)
from guideway.automaton.kernels.object_keys import frame_after_other
from guideway.automaton.kernels.shared_closures import begin
from guideway.automaton.kernels.state_masks import is_lead, state_mask_of
from guideway.automaton.kernels.token_rows import (
    add_items,
    add_row,
    add_state_mask,
    bounded_walk,
    clear_items,
    doubtful_after,
    leaves_surely,
    note_unsure,
    put,
    queue_closure,
    queue_counted_exits,
    queue_exits,
    queue_found,
    walk_below,
    walk_keys,
)
from guideway.automaton.kernels.tries import child_of, has_below, set_listed, set_tokens, stored_row

_FEW_NODES: Final = 4  # trie nodes of an exit; with more, the rests are merged to a trie


@inner
def learn(context: Context, code: int) -> int:
    if code != at.NEED_LEXER_MASK:
        return learn_lexer(context, code)
    return _make_lexer_mask(context, context.want, context.want_below)


@once
def _make_lexer_mask(context: Context, macro: int, below: int) -> int:
    """Walk all below a trie node, and write the lexer mask of a macro state of terminals."""
    number = checked(lexer_mask_of(context, below, macro))
    context.leavings.used = 0
    ranges, groups = _walked_lexer_mask(context, macro, below)
    if ranges < 0:
        return ranges
    start = context.listing.used
    last = checked(_write_exits(context, start + 2 * ranges, groups))
    mask = context.lexer_masks[number]
    mask.tokens, mask.ranges, mask.exits = start, ranges, start + 2 * ranges
    mask.known = 1
    context.listing.used = last
    return at.OK


@inner
def _walked_lexer_mask(context: Context, macro: int, below: int) -> tuple[int, int]:
    """Write ranges after `listing` and exits to `leavings`; return their numbers, or a code."""
    depths = context.trie_depths
    bytes_ = context.trie_bytes
    ends = context.trie_ends
    macros, node, last = context.walk, below + 1, ends[below]
    ranges, groups = 0, 0
    macros[depths[below]] = macro
    while node < last:
        after = checked(step(context, macros[depths[node] - 1], bytes_[node]))
        if after == 0:
            node = ends[node]
            continue
        macros[depths[node]] = after
        ranges = checked(_add_range(context, ranges, node, after))
        groups = checked(_note_exits(context, after, node, groups))
        node += 1
    return ranges, groups


@inner
def _add_range(context: Context, ranges: int, node: int, macro: int) -> int:
    """Add the tokens at a trie node; return the number of ranges, or FULL."""
    starts, listed = context.trie_at, context.listing
    first, last = starts[node], starts[node + 1]
    if first == last or not _reads_on(context, macro):
        return ranges
    place = context.listing.used + 2 * ranges
    if place + 2 > context.listing.room:
        return full(context, at.LISTING)
    if ranges > 0 and listed[place - 1] == first:
        listed[place - 1] = last
        return ranges
    listed[place], listed[place + 1] = first, last
    return ranges + 1


@inner
def _reads_on(context: Context, macro: int) -> bool:
    """Return True if a macro state of terminals has other nodes than PER_STACK."""
    first = context.macros[macro].first
    for index in range(first, first + context.macros[macro].count):
        if context.nodes[context.configs[index] >> 32].kind != at.PER_STACK:
            return True
    return False


@inner
def _note_exits(context: Context, macro: int, node: int, groups: int) -> int:
    """Note the exits of a macro state at a trie node; return the number of exits, or FULL."""
    nodes = context.nodes
    by = context.leavings.groups
    first = context.macros[macro].first
    for index in range(first, first + context.macros[macro].count):
        config = context.configs[index]
        if not leaves_lexer(context, config >> 32):
            continue
        if nodes[config >> 32].kind != at.PER_STACK and not _may_go_on(context, config >> 32, node):
            continue
        group = 0
        while group < groups and by[group].config != config:
            group += 1
        if context.leavings.used >= context.leavings.room or group >= context.leavings.room:
            return full(context, at.LEAVINGS)
        if group == groups:
            by[group].config, by[group].count, by[group].last = config, 0, 0
            groups += 1
        context.leavings[context.leavings.used] = (by[group].last << 32) | node
        context.leavings.used += 1
        by[group].count += 1
        by[group].last = context.leavings.used
    return groups


@inner
def _may_go_on(context: Context, by: int, node: int) -> bool:
    """Return True if the guards of an exit accept some byte below a trie node."""
    bytes_, ends, child = context.trie_bytes, context.trie_ends, node + 1
    while child < ends[node]:
        if _guards_allow(context, by, bytes_[child]):
            return True
        child = ends[child]
    return False


@inner
def _guards_allow(context: Context, by: int, byte: int) -> bool:
    nodes, first = context.nodes, context.lexer_leads
    guard = nodes[by].b if nodes[by].kind == at.GUARDED else 0
    while guard != 0:
        if not is_lead(first[nodes[guard].a].words, byte):
            return False
        guard = nodes[guard].c
    return True


@inner
def _write_exits(context: Context, place: int, groups: int) -> int:
    """Write the exits of an lexer mask; return their end, or FULL."""
    if place >= context.listing.room:
        return full(context, at.LISTING)
    context.listing[place] = groups
    place += 1
    for group in range(groups):
        by, first = context.leavings.groups[group], place + at.EXIT_SIZE
        node = by.config >> 32
        many = by.count > _FEW_NODES and context.nodes[node].kind != at.PER_STACK
        if first + by.count > context.listing.room:
            return full(context, at.LISTING)
        last = checked(_write_nodes(context, first, by.last, node, many))
        exit_ = Exit.within(context.listing.rows, place)
        exit_.node, exit_.stack = node, by.config & 0xFFFFFFFF
        exit_.root, exit_.count = at.MANY_NODES if many else 0, last - first
        place = last
    return place


@inner
def _write_nodes(context: Context, place: int, last: int, by: int, many: bool) -> int:
    """Write the trie nodes of an exit, or if `many`, their children; return the end, or FULL."""
    left, listed = context.leavings, context.listing
    bytes_ = context.trie_bytes
    ends = context.trie_ends
    room = context.listing.room
    while last != 0:
        node, last = left[last - 1] & 0xFFFFFFFF, left[last - 1] >> 32
        if not many:
            listed[place] = node
            place += 1
            continue
        child = node + 1
        while child < ends[node]:
            if _guards_allow(context, by, bytes_[child]):
                if place >= room:
                    return full(context, at.LISTING)
                listed[place] = child
                place += 1
            child = ends[child]
    return place


@once
def walk_lines(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of a LINE below a trie node; put what follows it on the work list."""
    depths = context.trie_depths
    bytes_ = context.trie_bytes
    ends = context.trie_ends
    macros, place, last = context.walk, below + 1, ends[below]
    begin(context)
    context.work.configs[0] = (node << 32) | stack
    lines = _macro(context, 1)
    macros[depths[below]] = lines
    while place < last and lines >= 0:
        after = checked(step(context, macros[depths[place] - 1], bytes_[place]))
        if after == 0:
            place = ends[place]
            continue
        if context.macros[after].unsure != 0:
            note_unsure(context, place, ends[place])
        else:
            set_tokens(context, row, place, place + 1)
        lines = _part(context, place, after) if has_below(context, place) else 0
        macros[depths[place]] = lines
        place = place + 1 if lines != 0 else ends[place]
    return min(lines, at.OK)


@inner
def _macro(context: Context, count: int) -> int:
    macro = macro_of(context, count, 0, 0)
    if macro > 0:
        set_first(context, macro)
    return macro


@inner
def _part(context: Context, place: int, macro: int) -> int:
    """Put all but LINE nodes on the work list; return the macro state of the others, or 0."""
    first, count, found = context.macros[macro].first, context.macros[macro].count, 0
    for index in range(first, first + count):
        node = context.configs[index] >> 32
        core = context.nodes[node].a if context.nodes[node].kind == at.GUARDED else node
        if context.nodes[core].kind == at.LINE:
            context.work.configs[found] = context.configs[index]
            found += 1
        else:
            checked(put(context, place, context.configs[index]))
    context.found = 0
    if found == count and context.macros[macro].accepts == 0:
        return macro
    return _macro(context, found) if found > 0 else 0


@once
def fill_lexer(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of a LEXER, or of an exit of one, below a trie node."""
    if context.nodes[node].kind != at.LEXER:
        return _after_exit(context, row, below, node, stack)
    macro, lines = context.nodes[node].a, context.nodes[node].c
    number = checked(lexer_mask_of(context, below, macro))
    mask = context.lexer_masks[number]
    if mask.known == 0:
        context.want, context.want_below = macro, below
        return at.NEED_LEXER_MASK
    _add_seen(context, row, mask)
    place = mask.exits + 1
    for _ in range(context.listing[mask.exits]):
        checked(_put_exit(context, place, lines, stack))
        place += at.EXIT_SIZE + Exit.within(context.listing.rows, place).count
    return at.OK


@inner
def _add_seen(context: Context, row: Words, mask: LexerMask) -> None:
    start, listed = mask.tokens, context.listing
    for index in range(start, start + 2 * mask.ranges, 2):
        set_listed(context, row, listed[index], listed[index + 1])


@inner
def _put_exit(context: Context, place: int, lines: int, stack: int) -> int:
    """Put an exit on the work list, below all its trie nodes."""
    exit_ = Exit.within(context.listing.rows, place)
    if exit_.root == at.MANY_NODES:
        context.want = place
        return at.NEED_TRIE
    node = checked(node_on_states(context, exit_.node, lines))
    made = checked(stack_on_states(context, exit_.stack, lines, stack))
    config = (node << 32) | made
    if exit_.root > 0:
        return put(context, exit_.root, config)
    first = place + at.EXIT_SIZE
    for index in range(first, first + exit_.count):
        checked(put(context, context.listing[index], config))
    return at.OK


@inner
def _after_exit(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Continue after an exit of a lexer; set the token that ends there if it was PER_STACK."""
    begin(context)
    alone = context.nodes[node].kind == at.PER_STACK
    checked(close(context, bare_node(context, node), stack))
    if alone:
        checked(settle_found(context))
        if context.found != 0 or context.accept != 0:
            set_tokens(context, row, below, below + 1)
    return queue_found(context, below)


_MOST_PLACES: Final = 1 << 12
MANY_PLACES: Final = -19  # so many nodes are reached that a walk with merged stacks is faster


@once
def fill(context: Context, macro: int, row: Words, spare: Words) -> int:
    """Write the mask of a macro state, resumed if `pending`; return the equal stored row."""
    context.blur = context.captures
    code = at.OK
    if context.pending == 0:
        context.bound_place = 0
        _clear(context, row)
        code = _open_keys_of(context, macro, row, spare)
        if code == at.OK:
            code = _put_others_of(context, macro)
        if code == at.OK:
            context.pending = 1
    if code == at.OK:
        code = _process_items(context, row)
    if code == MANY_PLACES:
        _clear(context, row)
        code = walk_below(context, row, 0, macro)
    if code == at.OK or (code == at.FULL and context.want == at.ITEMS):
        context.pending = 0
    context.blur = 0
    if code != at.OK:
        return code
    if context.macros[macro].accepts != 0:
        add_row(context, row, context.end_row, 0)
    return 0 if context.any_unsure != 0 else stored_row(context, row)


@once
def _open_keys_of(context: Context, macro: int, row: Words, spare: Words) -> int:
    """Set the tokens of keys that may be undeclared; each key clears only its own tokens."""
    macros = context.macros
    first, words, done = macros[macro].first, context.row_words, 0
    for index in range(first, first + macros[macro].count):
        config = context.configs[index]
        if not _is_open_key(context, config >> 32):
            continue
        target = row if done == 0 else spare
        done += 1
        if done > 1:
            for word in range(words):
                spare[word] = np.uint32(0)
        checked(_open_key(context, target, config >> 32, config & 0xFFFFFFFF))
        if done > 1:
            for word in range(words):
                row[word] |= spare[word]
    return at.OK


@inner
def _clear(context: Context, row: Words) -> None:
    for word in range(context.row_words):
        row[word] = np.uint32(0)
    if context.any_unsure != 0:
        context.any_unsure = 0
        unsure = context.unsure
        for word in range(context.row_words):
            unsure[word] = np.uint32(0)


@once
def _put_others_of(context: Context, macro: int) -> int:
    """Put all other configurations of a macro state on the work list."""
    macros, configs = context.macros, context.configs
    clear_items(context)
    first = macros[macro].first
    for index in range(first, first + macros[macro].count):
        if not _is_open_key(context, configs[index] >> 32):
            checked(put(context, 0, configs[index]))
    return at.OK


@inner
def _is_open_key(context: Context, node: int) -> bool:
    """Return True if a node reads a key that may be undeclared."""
    if context.nodes[node].kind not in (at.MEMBER, at.KEY):
        return False
    return context.frames[context.nodes[node].a].others != 0


@inner
def _key_state(context: Context, node: int) -> int:
    if context.nodes[node].kind == at.KEY:
        return context.nodes[node].d
    thing = context.frames[context.nodes[node].a].thing
    return context.objects[thing].quoted


@once
def _open_key(context: Context, row: Words, node: int, stack: int) -> int:
    """Set the tokens of a key, or of the quote before it, where undeclared keys are allowed."""
    frame, state = context.nodes[node].a, _key_state(context, node)
    thing = context.frames[frame].thing
    other = context.objects[thing].other
    unknown = frame_after_other(context, frame, at.UNKNOWN_TEXT)
    begin(context)
    checked(value_follows(context, thing, other, unknown, stack))
    state_mask = checked(_known_state_mask(context, 0, state))
    add_state_mask(context, row, state_mask)
    clear_items(context)
    checked(queue_exits(context, state_mask))
    checked(_process_items(context, row))
    checked(walk_keys(context, row, 0, node, stack))
    return _process_items(context, row)


@inner
def _process_items(context: Context, row: Words) -> int:
    """Process the work list; an item that could not be done is put back."""
    items = context.items
    code = at.OK
    while code == at.OK and context.items.used > 0:
        if context.items.visited > _MOST_PLACES and context.any_lalr == 0:
            return MANY_PLACES
        place = context.items.used - 1
        context.items.used = place
        config, below = items[place].config, items[place].below
        code = _leaf(context, row, below, config >> 32, config & 0xFFFFFFFF)
        if code < 0:
            place = context.items.used
            items[place].config, items[place].below, context.items.used = config, below, place + 1
    return code


@once
def _leaf(context: Context, row: Words, below: int, node: int, stack: int) -> int:  # noqa: PLR0911  one arm for each kind
    """Set the tokens of a configuration below a trie node."""
    nodes = context.nodes
    kind = nodes[node].kind
    if context.captures != 0 and kind in (at.LEXEME, at.LITERAL):
        code = checked(doubtful_after(context, node, stack))
        if code > 0:  # so are the tokens that end before the doubt
            row, context.any_unsure = context.unsure, 1
    if kind in (at.LEXEME, at.CAPTURE):
        return _lexical(context, row, below, node, stack)
    if kind == at.LITERAL:
        return _literal(context, row, below, node, stack)
    if kind == at.COUNTED and below == 0 and nodes[node].a == nodes[node].d:
        return _counted(context, row, node, stack)
    if kind == at.BOUNDED:
        return _bounded(context, row, below, node, stack)
    if kind in (at.MEMBER, at.KEY) and (below > 0 or context.frames[nodes[node].a].others == 0):
        return walk_keys(context, row, below, node, stack)
    if kind in (at.LEXER, at.LEXED, at.PER_STACK, at.LINE, at.GUARDED):
        return _of_automaton(context, row, below, node, stack)
    return _set_by_steps(context, row, below, node, stack)


@once
def _of_automaton(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    core = context.nodes[node].a if context.nodes[node].kind == at.GUARDED else node
    if context.nodes[core].kind == at.LINE:
        return walk_lines(context, row, below, node, stack)
    if context.nodes[core].kind in (at.LEXER, at.LEXED, at.PER_STACK):
        return fill_lexer(context, row, below, node, stack)
    return _set_by_steps(context, row, below, node, stack)


@inner
def _set_by_steps(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens by stepping through all bytes below the trie node."""
    begin(context)
    checked(close(context, node, stack))
    macro = finish(context)
    return walk_below(context, row, below, macro) if macro > 0 else macro


@once
def _lexical(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    state, after = context.nodes[node].a, at.NIL
    if context.nodes[node].kind == at.CAPTURE:
        after = checked(
            node_of(context, at.RESUME, context.nodes[node].c, at.UNKNOWN_TEXT, 0, 0, 0)
        )
    if below > 0 and context.trie_ends[below] - below <= context.small:
        return _set_by_steps(context, row, below, node, stack)
    state_mask = state_mask_of(context, below, state)
    if state_mask == 0 or context.state_masks[state_mask].leaves != 0:
        begin(context)
        checked(close(context, after, stack))
    state_mask = checked(_known_state_mask(context, below, state))
    add_state_mask(context, row, state_mask)
    return queue_exits(context, state_mask) if context.state_masks[state_mask].leaves else at.OK


@inner
def _known_state_mask(context: Context, below: int, state: int) -> int:
    """The state mask of a state below a trie node; else request it, with exits for the closure."""
    state_mask = state_mask_of(context, below, state)
    if state_mask != 0:
        return state_mask
    leads_of_found(context)
    context.want, context.want_below = state, below
    return at.NEED_STATE_MASK


@once
def _literal(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    nodes, pool = context.nodes, context.pool
    first = nodes[node].a
    for place in range(first, first + nodes[node].b):
        below = child_of(context, below, pool[place])
        if below < 0:
            return at.OK
        set_tokens(context, row, below, below + 1)
    return queue_closure(context, below, nodes[node].c, stack)


@once
def _counted(context: Context, row: Words, node: int, stack: int) -> int:
    """Set the tokens between two counted items, at the trie's root."""
    state, low, high = context.nodes[node].a, context.nodes[node].b, context.nodes[node].c
    begin(context)
    checked(close(context, at.NIL, stack))
    state_mask = context.count_mask_at[state]
    if not leaves_surely(context, state):
        return _set_by_steps(context, row, 0, node, stack)
    if state_mask == 0:
        context.want = state
        return at.NEED_COUNT_MASK
    add_items(context, row, state_mask, high)
    mask = context.count_masks[state_mask]
    if low == 0 and (high < 0 or high >= mask.most):
        return queue_found(context, mask.exits) if mask.exits > 0 else at.OK
    return queue_counted_exits(context, mask.first, mask.last, low, high)


@once
def _bounded(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    begin(context)
    checked(close(context, at.NIL, stack))
    return bounded_walk(context, row, below, node, checked(finish(context)))
