"""Derivatives of regular expressions: the arcs of a record, by sets of bytes."""

from typing import Final

from guideway.automaton.jit.operands import inner, lowest_bit, once
from guideway.automaton.kernels import regex_layout as at
from guideway.automaton.kernels.regex_layout import RegexContext
from guideway.automaton.kernels.regexes import (
    add_line,
    common_of,
    drop_tails,
    high_of,
    item_of,
    lacking,
    leads_on,
    low_of,
    operand_of,
    push,
    record_of,
    set_of,
    sort_list,
    union_of,
)

_MOST_COMPARED: Final = 512


@inner
def pair_of(context: RegexContext, head: int, tail: int) -> int:
    """The concatenation of `head` and `tail`."""
    if tail == at.EPSILON:
        return head
    base = context.listed.used
    while context.records[head].kind == at.CONCAT:
        push(context, context.records[head].a)
        head = context.records[head].b
    while True:
        tail = _cons(context, head, tail)
        if context.listed.used == base:
            return tail
        context.listed.used -= 1
        head = context.listed[context.listed.used]


@inner
def _cons(context: RegexContext, head: int, tail: int) -> int:
    if head == at.EPSILON:
        return tail
    while tail != at.EPSILON and head != at.EMPTY and tail != at.EMPTY:
        follower, rest = tail, at.EPSILON
        if context.records[tail].kind == at.CONCAT:
            follower, rest = context.records[tail].a, context.records[tail].b
        item = item_of(context, head)
        if item != item_of(context, follower) or (item == head and item == follower):
            return record_of(context, at.CONCAT, head, tail, 0)
        low = min(low_of(context, head) + low_of(context, follower), at.MOST)
        high, most = high_of(context, head), high_of(context, follower)
        high = -1 if high < 0 or most < 0 else min(high + most, at.MOST)
        head, tail = repeat_of(context, item, low, high), rest
    return at.EMPTY if tail == at.EMPTY else head


@inner
def repeat_of(context: RegexContext, item: int, low: int, high: int) -> int:
    """`item` repeated `low` to `high` times; `high` -1 is unbounded."""
    if (0 <= high < low) or (item == at.EMPTY and low > 0):
        return at.EMPTY
    if high == 0 or item <= at.EPSILON:
        return at.EPSILON
    if low == 1 and high == 1:
        return item
    if context.records[item].about & at.NULLABLE:
        low = 0
    if low == 0 and high == 1:
        return _optional(context, item)
    return record_of(context, at.REPEAT, item, low, high)


@once
def _optional(context: RegexContext, item: int) -> int:
    if context.records[item].about & at.NULLABLE:
        return item
    base = context.listed.used
    push(context, at.EPSILON)
    if context.records[item].kind == at.ALT:
        place = context.records[item].a
        for index in range(place, place + context.records[item].b):
            push(context, context.parts[index])
    else:
        push(context, item)
    return union_of(context, base)


@inner
def both_of(context: RegexContext, left: int, right: int) -> int:
    if left == right or right == at.ANYTHING:
        return left
    if left == at.ANYTHING:
        return right
    if left == at.EMPTY or right == at.EMPTY:
        return at.EMPTY
    if left == at.EPSILON or right == at.EPSILON:
        nullable = context.records[left].about & context.records[right].about & at.NULLABLE
        return at.EPSILON if nullable else at.EMPTY
    if context.records[left].kind == at.BYTES and context.records[right].kind == at.BYTES:
        common = common_of(context, context.records[left].a, context.records[right].a)
        return record_of(context, at.BYTES, common, 0, 0) if common else at.EMPTY
    return record_of(context, at.AND, min(left, right), max(left, right), 0)


@inner
def not_of(context: RegexContext, item: int) -> int:
    if context.records[item].kind == at.NOT:
        return context.records[item].a
    return record_of(context, at.NOT, item, 0, 0)


@inner
def alt_of(context: RegexContext, base: int) -> int:
    """The union of the list from `base` on; pops it."""
    listed, end = context.listed, context.listed.used
    if end - base == 1:
        context.listed.used = base
        return listed[base]
    _flatten(context, base, end)
    sort_list(context, end)
    if context.listed.used > end and (
        listed[end] == at.ANYTHING
        or (context.listed.used > end + 1 and listed[end + 1] == at.ANYTHING)
    ):
        context.listed.used = base
        return at.ANYTHING
    if context.listed.used - end > 1:
        drop_tails(context, end)
    if context.listed.used - end <= _MOST_COMPARED:
        _unite(context, end)
    made = union_of(context, end)
    context.listed.used = base
    return made


@inner
def _flatten(context: RegexContext, base: int, end: int) -> None:
    """Push the options of the options, and their bytes as one set."""
    a = b = c = d = 0
    for index in range(base, end):
        record = context.listed[index]
        nested = context.records[record].kind == at.ALT
        start = context.records[record].a
        for option in range(context.records[record].b if nested else 1):
            part = context.parts[start + option] if nested else record
            if context.records[part].kind == at.BYTES:
                members = context.sets[context.records[part].a]
                a, b = a | members.words[0], b | members.words[1]
                c, d = c | members.words[2], d | members.words[3]
            elif part != at.EMPTY:
                push(context, part)
    if a | b | c | d:
        push(context, record_of(context, at.BYTES, set_of(context, a, b, c, d), 0, 0))


@inner
def _unite(context: RegexContext, first: int) -> None:
    """Merge adjoining counts of the same item before the same rest."""
    changed = False
    index = first
    while index < context.listed.used and context.want == 0:
        option = context.listed[index]
        concat = context.records[option].kind == at.CONCAT
        head = context.records[option].a if concat else option
        item, rest = item_of(context, head), context.records[option].b if concat else at.EPSILON
        other = _meeting(context, first, index, head, item, rest) if item != head else -1
        if other < 0:
            index += 1
            continue
        low, high = _joined(context, head, _head_before(context, context.listed[other], item, rest))
        context.listed[index] = pair_of(context, repeat_of(context, item, low, high), rest)
        context.listed.used -= 1
        context.listed[other] = context.listed[context.listed.used]
        index, changed = first, True
    if changed:
        sort_list(context, first)


@once
def _meeting(context: RegexContext, first: int, index: int, head: int, item: int, rest: int) -> int:
    """Index of another option that counts `item` before `rest` and adjoins this one; -1 if none."""
    low, high = low_of(context, head), high_of(context, head)
    for place in range(first, context.listed.used):
        if place == index:
            continue
        before = _head_before(context, context.listed[place], item, rest)
        if before < 0:
            continue
        least = 0 if before == at.EPSILON else low_of(context, before)
        most = 0 if before == at.EPSILON else high_of(context, before)
        if (high < 0 or least <= high + 1) and (most < 0 or low <= most + 1):
            return place
    return -1


@inner
def _head_before(context: RegexContext, option: int, item: int, rest: int) -> int:
    """Head of an option before `rest` if it counts `item`; ε if it is `rest`, -1 if neither."""
    if option == rest:
        return at.EPSILON
    head, tail = option, at.EPSILON
    if rest != at.EPSILON and context.records[option].kind == at.CONCAT:
        head, tail = context.records[option].a, context.records[option].b
    return head if tail == rest and item_of(context, head) == item else -1


@once
def _joined(context: RegexContext, head: int, before: int) -> tuple[int, int]:
    """The union of two adjoining counts; ε counts 0."""
    low, high = low_of(context, head), high_of(context, head)
    least = 0 if before == at.EPSILON else low_of(context, before)
    most = 0 if before == at.EPSILON else high_of(context, before)
    return min(low, least), -1 if high < 0 or most < 0 else max(high, most)


@inner
def alt_by_head(context: RegexContext, base: int, deep: int) -> int:
    """As `alt_of`, with common heads factored out `deep` parts deep: x·y | x·z becomes x·(y|z).

    Otherwise `.*(x.*|)` beside `.*` is another state, whose state mask takes ten times as long.
    """
    listed, end = context.listed, context.listed.used
    if end - base == 1:
        context.listed.used = base
        return listed[base]
    _flatten(context, base, end)
    sort_list(context, end)
    if context.listed.used - end > 1:
        drop_tails(context, end)
    stop = context.listed.used
    _push_by_head(context, end, stop)
    sort_list(context, stop)
    end, stop = stop, context.listed.used
    index = end
    while context.want == 0:
        head, first = (listed[index] >> 32) if index < stop else -1, context.listed.used
        while index < stop and listed[index] >> 32 == head:
            option = listed[index] & 0xFFFFFFFF
            push(context, context.records[option].b if head else option)
            index += 1
        if head == 0:
            continue
        if head < 0:
            made = alt_of(context, stop)
            context.listed.used = base
            return made
        further = alt_by_head(context, first, deep - 1) if deep > 1 else alt_of(context, first)
        push(context, pair_of(context, head, further))
    context.listed.used = base
    return at.EMPTY


@once
def _push_by_head(context: RegexContext, first: int, end: int) -> None:
    """Push head << 32 | option for each option; head 0 if it is no concatenation."""
    for index in range(first, end):
        option = context.listed[index]
        concat = context.records[option].kind == at.CONCAT
        push(context, (context.records[option].a << 32 if concat else 0) | option)


_DEEP: Final = 3  # heads that are factored out at once; 4 took patterns of 2^21 states too far
_FREE: Final = 64  # lines that one derivation writes at no cost in EFFORT


@inner
def derive(context: RegexContext, root: int) -> None:
    """Make the arcs of a record; entries of `listed` are record * 2, + 1 where arcs are wanted."""
    base, before = context.listed.used, _written(context)
    push(context, root * 2 + 1)
    while context.listed.used > base and context.want == 0:
        entry = context.listed[context.listed.used - 1]
        record = entry >> 1
        if context.records[record].lines_end == 0:
            if not _push_missing(context, record):
                _make_lines(context, record)
        elif entry & 1 and context.records[record].arcs_end == 0:
            _make_arcs(context, record)
        else:
            context.listed.used -= 1
    context.listed.used = base
    context.effort.used += (
        max(_written(context) - before - _FREE, 0) >> 3
    )  # in units of one derivation


@inner
def _written(context: RegexContext) -> int:
    """Amount written: lines, and options, which take a quarter as long."""
    return context.lines.used + (context.parts.used >> 2)


@inner
def _push_missing(context: RegexContext, record: int) -> bool:
    """Push the records whose lines or arcs are needed first; return True if any is."""
    before, kind, a = context.listed.used, context.records[record].kind, context.records[record].a
    both = kind == at.AND
    both |= kind == at.CONCAT and context.records[a].about & at.NULLABLE != 0
    arcs = kind in (at.AND, at.NOT)
    count = 0 if kind in (at.BYTES, at.EPSILON_KIND, at.EMPTY_KIND) else 2 if both else 1
    if kind == at.ALT:
        count = context.records[record].b
    elif kind == at.RULE:
        count = _push_body(context, record)
    for index in range(count):
        part = context.parts[a + index] if kind == at.ALT else operand_of(context, record, index)
        one = context.records[part]
        if (one.arcs_end if arcs else one.lines_end) == 0:
            push(context, part * 2 + arcs)
    return context.listed.used > before or context.want != 0


@inner
def _push_body(context: RegexContext, record: int) -> int:
    """Push the body of a rule, or request it."""
    body = context.records[record].c - 1
    if body < 0:
        context.bodiless = record
        lacking(context, at.BODIES)
    elif context.records[body].lines_end == 0:
        push(context, body * 2)
    return 0


@inner
def _make_lines(context: RegexContext, record: int) -> None:
    kind = context.records[record].kind
    a = context.records[record].a
    b = context.records[record].b
    begin = context.lines.used
    if kind == at.BYTES:
        add_line(context, a, at.EPSILON)
    elif kind == at.AND:
        _meet(context, a, b)
    elif kind == at.NOT:
        _complement_lines(context, a)
    else:
        _lines_of_parts(context, record, kind, a, b)
    if _are_complete(context, begin):
        one = context.records[record]
        one.lines_at, one.lines_end = begin, context.lines.used


@inner
def _lines_of_parts(context: RegexContext, record: int, kind: int, a: int, b: int) -> None:
    """Write the lines of the parts that may come first, each with its rest."""
    lines, rest, count = context.lines, at.EPSILON, 0
    begin = context.lines.used
    if kind == at.ALT:
        count = b
    elif kind == at.RULE:
        count = 1
    elif kind == at.CONCAT:
        count, rest = 1 + (context.records[a].about & at.NULLABLE), b
    elif kind == at.REPEAT:
        high = context.records[record].c
        count, rest = 1, repeat_of(context, a, max(b - 1, 0), high - 1 if high > 0 else high)
    for index in range(count):
        part = context.parts[a + index] if kind == at.ALT else a
        if index and kind == at.CONCAT:
            part, rest = b, at.EPSILON
        elif kind == at.RULE:
            part = context.records[record].c - 1
        end, made = context.records[part].lines_end, context.lines.used
        for line in range(context.records[part].lines_at, end):
            after = pair_of(context, lines[line] & 0xFFFFFFFF, rest)
            passed = kind == at.CONCAT and index != 0
            if not passed or not _is_said(context, begin, made, lines[line]):
                add_line(context, lines[line] >> 32, after)


@inner
def _is_said(context: RegexContext, first: int, last: int, line: int) -> bool:
    """Return True if one of some lines subsumes another, which comes after a nullable head."""
    for index in range(first, last):
        if context.lines[index] >> 32 == line >> 32 and leads_on(
            context, context.lines[index] & 0xFFFFFFFF, line & 0xFFFFFFFF
        ):
            return True
    return False


@inner
def _are_complete(context: RegexContext, begin: int) -> bool:
    """Return True if nothing was missing for the lines from `begin` on; else drop them."""
    if context.want:
        context.lines.used = begin
        return False
    context.effort.used += 1
    if context.effort.used >= context.effort.room:
        lacking(context, at.EFFORT)
    return True


@inner
def _meet(context: RegexContext, left: int, right: int) -> None:
    lines, end = context.lines, context.records[left].arcs_end
    first, last = context.records[right].arcs_at, context.records[right].arcs_end
    for index in range(context.records[left].arcs_at, end):
        for other in range(first, last):
            common = common_of(context, lines[index] >> 32, lines[other] >> 32)
            if common:
                one, two = lines[index] & 0xFFFFFFFF, lines[other] & 0xFFFFFFFF
                add_line(context, common, both_of(context, one, two))


@inner
def _complement_lines(context: RegexContext, item: int) -> None:
    lines, sets = context.lines, context.sets
    words = sets[context.spellable].words
    a, b, c, d = words[0], words[1], words[2], words[3]
    for index in range(context.records[item].arcs_at, context.records[item].arcs_end):
        members = lines[index] >> 32
        words = sets[members].words
        a, b, c, d = a & ~words[0], b & ~words[1], c & ~words[2], d & ~words[3]
        add_line(context, members, not_of(context, lines[index] & 0xFFFFFFFF))
    add_line(context, set_of(context, a, b, c, d), at.ANYTHING)


@inner
def _make_arcs(context: RegexContext, record: int) -> None:
    first, last = context.records[record].lines_at, context.records[record].lines_end
    kind = context.records[record].kind
    if last - first <= 1 or kind in (at.AND, at.NOT):  # these are disjoint already
        context.records[record].arcs_at = first
        context.records[record].arcs_end = last
        return
    base, begin = context.listed.used, context.lines.used
    _partition(context, first, last)
    if context.want:
        context.listed.used = base
        return
    listed = context.listed
    for part in range(base, context.listed.used, 4):
        byte = _least_byte(context, part)
        before = context.listed.used
        for index in range(first, last):
            if context.sets[context.lines[index] >> 32].words[byte >> 6] >> (byte & 63) & 1:
                push(context, context.lines[index] & 0xFFFFFFFF)
        members = set_of(
            context, listed[part], listed[part + 1], listed[part + 2], listed[part + 3]
        )
        add_line(context, members, alt_by_head(context, before, _DEEP))
    context.listed.used = base
    if _are_complete(context, begin):
        one = context.records[record]
        one.arcs_at, one.arcs_end = begin, context.lines.used


@once
def _least_byte(context: RegexContext, place: int) -> int:
    """The least byte of the four words in `listed`, which are not all 0."""
    for word in range(3):
        if context.listed[place + word]:
            return word * 64 + lowest_bit(context.listed[place + word])
    return 192 + lowest_bit(context.listed[place + 3])


@inner
def _partition(context: RegexContext, first: int, last: int) -> None:
    """Push the partition that the sets of these lines generate, four words for each part."""
    lines, base = context.lines, context.listed.used
    for index in range(first, last):
        members = lines[index] >> 32
        if index == first or members != lines[index - 1] >> 32:  # they often come in runs
            _split(context, base, int(members))


@once
def _split(context: RegexContext, base: int, members: int) -> None:
    listed, words = context.listed, context.sets[members].words
    a, b, c, d = words[0], words[1], words[2], words[3]
    for part in range(base, context.listed.used, 4):
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
def _push_words(context: RegexContext, a: int, b: int, c: int, d: int) -> None:
    """Push a nonempty set: all four words or none."""
    if a | b | c | d == 0:
        return
    if context.listed.used + 4 > context.listed.room:
        lacking(context, at.LISTED)
        return
    push(context, a)
    push(context, b)
    push(context, c)
    push(context, d)


_MOST_PAIRED: Final = 1024  # parts; 16 and a complement: 17 states, and 2^17 without pairs


@inner
def undecided_pair(context: RegexContext, meet: int) -> int:
    """A pair of parts to search first; 0 if none. Marks all DEAD if a pair is disjoint."""
    listed, base = context.listed, context.listed.used
    push(context, meet)
    place = base
    while place < context.listed.used and context.want == 0:
        part = listed[place]
        if context.records[part].kind == at.AND:
            listed[place] = context.records[part].a
            push(context, context.records[part].b)
        else:
            place += 1
    end, inside = context.listed.used, 0
    if 2 < end - base <= _MOST_PAIRED and context.want == 0:
        inside = _pair_inside(context, meet, base, end)
    context.listed.used = base
    return inside


@once
def _pair_inside(context: RegexContext, meet: int, first: int, end: int) -> int:
    """A complement and another part on `listed` whose intersection is not decided."""
    for one in range(first, end):
        if context.records[context.listed[one]].kind != at.NOT:
            continue
        nullable = context.records[context.listed[one]].about & at.NULLABLE
        for other in range(first, end):
            if nullable & context.records[context.listed[other]].about:
                continue  # both accept the empty text, as do most pairs of 64 words
            pair = both_of(context, context.listed[one], context.listed[other])
            about = context.records[pair].about
            if context.want == 0 and about & at.DEAD:
                context.records[meet].about = context.records[meet].about | at.DEAD
                return 0
            if about & (at.SURE | at.ALIVE | at.HARD) == 0 and context.records[pair].kind == at.AND:
                return pair
    return 0
