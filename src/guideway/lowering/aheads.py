"""Split lookaheads from the head of an expression."""

from collections.abc import Sequence

from guideway.lowering.expr import EMPTY, EPSILON, concat
from guideway.lowering.nodes import Ahead, Concat, Expr, Stop


def looking(expr: Expr) -> tuple[list[Ahead], Expr]:
    """The Aheads at the head of `expr`, one for each level, and the rest.

    >>> from guideway.lowering.expr import ahead, complement, literal
    >>> no_dot = complement(concat(literal("."), complement(EMPTY)))
    >>> leads, rest = looking(concat(ahead(no_dot), literal("x")))
    >>> [lead.item is no_dot for lead in leads], rest is literal("x")
    ([True], True)
    """
    leads: list[Ahead] = []
    while isinstance(expr, Concat) and isinstance(expr.head, Ahead):
        leads.append(expr.head)
        expr = expr.tail
    if isinstance(expr, Ahead):
        leads.append(expr)
        expr = EPSILON
    return leads, expr


def passed(leads: Sequence[Ahead], stop: Stop, rest: Expr) -> Expr:
    """Drop the lookaheads that end at `stop`; EMPTY if one of them is not nullable."""
    if any(lead.level == stop.level and not lead.nullable for lead in leads):
        return EMPTY
    return concat(*(lead for lead in leads if lead.level != stop.level), rest)


def parts(expr: Expr) -> tuple[Expr, Expr]:
    """The first part of a sequence, and the rest."""
    return (expr.head, expr.tail) if isinstance(expr, Concat) else (expr, EPSILON)
