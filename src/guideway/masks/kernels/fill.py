"""Masks: the tokens that a macro state can read.

The tokens of a lexical state are those that stay within it (its picture, made once in a process)
and those that leave it. The rests of the latter form a trie, and what follows the state has a
picture below that trie. So parts are looked up and not walked, independent of frames and stacks.
Literals and declared keys are walked in the trie; undeclared keys have pictures. Nodes without a
picture walk the tokens, which is short where few bytes lead on.
"""

from typing import Final

import numpy as np

from guideway.masks.kernels.bounded import bounded_walk
from guideway.masks.kernels.closure import close
from guideway.masks.kernels.frames import frame_after_other, frame_field, object_field
from guideway.masks.kernels.intern import node_of
from guideway.masks.kernels.key_walks import walk_keys
from guideway.masks.kernels.layout import (
    BLUR,
    BOUND_PLACE,
    BOUNDED,
    CAPTURE,
    CAPTURES,
    CONFIG,
    COUNT_AT,
    COUNTED,
    ENDS,
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
    TOOK,
    TRIE_END,
    UNKNOWN_TEXT,
    UNSURE,
    UNSURE_COUNT,
    WANT,
    WANT_BELOW,
)
from guideway.masks.kernels.leaves import (
    doubtful_behind,
    leave_counted,
    leave_found,
    leaves_surely,
)
from guideway.masks.kernels.lexer_layout import APART, LEXER
from guideway.masks.kernels.line_walks import walk_lines
from guideway.masks.kernels.lookouts import look_out
from guideway.masks.kernels.macros import finish
from guideway.masks.kernels.pictures import picture_of
from guideway.masks.kernels.reach import put, reach_begin, spread
from guideway.masks.kernels.shelf import shelved
from guideway.masks.kernels.step import value_follows
from guideway.masks.kernels.tries import child_of, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint32s,
)
from guideway.masks.kernels.walks import add_items, add_picture, add_row, walk_below
from guideway.masks.kernels.worklist import begin

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
