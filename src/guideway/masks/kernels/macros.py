"""Macro states from closures, without dead configurations; and their steps by one byte.

Missing verdicts are found at once, with the closure put aside. Finding each between two closures
repeated 3,400 closures for the first mask of python.lark.
"""

import numpy as np

from guideway.masks.kernels.closure import add_leads, close
from guideway.masks.kernels.entries import replace_entries
from guideway.masks.kernels.entry_layout import ENTRIES
from guideway.masks.kernels.forks import MANY, fork_found
from guideway.masks.kernels.intern import (
    macro_of,
    node_of,
    remember_step,
    stack_of,
    step_place,
)
from guideway.masks.kernels.judging import ASKING, judge_found, keep_living
from guideway.masks.kernels.lalr import is_in_sets
from guideway.masks.kernels.layout import (
    ACCEPT,
    ASIDE,
    ASIDE_IS,
    BLUR,
    CONFIG,
    DOUBTFUL,
    EDGE,
    EVERYWHERE,
    FIRST,
    FOUND,
    FOUND_IS,
    GUARDING,
    IGNORED,
    INSIDE,
    JUDGING,
    LALRS,
    LOOKS,
    MACRO,
    MARK_TEXT,
    NODE,
    OK,
    OUTSIDE,
    SCRATCH,
    STEP_KEY,
    STEP_VALUE,
    TARGET,
    TOOK,
    WANT,
    WANT_BELOW,
)
from guideway.masks.kernels.lexer_layout import (
    NEED_LEXER,
    NEED_STEP,
)
from guideway.masks.kernels.searches import judge_asked
from guideway.masks.kernels.step import step_config
from guideway.masks.kernels.views import (
    Context,
    Sets,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint64s,
)
from guideway.masks.kernels.worklist import begin


@inner
def finish(context: Context) -> int:
    """The macro state of the closure, 0 if it is empty."""
    if context[FOUND] == 0 and context[ACCEPT] == 0 and context[DOUBTFUL] == 0:
        return 0
    code = settle_found(context)
    if code < 0 or context[FOUND] == context[ACCEPT] == context[DOUBTFUL] == 0:
        return code
    macro = macro_of(context, context[FOUND], context[ACCEPT], context[DOUBTFUL])
    if macro > 0:
        set_first(context, macro)
    return macro


@inner
def settle_found(context: Context) -> int:
    """Remove dead configurations and merge similar ones."""
    code = replace_entries(context) if context[ENTRIES] != 0 else OK
    if code == OK and context[LOOKS] != 0:
        code = judge_found(context)
    while code == ASKING:
        code = _judge_aside(context)
        if code == OK:
            code = judge_found(context)
    if code < 0:
        return code
    if context[LOOKS] != 0:
        keep_living(context)
    return fork_found(context) if context[FOUND] >= MANY and context[LALRS] == 0 else OK


@once
def _judge_aside(context: Context) -> int:
    """Find the requested verdicts, with the closure saved."""
    found_, marks = int64s(context, SCRATCH), uint8s(context, FOUND_IS)
    aside, known = int64s(context, ASIDE), uint8s(context, ASIDE_IS)
    count, accept, doubtful = context[FOUND], context[ACCEPT], context[DOUBTFUL]
    blur, text = context[BLUR], context[MARK_TEXT]
    for index in range(count):
        aside[index], known[index] = found_[index], marks[index]
    context[BLUR], context[MARK_TEXT], context[JUDGING] = 0, 0, 1
    code = judge_asked(context)
    context[BLUR], context[MARK_TEXT], context[JUDGING] = blur, text, 0
    for index in range(count):
        found_[index], marks[index] = aside[index], known[index]
    context[FOUND], context[ACCEPT], context[DOUBTFUL] = count, accept, doubtful
    return code


@inner
def set_first(context: Context, macro: int) -> None:
    """Set FIRST to a superset of the bytes that lead on; exact except for keys."""
    first, macros, configs = (
        uint64s(context, FIRST),
        int32s(context, MACRO),
        int64s(context, CONFIG),
    )
    for word in range(4):
        first[macro * 4 + word] = np.uint64(0)
    for index in range(macros[macro * 4], macros[macro * 4] + macros[macro * 4 + 1]):
        add_leads(context, first, macro * 4, configs[index] >> 32)


@inner
def _lead(first: Sets, at: int, byte: int) -> bool:
    return (first[at + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1) != 0


@inner
def step(context: Context, macro: int, byte: int) -> int:
    """The macro state after one more byte; 0 if none."""
    if not _lead(uint64s(context, FIRST), macro * 4, byte):
        return 0
    key = ((macro << 9) | (context[BLUR] << 8) | byte) + 1
    place = step_place(context, key)
    if int64s(context, STEP_KEY)[place] == key:
        return int(int32s(context, STEP_VALUE)[place])
    after = _step_anew(context, macro, byte)
    return remember_step(context, key, after) if after >= 0 else after


@once
def step_with(context: Context, macro: int, byte: int, text: int) -> int:
    """As `step` where the text is known, this byte included; not memoised."""
    context[MARK_TEXT] = text + 1
    after = _step_anew(context, macro, byte)
    context[MARK_TEXT] = 0
    return after


@inner
def _step_anew(context: Context, macro: int, byte: int) -> int:
    """As `step` without the memo, as walks inline the look-up; makes missing lexers at once."""
    after = _step_all(context, macro, byte)
    while after in (NEED_STEP, NEED_LEXER):
        code = learn_lexer(context, after)
        if code < 0:
            return code
        after = _step_all(context, macro, byte)
    return after


@inner
def learn_lexer(context: Context, code: int) -> int:
    if code == NEED_LEXER:
        return _make_lexer(context, int(context[WANT]))
    macro, byte = int(context[WANT]), int(context[WANT_BELOW])
    after = _step_all(context, macro, byte)
    return (
        min(remember_step(context, ((macro << 9) | byte) + 1, after), OK) if after >= 0 else after
    )


@once
def _make_lexer(context: Context, node: int) -> int:
    nodes, edges = int32s(context, NODE), int32s(context, EDGE)
    start, where = nodes[node * 6 + 2], int(nodes[node * 6 + 3] & 3)
    last, table = start + 4 * (nodes[node * 6 + 3] >> 2), int(nodes[node * 6 + 5])
    guards, word = int(nodes[node * 6 + 4]), _some_word(context, node)
    begin(context)
    for way in range(start, last, 4):
        terminal, there = int(edges[way + 1]), int(edges[way + 2])
        if there == OUTSIDE or there not in (EVERYWHERE, where):
            continue
        if not _takes(context, node, terminal):
            continue
        took = 0
        if terminal == IGNORED:
            took = node_of(context, TOOK, table, terminal, 0, word, 1 if where == INSIDE else 0)
        else:
            took = node_of(context, TOOK, table, terminal, 0, 0, 0)
        stack = stack_of(context, took, 0) if took >= 0 else took
        if stack < 0:
            return stack
        context[GUARDING] = guards
        code = close(context, int(edges[way]), stack)
        if code < 0:
            return code
    macro = finish(context)
    if macro >= 0:
        int32s(context, TARGET)[node] = macro + 1
    return min(macro, OK)


@inner
def _takes(context: Context, lexes: int, terminal: int) -> bool:
    return terminal == IGNORED or is_in_sets(
        context, int(int32s(context, NODE)[lexes * 6 + 1]), terminal
    )


@inner
def _some_word(context: Context, lexes: int) -> int:
    """Node of a text of one of the terminals, 0 if none is known."""
    nodes, edges = int32s(context, NODE), int32s(context, EDGE)
    start = int(nodes[lexes * 6 + 2])
    for way in range(start, start + 4 * (nodes[lexes * 6 + 3] >> 2), 4):
        if edges[way + 3] != 0 and _takes(context, lexes, int(edges[way + 1])):
            return int(edges[way + 3])
    return 0


@inner
def _step_all(context: Context, macro: int, byte: int) -> int:
    """The macro state of all configurations after a byte."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    begin(context)
    first = macros[macro * 4]
    for index in range(first, first + macros[macro * 4 + 1]):
        code = step_config(context, configs[index] >> 32, configs[index] & 0xFFFFFFFF, byte)
        if code < 0:
            return code
    return finish(context)
