"""Macro states: what closures have found, the dead left out; and what one byte makes of them.

Verdicts are found as soon as they are missing, what the closure has found put aside. As long as
each was found between two closures, the first mask of python.lark had 3,400 of them made anew.
"""

import numpy as np

from fairlead.masks.kernels.closure import add_leads
from fairlead.masks.kernels.forks import MANY, fork_found
from fairlead.masks.kernels.intern import macro_of, remember_step, step_place
from fairlead.masks.kernels.layout import (
    ACCEPT,
    ASIDE,
    ASIDE_IS,
    BLUR,
    CONFIG,
    DOUBTFUL,
    FIRST,
    FOUND,
    FOUND_IS,
    JUDGING,
    LALRS,
    LOOKS,
    MACRO,
    MARK_TEXT,
    OK,
    OPEN_SCANS,
    SCRATCH,
    STEP_KEY,
    STEP_VALUE,
)
from fairlead.masks.kernels.scanned import remember_scans
from fairlead.masks.kernels.searches import judge_asked
from fairlead.masks.kernels.step import step_config
from fairlead.masks.kernels.verdicts import ASKING, judge_found, keep_living
from fairlead.masks.kernels.views import Context, Sets, inner, int32s, int64s, once, uint8s, uint64s
from fairlead.masks.kernels.worklist import begin


@inner
def finish(context: Context) -> int:
    """The macro state that the closure found, 0 if nothing is left."""
    if context[FOUND] == 0 and context[ACCEPT] == 0 and context[DOUBTFUL] == 0:
        return 0
    code = settle_found(context)
    if code < 0 or context[FOUND] == context[ACCEPT] == context[DOUBTFUL] == 0:
        return code
    macro = macro_of(context, context[FOUND], context[ACCEPT], context[DOUBTFUL])
    if macro > 0:
        _set_first(context, macro)
    return macro


@inner
def settle_found(context: Context) -> int:
    """Leave out what is dead, and put together what is much of the same; OK, or a code below 0."""
    code = judge_found(context) if context[LOOKS] != 0 else OK
    while code == ASKING:
        code = _judge_aside(context)
        if code == OK:
            code = judge_found(context)
    if code == OK and context[OPEN_SCANS] != 0:
        code = remember_scans(context)
    if code < 0:
        return code
    if context[LOOKS] != 0:
        keep_living(context)
    return fork_found(context) if context[FOUND] >= MANY and context[LALRS] == 0 else OK


@once
def _judge_aside(context: Context) -> int:
    """Find the verdicts that are asked for, the closure kept; OK, or a code below 0."""
    found_, marks = int64s(context, SCRATCH), uint8s(context, FOUND_IS)
    aside, known = int64s(context, ASIDE), uint8s(context, ASIDE_IS)
    count, accept, doubtful = context[FOUND], context[ACCEPT], context[DOUBTFUL]
    scans, blur, text = context[OPEN_SCANS], context[BLUR], context[MARK_TEXT]
    for index in range(count):
        aside[index], known[index] = found_[index], marks[index]
    context[BLUR], context[MARK_TEXT], context[JUDGING] = 0, 0, 1
    code = judge_asked(context)
    context[BLUR], context[MARK_TEXT], context[JUDGING] = blur, text, 0
    for index in range(count):
        found_[index], marks[index] = aside[index], known[index]
    context[FOUND], context[ACCEPT], context[DOUBTFUL] = count, accept, doubtful
    context[OPEN_SCANS] = scans
    return code


@inner
def _set_first(context: Context, macro: int) -> None:
    """The bytes that may lead on: all that do, and for keys perhaps others."""
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
    """The macro state after one more byte; 0 if no text goes on so, or a code below 0."""
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
    """The same where it is known what has been read, this byte included: it is not remembered."""
    context[MARK_TEXT] = text + 1
    after = _step_anew(context, macro, byte)
    context[MARK_TEXT] = 0
    return after


@inner
def _step_anew(context: Context, macro: int, byte: int) -> int:
    """The same, not looked up; apart, so that the look-up is short enough to be put into walks."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    begin(context)
    first = macros[macro * 4]
    for index in range(first, first + macros[macro * 4 + 1]):
        code = step_config(context, configs[index] >> 32, configs[index] & 0xFFFFFFFF, byte)
        if code < 0:
            return code
    return finish(context)
