"""Masks of macro states: walks below trie nodes."""

from typing import Final

import numpy as np

from guideway.masks.kernels.closure import close, value_follows
from guideway.masks.kernels.entries import begin
from guideway.masks.kernels.intern import macro_of, node_of, outlook_of
from guideway.masks.kernels.keys import frame_after_other, frame_field, object_field
from guideway.masks.kernels.layout import (
    ACCEPT,
    BLUR,
    BOUND_PLACE,
    BOUNDED,
    CAPTURE,
    CAPTURES,
    CONFIG,
    COUNT_AT,
    COUNTED,
    ENDS,
    FOUND,
    FULL,
    GUARDED,
    KEY,
    LALRS,
    LEXEME,
    LINE,
    LITERAL,
    MACRO,
    MEMBER,
    NEED_COUNT,
    NEED_PICTURE,
    NIL,
    NO_PICTURE,
    NODE,
    O_OTHER,
    O_QUOTED,
    OK,
    P_EXIT,
    P_EXITS,
    P_MOST,
    PENDING,
    PICTURE,
    POOL,
    REACH_ITEM,
    REACH_VISITED,
    REACHED,
    RESUME,
    ROW_WORDS,
    SCRAP,
    SCRATCH,
    TOOK,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_TOKEN,
    UNKNOWN_TEXT,
    UNSURE,
    UNSURE_COUNT,
    WALK,
    WANT,
    WANT_BELOW,
)
from guideway.masks.kernels.lexer_layout import (
    APART,
    LEXER,
    MANY_NODES,
    NEED_OUTLOOK,
    NEED_TRIE,
    OUTLOOK_AT,
    S_EXITS,
    S_KNOWN,
    S_RANGES,
    S_TOKENS,
    SEEN_LIST,
    WHOLE_ROW,
    X_COUNT,
    X_NODE,
    X_NODES,
    X_ROOT,
    X_STACK,
)
from guideway.masks.kernels.macros import finish, set_first, settle_found, step
from guideway.masks.kernels.pictures import picture_of
from guideway.masks.kernels.reach import (
    doubtful_behind,
    leave_counted,
    leave_found,
    leaves_surely,
    put,
    reach_begin,
    spread,
    spread_found,
    walk_keys,
)
from guideway.masks.kernels.scans import bare_node, node_on_states, stack_on_states
from guideway.masks.kernels.tries import child_of, has_below, set_tokens, shelved
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint16s,
    uint32s,
)
from guideway.masks.kernels.walks import (
    add_items,
    add_picture,
    add_row,
    bounded_walk,
    note_unsure,
    walk,
    walk_below,
)


@once
def walk_lines(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of a LINE below a trie node; put what follows it on the work list."""
    depths, bytes_, ends = (
        uint16s(context, TRIE_DEPTH),
        uint8s(context, TRIE_BYTE),
        int32s(context, TRIE_END),
    )
    macros, at, last = int32s(context, WALK), below + 1, int(ends[below])
    begin(context)
    int64s(context, SCRATCH)[0] = (node << 32) | stack
    lines = _macro(context, 1)
    macros[depths[below]] = lines
    while at < last and lines >= 0:
        after = step(context, int(macros[depths[at] - 1]), int(bytes_[at]))
        if after < 0:
            return after
        if after == 0:
            at = int(ends[at])
            continue
        if int32s(context, MACRO)[after * 4 + 3] != 0:
            note_unsure(context, at, int(ends[at]))
        else:
            set_tokens(context, row, at, at + 1)
        lines = _part(context, at, after) if has_below(context, at) else 0
        macros[depths[at]] = lines
        at = at + 1 if lines != 0 else int(ends[at])
    return min(lines, OK)


@inner
def _macro(context: Context, count: int) -> int:
    macro = macro_of(context, count, 0, 0)
    if macro > 0:
        set_first(context, macro)
    return macro


@inner
def _part(context: Context, at: int, macro: int) -> int:
    """Put all but LINE nodes on the work list; return the macro state of the others, or 0."""
    macros, configs, nodes = int32s(context, MACRO), int64s(context, CONFIG), int32s(context, NODE)
    first, count, found = int(macros[macro * 4]), int(macros[macro * 4 + 1]), 0
    for index in range(first, first + count):
        node = int(configs[index] >> 32)
        core = int(nodes[node * 6 + 1]) if nodes[node * 6] == GUARDED else node
        if nodes[core * 6] == LINE:
            int64s(context, SCRATCH)[found] = configs[index]
            found += 1
        else:
            code = put(context, at, int(configs[index]))
            if code < 0:
                return code
    context[FOUND] = 0
    if found == count and macros[macro * 4 + 2] == 0:
        return macro
    return _macro(context, found) if found > 0 else 0


@once
def look_out(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of a LEXER, or of an exit of one, below a trie node."""
    nodes = int32s(context, NODE)
    if nodes[node * 6] != LEXER:
        return _behind_exit(context, row, below, node, stack)
    macro, lines = int(nodes[node * 6 + 1]), int(nodes[node * 6 + 3])
    number = outlook_of(context, below, macro)
    if number < 0:
        return number
    outlooks, listed, at = int32s(context, OUTLOOK_AT), int32s(context, SEEN_LIST), number * 4
    if outlooks[at + S_KNOWN] == 0:
        context[WANT], context[WANT_BELOW] = macro, below
        return NEED_OUTLOOK
    _add_seen(context, row, at)
    place = int(outlooks[at + S_EXITS])
    exits = int(listed[place])
    place += 1
    for _ in range(exits):
        code = _put_exit(context, row, place, lines, stack)
        if code < 0:
            return code
        place += X_NODES + int(listed[place + X_COUNT])
    return OK


@inner
def _add_seen(context: Context, row: Words, at: int) -> None:
    outlooks, ids = int32s(context, OUTLOOK_AT), int32s(context, TRIE_TOKEN)
    start, ranges = int(outlooks[at + S_TOKENS]), int(outlooks[at + S_RANGES])
    if ranges == WHOLE_ROW:
        words, whole = context[ROW_WORDS], uint32s(context, SEEN_LIST)
        for word in range(words):
            row[word] |= whole[start + word]
        return
    listed = int32s(context, SEEN_LIST)
    for index in range(start, start + 2 * ranges, 2):
        for place in range(listed[index], listed[index + 1]):
            token = ids[place]
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@inner
def _put_exit(context: Context, row: Words, place: int, lines: int, stack: int) -> int:
    """Put an exit on the work list, below all its trie nodes."""
    listed = int32s(context, SEEN_LIST)
    root = int(listed[place + X_ROOT])
    if root == MANY_NODES:
        context[WANT] = place
        return NEED_TRIE
    node = node_on_states(context, int(listed[place + X_NODE]), lines)
    made = (
        stack_on_states(context, int(listed[place + X_STACK]), lines, stack) if node >= 0 else node
    )
    if made < 0:
        return made
    config = (node << 32) | made
    if root > 0:
        return put(context, root, config)
    first = place + X_NODES
    for index in range(first, first + listed[place + X_COUNT]):
        code = put(context, int(listed[index]), config) if root == 0 else OK
        if root == NO_PICTURE:
            code = _walk_on(context, row, int(listed[index]), node, made)
        if code < 0:
            return code
    return OK


@once
def _walk_on(context: Context, row: Words, first: int, node: int, stack: int) -> int:
    """Set the tokens at and below a trie node by walking, if there is no room for a trie."""
    begin(context)
    code = close(context, node, stack)
    macro = finish(context) if code == OK else code
    if macro <= 0:
        return macro
    return walk(context, row, first, int(int32s(context, TRIE_END)[first]), macro)


@inner
def _behind_exit(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Continue after an exit of a lexer; set the token that ends there if it was APART."""
    begin(context)
    alone = int32s(context, NODE)[node * 6] == APART
    code = close(context, bare_node(context, node), stack)
    if code == OK and alone:
        code = settle_found(context)
        if code == OK and (context[FOUND] != 0 or context[ACCEPT] != 0):
            set_tokens(context, row, below, below + 1)
    if code < 0 or not has_below(context, below):
        return code
    return spread_found(context, below)


_MOST_PLACES: Final = 1 << 12
MANY_PLACES: Final = -19  # so many nodes are reached that a walk with merged stacks is faster


@once
def fill(context: Context, macro: int, row: Words, spare: Words) -> int:
    """Write the mask of a macro state, resumed if PENDING; return the equal row on the shelf."""
    context[BLUR] = context[CAPTURES]
    code = OK
    if context[PENDING] == 0:
        context[BOUND_PLACE] = 0
        _clear(context, row)
        code = _open_keys_of(context, macro, row, spare)
        if code == OK:
            code = _put_others_of(context, macro)
        if code == OK:
            context[PENDING] = 1
    if code == OK:
        code = _reach(context, row)
    if code == MANY_PLACES:
        _clear(context, row)
        code = walk_below(context, row, 0, macro)
    if code == OK or (code == FULL and context[WANT] == REACHED):
        context[PENDING] = 0
    context[BLUR] = 0
    if code != OK:
        return code
    if int32s(context, MACRO)[macro * 4 + 2] != 0:
        add_row(context, row, ENDS, 0)
    return 0 if context[UNSURE_COUNT] != 0 else shelved(context, row)


@once
def _open_keys_of(context: Context, macro: int, row: Words, spare: Words) -> int:
    """Set the tokens of keys that may be undeclared; each key clears only its own tokens."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    first, words, done = macros[macro * 4], context[ROW_WORDS], 0
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
    return OK


@inner
def _clear(context: Context, row: Words) -> None:
    for word in range(context[ROW_WORDS]):
        row[word] = np.uint32(0)
    if context[UNSURE_COUNT] != 0:
        context[UNSURE_COUNT] = 0
        unsure = uint32s(context, UNSURE)
        for word in range(context[ROW_WORDS]):
            unsure[word] = np.uint32(0)


@once
def _put_others_of(context: Context, macro: int) -> int:
    """Put all other configurations of a macro state on the work list."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    reach_begin(context)
    first = macros[macro * 4]
    for index in range(first, first + macros[macro * 4 + 1]):
        if not _is_open_key(context, configs[index] >> 32):
            code = put(context, 0, int(configs[index]))
            if code < 0:
                return code
    return OK


@inner
def _is_open_key(context: Context, node: int) -> bool:
    """Return True if a node reads a key that may be undeclared, and has a picture."""
    nodes = int32s(context, NODE)
    if nodes[node * 6] not in (MEMBER, KEY):
        return False
    if frame_field(context, nodes[node * 6 + 1], 5) == 0:
        return False
    return picture_of(context, 0, _key_state(context, node)) != NO_PICTURE


@inner
def _key_state(context: Context, node: int) -> int:
    nodes = int32s(context, NODE)
    if nodes[node * 6] == KEY:
        return int(nodes[node * 6 + 4])
    thing = frame_field(context, int(nodes[node * 6 + 1]), 0)
    return object_field(context, thing, O_QUOTED)


@once
def _open_key(context: Context, row: Words, node: int, stack: int) -> int:
    """Set the tokens of a key, or of the quote before it, where undeclared keys are allowed."""
    frame, state = int(int32s(context, NODE)[node * 6 + 1]), _key_state(context, node)
    picture = picture_of(context, 0, state)
    if picture == 0:
        context[WANT], context[WANT_BELOW] = state, 0
        return NEED_PICTURE
    add_picture(context, row, picture)
    reach_begin(context)
    thing = frame_field(context, frame, 0)
    other = object_field(context, thing, O_OTHER)
    unknown = frame_after_other(context, frame, UNKNOWN_TEXT)
    begin(context)
    code = value_follows(context, thing, other, unknown, stack)
    if code == OK:
        code = leave_found(context, picture)
    if code == OK:
        code = _reach(context, row)
    if code == OK:
        code = walk_keys(context, row, 0, node, stack)
    return _reach(context, row) if code == OK else code


@inner
def _reach(context: Context, row: Words) -> int:
    """Process the work list; an item that could not be done is put back."""
    items = int64s(context, REACH_ITEM)
    code = OK
    while code == OK and context[REACHED] > 0:
        if context[REACH_VISITED] > _MOST_PLACES and context[LALRS] == 0:
            return MANY_PLACES
        at = context[REACHED] - 1
        context[REACHED] = at
        config, below = int(items[at * 2]), int(items[at * 2 + 1])
        code = _leaf(context, row, below, config >> 32, config & 0xFFFFFFFF)
        if code < 0:
            at = context[REACHED]
            items[at * 2], items[at * 2 + 1], context[REACHED] = config, below, at + 1
    return code


@once
def _leaf(context: Context, row: Words, below: int, node: int, stack: int) -> int:  # noqa: PLR0911  one arm for each kind
    """Set the tokens of a configuration below a trie node."""
    nodes = int32s(context, NODE)
    kind = nodes[node * 6]
    if context[CAPTURES] != 0 and kind in (LEXEME, LITERAL):
        code = doubtful_behind(context, node, stack)
        if code < 0:
            return code
        if code > 0:  # so are the tokens that end before the doubt
            row, context[UNSURE_COUNT] = uint32s(context, UNSURE), 1
    if kind in (LEXEME, CAPTURE):
        return _lexical(context, row, below, node, stack)
    if kind == LITERAL:
        return _literal(context, row, below, node, stack)
    if kind == COUNTED and below == 0 and nodes[node * 6 + 1] == nodes[node * 6 + 4]:
        return _counted(context, row, node, stack)
    if kind == BOUNDED:
        return _bounded(context, row, below, node, stack)
    if kind in (MEMBER, KEY) and (below > 0 or frame_field(context, nodes[node * 6 + 1], 5) == 0):
        return walk_keys(context, row, below, node, stack)
    if kind in (LEXER, TOOK, APART, LINE, GUARDED):
        return _of_automaton(context, row, below, node, stack)
    return _walked(context, row, below, node, stack)


@once
def _of_automaton(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    nodes = int32s(context, NODE)
    core = int(nodes[node * 6 + 1]) if nodes[node * 6] == GUARDED else node
    if nodes[core * 6] == LINE:
        return walk_lines(context, row, below, node, stack)
    if nodes[core * 6] in (LEXER, TOOK, APART):
        return look_out(context, row, below, node, stack)
    return _walked(context, row, below, node, stack)


@inner
def _walked(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens by stepping through all bytes below the trie node."""
    begin(context)
    code = close(context, node, stack)
    macro = finish(context) if code == OK else code
    return walk_below(context, row, below, macro) if macro > 0 else macro


@once
def _lexical(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    nodes = int32s(context, NODE)
    state, after = int(nodes[node * 6 + 1]), NIL
    if nodes[node * 6] == CAPTURE:
        after = node_of(context, RESUME, nodes[node * 6 + 3], UNKNOWN_TEXT, 0, 0, 0)
        if after < 0:
            return after
    if below > 0 and int32s(context, TRIE_END)[below] - below <= context[SCRAP]:
        return _walked(context, row, below, node, stack)
    picture = picture_of(context, below, state)
    if picture == 0:
        context[WANT], context[WANT_BELOW] = state, below
        return NEED_PICTURE
    if picture == NO_PICTURE:
        return _walked(context, row, below, node, stack)
    add_picture(context, row, picture)
    if int32s(context, PICTURE)[picture * 6 + P_EXITS] == 0:
        return OK
    begin(context)
    code = close(context, after, stack)
    return leave_found(context, picture) if code == OK else code


@once
def _literal(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    nodes, pool = int32s(context, NODE), uint8s(context, POOL)
    first = int(nodes[node * 6 + 1])
    for place in range(first, first + nodes[node * 6 + 2]):
        below = child_of(context, below, int(pool[place]))
        if below < 0:
            return OK
        set_tokens(context, row, below, below + 1)
    return spread(context, below, int(nodes[node * 6 + 3]), stack)


@once
def _counted(context: Context, row: Words, node: int, stack: int) -> int:
    """Set the tokens between two counted items, at the trie's root."""
    nodes, pictures = int32s(context, NODE), int32s(context, PICTURE)
    state, low, high = (
        int(nodes[node * 6 + 1]),
        int(nodes[node * 6 + 2]),
        int(nodes[node * 6 + 3]),
    )
    begin(context)
    code = close(context, NIL, stack)
    if code < 0:
        return code
    picture = int(int32s(context, COUNT_AT)[state])
    if picture == NO_PICTURE or not leaves_surely(context, state):
        return _walked(context, row, 0, node, stack)
    if picture == 0:
        context[WANT] = state
        return NEED_COUNT
    add_items(context, row, picture, high)
    at = picture * 6
    if low == 0 and (high < 0 or high >= pictures[at + P_MOST]):
        return leave_found(context, picture)
    first, last = int(pictures[at + P_EXIT]), int(pictures[at + P_EXIT + 1])
    return leave_counted(context, first, last, low, high)


@once
def _bounded(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    begin(context)
    code = close(context, NIL, stack)
    if code < 0:
        return code
    macro = finish(context)
    return bounded_walk(context, row, below, node, macro) if macro >= 0 else macro
