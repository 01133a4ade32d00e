"""A cheap test for intersections like `x & ¬(x | y)`, which are empty.

They arise after each match of a forbidden pattern, `.* & ¬(.* | .*a.{20}b.*)`. Searching all 2^20
sets there for a text took seconds.
"""

from typing import Final

from guideway.masks.kernels.record_layout import ALT, CONCAT, KIND, NOT, PART, A, B
from guideway.masks.kernels.records import field
from guideway.masks.kernels.views import Context, inner, int32s, once

_DEPTH: Final = 8  # common heads, before two records differ


@inner
def is_denied(context: Context, one: int, other: int) -> bool:
    """Return True if one is a complement that obviously excludes all texts of the other."""
    if field(context, one, KIND) == NOT and _holds(context, field(context, one, A), other):
        return True
    return field(context, other, KIND) == NOT and _holds(context, field(context, other, A), one)


@inner
def _holds(context: Context, outer: int, inside: int) -> bool:
    """Return True if `inside` is `outer`, one of its options, or so after common heads."""
    for _ in range(_DEPTH):
        if outer == inside:
            return True
        concat = field(context, inside, KIND) == CONCAT
        if field(context, outer, KIND) == ALT:
            if _has_all(context, outer, inside):
                return True
            if not concat:
                return False
            outer = _option_like(context, outer, field(context, inside, A))
        if (
            not concat
            or field(context, outer, KIND) != CONCAT
            or field(context, outer, A) != field(context, inside, A)
        ):
            return False
        outer, inside = field(context, outer, B), field(context, inside, B)
    return False


@once
def _has_all(context: Context, outer: int, inside: int) -> bool:
    """Return True if the options of `inside` are among those of `outer`; both are sorted."""
    parts = int32s(context, PART)
    place = field(context, outer, A)
    end = place + field(context, outer, B)
    nested = field(context, inside, KIND) == ALT
    at = field(context, inside, A)
    for index in range(field(context, inside, B) if nested else 1):
        wanted = int(parts[at + index]) if nested else inside
        while place < end and parts[place] < wanted:
            place += 1
        if place == end or parts[place] != wanted:
            return False
    return True


@once
def _option_like(context: Context, outer: int, head: int) -> int:
    """An option of `outer` that is a concatenation with this head; 0 if none."""
    parts, first = int32s(context, PART), field(context, outer, A)
    for index in range(first, first + field(context, outer, B)):
        option = int(parts[index])
        if field(context, option, KIND) == CONCAT and field(context, option, A) == head:
            return option
    return 0
