"""Arithmetic of counts: ranges with an optional upper end."""

from collections.abc import Iterable
from typing import TypeAlias

from guideway.lowering.nodes import Alt, Epsilon, Expr, Repeat

Range: TypeAlias = tuple[int, int | None]

# Larger products of counts stay two counts, as counters in registers have 64 bits.
_MOST = 1 << 60


def counted(expr: Expr) -> tuple[Expr, Range]:
    """The item of a repetition and its range; x? is x, 0 to 1; all else is itself, once."""
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
    """Sum of two ranges."""
    (low, high), (more, most) = left, right
    return low + more, None if high is None or most is None else high + most


def multiplied(inner: Range, outer: Range) -> Range | None:
    """Product of two ranges; None if it has gaps or is too large. Both must allow more than 0."""
    (low, high), (least, most) = inner, outer
    after = 0 if least == 0 else None if high is None else least * high
    if least != most and after is not None and after + 1 < (least + 1) * low:
        return None
    found = low * least, None if high is None or most is None else most * high
    return None if (found[1] or found[0]) > _MOST else found


def united(ranges: Iterable[Range]) -> list[Range]:
    """The fewest ranges with the same numbers."""
    found: list[Range] = []
    for low, high in sorted(ranges, key=_begin):
        last, end = found[-1] if found else (0, -1)
        if not found or (end is not None and end + 1 < low):
            found.append((low, high))
        elif end is not None and (high is None or high > end):
            found[-1] = (last, high)
    return found


def contains(outer: Range, inner: Range) -> bool:
    """Return True if all numbers of `inner` are in `outer`."""
    (low, high), (least, most) = outer, inner
    return low <= least and (high is None or (most is not None and most <= high))


def _begin(counts: Range) -> int:
    return counts[0]
