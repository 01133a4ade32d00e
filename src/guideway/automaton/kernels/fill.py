"""Masks of macro states, and the tokens that Lark's lexer reads.

Lexer masks of lexers: the tokens that a macro state of terminals reads below a trie node, and
exits.

An exit is a TOOK or APART node with the trie nodes where a token reaches it. As a state mask of a
lexical state, an lexer mask is made once for all stacks; at the root the walk takes a millisecond.
After an exit the LALR states give the next LEXER, with another lexer mask. If an exit has many trie
nodes, the rests of their tokens are merged to one trie.
"""

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
from guideway.automaton.kernels.closure import close, value_follows
from guideway.automaton.kernels.intern import full, lexer_mask_of, macro_of, node_of
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
from guideway.automaton.kernels.object_keys import frame_after_other, frame_field, object_field
from guideway.automaton.kernels.shared_closures import begin
from guideway.automaton.kernels.state_masks import is_lead, state_mask_of
from guideway.automaton.kernels.token_rows import (
    add_items,
    add_row,
    add_state_mask,
    bounded_walk,
    doubtful_behind,
    leave_counted,
    leave_found,
    leaves_surely,
    note_unsure,
    put,
    reach_begin,
    spread,
    spread_found,
    walk,
    walk_below,
    walk_keys,
)
from guideway.automaton.kernels.tries import child_of, has_below, set_tokens, stored_row

_FEW_NODES: Final = 4  # trie nodes of an exit; with more, the rests are merged to a trie
_FEW_TOKENS: Final = 2048  # tokens that are listed as ranges; more become a row


@inner
def learn(context: Context, code: int) -> int:
    if code != at.NEED_OUTLOOK:
        return learn_lexer(context, code)
    return _make_lexer_mask(context, int(context[at.WANT]), int(context[at.WANT_BELOW]))


@once
def _make_lexer_mask(context: Context, macro: int, below: int) -> int:
    """Walk all below a trie node, and write the lexer mask of a macro state of terminals."""
    number = lexer_mask_of(context, below, macro)
    if number < 0:
        return number
    context[at.LEAVINGS] = 0
    ranges, groups = _walked_lexer_mask(context, macro, below)
    if ranges < 0:
        return ranges
    lexer_masks, start = int32s(context, at.OUTLOOK_AT), int(context[at.SEEN_LISTED])
    used = _packed(context, start, ranges)
    if used < 0:
        return used
    last = _write_exits(context, start + used, groups)
    if last < 0:
        return last
    place = number * 4
    lexer_masks[place + at.S_TOKENS], lexer_masks[place + at.S_EXITS] = start, start + used
    lexer_masks[place + at.S_RANGES] = ranges if used == 2 * ranges else at.WHOLE_ROW
    lexer_masks[place + at.S_KNOWN] = 1
    context[at.SEEN_LISTED] = last
    return at.OK


@inner
def _walked_lexer_mask(context: Context, macro: int, below: int) -> tuple[int, int]:
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
    """Write the exits of an lexer mask; return their end, or FULL."""
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


@once
def walk_lines(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of a LINE below a trie node; put what follows it on the work list."""
    depths = uint16s(context, at.TRIE_DEPTH)
    bytes_ = uint8s(context, at.TRIE_BYTE)
    ends = int32s(context, at.TRIE_END)
    macros, place, last = int32s(context, at.WALK), below + 1, int(ends[below])
    begin(context)
    int64s(context, at.SCRATCH)[0] = (node << 32) | stack
    lines = _macro(context, 1)
    macros[depths[below]] = lines
    while place < last and lines >= 0:
        after = step(context, int(macros[depths[place] - 1]), int(bytes_[place]))
        if after < 0:
            return after
        if after == 0:
            place = int(ends[place])
            continue
        if int32s(context, at.MACRO)[after * 4 + 3] != 0:
            note_unsure(context, place, int(ends[place]))
        else:
            set_tokens(context, row, place, place + 1)
        lines = _part(context, place, after) if has_below(context, place) else 0
        macros[depths[place]] = lines
        place = place + 1 if lines != 0 else int(ends[place])
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
    macros = int32s(context, at.MACRO)
    configs = int64s(context, at.CONFIG)
    nodes = int32s(context, at.NODE)
    first, count, found = int(macros[macro * 4]), int(macros[macro * 4 + 1]), 0
    for index in range(first, first + count):
        node = int(configs[index] >> 32)
        core = int(nodes[node * 6 + 1]) if nodes[node * 6] == at.GUARDED else node
        if nodes[core * 6] == at.LINE:
            int64s(context, at.SCRATCH)[found] = configs[index]
            found += 1
        else:
            code = put(context, place, int(configs[index]))
            if code < 0:
                return code
    context[at.FOUND] = 0
    if found == count and macros[macro * 4 + 2] == 0:
        return macro
    return _macro(context, found) if found > 0 else 0


@once
def look_out(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of a LEXER, or of an exit of one, below a trie node."""
    nodes = int32s(context, at.NODE)
    if nodes[node * 6] != at.LEXER:
        return _behind_exit(context, row, below, node, stack)
    macro, lines = int(nodes[node * 6 + 1]), int(nodes[node * 6 + 3])
    number = lexer_mask_of(context, below, macro)
    if number < 0:
        return number
    lexer_masks = int32s(context, at.OUTLOOK_AT)
    listed = int32s(context, at.SEEN_LIST)
    start = number * 4
    if lexer_masks[start + at.S_KNOWN] == 0:
        context[at.WANT], context[at.WANT_BELOW] = macro, below
        return at.NEED_OUTLOOK
    _add_seen(context, row, start)
    place = int(lexer_masks[start + at.S_EXITS])
    exits = int(listed[place])
    place += 1
    for _ in range(exits):
        code = _put_exit(context, row, place, lines, stack)
        if code < 0:
            return code
        place += at.X_NODES + int(listed[place + at.X_COUNT])
    return at.OK


@inner
def _add_seen(context: Context, row: Words, here: int) -> None:
    lexer_masks, ids = int32s(context, at.OUTLOOK_AT), int32s(context, at.TRIE_TOKEN)
    start, ranges = int(lexer_masks[here + at.S_TOKENS]), int(lexer_masks[here + at.S_RANGES])
    if ranges == at.WHOLE_ROW:
        words, whole = context[at.ROW_WORDS], uint32s(context, at.SEEN_LIST)
        for word in range(words):
            row[word] |= whole[start + word]
        return
    listed = int32s(context, at.SEEN_LIST)
    for index in range(start, start + 2 * ranges, 2):
        for place in range(listed[index], listed[index + 1]):
            token = ids[place]
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@inner
def _put_exit(context: Context, row: Words, place: int, lines: int, stack: int) -> int:
    """Put an exit on the work list, below all its trie nodes."""
    listed = int32s(context, at.SEEN_LIST)
    root = int(listed[place + at.X_ROOT])
    if root == at.MANY_NODES:
        context[at.WANT] = place
        return at.NEED_TRIE
    node = node_on_states(context, int(listed[place + at.X_NODE]), lines)
    made = (
        stack_on_states(context, int(listed[place + at.X_STACK]), lines, stack)
        if node >= 0
        else node
    )
    if made < 0:
        return made
    config = (node << 32) | made
    if root > 0:
        return put(context, root, config)
    first = place + at.X_NODES
    for index in range(first, first + listed[place + at.X_COUNT]):
        code = put(context, int(listed[index]), config) if root == 0 else at.OK
        if root == at.NO_PICTURE:
            code = _walk_on(context, row, int(listed[index]), node, made)
        if code < 0:
            return code
    return at.OK


@once
def _walk_on(context: Context, row: Words, first: int, node: int, stack: int) -> int:
    """Set the tokens at and below a trie node by walking, if there is no room for a trie."""
    begin(context)
    code = close(context, node, stack)
    macro = finish(context) if code == at.OK else code
    if macro <= 0:
        return macro
    return walk(context, row, first, int(int32s(context, at.TRIE_END)[first]), macro)


@inner
def _behind_exit(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Continue after an exit of a lexer; set the token that ends there if it was APART."""
    begin(context)
    alone = int32s(context, at.NODE)[node * 6] == at.APART
    code = close(context, bare_node(context, node), stack)
    if code == at.OK and alone:
        code = settle_found(context)
        if code == at.OK and (context[at.FOUND] != 0 or context[at.ACCEPT] != 0):
            set_tokens(context, row, below, below + 1)
    if code < 0 or not has_below(context, below):
        return code
    return spread_found(context, below)


_MOST_PLACES: Final = 1 << 12
MANY_PLACES: Final = -19  # so many nodes are reached that a walk with merged stacks is faster


@once
def fill(context: Context, macro: int, row: Words, spare: Words) -> int:
    """Write the mask of a macro state, resumed if PENDING; return the equal stored row."""
    context[at.BLUR] = context[at.CAPTURES]
    code = at.OK
    if context[at.PENDING] == 0:
        context[at.BOUND_PLACE] = 0
        _clear(context, row)
        code = _open_keys_of(context, macro, row, spare)
        if code == at.OK:
            code = _put_others_of(context, macro)
        if code == at.OK:
            context[at.PENDING] = 1
    if code == at.OK:
        code = _reach(context, row)
    if code == MANY_PLACES:
        _clear(context, row)
        code = walk_below(context, row, 0, macro)
    if code == at.OK or (code == at.FULL and context[at.WANT] == at.REACHED):
        context[at.PENDING] = 0
    context[at.BLUR] = 0
    if code != at.OK:
        return code
    if int32s(context, at.MACRO)[macro * 4 + 2] != 0:
        add_row(context, row, at.ENDS, 0)
    return 0 if context[at.UNSURE_COUNT] != 0 else stored_row(context, row)


@once
def _open_keys_of(context: Context, macro: int, row: Words, spare: Words) -> int:
    """Set the tokens of keys that may be undeclared; each key clears only its own tokens."""
    macros, configs = int32s(context, at.MACRO), int64s(context, at.CONFIG)
    first, words, done = macros[macro * 4], context[at.ROW_WORDS], 0
    for index in range(first, first + macros[macro * 4 + 1]):
        config = configs[index]
        if not _is_open_key(context, config >> 32):
            continue
        target = row if done == 0 else spare
        done += 1
        if done > 1:
            for word in range(words):
                spare[word] = np.uint32(0)
        code = _open_key(context, target, config >> 32, config & 0xFFFFFFFF)
        if code < 0:
            return code
        if done > 1:
            for word in range(words):
                row[word] |= spare[word]
    return at.OK


@inner
def _clear(context: Context, row: Words) -> None:
    for word in range(context[at.ROW_WORDS]):
        row[word] = np.uint32(0)
    if context[at.UNSURE_COUNT] != 0:
        context[at.UNSURE_COUNT] = 0
        unsure = uint32s(context, at.UNSURE)
        for word in range(context[at.ROW_WORDS]):
            unsure[word] = np.uint32(0)


@once
def _put_others_of(context: Context, macro: int) -> int:
    """Put all other configurations of a macro state on the work list."""
    macros, configs = int32s(context, at.MACRO), int64s(context, at.CONFIG)
    reach_begin(context)
    first = macros[macro * 4]
    for index in range(first, first + macros[macro * 4 + 1]):
        if not _is_open_key(context, configs[index] >> 32):
            code = put(context, 0, int(configs[index]))
            if code < 0:
                return code
    return at.OK


@inner
def _is_open_key(context: Context, node: int) -> bool:
    """Return True if a node reads a key that may be undeclared, and has a state mask."""
    nodes = int32s(context, at.NODE)
    if nodes[node * 6] not in (at.MEMBER, at.KEY):
        return False
    if frame_field(context, nodes[node * 6 + 1], 5) == 0:
        return False
    return state_mask_of(context, 0, _key_state(context, node)) != at.NO_PICTURE


@inner
def _key_state(context: Context, node: int) -> int:
    nodes = int32s(context, at.NODE)
    if nodes[node * 6] == at.KEY:
        return int(nodes[node * 6 + 4])
    thing = frame_field(context, int(nodes[node * 6 + 1]), 0)
    return object_field(context, thing, at.O_QUOTED)


@once
def _open_key(context: Context, row: Words, node: int, stack: int) -> int:
    """Set the tokens of a key, or of the quote before it, where undeclared keys are allowed."""
    frame, state = int(int32s(context, at.NODE)[node * 6 + 1]), _key_state(context, node)
    state_mask = state_mask_of(context, 0, state)
    if state_mask == 0:
        context[at.WANT], context[at.WANT_BELOW] = state, 0
        return at.NEED_PICTURE
    add_state_mask(context, row, state_mask)
    reach_begin(context)
    thing = frame_field(context, frame, 0)
    other = object_field(context, thing, at.O_OTHER)
    unknown = frame_after_other(context, frame, at.UNKNOWN_TEXT)
    begin(context)
    code = value_follows(context, thing, other, unknown, stack)
    if code == at.OK:
        code = leave_found(context, state_mask)
    if code == at.OK:
        code = _reach(context, row)
    if code == at.OK:
        code = walk_keys(context, row, 0, node, stack)
    return _reach(context, row) if code == at.OK else code


@inner
def _reach(context: Context, row: Words) -> int:
    """Process the work list; an item that could not be done is put back."""
    items = int64s(context, at.REACH_ITEM)
    code = at.OK
    while code == at.OK and context[at.REACHED] > 0:
        if context[at.REACH_VISITED] > _MOST_PLACES and context[at.LALRS] == 0:
            return MANY_PLACES
        place = context[at.REACHED] - 1
        context[at.REACHED] = place
        config, below = int(items[place * 2]), int(items[place * 2 + 1])
        code = _leaf(context, row, below, config >> 32, config & 0xFFFFFFFF)
        if code < 0:
            place = context[at.REACHED]
            items[place * 2], items[place * 2 + 1], context[at.REACHED] = config, below, place + 1
    return code


@once
def _leaf(context: Context, row: Words, below: int, node: int, stack: int) -> int:  # noqa: PLR0911  one arm for each kind
    """Set the tokens of a configuration below a trie node."""
    nodes = int32s(context, at.NODE)
    kind = nodes[node * 6]
    if context[at.CAPTURES] != 0 and kind in (at.LEXEME, at.LITERAL):
        code = doubtful_behind(context, node, stack)
        if code < 0:
            return code
        if code > 0:  # so are the tokens that end before the doubt
            row, context[at.UNSURE_COUNT] = uint32s(context, at.UNSURE), 1
    if kind in (at.LEXEME, at.CAPTURE):
        return _lexical(context, row, below, node, stack)
    if kind == at.LITERAL:
        return _literal(context, row, below, node, stack)
    if kind == at.COUNTED and below == 0 and nodes[node * 6 + 1] == nodes[node * 6 + 4]:
        return _counted(context, row, node, stack)
    if kind == at.BOUNDED:
        return _bounded(context, row, below, node, stack)
    if kind in (at.MEMBER, at.KEY) and (
        below > 0 or frame_field(context, nodes[node * 6 + 1], 5) == 0
    ):
        return walk_keys(context, row, below, node, stack)
    if kind in (at.LEXER, at.TOOK, at.APART, at.LINE, at.GUARDED):
        return _of_automaton(context, row, below, node, stack)
    return _walked(context, row, below, node, stack)


@once
def _of_automaton(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    nodes = int32s(context, at.NODE)
    core = int(nodes[node * 6 + 1]) if nodes[node * 6] == at.GUARDED else node
    if nodes[core * 6] == at.LINE:
        return walk_lines(context, row, below, node, stack)
    if nodes[core * 6] in (at.LEXER, at.TOOK, at.APART):
        return look_out(context, row, below, node, stack)
    return _walked(context, row, below, node, stack)


@inner
def _walked(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens by stepping through all bytes below the trie node."""
    begin(context)
    code = close(context, node, stack)
    macro = finish(context) if code == at.OK else code
    return walk_below(context, row, below, macro) if macro > 0 else macro


@once
def _lexical(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    nodes = int32s(context, at.NODE)
    state, after = int(nodes[node * 6 + 1]), at.NIL
    if nodes[node * 6] == at.CAPTURE:
        after = node_of(context, at.RESUME, nodes[node * 6 + 3], at.UNKNOWN_TEXT, 0, 0, 0)
        if after < 0:
            return after
    if below > 0 and int32s(context, at.TRIE_END)[below] - below <= context[at.SCRAP]:
        return _walked(context, row, below, node, stack)
    state_mask = state_mask_of(context, below, state)
    if state_mask == 0:
        context[at.WANT], context[at.WANT_BELOW] = state, below
        return at.NEED_PICTURE
    if state_mask == at.NO_PICTURE:
        return _walked(context, row, below, node, stack)
    add_state_mask(context, row, state_mask)
    if int32s(context, at.PICTURE)[state_mask * 6 + at.P_EXITS] == 0:
        return at.OK
    begin(context)
    code = close(context, after, stack)
    return leave_found(context, state_mask) if code == at.OK else code


@once
def _literal(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    nodes, pool = int32s(context, at.NODE), uint8s(context, at.POOL)
    first = int(nodes[node * 6 + 1])
    for place in range(first, first + nodes[node * 6 + 2]):
        below = child_of(context, below, int(pool[place]))
        if below < 0:
            return at.OK
        set_tokens(context, row, below, below + 1)
    return spread(context, below, int(nodes[node * 6 + 3]), stack)


@once
def _counted(context: Context, row: Words, node: int, stack: int) -> int:
    """Set the tokens between two counted items, at the trie's root."""
    nodes, state_masks = int32s(context, at.NODE), int32s(context, at.PICTURE)
    state = int(nodes[node * 6 + 1])
    low = int(nodes[node * 6 + 2])
    high = int(nodes[node * 6 + 3])
    begin(context)
    code = close(context, at.NIL, stack)
    if code < 0:
        return code
    state_mask = int(int32s(context, at.COUNT_AT)[state])
    if state_mask == at.NO_PICTURE or not leaves_surely(context, state):
        return _walked(context, row, 0, node, stack)
    if state_mask == 0:
        context[at.WANT] = state
        return at.NEED_COUNT
    add_items(context, row, state_mask, high)
    place = state_mask * 6
    if low == 0 and (high < 0 or high >= state_masks[place + at.P_MOST]):
        return leave_found(context, state_mask)
    first, last = int(state_masks[place + at.P_EXIT]), int(state_masks[place + at.P_EXIT + 1])
    return leave_counted(context, first, last, low, high)


@once
def _bounded(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    begin(context)
    code = close(context, at.NIL, stack)
    if code < 0:
        return code
    macro = finish(context)
    return bounded_walk(context, row, below, node, macro) if macro >= 0 else macro
