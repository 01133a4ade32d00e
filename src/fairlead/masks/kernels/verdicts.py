"""Verdicts: whether a configuration can come to an end, where something is looked ahead for.

Elsewhere what is made of living parts is alive. Where there are guards it depends on all that
follows, so each configuration that a closure finds is judged, and left out if it is dead. What can
be read without leaving a guard behind (it is settled) does not matter for that. What comes then is
its place, a node and a stack, whose verdict is remembered; `searches` and Python find it.
"""

from typing import Final

from fairlead.masks.kernels.intern import judgement_of
from fairlead.masks.kernels.layout import (
    BEHIND,
    BOUNDED,
    CAPTURE,
    COUNTED,
    DOUBT,
    DOUBTFUL,
    EXPR,
    FOUND,
    KEY,
    LEXEME,
    LITERAL,
    MEMBER,
    NAMED,
    NEED_JUDGE,
    NEED_SETTLED,
    NIL,
    NODE,
    OK,
    OPENED,
    RESUME,
    SCRATCH,
    SETTLED,
    STACK,
    STOP,
    V_ALIVE,
    V_DOUBT,
    V_SEARCH,
    V_UNKNOWN,
    VERDICT,
    WANT,
)
from fairlead.masks.kernels.views import Context, apart, inner, int32s, int64s

SURE: Final = 0  # no place: it can come to an end


@inner
def judge_found(context: Context) -> int:
    """Leave out what the closure has found that cannot come to an end; OK, or a code below 0."""
    apart()
    found, verdicts, kept = int64s(context, SCRATCH), int32s(context, VERDICT), 0
    for index in range(context[FOUND]):
        config = int(found[index])
        place = place_of(context, config >> 32, config & 0xFFFFFFFF)
        if place < 0:
            return place
        verdict = V_ALIVE if place == SURE else int(verdicts[place * 4])
        if verdict in (V_UNKNOWN, V_SEARCH):
            context[WANT] = place
            return NEED_JUDGE
        if verdict == V_DOUBT:
            context[DOUBTFUL] = 1
        if verdict == V_ALIVE:
            found[kept] = config
            kept += 1
    context[FOUND] = kept
    return OK


@inner
def place_of(context: Context, node: int, stack: int) -> int:
    """The number of a configuration's place, SURE, or a code below 0."""
    nodes, pairs = int32s(context, NODE), int64s(context, STACK)
    while True:
        while nodes[node * 6] == LITERAL:
            node = int(nodes[node * 6 + 3])
        settled = _is_settled(context, node)
        if settled < 0:
            return settled
        if settled == 0:
            return judgement_of(context, node, stack)
        if stack == 0:
            return SURE
        node, stack = int(pairs[stack] >> 32), int(pairs[stack] & 0xFFFFFFFF)


@inner
def _is_settled(context: Context, node: int) -> int:
    """Whether a node can be read without leaving a guard behind: 1, 0, or a code below 0."""
    kind = int32s(context, NODE)[node * 6]
    if kind in (NIL, LEXEME, COUNTED, BOUNDED, STOP, DOUBT):
        return 1
    if kind in (CAPTURE, RESUME, NAMED, OPENED, MEMBER, KEY, BEHIND):
        return 1  # where these look ahead, they are no such nodes
    if kind != EXPR:
        return 0
    settled = int32s(context, SETTLED)[node]
    if settled == 0:
        context[WANT] = node
        return NEED_SETTLED
    return 1 if settled == 1 else 0
