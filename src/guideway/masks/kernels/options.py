"""Options of a record: records without leading alternatives whose union it is::

    (x|y)z & w = xz & w | yz & w

States of a pattern that may begin anywhere are sets of members: `a.{24}b` has 2^25 states, but only
26 members. Emptiness and shortest lengths need only be computed for members, or, in intersections,
for pairs of members.
"""

from typing import Final

from guideway.masks.kernels.algebra import both_of, pair_of
from guideway.masks.kernels.record_layout import (
    ABOUT,
    ALT,
    AND,
    CONCAT,
    DEAD,
    EFFORT,
    EMPTY,
    KIND,
    LIST,
    OPTION,
    OPTION_AT,
    OPTIONS,
    OPTIONS_ROOM,
    PART,
    RECORDS,
    STATE_RECORD,
    TOP,
    WANT,
    A,
    B,
)
from guideway.masks.kernels.records import field, push, state_of
from guideway.masks.kernels.views import Context, fence, inner, int32s, int64s, once

_MOST: Final = 512  # options; a record with more is not split


@inner
def list_options(context: Context, record: int) -> int:
    """Push the options of a record, or the record itself, on LIST; return their number."""
    listed, base, before = int64s(context, LIST), int(context[TOP]), int(context[RECORDS])
    push(context, record)
    place = base
    while place < context[TOP] and context[WANT] == 0:
        if not _split(context, place):
            place += 1
        elif context[TOP] - base > _MOST:
            listed[base], context[TOP] = record, base + 1
            break
    count = int(context[TOP]) - base
    context[EFFORT] += (context[RECORDS] - before) >> 3  # in units of one derivation
    return count


@inner
def _split(context: Context, place: int) -> bool:
    """Replace a record on LIST with its options; False if it has none."""
    record = int(int64s(context, LIST)[place])
    base = int(context[TOP])
    push(context, record * 2)
    if context[WANT] or (field(context, record, KIND) != ALT and not _find(context, base)):
        context[TOP] = base
        return False
    end = int(context[TOP])
    _push_rebuilt(context, base, end)
    _put_back(context, place, base, end)
    return True


@once
def _find(context: Context, base: int) -> bool:
    """Find the first alternative from the record at `base`; LIST has the path, node * 2 + side."""
    listed = int64s(context, LIST)
    if field(context, int(listed[base] >> 1), KIND) not in (CONCAT, AND):
        return False
    while context[TOP] > base and context[WANT] == 0:
        entry = int(listed[context[TOP] - 1])
        kind = field(context, entry >> 1, KIND)
        child = field(context, entry >> 1, A + (entry & 1))
        below = field(context, child, KIND)
        if below == ALT:
            return True
        if (kind == AND and below in (AND, CONCAT)) or (below == AND and entry & 1 == 0):
            push(context, child * 2)
        else:
            while context[TOP] > base and listed[context[TOP] - 1] & 1:
                context[TOP] -= 1
            if context[TOP] > base:
                listed[context[TOP] - 1] += 1
    return False


@once
def _push_rebuilt(context: Context, base: int, end: int) -> None:
    """Push the record at `base` once for each option at the end of the path."""
    listed, parts = int64s(context, LIST), int32s(context, PART)
    found = int(listed[end - 1] >> 1)
    last = end
    if field(context, found, KIND) == ALT:  # the record itself
        last = base
    else:
        found = field(context, found, A + int(listed[end - 1] & 1))
    first = field(context, found, A)
    for index in range(first, first + field(context, found, B)):
        made = int(parts[index])
        for step in range(last - 1, base - 1, -1):
            node, side = int(listed[step] >> 1), int(listed[step] & 1)
            if field(context, node, KIND) == AND:
                made = both_of(context, made, field(context, node, B - side))
            elif side:
                made = pair_of(context, field(context, node, A), made)
            else:
                made = pair_of(context, made, field(context, node, B))
        push(context, made)


@once
def _put_back(context: Context, place: int, base: int, end: int) -> None:
    """Move the records from `end` on to `place` and then to `base`, without ∅."""
    listed, last = int64s(context, LIST), int(context[TOP])
    context[TOP], listed[place] = base, EMPTY
    for index in range(end, last):
        if listed[index] == EMPTY:
            continue
        if listed[place] == EMPTY:
            listed[place] = listed[index]
        else:
            push(context, int(listed[index]))


@inner
def split_state(context: Context, state: int) -> None:
    """Write the options of a state, -1 if not split; never changed later, as others may read."""
    base, listed = int(context[TOP]), int64s(context, LIST)
    count, kept = list_options(context, int(int32s(context, STATE_RECORD)[state])), base
    for index in range(base, base + count):
        option = int(listed[index])
        if context[WANT] == 0 and field(context, option, ABOUT) & DEAD == 0:
            listed[kept], kept = state_of(context, option), kept + 1
    context[TOP] = base
    if context[WANT]:
        return
    begin, options = int(context[OPTIONS]), int32s(context, OPTION)
    if count == 1 or begin + count + 1 > OPTIONS_ROOM:
        int32s(context, OPTION_AT)[state] = -1
        return
    for index in range(base, kept):
        options[begin + index - base] = listed[index]
    options[begin + kept - base] = 0
    context[OPTIONS] = begin + kept - base + 1
    fence()
    int32s(context, OPTION_AT)[state] = begin
