"""Masks: which tokens a macro state can read.

The tokens of a lexical configuration are those that stay within its state, which depend on nothing
else (its picture, made once in a process), and those that leave it: for each of its exits, a walk
of the tokens below. Keys that may be undeclared ones have pictures, too. Everything else walks the
trie of all tokens, which is short where few bytes lead on.
"""

import numpy as np

from fairlead.masks.kernels.closure import begin, close, finish
from fairlead.masks.kernels.intern import node_of
from fairlead.masks.kernels.key_masks import is_key, key_mask
from fairlead.masks.kernels.layout import (
    BLUR,
    CAPTURE,
    CAPTURES,
    CONFIG,
    COUNT_AT,
    COUNTED,
    ENDS,
    FIRST,
    LEX_FIRST,
    LEXEME,
    MACRO,
    NEED_COUNT,
    NEED_PICTURE,
    NIL,
    NO_PICTURE,
    NODE,
    OK,
    PICTURE_AT,
    RESUME,
    ROW_WORDS,
    SPARE,
    UNKNOWN_TEXT,
    UNSURE_COUNT,
    WANT,
)
from fairlead.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint32s,
    uint64s,
)
from fairlead.masks.kernels.walks import add_base, walk_all, walk_exits


@once
def fill(context: Context, macro: int, row: Words, spare: Words) -> int:
    """Write the mask of a macro state; the unsure tokens are listed apart."""
    for word in range(context[ROW_WORDS]):
        row[word] = np.uint32(0)
    context[UNSURE_COUNT] = 0
    context[BLUR] = context[CAPTURES]
    code = _keys_of(context, macro, row, spare)
    if code == OK:
        code = _lexemes_of(context, macro, row)
    if code > 0:
        code = _rest_of(context, macro, code)
        if code > 0:
            code = walk_all(context, row, code)
    context[BLUR] = 0
    if code == OK and int32s(context, MACRO)[macro * 4 + 2] != 0:
        ends = uint32s(context, ENDS)
        for word in range(context[ROW_WORDS]):
            row[word] |= ends[word]
    return code


@once
def _keys_of(context: Context, macro: int, row: Words, spare: Words) -> int:
    """The keys of a macro state; each one's taken-out tokens are its own affair."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    first, words, done = macros[macro * 4], context[ROW_WORDS], 0
    for index in range(first, first + macros[macro * 4 + 1]):
        config = configs[index]
        if not is_key(context, config >> 32):
            continue
        target = row if done == 0 else spare
        done += 1
        if done == 2:
            for word in range(words):
                spare[word] = np.uint32(0)
        code = key_mask(context, target, config >> 32, config & 0xFFFFFFFF)
        if code < 0:
            return code
        if done > 1:
            for word in range(words):
                row[word] |= spare[word]
                spare[word] = np.uint32(0)
    return OK


@once
def _lexemes_of(context: Context, macro: int, row: Words) -> int:
    """The configurations with pictures; gives the number of those without."""
    macros, configs, nodes = int32s(context, MACRO), int64s(context, CONFIG), int32s(context, NODE)
    first, left = macros[macro * 4], 0
    for index in range(first, first + macros[macro * 4 + 1]):
        node, stack = configs[index] >> 32, configs[index] & 0xFFFFFFFF
        if is_key(context, node):
            continue
        picture = _picture_of(context, node, stack)
        if picture == 0:
            return NEED_COUNT if nodes[node * 6] == COUNTED else NEED_PICTURE
        if picture == NO_PICTURE:
            left += 1
            continue
        code = _picture_mask(context, row, node, picture, stack)
        if code < 0:
            return code
    return left


@once
def _rest_of(context: Context, macro: int, left: int) -> int:
    """The macro state of the `left` configurations that the trie is walked for."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    first, count = macros[macro * 4], macros[macro * 4 + 1]
    if left == count and context[BLUR] == 0:
        return macro
    kept = 0
    found = int64s(context, SPARE)
    for index in range(first, first + count):
        node, stack = configs[index] >> 32, configs[index] & 0xFFFFFFFF
        if not is_key(context, node) and _picture_of(context, node, stack) == NO_PICTURE:
            found[kept] = configs[index]
            kept += 1
    begin(context)
    for index in range(kept):
        code = close(context, found[index] >> 32, found[index] & 0xFFFFFFFF)
        if code < 0:
            return code
    return finish(context)


@once
def _picture_mask(context: Context, row: Words, node: int, picture: int, stack: int) -> int:
    """The tokens of a lexical configuration: its picture, the exits going on with the stack."""
    nodes = int32s(context, NODE)
    low, high, after = 0, -1, NIL
    if nodes[node * 6] == COUNTED:
        low, high = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 3])
    elif nodes[node * 6] == CAPTURE:
        after = node_of(context, RESUME, nodes[node * 6 + 3], UNKNOWN_TEXT, 0, 0, 0)
        if after < 0:
            return after
    begin(context)
    code = close(context, after, stack)
    macro = finish(context) if code == OK else code
    if macro < 0:
        return macro
    add_base(context, row, picture, high)
    return walk_exits(context, row, picture, macro, low, high) if macro > 0 else OK


@inner
def _picture_of(context: Context, node: int, stack: int) -> int:
    """The picture of a node with a lexical state, NO_PICTURE, or 0 after WANT is set."""
    nodes = int32s(context, NODE)
    kind, state = nodes[node * 6], int(nodes[node * 6 + 1])
    if kind == COUNTED and state == nodes[node * 6 + 4]:
        if not _leaves_surely(context, state, stack):
            return NO_PICTURE
        picture = int(int32s(context, COUNT_AT)[state])
    elif kind in (LEXEME, CAPTURE):
        picture = int(int32s(context, PICTURE_AT)[state])
    else:
        return NO_PICTURE
    if picture == 0:
        context[WANT] = state
    return picture


@inner
def _leaves_surely(context: Context, between: int, stack: int) -> bool:
    """Whether what follows counted items begins with no byte that an item begins with."""
    begin(context)
    code = close(context, NIL, stack)
    macro = finish(context) if code == OK else code
    if macro <= 0:
        return macro == 0
    first, lexical = uint64s(context, FIRST), uint64s(context, LEX_FIRST)
    common = np.uint64(0)
    for word in range(4):
        common |= first[macro * 4 + word] & lexical[between * 4 + word]
    return common == 0
