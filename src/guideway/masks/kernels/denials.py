"""Whether an opposite plainly denies what it meets: `x & ¬(x | y)` has no text.

So it is behind each match of a pattern that must not come, `.* & ¬(.* | .*a.{20}b.*)`: to search
for a text there, which is to look at all 2^20 sets behind it, took seconds.
"""

from typing import Final

from guideway.masks.kernels.record_layout import ALT, CONCAT, KIND, NOT, PART, A, B
from guideway.masks.kernels.records import field
from guideway.masks.kernels.views import Context, inner, int32s, once

_DEPTH: Final = 8  # heads that both have, before they differ


@inner
def is_denied(context: Context, one: int, other: int) -> bool:
    """Whether one of two is an opposite, and all texts of the other are plainly what it denies."""
    if field(context, one, KIND) == NOT and _holds(context, field(context, one, A), other):
        return True
    return field(context, other, KIND) == NOT and _holds(context, field(context, other, A), one)


@inner
def _holds(context: Context, outer: int, inside: int) -> bool:
    """Whether `inside` is `outer`, or among its options, or both go on so behind the same head."""
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
    """Whether the options of an alternative are among those of another; both ascend."""
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
    """The option that is a sequence with this head, of which there is one mostly; 0 if none is."""
    parts, first = int32s(context, PART), field(context, outer, A)
    for index in range(first, first + field(context, outer, B)):
        option = int(parts[index])
        if field(context, option, KIND) == CONCAT and field(context, option, A) == head:
            return option
    return 0
