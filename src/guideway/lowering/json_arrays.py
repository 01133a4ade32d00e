"""Plain JSON arrays: items in a row."""

from collections.abc import Callable

from guideway.lowering.expr import EMPTY, EPSILON, alt, concat, literal, optional, repeat
from guideway.lowering.json_text import JsonStyle
from guideway.lowering.nodes import Expr


def json_array(
    item: Callable[[int], Expr], prefix: int, low: int, high: int | None, style: JsonStyle
) -> Expr:
    """The arrays of `low` to `high` items, made from the last to the first.

    Args:
        item: the values at a position.
        prefix: from this position on all items are the same.
        low: how many there are at least.
        high: how many at most, None for any number.
        style: how they are written.
    """
    single = max(1, prefix)  # how many items are written one by one
    if high is not None:
        single = min(single, high)
    more = concat(style.comma, item(single))
    found = repeat(more, max(low - single, 0), None if high is None else high - single)
    for position in range(single - 1, -1, -1):
        found = concat(item(position), found)
        if position:
            found = concat(style.comma, found)
            found = found if position < low else optional(found)
    filled = concat(found, style.closing) if single else EMPTY
    empty = EPSILON if low == 0 else EMPTY
    return concat(literal("["), style.opened, alt(filled, empty), literal("]"))
