"""Derivatives of records."""

from typing import Final

from guideway.masks.kernels.record_layout import (
    ABOUT,
    ALIVE,
    ALT,
    AND,
    ANYTHING,
    ARCS_AT,
    ARCS_END,
    BODIES,
    BODILESS,
    BYTES,
    CONCAT,
    DEAD,
    EFFORT,
    EMPTY,
    EMPTY_KIND,
    EPSILON,
    EPSILON_KIND,
    HARD,
    KIND,
    LINE,
    LINES,
    LINES_AT,
    LINES_END,
    LIST,
    MOST,
    NOT,
    NULLABLE,
    PART,
    PARTS,
    REPEAT,
    ROOMS,
    RULE,
    SET,
    SPELLABLE,
    SURE,
    TOP,
    WANT,
    A,
    B,
    C,
)
from guideway.masks.kernels.records import (
    add_line,
    common_of,
    drop_superfluous,
    drop_tails,
    field,
    high_of,
    is_among,
    is_denied,
    item_of,
    lacking,
    leads_on,
    low_of,
    push,
    put,
    record_of,
    set_of,
    sort_list,
    union_of,
)
from guideway.masks.kernels.views import Context, inner, int32s, int64s, lowest_bit, once

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
    """Return True if nested counts are one count: see `lowering.nodes.multiplied`."""
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


_DEEP: Final = 3  # heads that are factored out at once; 4 took patterns of 2^21 states too far
_FREE: Final = 64  # lines that one derivation writes at no cost in EFFORT


@inner
def derive(context: Context, root: int) -> None:
    """Make the arcs of a record; entries of LIST are record * 2, + 1 where arcs are wanted."""
    base, before = int(context[TOP]), _written(context)
    push(context, root * 2 + 1)
    while context[TOP] > base and context[WANT] == 0:
        entry = int(int64s(context, LIST)[context[TOP] - 1])
        record = entry >> 1
        if field(context, record, LINES_END) == 0:
            if not _push_missing(context, record):
                _make_lines(context, record)
        elif entry & 1 and field(context, record, ARCS_END) == 0:
            _make_arcs(context, record)
        else:
            context[TOP] -= 1
    context[TOP] = base
    context[EFFORT] += max(_written(context) - before - _FREE, 0) >> 3  # in units of one derivation


@inner
def _written(context: Context) -> int:
    """Amount written: lines, and options, which take a quarter as long."""
    return int(context[LINES] + (context[PARTS] >> 2))


@inner
def _push_missing(context: Context, record: int) -> bool:
    """Push the records whose lines or arcs are needed first; return True if any is."""
    before, kind, a = context[TOP], field(context, record, KIND), field(context, record, A)
    parts, both = int32s(context, PART), kind == AND
    both |= kind == CONCAT and field(context, a, ABOUT) & NULLABLE != 0
    arcs = kind in (AND, NOT)
    count = 0 if kind in (BYTES, EPSILON_KIND, EMPTY_KIND) else 2 if both else 1
    if kind == ALT:
        count = field(context, record, B)
    elif kind == RULE:
        count = _push_body(context, record)
    for index in range(count):
        part = int(parts[a + index]) if kind == ALT else field(context, record, A + index)
        if field(context, part, ARCS_END if arcs else LINES_END) == 0:
            push(context, part * 2 + arcs)
    return context[TOP] > before or context[WANT] != 0


@inner
def _push_body(context: Context, record: int) -> int:
    """Push the body of a rule, or request it."""
    body = field(context, record, C) - 1
    if body < 0:
        context[BODILESS] = record
        lacking(context, BODIES)
    elif field(context, body, LINES_END) == 0:
        push(context, body * 2)
    return 0


@inner
def _make_lines(context: Context, record: int) -> None:
    kind, a, b = field(context, record, KIND), field(context, record, A), field(context, record, B)
    begin = int(context[LINES])
    if kind == BYTES:
        add_line(context, a, EPSILON)
    elif kind == AND:
        _meet(context, a, b)
    elif kind == NOT:
        _others(context, a)
    else:
        _lines_of_parts(context, record, kind, a, b)
    _remember(context, record, LINES_AT, begin)


@inner
def _lines_of_parts(context: Context, record: int, kind: int, a: int, b: int) -> None:
    """Write the lines of the parts that may come first, each with its rest."""
    lines, parts, rest, count = int64s(context, LINE), int32s(context, PART), EPSILON, 0
    begin = int(context[LINES])
    if kind == ALT:
        count = b
    elif kind == RULE:
        count = 1
    elif kind == CONCAT:
        count, rest = 1 + (field(context, a, ABOUT) & NULLABLE), b
    elif kind == REPEAT:
        high = field(context, record, C)
        count, rest = 1, repeat_of(context, a, max(b - 1, 0), high - 1 if high > 0 else high)
    for index in range(count):
        part = int(parts[a + index]) if kind == ALT else a
        if index and kind == CONCAT:
            part, rest = b, EPSILON
        elif kind == RULE:
            part = field(context, record, C) - 1
        end, made = field(context, part, LINES_END), int(context[LINES])
        for line in range(field(context, part, LINES_AT), end):
            after = pair_of(context, int(lines[line] & 0xFFFFFFFF), rest)
            passed = kind == CONCAT and index != 0
            if not passed or not _is_said(context, begin, made, int(lines[line])):
                add_line(context, int(lines[line] >> 32), after)


@inner
def _is_said(context: Context, first: int, last: int, line: int) -> bool:
    """Return True if one of some lines subsumes another, which comes after a nullable head."""
    lines = int64s(context, LINE)
    for index in range(first, last):
        if lines[index] >> 32 == line >> 32 and leads_on(
            context, int(lines[index] & 0xFFFFFFFF), int(line & 0xFFFFFFFF)
        ):
            return True
    return False


@inner
def _remember(context: Context, record: int, which: int, begin: int) -> None:
    """Set the lines of a record to those from `begin` on; drop them if something is missing."""
    if context[WANT]:
        context[LINES] = begin
    else:
        put(context, record, which, begin)
        put(context, record, which + 1, int(context[LINES]))
        context[EFFORT] += 1
        if context[EFFORT] >= context[ROOMS + EFFORT]:
            lacking(context, EFFORT)


@inner
def _meet(context: Context, left: int, right: int) -> None:
    lines, end = int64s(context, LINE), field(context, left, ARCS_END)
    first, last = field(context, right, ARCS_AT), field(context, right, ARCS_END)
    for index in range(field(context, left, ARCS_AT), end):
        for other in range(first, last):
            common = common_of(context, int(lines[index] >> 32), int(lines[other] >> 32))
            if common:
                one, two = int(lines[index] & 0xFFFFFFFF), int(lines[other] & 0xFFFFFFFF)
                add_line(context, common, both_of(context, one, two))


@inner
def _others(context: Context, item: int) -> None:
    lines, sets = int64s(context, LINE), int64s(context, SET)
    at = context[SPELLABLE] * 4
    a, b, c, d = int(sets[at]), int(sets[at + 1]), int(sets[at + 2]), int(sets[at + 3])
    for index in range(field(context, item, ARCS_AT), field(context, item, ARCS_END)):
        members = int(lines[index] >> 32)
        at = members * 4
        a, b, c, d = a & ~sets[at], b & ~sets[at + 1], c & ~sets[at + 2], d & ~sets[at + 3]
        add_line(context, members, not_of(context, int(lines[index] & 0xFFFFFFFF)))
    add_line(context, set_of(context, a, b, c, d), ANYTHING)


@inner
def _make_arcs(context: Context, record: int) -> None:
    first, last = field(context, record, LINES_AT), field(context, record, LINES_END)
    kind = field(context, record, KIND)
    if last - first <= 1 or kind in (AND, NOT):  # these are disjoint already
        put(context, record, ARCS_AT, first)
        put(context, record, ARCS_END, last)
        return
    base, begin = int(context[TOP]), int(context[LINES])
    _partition(context, first, last)
    if context[WANT]:
        context[TOP] = base
        return
    listed, lines, sets = int64s(context, LIST), int64s(context, LINE), int64s(context, SET)
    for part in range(base, int(context[TOP]), 4):
        byte = _least_byte(context, part)
        before = int(context[TOP])
        for index in range(first, last):
            if sets[(lines[index] >> 32) * 4 + (byte >> 6)] >> (byte & 63) & 1:
                push(context, int(lines[index] & 0xFFFFFFFF))
        members = set_of(
            context, listed[part], listed[part + 1], listed[part + 2], listed[part + 3]
        )
        add_line(context, members, alt_by_head(context, before, _DEEP))
    context[TOP] = base
    _remember(context, record, ARCS_AT, begin)


@once
def _least_byte(context: Context, at: int) -> int:
    """The least byte of the four words in LIST, which are not all 0."""
    listed = int64s(context, LIST)
    for word in range(3):
        if listed[at + word]:
            return word * 64 + lowest_bit(listed[at + word])
    return 192 + lowest_bit(listed[at + 3])


@inner
def _partition(context: Context, first: int, last: int) -> None:
    """Push the partition that the sets of these lines generate, four words for each part."""
    lines, base = int64s(context, LINE), int(context[TOP])
    for index in range(first, last):
        members = lines[index] >> 32
        if index == first or members != lines[index - 1] >> 32:  # they often come in runs
            _split(context, base, int(members))


@once
def _split(context: Context, base: int, members: int) -> None:
    listed, sets, at = int64s(context, LIST), int64s(context, SET), members * 4
    a, b, c, d = int(sets[at]), int(sets[at + 1]), int(sets[at + 2]), int(sets[at + 3])
    for part in range(base, int(context[TOP]), 4):
        p, q = listed[part] & a, listed[part + 1] & b
        r, s = listed[part + 2] & c, listed[part + 3] & d
        if p | q | r | s == 0:
            continue
        a, b, c, d = a ^ p, b ^ q, c ^ r, d ^ s
        one, two = listed[part] ^ p, listed[part + 1] ^ q
        _push_words(context, one, two, listed[part + 2] ^ r, listed[part + 3] ^ s)
        listed[part], listed[part + 1], listed[part + 2], listed[part + 3] = p, q, r, s
    _push_words(context, a, b, c, d)


@inner
def _push_words(context: Context, a: int, b: int, c: int, d: int) -> None:
    """Push a nonempty set: all four words or none."""
    if a | b | c | d == 0:
        return
    if context[TOP] + 4 > context[ROOMS + TOP]:
        lacking(context, TOP)
        return
    push(context, a)
    push(context, b)
    push(context, c)
    push(context, d)


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
