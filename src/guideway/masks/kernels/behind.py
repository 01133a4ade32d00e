"""Stacks after a terminal or ignored text was lexed and before it is shifted.

Such a stack is: a few nodes, then TOOK, then the LALR states.
"""

from guideway.masks.kernels.intern import stack_of
from guideway.masks.kernels.lalr import fed, lines_taken, scan_of, top_field
from guideway.masks.kernels.layout import (
    EDGE,
    IGNORED,
    LALR,
    NEED_SCANNER,
    NODE,
    STACK,
    T_SCANNER,
    WANT,
)
from guideway.masks.kernels.views import Context, inner, int32s, int64s


@inner
def states_below(context: Context, stack: int, above: int) -> int:
    """The LALR states below TOOK, which has `above` nodes above it."""
    pairs = int64s(context, STACK)
    for _ in range(above + 1):
        stack = int(pairs[stack] & 0xFFFFFFFF)
    return stack


@inner
def stack_behind(context: Context, took: int, states: int) -> int:
    """The states after the shift, NO_STACK if it is impossible, or a code."""
    nodes = int32s(context, NODE)
    table, terminal = int(nodes[took * 6 + 1]), int(nodes[took * 6 + 2])
    return states if terminal == IGNORED else fed(context, table, states, terminal, -1)


@inner
def lines_behind(context: Context, took: int) -> int:
    nodes = int32s(context, NODE)
    table, terminal = int(nodes[took * 6 + 1]), int(nodes[took * 6 + 2])
    lines = int(nodes[took * 6 + 3])
    return lines if terminal == IGNORED else lines_taken(context, table, lines, terminal)


@inner
def ways_behind(context: Context, table: int, states: int, lines: int) -> int:
    """Index in EDGE of the scanner ways of the top state, or a code."""
    tables = int32s(context, LALR)
    start = int(tables[tables[table + T_SCANNER] + 2 * top_field(context, states, 2)]) - 1
    return start if start >= 0 else _asked(context, table, states, lines)


@inner
def begun_behind(context: Context, table: int, states: int, lines: int) -> int:
    """T_REACHED after any byte that may begin one of the ways, or a code."""
    start = ways_behind(context, table, states, lines)
    if start < 0:
        return start
    inside = 1 if int32s(context, NODE)[lines * 6 + 1] > 0 and lines != 0 else 0
    begun = int(int32s(context, EDGE)[start - 2 + inside])
    return begun if begun >= 0 else _asked(context, table, states, lines)


@inner
def _asked(context: Context, table: int, states: int, lines: int) -> int:
    scan = scan_of(context, table, states, lines)
    context[WANT] = scan if scan >= 0 else context[WANT]
    return NEED_SCANNER if scan >= 0 else scan


@inner
def put_on_free(context: Context, stack: int, above: int, free: int) -> int:
    """A stack with `free` below its topmost `above` nodes."""
    made = stack_of(context, free, 0)
    return put_on(context, stack, above, made) if made >= 0 else made


@inner
def put_on(context: Context, stack: int, above: int, made: int) -> int:
    """Put the topmost `above` nodes of a stack on another."""
    pairs = int64s(context, STACK)
    for left in range(above, 0, -1):
        at = stack
        for _ in range(left - 1):
            at = int(pairs[at] & 0xFFFFFFFF)
        made = stack_of(context, int(pairs[at] >> 32), made)
        if made < 0:
            return made
    return made
