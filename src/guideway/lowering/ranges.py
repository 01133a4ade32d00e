"""Arithmetic of counts: ranges with an optional upper end."""

from collections.abc import Iterable
from typing import TypeAlias

from guideway.lowering.nodes import Alt, Epsilon, Expr, Repeat

Range: TypeAlias = tuple[int, int | None]

# Beyond this a product of counts stays two counts: whoever keeps counts in registers has 64 bits.
_MOST = 1 << 60


def counted(expr: Expr) -> tuple[Expr, Range]:
    """What `expr` repeats, and how often: x? is x, none or once, and all else itself, once."""
    if isinstance(expr, Repeat):
        return expr.item, (expr.low, expr.high)
    if isinstance(expr, Alt) and len(expr.options) == 2:
        first, second = expr.options
        if isinstance(first, Epsilon):
            return second, (0, 1)
        if isinstance(second, Epsilon):
            return first, (0, 1)
    return expr, (1, 1)


def added(left: Range, right: Range) -> Range:
    """How often in all, if first so often, then so often.

    >>> added((1, 2), (0, None))
    (1, None)
    """
    (low, high), (more, most) = left, right
    return low + more, None if high is None or most is None else high + most


def multiplied(inner: Range, outer: Range) -> Range | None:
    """The range of products; None if that has gaps or is too large. Both allow more than none.

    >>> multiplied((2, 3), (1, 5)), multiplied((2, 2), (1, 5)), multiplied((2, 2), (3, 3))
    ((2, 15), None, (6, 6))
    """
    (low, high), (least, most) = inner, outer
    after = 0 if least == 0 else None if high is None else least * high
    if least != most and after is not None and after + 1 < (least + 1) * low:
        return None
    found = low * least, None if high is None or most is None else most * high
    return None if (found[1] or found[0]) > _MOST else found


def united(ranges: Iterable[Range]) -> list[Range]:
    """The fewest ranges with the same numbers.

    >>> united([(3, 5), (1, 2), (8, None), (9, 9)])
    [(1, 5), (8, None)]
    """
    found: list[Range] = []
    for low, high in sorted(ranges, key=_begin):
        last, end = found[-1] if found else (0, -1)
        if not found or (end is not None and end + 1 < low):
            found.append((low, high))
        elif end is not None and (high is None or high > end):
            found[-1] = (last, high)
    return found


def contains(outer: Range, inner: Range) -> bool:
    """Whether all numbers of `inner` are in `outer`."""
    (low, high), (least, most) = outer, inner
    return low <= least and (high is None or (most is not None and most <= high))


def _begin(counts: Range) -> int:
    return counts[0]
