"""Superfluous options: their texts are all texts of another option."""

from typing import Final

from guideway.masks.kernels.counts import high_of, item_of, low_of
from guideway.masks.kernels.intern import mixed
from guideway.masks.kernels.lists import is_among, sort_list
from guideway.masks.kernels.record_layout import (
    ABOUT,
    CONCAT,
    KIND,
    LIST,
    NULLABLE,
    TOP,
    WANT,
    A,
    B,
)
from guideway.masks.kernels.records import field, push
from guideway.masks.kernels.views import Context, inner, int64s, once

_DEPTH: Final = 6
_PASSED: Final = 16  # nullable heads that are skipped in a row


@inner
def drop_superfluous(context: Context, first: int) -> None:
    """Drop options whose texts are all texts of another: see `lowering.dominance`."""
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
    """Return True if two of the shapes from `first` on are equal."""
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
    """Hash of the items of an option, without counts."""
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
    """Return True if both have the same items, and the counts of `outer` contain the others."""
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


@inner
def drop_tails(context: Context, first: int) -> None:
    """Drop options that another becomes by skipping nullable heads (800 optional letters: 1 GB)."""
    listed, end = int64s(context, LIST), int(context[TOP])
    for index in range(first, end):
        rest, passed = int(listed[index]), 0
        while passed < _PASSED and _may_be_passed(context, rest):
            rest, passed = field(context, rest, B), passed + 1
            if is_among(context, first, end, rest):
                push(context, rest)
                passed = _PASSED
    if context[WANT] or context[TOP] == end:
        context[TOP] = end
        return
    sort_list(context, end)
    kept, last = first, int(context[TOP])
    for index in range(first, end):
        if not is_among(context, end, last, int(listed[index])):
            listed[kept] = listed[index]
            kept += 1
    context[TOP] = kept


@inner
def leads_on(context: Context, outer: int, inside: int) -> bool:
    """Return True if `outer` becomes `inside` by skipping nullable parts after equal heads."""
    for _ in range(_DEPTH):
        rest, passed = outer, 0
        while rest != inside and passed < _PASSED and _may_be_passed(context, rest):
            rest, passed = field(context, rest, B), passed + 1
        if rest == inside:
            return True
        if field(context, outer, KIND) != CONCAT or field(context, inside, KIND) != CONCAT:
            return False
        if field(context, outer, A) != field(context, inside, A):
            return False
        outer, inside = field(context, outer, B), field(context, inside, B)
    return False


@inner
def _may_be_passed(context: Context, record: int) -> bool:
    if field(context, record, KIND) != CONCAT:
        return False
    return field(context, field(context, record, A), ABOUT) & NULLABLE != 0
