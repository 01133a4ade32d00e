r"""Order of the search in intersections of three or more: a complement with one other part first.

A disjoint pair is found among few states; all parts together may have too many::

    (.{1,63}\.){1,127} and .{1,255} and .* but not .*     after "://", which is forbidden
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

_MOST_PAIRED: Final = 1024  # parts; 16 and a complement: 17 states, and 2^17 without pairs


@inner
def meet_inside(context: Context, meet: int) -> int:
    """A pair of parts to search first; 0 if none. Marks all DEAD if a pair is disjoint."""
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
    """A complement and another part on LIST whose intersection is not decided."""
    listed = int64s(context, LIST)
    for one in range(first, end):
        if field(context, int(listed[one]), KIND) != NOT:
            continue
        nullable = field(context, int(listed[one]), ABOUT) & NULLABLE
        for other in range(first, end):
            if nullable & field(context, int(listed[other]), ABOUT):
                continue  # both accept the empty text, as do most pairs of 64 words
            pair = both_of(context, int(listed[one]), int(listed[other]))
            about = field(context, pair, ABOUT)
            if context[WANT] == 0 and about & DEAD:
                put(context, meet, ABOUT, field(context, meet, ABOUT) | DEAD)
                return 0
            if about & (SURE | ALIVE | HARD) == 0 and field(context, pair, KIND) == AND:
                return pair
    return 0
