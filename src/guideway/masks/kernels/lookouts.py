"""Masks of lexers: the tokens of an outlook, and its exits, which go on the work list."""

import numpy as np

from guideway.masks.kernels.closure import close
from guideway.masks.kernels.intern import outlook_of
from guideway.masks.kernels.layout import (
    ACCEPT,
    FOUND,
    NO_PICTURE,
    NODE,
    OK,
    ROW_WORDS,
    TRIE_END,
    TRIE_TOKEN,
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
from guideway.masks.kernels.lexers import (
    bare_node,
    node_on_states,
    stack_on_states,
)
from guideway.masks.kernels.macros import finish, settle_found
from guideway.masks.kernels.reach import put, spread_found
from guideway.masks.kernels.tries import has_below, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    once,
    uint32s,
)
from guideway.masks.kernels.walks import walk
from guideway.masks.kernels.worklist import begin


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
