r"""What is looked at first where three or more meet: an opposite with each of the others.

Where two have no text in common, that is found among few states; all together may have any number
of them, and none of those comes to an end::

    (.{1,63}\.){1,127} and .{1,255} and .* but not .*     behind "://", which must not come
"""

from typing import Final

from fairlead.masks.kernels.algebra import both_of
from fairlead.masks.kernels.derive import derive
from fairlead.masks.kernels.record_layout import (
    ABOUT,
    ALIVE,
    AND,
    ANYTHING,
    ARCS_AT,
    DEAD,
    EMPTY,
    HARD,
    KIND,
    LINE,
    LINES_AT,
    LIST,
    NOT,
    SURE,
    TOP,
    WANT,
    A,
    B,
)
from fairlead.masks.kernels.records import common_of, field, push, put
from fairlead.masks.kernels.views import Context, apart, inner, int64s, once

_MOST_PAIRED: Final = 16  # parts of a meet
_MOST_WAYS: Final = 256  # single lines that meet; where there are more, whole derivatives are fewer


@inner
def meet_inside(context: Context, meet: int) -> int:
    """Two parts of a meet of three or more that should be searched first; 0 if there are none.

    Then, if two are known to have no text in common, neither has the whole.
    """
    apart()
    base = int(context[TOP])
    _push_parts(context, meet)
    end, inside = int(context[TOP]), 0
    if 2 < end - base <= _MOST_PAIRED and context[WANT] == 0:
        inside = _pair_inside(context, meet, base, end)
    context[TOP] = base
    return inside


@inner
def _push_parts(context: Context, meet: int) -> None:
    """Push what meets, however it is nested."""
    apart()
    listed, place = int64s(context, LIST), int(context[TOP])
    push(context, meet)
    while place < context[TOP] and context[WANT] == 0:
        part = int(listed[place])
        if field(context, part, KIND) == AND:
            listed[place] = field(context, part, A)
            push(context, field(context, part, B))
        else:
            place += 1


@inner
def push_ways(context: Context, meet: int) -> int:
    """Push what a meet leads to, single lines of each part together; gives where on LIST, or 0.

    Whole derivatives may be as many as there are sets of lines, pairs of lines only as many as
    there are pairs. What is not to be takes whole ones. 0 if there are none, or too many.
    """
    apart()
    base = int(context[TOP])
    _push_parts(context, meet)
    last = int(context[TOP])
    push(context, (1 << 32) | ANYTHING)  # any byte: `_cross` takes its set from the line
    begin = last
    for place in range(base, last):
        part = int(int64s(context, LIST)[place])
        opposite = int(field(context, part, KIND) == NOT)
        derive(context, part, opposite)
        end = int(context[TOP])
        if context[WANT] == 0:
            _cross(context, begin, part, opposite, place == base)
        if context[WANT] or context[TOP] == end or context[TOP] - end > _MOST_WAYS:
            context[TOP] = base
            return 0
        begin = end
    listed, count = int64s(context, LIST), int(context[TOP]) - begin
    for index in range(count):
        listed[base + index] = listed[begin + index]
    context[TOP] = base + count
    return base


@once
def _cross(context: Context, begin: int, part: int, arcs: int, only: bool) -> None:
    """Push each of the lines from `begin` on together with each line, or arc, of one more part."""
    lines, listed, end = int64s(context, LINE), int64s(context, LIST), int(context[TOP])
    which = ARCS_AT if arcs else LINES_AT
    for index in range(field(context, part, which), field(context, part, which + 1)):
        members, after = int(lines[index] >> 32), int(lines[index] & 0xFFFFFFFF)
        for place in range(begin, end):
            common = int(listed[place] >> 32)
            common = members if only else common_of(context, common, members)
            if common:
                met = both_of(context, int(listed[place] & 0xFFFFFFFF), after)
                if met != EMPTY:
                    push(context, (common << 32) | met)


@once
def _pair_inside(context: Context, meet: int, first: int, end: int) -> int:
    """An opposite and another part, which stand on LIST, if it is not known what both have."""
    listed = int64s(context, LIST)
    for one in range(first, end):
        if field(context, int(listed[one]), KIND) != NOT:
            continue
        for other in range(first, end):
            pair = both_of(context, int(listed[one]), int(listed[other]))
            about = field(context, pair, ABOUT)
            if context[WANT] == 0 and about & DEAD:
                put(context, meet, ABOUT, field(context, meet, ABOUT) | DEAD)
                return 0
            if about & (SURE | ALIVE | HARD) == 0 and field(context, pair, KIND) == AND:
                return pair
    return 0
