"""Constructors of records, with the normal forms of `lowering.expr` for regular expressions.

A list of options is the part of LIST from some index on. The function that makes a record of it
pops it.
"""

from typing import Final

from guideway.masks.kernels.counts import high_of, item_of, low_of
from guideway.masks.kernels.denials import is_denied
from guideway.masks.kernels.lists import is_among, sort_list
from guideway.masks.kernels.record_layout import (
    ABOUT,
    ALT,
    AND,
    ANYTHING,
    BYTES,
    CONCAT,
    EMPTY,
    EPSILON,
    KIND,
    LIST,
    MOST,
    NOT,
    NULLABLE,
    PART,
    REPEAT,
    SET,
    TOP,
    WANT,
    A,
    B,
    C,
)
from guideway.masks.kernels.records import common_of, field, push, record_of, set_of, union_of
from guideway.masks.kernels.superfluous import drop_superfluous, drop_tails
from guideway.masks.kernels.views import Context, inner, int32s, int64s, once

MANY: Final = 8  # from so many options on, superfluous ones are searched for
_MOST_COMPARED: Final = 512
_LARGE: Final = 1 << 29  # products of smaller counts are counts


@inner
def pair_of(context: Context, head: int, tail: int) -> int:
    """The concatenation of `head` and `tail`."""
    if tail == EPSILON:
        return head
    listed, base = int64s(context, LIST), context[TOP]
    while field(context, head, KIND) == CONCAT:
        push(context, field(context, head, A))
        head = field(context, head, B)
    while True:
        tail = _cons(context, head, tail)
        if context[TOP] == base:
            return tail
        context[TOP] -= 1
        head = int(listed[context[TOP]])


@inner
def _cons(context: Context, head: int, tail: int) -> int:
    if head == EPSILON:
        return tail
    while tail != EPSILON and head != EMPTY and tail != EMPTY:
        follower, rest = tail, EPSILON
        if field(context, tail, KIND) == CONCAT:
            follower, rest = field(context, tail, A), field(context, tail, B)
        item = item_of(context, head)
        if item != item_of(context, follower) or (item == head and item == follower):
            return record_of(context, CONCAT, head, tail, 0)
        low = min(low_of(context, head) + low_of(context, follower), MOST)
        high, most = high_of(context, head), high_of(context, follower)
        high = -1 if high < 0 or most < 0 else min(high + most, MOST)
        head, tail = repeat_of(context, item, low, high), rest
    return EMPTY if tail == EMPTY else head


@inner
def repeat_of(context: Context, item: int, low: int, high: int) -> int:
    """`item` repeated `low` to `high` times; `high` -1 is unbounded."""
    while True:
        if (0 <= high < low) or (item == EMPTY and low > 0):
            return EMPTY
        if high == 0 or item <= EPSILON:
            return EPSILON
        if low == 1 and high == 1:
            return item
        if field(context, item, ABOUT) & NULLABLE:
            low = 0
        if field(context, item, KIND) != REPEAT or not _multiply(context, item, low, high):
            break
        least, most = field(context, item, B), field(context, item, C)
        low, high = low * least, -1 if most < 0 or high < 0 else most * high
        item = field(context, item, A)
    if low == 0 and high == 1:
        return _optional(context, item)
    return record_of(context, REPEAT, item, low, high)


@once
def _multiply(context: Context, item: int, low: int, high: int) -> bool:
    """Return True if nested counts are one count: see `lowering.ranges.multiplied`."""
    least, most = field(context, item, B), field(context, item, C)
    if max(low, high, least, most) > _LARGE:
        return False
    return low == high or (low > 0 and most < 0) or low * most + 1 >= (low + 1) * least


@once
def _optional(context: Context, item: int) -> int:
    if field(context, item, ABOUT) & NULLABLE:
        return item
    base = int(context[TOP])
    push(context, EPSILON)
    if field(context, item, KIND) == ALT:
        parts, at = int32s(context, PART), field(context, item, A)
        for index in range(at, at + field(context, item, B)):
            push(context, int(parts[index]))
    else:
        push(context, item)
    return union_of(context, base)


@inner
def both_of(context: Context, left: int, right: int) -> int:
    if left == right or right == ANYTHING:
        return left
    if left == ANYTHING:
        return right
    if left == EMPTY or right == EMPTY:
        return EMPTY
    if left == EPSILON or right == EPSILON:
        nullable = field(context, left, ABOUT) & field(context, right, ABOUT) & NULLABLE
        return EPSILON if nullable else EMPTY
    if field(context, left, KIND) == BYTES and field(context, right, KIND) == BYTES:
        common = common_of(context, field(context, left, A), field(context, right, A))
        return record_of(context, BYTES, common, 0, 0) if common else EMPTY
    denied = is_denied(context, left, right)
    return EMPTY if denied else record_of(context, AND, min(left, right), max(left, right), 0)


@inner
def not_of(context: Context, item: int) -> int:
    if field(context, item, KIND) == NOT:
        return field(context, item, A)
    return record_of(context, NOT, item, 0, 0)


@inner
def alt_of(context: Context, base: int) -> int:
    """The union of the list from `base` on; pops it."""
    listed, end = int64s(context, LIST), int(context[TOP])
    if end - base == 1:
        context[TOP] = base
        return int(listed[base])
    _flatten(context, base, end)
    sort_list(context, end)
    if context[TOP] > end and (
        listed[end] == ANYTHING or (context[TOP] > end + 1 and listed[end + 1] == ANYTHING)
    ):
        context[TOP] = base
        return ANYTHING
    if context[TOP] - end > 1:
        drop_tails(context, end)
    if context[TOP] - end <= _MOST_COMPARED:
        if context[TOP] - end <= MANY or _may_meet(context, end):
            _unite(context, end)
        if context[TOP] - end > MANY:
            drop_superfluous(context, end)
    made = union_of(context, end)
    context[TOP] = base
    return made


@inner
def _flatten(context: Context, base: int, end: int) -> None:
    """Push the options of the options, and their bytes as one set."""
    listed, parts, sets = int64s(context, LIST), int32s(context, PART), int64s(context, SET)
    a = b = c = d = 0
    for index in range(base, end):
        record = int(listed[index])
        nested = field(context, record, KIND) == ALT
        at = field(context, record, A)
        for option in range(field(context, record, B) if nested else 1):
            part = int(parts[at + option]) if nested else record
            if field(context, part, KIND) == BYTES:
                place = field(context, part, A) * 4
                a, b = a | int(sets[place]), b | int(sets[place + 1])
                c, d = c | int(sets[place + 2]), d | int(sets[place + 3])
            elif part != EMPTY:
                push(context, part)
    if a | b | c | d:
        push(context, record_of(context, BYTES, set_of(context, a, b, c, d), 0, 0))


@once
def _may_meet(context: Context, first: int) -> bool:
    """Return True if `_unite` may find a pair; comparing 500 options pairwise took 0.7 ms."""
    listed, end = int64s(context, LIST), int(context[TOP])
    counts, found = 0, False
    for index in range(first, end):
        option = int(listed[index])
        concat = field(context, option, KIND) == CONCAT
        head = field(context, option, A) if concat else option
        item, rest = item_of(context, head), field(context, option, B) if concat else EPSILON
        if item != head and not found:
            alone = rest == EPSILON and is_among(context, first, end, item)
            found = alone or is_among(context, first, end, rest)
        push(context, item << 32 | rest)
        counts += 1
    if context[WANT] == 0 and not found:
        sort_list(context, end)
        found = context[TOP] - end < counts
    context[TOP] = end
    return found


@inner
def _unite(context: Context, first: int) -> None:
    """Merge adjoining counts of the same item before the same rest."""
    listed = int64s(context, LIST)
    changed = False
    index = first
    while index < context[TOP] and context[WANT] == 0:
        option = int(listed[index])
        concat = field(context, option, KIND) == CONCAT
        head = field(context, option, A) if concat else option
        item, rest = item_of(context, head), field(context, option, B) if concat else EPSILON
        other = _meeting(context, first, index, head, item, rest) if item != head else -1
        if other < 0:
            index += 1
            continue
        low, high = _joined(context, head, _head_before(context, int(listed[other]), item, rest))
        listed[index] = pair_of(context, repeat_of(context, item, low, high), rest)
        context[TOP] -= 1
        listed[other] = listed[context[TOP]]
        index, changed = first, True
    if changed:
        sort_list(context, first)


@once
def _meeting(context: Context, first: int, index: int, head: int, item: int, rest: int) -> int:
    """Index of another option that counts `item` before `rest` and adjoins this one; -1 if none."""
    listed = int64s(context, LIST)
    low, high = low_of(context, head), high_of(context, head)
    for place in range(first, context[TOP]):
        if place == index:
            continue
        before = _head_before(context, int(listed[place]), item, rest)
        if before < 0:
            continue
        least = 0 if before == EPSILON else low_of(context, before)
        most = 0 if before == EPSILON else high_of(context, before)
        if (high < 0 or least <= high + 1) and (most < 0 or low <= most + 1):
            return place
    return -1


@inner
def _head_before(context: Context, option: int, item: int, rest: int) -> int:
    """Head of an option before `rest` if it counts `item`; ε if it is `rest`, -1 if neither."""
    if option == rest:
        return EPSILON
    head, tail = option, EPSILON
    if rest != EPSILON and field(context, option, KIND) == CONCAT:
        head, tail = field(context, option, A), field(context, option, B)
    return head if tail == rest and item_of(context, head) == item else -1


@once
def _joined(context: Context, head: int, before: int) -> tuple[int, int]:
    """The union of two adjoining counts; ε counts 0."""
    low, high = low_of(context, head), high_of(context, head)
    least = 0 if before == EPSILON else low_of(context, before)
    most = 0 if before == EPSILON else high_of(context, before)
    return min(low, least), -1 if high < 0 or most < 0 else max(high, most)


@inner
def alt_by_head(context: Context, base: int, deep: int) -> int:
    """As `alt_of`, with common heads factored out `deep` parts deep: x·y | x·z becomes x·(y|z).

    Otherwise `.*(x.*|)` beside `.*` is another state, whose picture takes ten times as long.
    """
    listed, end = int64s(context, LIST), int(context[TOP])
    if end - base == 1:
        context[TOP] = base
        return int(listed[base])
    _push_options(context, base, end)
    sort_list(context, end)
    if context[TOP] - end > 1:
        drop_tails(context, end)
    stop = int(context[TOP])
    _push_by_head(context, end, stop)
    sort_list(context, stop)
    end, stop = stop, int(context[TOP])
    index = end
    while context[WANT] == 0:
        head, first = int(listed[index] >> 32) if index < stop else -1, int(context[TOP])
        while index < stop and listed[index] >> 32 == head:
            option = int(listed[index] & 0xFFFFFFFF)
            push(context, field(context, option, B) if head else option)
            index += 1
        if head == 0:
            continue
        if head < 0:
            made = alt_of(context, stop)
            context[TOP] = base
            return made
        further = alt_by_head(context, first, deep - 1) if deep > 1 else alt_of(context, first)
        push(context, pair_of(context, head, further))
    context[TOP] = base
    return EMPTY


@inner
def _push_options(context: Context, base: int, end: int) -> None:
    listed, parts = int64s(context, LIST), int32s(context, PART)
    for index in range(base, end):
        record = int(listed[index])
        nested = field(context, record, KIND) == ALT
        at = field(context, record, A)
        for option in range(field(context, record, B) if nested else 1):
            push(context, int(parts[at + option]) if nested else record)


@once
def _push_by_head(context: Context, first: int, end: int) -> None:
    """Push head << 32 | option for each option; head 0 if it is no concatenation."""
    listed = int64s(context, LIST)
    for index in range(first, end):
        option = int(listed[index])
        concat = field(context, option, KIND) == CONCAT
        push(context, (field(context, option, A) << 32 if concat else 0) | option)
