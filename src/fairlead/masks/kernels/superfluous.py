"""Options of an alternative whose texts are all texts of another one: they say nothing new."""

from typing import Final

from fairlead.masks.kernels.counts import high_of, item_of, low_of
from fairlead.masks.kernels.intern import mixed
from fairlead.masks.kernels.lists import sort_list
from fairlead.masks.kernels.record_layout import CONCAT, KIND, LIST, TOP, WANT, A, B
from fairlead.masks.kernels.records import field, push
from fairlead.masks.kernels.views import Context, apart, inner, int64s, once

_DEPTH: Final = 6


@inner
def drop_superfluous(context: Context, first: int) -> None:
    """Drop options whose texts are all texts of another: see `lowering.dominance`."""
    apart()
    listed, end = int64s(context, LIST), int(context[TOP])
    for index in range(first, end):
        push(context, _shape(context, int(listed[index])))
    if context[WANT] or not _are_alike(context, end):
        context[TOP] = end
        return
    kept = first
    for index in range(first, end):
        covered = False
        for other in range(first, end):
            if (
                other != index
                and listed[end + other - first] == listed[end + index - first]
                and _covers(context, int(listed[other]), int(listed[index]))
            ):
                covered = True
                break
        push(context, 0 if covered else int(listed[index]))
    if context[WANT]:
        context[TOP] = end
        return
    for place in range(2 * end - first, context[TOP]):
        if listed[place]:
            listed[kept] = listed[place]
            kept += 1
    context[TOP] = kept


@once
def _are_alike(context: Context, first: int) -> bool:
    """Whether two of the shapes from `first` on are the same."""
    listed, end = int64s(context, LIST), int(context[TOP])
    for index in range(first, end):
        push(context, int(listed[index]))
    found = context[WANT] == 0
    if found:
        sort_list(context, end)
        found = context[TOP] - end < end - first
    context[TOP] = end
    return found


@once
def _shape(context: Context, option: int) -> int:
    """A hash of what an option is made of, counts apart."""
    code = 0
    for _ in range(_DEPTH):
        concat = field(context, option, KIND) == CONCAT
        head = field(context, option, A) if concat else option
        code = mixed(code, item_of(context, head))
        if not concat:
            return code
        option = field(context, option, B)
    return mixed(code, option)


@once
def _covers(context: Context, outer: int, inside: int) -> bool:
    """Whether both are made of the same, and all counts of `outer` contain those of the other."""
    for _ in range(_DEPTH):
        concat = field(context, outer, KIND) == CONCAT
        if concat != (field(context, inside, KIND) == CONCAT):
            return False
        head = field(context, outer, A) if concat else outer
        other = field(context, inside, A) if concat else inside
        if item_of(context, head) != item_of(context, other):
            return False
        most = high_of(context, head)
        if low_of(context, head) > low_of(context, other) or (
            most >= 0 and not 0 <= high_of(context, other) <= most
        ):
            return False
        if not concat:
            return True
        outer, inside = field(context, outer, B), field(context, inside, B)
    return outer == inside
