r"""What is looked at first where three or more meet: an opposite with each of the others.

Where two have no text in common, that is found among few states; all together may have any number
of them, and none of those comes to an end::

    (.{1,63}\.){1,127} and .{1,255} and .* but not .*     behind "://", which must not come
"""

from typing import Final

from guideway.masks.kernels.algebra import both_of
from guideway.masks.kernels.record_layout import (
    ABOUT,
    ALIVE,
    AND,
    DEAD,
    HARD,
    KIND,
    LIST,
    NOT,
    NULLABLE,
    SURE,
    TOP,
    WANT,
    A,
    B,
)
from guideway.masks.kernels.records import field, push, put
from guideway.masks.kernels.views import Context, inner, int64s, once

_MOST_PAIRED: Final = 1024  # parts of a meet; 16 and an opposite more: 2^17 states instead of 17


@inner
def meet_inside(context: Context, meet: int) -> int:
    """Two parts of a meet of three or more that should be searched first; 0 if there are none.

    Then, if two are known to have no text in common, neither has the whole.
    """
    listed, base = int64s(context, LIST), int(context[TOP])
    push(context, meet)
    place = base
    while place < context[TOP] and context[WANT] == 0:
        part = int(listed[place])
        if field(context, part, KIND) == AND:
            listed[place] = field(context, part, A)
            push(context, field(context, part, B))
        else:
            place += 1
    end, inside = int(context[TOP]), 0
    if 2 < end - base <= _MOST_PAIRED and context[WANT] == 0:
        inside = _pair_inside(context, meet, base, end)
    context[TOP] = base
    return inside


@once
def _pair_inside(context: Context, meet: int, first: int, end: int) -> int:
    """An opposite and another part, which stand on LIST, if it is not known what both have."""
    listed = int64s(context, LIST)
    for one in range(first, end):
        if field(context, int(listed[one]), KIND) != NOT:
            continue
        nullable = field(context, int(listed[one]), ABOUT) & NULLABLE
        for other in range(first, end):
            if nullable & field(context, int(listed[other]), ABOUT):
                continue  # the empty text is in both, and most pairs of 64 words' are so
            pair = both_of(context, int(listed[one]), int(listed[other]))
            about = field(context, pair, ABOUT)
            if context[WANT] == 0 and about & DEAD:
                put(context, meet, ABOUT, field(context, meet, ABOUT) | DEAD)
                return 0
            if about & (SURE | ALIVE | HARD) == 0 and field(context, pair, KIND) == AND:
                return pair
    return 0
