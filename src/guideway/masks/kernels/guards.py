"""Guards: lookaheads in progress, read along with the node that they restrict.

A GUARDED node is a node and its guards: a linked list of GUARD nodes, sorted by level and lexical
state, distinct; 0 is none. Each byte is read by all guards; a guard that accepts everything is
dropped. GUARDING has the guards of the configuration that is being expanded, and all that it leads
to is put under them.
"""

from typing import Final

from guideway.masks.kernels.intern import node_of
from guideway.masks.kernels.layout import (
    ACCEPTS,
    ANYTHING_STATE,
    GUARD,
    GUARDED,
    GUARDING,
    LEX,
    LEX_FLAG,
    NEED_LEX,
    NODE,
)
from guideway.masks.kernels.returns import is_expanded
from guideway.masks.kernels.views import Context, inner, int32s, uint8s

GONE: Final = -64  # a guard has failed


@inner
def under_guards(context: Context, node: int) -> int:
    guards = int(context[GUARDING])
    return node if guards == 0 else node_of(context, GUARDED, node, guards, 0, 0, 0)


@inner
def with_guard(context: Context, guards: int, state: int, level: int) -> int:
    nodes = int32s(context, NODE)
    rest, before = guards, 0
    while rest != 0 and _is_before(context, rest, state, level):
        rest, before = int(nodes[rest * 6 + 3]), before + 1
    if rest != 0 and nodes[rest * 6 + 1] == state and nodes[rest * 6 + 2] == level:
        return guards
    made = node_of(context, GUARD, state, level, rest, 0, 0)
    for left in range(before, 0, -1):
        if made < 0:
            return made
        one = guards
        for _ in range(left - 1):
            one = int(nodes[one * 6 + 3])
        made = node_of(context, GUARD, int(nodes[one * 6 + 1]), int(nodes[one * 6 + 2]), made, 0, 0)
    return made


@inner
def _is_before(context: Context, guard: int, state: int, level: int) -> bool:
    nodes = int32s(context, NODE)
    if nodes[guard * 6 + 2] != level:
        return nodes[guard * 6 + 2] < level
    return nodes[guard * 6 + 1] < state


@inner
def guards_after(context: Context, guards: int, byte: int) -> int:
    """The guards after one more byte; GONE or a code."""
    nodes, rows, after = int32s(context, NODE), int32s(context, LEX), 0
    while guards != 0 and after >= 0:
        state = int(nodes[guards * 6 + 1])
        if not is_expanded(context, state):
            return NEED_LEX
        following = int(rows[state * 256 + byte])
        if following < 0:
            return GONE
        if following != context[ANYTHING_STATE]:
            after = with_guard(context, after, following, int(nodes[guards * 6 + 2]))
        guards = int(nodes[guards * 6 + 3])
    return after


@inner
def guards_behind(context: Context, guards: int, level: int) -> int:
    """The guards after those of a level end, all of them if it is negative; GONE or a code."""
    nodes, flags, kept = int32s(context, NODE), uint8s(context, LEX_FLAG), 0
    while guards != 0 and kept >= 0:
        state, own = int(nodes[guards * 6 + 1]), int(nodes[guards * 6 + 2])
        if level >= 0 and own != level:
            kept = with_guard(context, kept, state, own)
        elif not is_expanded(context, state):
            return NEED_LEX
        elif flags[state] & ACCEPTS == 0:
            return GONE
        guards = int(nodes[guards * 6 + 3])
    return kept
