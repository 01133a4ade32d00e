"""Derivatives of regular expressions: the arcs of a record, by sets of bytes."""

from typing import Final

from guideway.automaton.jit.views import Context, inner, int32s, int64s, lowest_bit, once
from guideway.automaton.kernels import record_layout as at
from guideway.automaton.kernels.records import (
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

MANY: Final = 8  # from so many options on, superfluous ones are searched for
_MOST_COMPARED: Final = 512
_LARGE: Final = 1 << 29  # products of smaller counts are counts


@inner
def pair_of(context: Context, head: int, tail: int) -> int:
    """The concatenation of `head` and `tail`."""
    if tail == at.EPSILON:
        return head
    listed, base = int64s(context, at.LIST), context[at.TOP]
    while field(context, head, at.KIND) == at.CONCAT:
        push(context, field(context, head, at.A))
        head = field(context, head, at.B)
    while True:
        tail = _cons(context, head, tail)
        if context[at.TOP] == base:
            return tail
        context[at.TOP] -= 1
        head = int(listed[context[at.TOP]])


@inner
def _cons(context: Context, head: int, tail: int) -> int:
    if head == at.EPSILON:
        return tail
    while tail != at.EPSILON and head != at.EMPTY and tail != at.EMPTY:
        follower, rest = tail, at.EPSILON
        if field(context, tail, at.KIND) == at.CONCAT:
            follower, rest = field(context, tail, at.A), field(context, tail, at.B)
        item = item_of(context, head)
        if item != item_of(context, follower) or (item == head and item == follower):
            return record_of(context, at.CONCAT, head, tail, 0)
        low = min(low_of(context, head) + low_of(context, follower), at.MOST)
        high, most = high_of(context, head), high_of(context, follower)
        high = -1 if high < 0 or most < 0 else min(high + most, at.MOST)
        head, tail = repeat_of(context, item, low, high), rest
    return at.EMPTY if tail == at.EMPTY else head


@inner
def repeat_of(context: Context, item: int, low: int, high: int) -> int:
    """`item` repeated `low` to `high` times; `high` -1 is unbounded."""
    while True:
        if (0 <= high < low) or (item == at.EMPTY and low > 0):
            return at.EMPTY
        if high == 0 or item <= at.EPSILON:
            return at.EPSILON
        if low == 1 and high == 1:
            return item
        if field(context, item, at.ABOUT) & at.NULLABLE:
            low = 0
        if field(context, item, at.KIND) != at.REPEAT or not _multiply(context, item, low, high):
            break
        least, most = field(context, item, at.B), field(context, item, at.C)
        low, high = low * least, -1 if most < 0 or high < 0 else most * high
        item = field(context, item, at.A)
    if low == 0 and high == 1:
        return _optional(context, item)
    return record_of(context, at.REPEAT, item, low, high)


@once
def _multiply(context: Context, item: int, low: int, high: int) -> bool:
    """Return True if nested counts are one count: see `language.nodes.multiplied`."""
    least, most = field(context, item, at.B), field(context, item, at.C)
    if max(low, high, least, most) > _LARGE:
        return False
    return low == high or (low > 0 and most < 0) or low * most + 1 >= (low + 1) * least


@once
def _optional(context: Context, item: int) -> int:
    if field(context, item, at.ABOUT) & at.NULLABLE:
        return item
    base = int(context[at.TOP])
    push(context, at.EPSILON)
    if field(context, item, at.KIND) == at.ALT:
        parts, place = int32s(context, at.PART), field(context, item, at.A)
        for index in range(place, place + field(context, item, at.B)):
            push(context, int(parts[index]))
    else:
        push(context, item)
    return union_of(context, base)


@inner
def both_of(context: Context, left: int, right: int) -> int:
    if left == right or right == at.ANYTHING:
        return left
    if left == at.ANYTHING:
        return right
    if left == at.EMPTY or right == at.EMPTY:
        return at.EMPTY
    if left == at.EPSILON or right == at.EPSILON:
        nullable = field(context, left, at.ABOUT) & field(context, right, at.ABOUT) & at.NULLABLE
        return at.EPSILON if nullable else at.EMPTY
    if field(context, left, at.KIND) == at.BYTES and field(context, right, at.KIND) == at.BYTES:
        common = common_of(context, field(context, left, at.A), field(context, right, at.A))
        return record_of(context, at.BYTES, common, 0, 0) if common else at.EMPTY
    denied = is_denied(context, left, right)
    return at.EMPTY if denied else record_of(context, at.AND, min(left, right), max(left, right), 0)


@inner
def not_of(context: Context, item: int) -> int:
    if field(context, item, at.KIND) == at.NOT:
        return field(context, item, at.A)
    return record_of(context, at.NOT, item, 0, 0)


@inner
def alt_of(context: Context, base: int) -> int:
    """The union of the list from `base` on; pops it."""
    listed, end = int64s(context, at.LIST), int(context[at.TOP])
    if end - base == 1:
        context[at.TOP] = base
        return int(listed[base])
    _flatten(context, base, end)
    sort_list(context, end)
    if context[at.TOP] > end and (
        listed[end] == at.ANYTHING or (context[at.TOP] > end + 1 and listed[end + 1] == at.ANYTHING)
    ):
        context[at.TOP] = base
        return at.ANYTHING
    if context[at.TOP] - end > 1:
        drop_tails(context, end)
    if context[at.TOP] - end <= _MOST_COMPARED:
        if context[at.TOP] - end <= MANY or _may_meet(context, end):
            _unite(context, end)
        if context[at.TOP] - end > MANY:
            drop_superfluous(context, end)
    made = union_of(context, end)
    context[at.TOP] = base
    return made


@inner
def _flatten(context: Context, base: int, end: int) -> None:
    """Push the options of the options, and their bytes as one set."""
    listed = int64s(context, at.LIST)
    parts = int32s(context, at.PART)
    sets = int64s(context, at.SET)
    a = b = c = d = 0
    for index in range(base, end):
        record = int(listed[index])
        nested = field(context, record, at.KIND) == at.ALT
        start = field(context, record, at.A)
        for option in range(field(context, record, at.B) if nested else 1):
            part = int(parts[start + option]) if nested else record
            if field(context, part, at.KIND) == at.BYTES:
                place = field(context, part, at.A) * 4
                a, b = a | int(sets[place]), b | int(sets[place + 1])
                c, d = c | int(sets[place + 2]), d | int(sets[place + 3])
            elif part != at.EMPTY:
                push(context, part)
    if a | b | c | d:
        push(context, record_of(context, at.BYTES, set_of(context, a, b, c, d), 0, 0))


@once
def _may_meet(context: Context, first: int) -> bool:
    """Return True if `_unite` may find a pair; comparing 500 options pairwise took 0.7 ms."""
    listed, end = int64s(context, at.LIST), int(context[at.TOP])
    counts, found = 0, False
    for index in range(first, end):
        option = int(listed[index])
        concat = field(context, option, at.KIND) == at.CONCAT
        head = field(context, option, at.A) if concat else option
        item, rest = item_of(context, head), field(context, option, at.B) if concat else at.EPSILON
        if item != head and not found:
            alone = rest == at.EPSILON and is_among(context, first, end, item)
            found = alone or is_among(context, first, end, rest)
        push(context, item << 32 | rest)
        counts += 1
    if context[at.WANT] == 0 and not found:
        sort_list(context, end)
        found = context[at.TOP] - end < counts
    context[at.TOP] = end
    return found


@inner
def _unite(context: Context, first: int) -> None:
    """Merge adjoining counts of the same item before the same rest."""
    listed = int64s(context, at.LIST)
    changed = False
    index = first
    while index < context[at.TOP] and context[at.WANT] == 0:
        option = int(listed[index])
        concat = field(context, option, at.KIND) == at.CONCAT
        head = field(context, option, at.A) if concat else option
        item, rest = item_of(context, head), field(context, option, at.B) if concat else at.EPSILON
        other = _meeting(context, first, index, head, item, rest) if item != head else -1
        if other < 0:
            index += 1
            continue
        low, high = _joined(context, head, _head_before(context, int(listed[other]), item, rest))
        listed[index] = pair_of(context, repeat_of(context, item, low, high), rest)
        context[at.TOP] -= 1
        listed[other] = listed[context[at.TOP]]
        index, changed = first, True
    if changed:
        sort_list(context, first)


@once
def _meeting(context: Context, first: int, index: int, head: int, item: int, rest: int) -> int:
    """Index of another option that counts `item` before `rest` and adjoins this one; -1 if none."""
    listed = int64s(context, at.LIST)
    low, high = low_of(context, head), high_of(context, head)
    for place in range(first, context[at.TOP]):
        if place == index:
            continue
        before = _head_before(context, int(listed[place]), item, rest)
        if before < 0:
            continue
        least = 0 if before == at.EPSILON else low_of(context, before)
        most = 0 if before == at.EPSILON else high_of(context, before)
        if (high < 0 or least <= high + 1) and (most < 0 or low <= most + 1):
            return place
    return -1


@inner
def _head_before(context: Context, option: int, item: int, rest: int) -> int:
    """Head of an option before `rest` if it counts `item`; ε if it is `rest`, -1 if neither."""
    if option == rest:
        return at.EPSILON
    head, tail = option, at.EPSILON
    if rest != at.EPSILON and field(context, option, at.KIND) == at.CONCAT:
        head, tail = field(context, option, at.A), field(context, option, at.B)
    return head if tail == rest and item_of(context, head) == item else -1


@once
def _joined(context: Context, head: int, before: int) -> tuple[int, int]:
    """The union of two adjoining counts; ε counts 0."""
    low, high = low_of(context, head), high_of(context, head)
    least = 0 if before == at.EPSILON else low_of(context, before)
    most = 0 if before == at.EPSILON else high_of(context, before)
    return min(low, least), -1 if high < 0 or most < 0 else max(high, most)


@inner
def alt_by_head(context: Context, base: int, deep: int) -> int:
    """As `alt_of`, with common heads factored out `deep` parts deep: x·y | x·z becomes x·(y|z).

    Otherwise `.*(x.*|)` beside `.*` is another state, whose state mask takes ten times as long.
    """
    listed, end = int64s(context, at.LIST), int(context[at.TOP])
    if end - base == 1:
        context[at.TOP] = base
        return int(listed[base])
    _push_options(context, base, end)
    sort_list(context, end)
    if context[at.TOP] - end > 1:
        drop_tails(context, end)
    stop = int(context[at.TOP])
    _push_by_head(context, end, stop)
    sort_list(context, stop)
    end, stop = stop, int(context[at.TOP])
    index = end
    while context[at.WANT] == 0:
        head, first = int(listed[index] >> 32) if index < stop else -1, int(context[at.TOP])
        while index < stop and listed[index] >> 32 == head:
            option = int(listed[index] & 0xFFFFFFFF)
            push(context, field(context, option, at.B) if head else option)
            index += 1
        if head == 0:
            continue
        if head < 0:
            made = alt_of(context, stop)
            context[at.TOP] = base
            return made
        further = alt_by_head(context, first, deep - 1) if deep > 1 else alt_of(context, first)
        push(context, pair_of(context, head, further))
    context[at.TOP] = base
    return at.EMPTY


@inner
def _push_options(context: Context, base: int, end: int) -> None:
    listed, parts = int64s(context, at.LIST), int32s(context, at.PART)
    for index in range(base, end):
        record = int(listed[index])
        nested = field(context, record, at.KIND) == at.ALT
        place = field(context, record, at.A)
        for option in range(field(context, record, at.B) if nested else 1):
            push(context, int(parts[place + option]) if nested else record)


@once
def _push_by_head(context: Context, first: int, end: int) -> None:
    """Push head << 32 | option for each option; head 0 if it is no concatenation."""
    listed = int64s(context, at.LIST)
    for index in range(first, end):
        option = int(listed[index])
        concat = field(context, option, at.KIND) == at.CONCAT
        push(context, (field(context, option, at.A) << 32 if concat else 0) | option)


_DEEP: Final = 3  # heads that are factored out at once; 4 took patterns of 2^21 states too far
_FREE: Final = 64  # lines that one derivation writes at no cost in EFFORT


@inner
def derive(context: Context, root: int) -> None:
    """Make the arcs of a record; entries of LIST are record * 2, + 1 where arcs are wanted."""
    base, before = int(context[at.TOP]), _written(context)
    push(context, root * 2 + 1)
    while context[at.TOP] > base and context[at.WANT] == 0:
        entry = int(int64s(context, at.LIST)[context[at.TOP] - 1])
        record = entry >> 1
        if field(context, record, at.LINES_END) == 0:
            if not _push_missing(context, record):
                _make_lines(context, record)
        elif entry & 1 and field(context, record, at.ARCS_END) == 0:
            _make_arcs(context, record)
        else:
            context[at.TOP] -= 1
    context[at.TOP] = base
    context[at.EFFORT] += (
        max(_written(context) - before - _FREE, 0) >> 3
    )  # in units of one derivation


@inner
def _written(context: Context) -> int:
    """Amount written: lines, and options, which take a quarter as long."""
    return int(context[at.LINES] + (context[at.PARTS] >> 2))


@inner
def _push_missing(context: Context, record: int) -> bool:
    """Push the records whose lines or arcs are needed first; return True if any is."""
    before, kind, a = context[at.TOP], field(context, record, at.KIND), field(context, record, at.A)
    parts, both = int32s(context, at.PART), kind == at.AND
    both |= kind == at.CONCAT and field(context, a, at.ABOUT) & at.NULLABLE != 0
    arcs = kind in (at.AND, at.NOT)
    count = 0 if kind in (at.BYTES, at.EPSILON_KIND, at.EMPTY_KIND) else 2 if both else 1
    if kind == at.ALT:
        count = field(context, record, at.B)
    elif kind == at.RULE:
        count = _push_body(context, record)
    for index in range(count):
        part = int(parts[a + index]) if kind == at.ALT else field(context, record, at.A + index)
        if field(context, part, at.ARCS_END if arcs else at.LINES_END) == 0:
            push(context, part * 2 + arcs)
    return context[at.TOP] > before or context[at.WANT] != 0


@inner
def _push_body(context: Context, record: int) -> int:
    """Push the body of a rule, or request it."""
    body = field(context, record, at.C) - 1
    if body < 0:
        context[at.BODILESS] = record
        lacking(context, at.BODIES)
    elif field(context, body, at.LINES_END) == 0:
        push(context, body * 2)
    return 0


@inner
def _make_lines(context: Context, record: int) -> None:
    kind = field(context, record, at.KIND)
    a = field(context, record, at.A)
    b = field(context, record, at.B)
    begin = int(context[at.LINES])
    if kind == at.BYTES:
        add_line(context, a, at.EPSILON)
    elif kind == at.AND:
        _meet(context, a, b)
    elif kind == at.NOT:
        _others(context, a)
    else:
        _lines_of_parts(context, record, kind, a, b)
    _remember(context, record, at.LINES_AT, begin)


@inner
def _lines_of_parts(context: Context, record: int, kind: int, a: int, b: int) -> None:
    """Write the lines of the parts that may come first, each with its rest."""
    lines, parts, rest, count = int64s(context, at.LINE), int32s(context, at.PART), at.EPSILON, 0
    begin = int(context[at.LINES])
    if kind == at.ALT:
        count = b
    elif kind == at.RULE:
        count = 1
    elif kind == at.CONCAT:
        count, rest = 1 + (field(context, a, at.ABOUT) & at.NULLABLE), b
    elif kind == at.REPEAT:
        high = field(context, record, at.C)
        count, rest = 1, repeat_of(context, a, max(b - 1, 0), high - 1 if high > 0 else high)
    for index in range(count):
        part = int(parts[a + index]) if kind == at.ALT else a
        if index and kind == at.CONCAT:
            part, rest = b, at.EPSILON
        elif kind == at.RULE:
            part = field(context, record, at.C) - 1
        end, made = field(context, part, at.LINES_END), int(context[at.LINES])
        for line in range(field(context, part, at.LINES_AT), end):
            after = pair_of(context, int(lines[line] & 0xFFFFFFFF), rest)
            passed = kind == at.CONCAT and index != 0
            if not passed or not _is_said(context, begin, made, int(lines[line])):
                add_line(context, int(lines[line] >> 32), after)


@inner
def _is_said(context: Context, first: int, last: int, line: int) -> bool:
    """Return True if one of some lines subsumes another, which comes after a nullable head."""
    lines = int64s(context, at.LINE)
    for index in range(first, last):
        if lines[index] >> 32 == line >> 32 and leads_on(
            context, int(lines[index] & 0xFFFFFFFF), int(line & 0xFFFFFFFF)
        ):
            return True
    return False


@inner
def _remember(context: Context, record: int, which: int, begin: int) -> None:
    """Set the lines of a record to those from `begin` on; drop them if something is missing."""
    if context[at.WANT]:
        context[at.LINES] = begin
    else:
        put(context, record, which, begin)
        put(context, record, which + 1, int(context[at.LINES]))
        context[at.EFFORT] += 1
        if context[at.EFFORT] >= context[at.ROOMS + at.EFFORT]:
            lacking(context, at.EFFORT)


@inner
def _meet(context: Context, left: int, right: int) -> None:
    lines, end = int64s(context, at.LINE), field(context, left, at.ARCS_END)
    first, last = field(context, right, at.ARCS_AT), field(context, right, at.ARCS_END)
    for index in range(field(context, left, at.ARCS_AT), end):
        for other in range(first, last):
            common = common_of(context, int(lines[index] >> 32), int(lines[other] >> 32))
            if common:
                one, two = int(lines[index] & 0xFFFFFFFF), int(lines[other] & 0xFFFFFFFF)
                add_line(context, common, both_of(context, one, two))


@inner
def _others(context: Context, item: int) -> None:
    lines, sets = int64s(context, at.LINE), int64s(context, at.SET)
    place = context[at.SPELLABLE] * 4
    a, b, c, d = int(sets[place]), int(sets[place + 1]), int(sets[place + 2]), int(sets[place + 3])
    for index in range(field(context, item, at.ARCS_AT), field(context, item, at.ARCS_END)):
        members = int(lines[index] >> 32)
        place = members * 4
        a = a & ~sets[place]
        b = b & ~sets[place + 1]
        c = c & ~sets[place + 2]
        d = d & ~sets[place + 3]
        add_line(context, members, not_of(context, int(lines[index] & 0xFFFFFFFF)))
    add_line(context, set_of(context, a, b, c, d), at.ANYTHING)


@inner
def _make_arcs(context: Context, record: int) -> None:
    first, last = field(context, record, at.LINES_AT), field(context, record, at.LINES_END)
    kind = field(context, record, at.KIND)
    if last - first <= 1 or kind in (at.AND, at.NOT):  # these are disjoint already
        put(context, record, at.ARCS_AT, first)
        put(context, record, at.ARCS_END, last)
        return
    base, begin = int(context[at.TOP]), int(context[at.LINES])
    _partition(context, first, last)
    if context[at.WANT]:
        context[at.TOP] = base
        return
    listed = int64s(context, at.LIST)
    lines = int64s(context, at.LINE)
    sets = int64s(context, at.SET)
    for part in range(base, int(context[at.TOP]), 4):
        byte = _least_byte(context, part)
        before = int(context[at.TOP])
        for index in range(first, last):
            if sets[(lines[index] >> 32) * 4 + (byte >> 6)] >> (byte & 63) & 1:
                push(context, int(lines[index] & 0xFFFFFFFF))
        members = set_of(
            context, listed[part], listed[part + 1], listed[part + 2], listed[part + 3]
        )
        add_line(context, members, alt_by_head(context, before, _DEEP))
    context[at.TOP] = base
    _remember(context, record, at.ARCS_AT, begin)


@once
def _least_byte(context: Context, place: int) -> int:
    """The least byte of the four words in LIST, which are not all 0."""
    listed = int64s(context, at.LIST)
    for word in range(3):
        if listed[place + word]:
            return word * 64 + lowest_bit(listed[place + word])
    return 192 + lowest_bit(listed[place + 3])


@inner
def _partition(context: Context, first: int, last: int) -> None:
    """Push the partition that the sets of these lines generate, four words for each part."""
    lines, base = int64s(context, at.LINE), int(context[at.TOP])
    for index in range(first, last):
        members = lines[index] >> 32
        if index == first or members != lines[index - 1] >> 32:  # they often come in runs
            _split(context, base, int(members))


@once
def _split(context: Context, base: int, members: int) -> None:
    listed, sets, place = int64s(context, at.LIST), int64s(context, at.SET), members * 4
    a, b, c, d = int(sets[place]), int(sets[place + 1]), int(sets[place + 2]), int(sets[place + 3])
    for part in range(base, int(context[at.TOP]), 4):
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
    if context[at.TOP] + 4 > context[at.ROOMS + at.TOP]:
        lacking(context, at.TOP)
        return
    push(context, a)
    push(context, b)
    push(context, c)
    push(context, d)


_MOST_PAIRED: Final = 1024  # parts; 16 and a complement: 17 states, and 2^17 without pairs


@inner
def meet_inside(context: Context, meet: int) -> int:
    """A pair of parts to search first; 0 if none. Marks all DEAD if a pair is disjoint."""
    listed, base = int64s(context, at.LIST), int(context[at.TOP])
    push(context, meet)
    place = base
    while place < context[at.TOP] and context[at.WANT] == 0:
        part = int(listed[place])
        if field(context, part, at.KIND) == at.AND:
            listed[place] = field(context, part, at.A)
            push(context, field(context, part, at.B))
        else:
            place += 1
    end, inside = int(context[at.TOP]), 0
    if 2 < end - base <= _MOST_PAIRED and context[at.WANT] == 0:
        inside = _pair_inside(context, meet, base, end)
    context[at.TOP] = base
    return inside


@once
def _pair_inside(context: Context, meet: int, first: int, end: int) -> int:
    """A complement and another part on LIST whose intersection is not decided."""
    listed = int64s(context, at.LIST)
    for one in range(first, end):
        if field(context, int(listed[one]), at.KIND) != at.NOT:
            continue
        nullable = field(context, int(listed[one]), at.ABOUT) & at.NULLABLE
        for other in range(first, end):
            if nullable & field(context, int(listed[other]), at.ABOUT):
                continue  # both accept the empty text, as do most pairs of 64 words
            pair = both_of(context, int(listed[one]), int(listed[other]))
            about = field(context, pair, at.ABOUT)
            if context[at.WANT] == 0 and about & at.DEAD:
                put(context, meet, at.ABOUT, field(context, meet, at.ABOUT) | at.DEAD)
                return 0
            if (
                about & (at.SURE | at.ALIVE | at.HARD) == 0
                and field(context, pair, at.KIND) == at.AND
            ):
                return pair
    return 0
