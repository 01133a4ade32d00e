"""Liveness of the closure's configurations; `macros` finds missing verdicts at once."""

from typing import Final

from guideway.masks.kernels.intern import node_of
from guideway.masks.kernels.layout import (
    ASKED,
    ASKED_AT,
    ASKED_COUNT,
    DOUBTFUL,
    EXPANDED,
    FOUND,
    FOUND_IS,
    GUARDED,
    LALRS,
    LEX_FIRST,
    LEX_FLAG,
    LINE,
    NEED_JUDGE,
    NEED_LEX,
    NODE,
    OK,
    SCRATCH,
    V_ALIVE,
    V_DEAD,
    V_DOUBT,
    V_UNKNOWN,
    WANT,
)
from guideway.masks.kernels.lexer_layout import APART, V_APART
from guideway.masks.kernels.verdicts import freely, verdict_of
from guideway.masks.kernels.views import Context, inner, int32s, int64s, uint8s, uint64s

ASKING: Final = 1


@inner
def judge_found(context: Context) -> int:
    """Set the verdicts of the closure's configurations; ASKING if those of ASKED are missing."""
    found, marks = int64s(context, SCRATCH), uint8s(context, FOUND_IS)
    asked = int32s(context, ASKED)
    context[ASKED_COUNT] = context[ASKED_AT] = 0
    for index in range(context[FOUND]):
        if marks[index] != V_UNKNOWN:
            continue
        config = int(found[index])
        verdict = _judged(context, config >> 32, config & 0xFFFFFFFF)
        if verdict == NEED_JUDGE:
            asked[context[ASKED_COUNT]] = context[WANT]
            context[ASKED_COUNT] += 1
            continue
        if verdict < 0:
            return verdict
        if verdict == V_DOUBT:
            context[DOUBTFUL] |= 1
        if verdict == V_APART:
            alone = node_of(context, APART, config >> 32, 0, 0, 0, 0)
            if alone < 0:
                return alone
            found[index], verdict = (alone << 32) | (config & 0xFFFFFFFF), V_ALIVE
        marks[index] = verdict
    return OK if context[ASKED_COUNT] == 0 else ASKING


@inner
def _judged(context: Context, node: int, stack: int) -> int:
    shut = _is_shut(context, node)
    if shut != 0:
        return shut if shut < 0 else V_DEAD
    verdict = freely(context, node, stack) if context[LALRS] != 0 else V_UNKNOWN
    return verdict_of(context, node, stack) if verdict == V_UNKNOWN else verdict


@inner
def _is_shut(context: Context, node: int) -> int:
    """Return 1 if guards reject all first bytes of a LINE (saves verdicts of its columns)."""
    nodes, first, flags = (
        int32s(context, NODE),
        uint64s(context, LEX_FIRST),
        uint8s(context, LEX_FLAG),
    )
    if nodes[node * 6] != GUARDED or nodes[nodes[node * 6 + 1] * 6] != LINE:
        return 0
    lexical, guard = int(nodes[nodes[node * 6 + 1] * 6 + 1]), int(nodes[node * 6 + 2])
    a, b = first[lexical * 4], first[lexical * 4 + 1]
    c, d = first[lexical * 4 + 2], first[lexical * 4 + 3]
    while guard != 0:
        state = int(nodes[guard * 6 + 1])
        if flags[state] & EXPANDED == 0:
            context[WANT] = state
            return NEED_LEX
        a, b = a & first[state * 4], b & first[state * 4 + 1]
        c, d = c & first[state * 4 + 2], d & first[state * 4 + 3]
        guard = int(nodes[guard * 6 + 3])
    return 1 if (a | b | c | d) == 0 else 0


@inner
def keep_living(context: Context) -> None:
    found, marks, kept = int64s(context, SCRATCH), uint8s(context, FOUND_IS), 0
    for index in range(context[FOUND]):
        if marks[index] == V_ALIVE:
            found[kept], marks[kept] = found[index], V_ALIVE
            kept += 1
    context[FOUND] = kept
