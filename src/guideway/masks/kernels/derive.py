"""Derivatives of records: `automata.derivative` for regular expressions, memoised for good.

`lines` of a record are pairs (set of first bytes, rest after one of them); their sets may overlap.
`arcs` are lines with disjoint sets, each with the union of the rests.
"""

from typing import Final

from guideway.masks.kernels.algebra import alt_by_head, both_of, not_of, pair_of, repeat_of
from guideway.masks.kernels.record_layout import (
    ABOUT,
    ALT,
    AND,
    ANYTHING,
    ARCS_AT,
    ARCS_END,
    BODIES,
    BODILESS,
    BYTES,
    CONCAT,
    EFFORT,
    EMPTY_KIND,
    EPSILON,
    EPSILON_KIND,
    KIND,
    LINE,
    LINES,
    LINES_AT,
    LINES_END,
    LIST,
    NOT,
    NULLABLE,
    PART,
    PARTS,
    REPEAT,
    ROOMS,
    RULE,
    SET,
    SPELLABLE,
    TOP,
    WANT,
    A,
    B,
    C,
)
from guideway.masks.kernels.records import add_line, common_of, field, lacking, push, put, set_of
from guideway.masks.kernels.superfluous import leads_on
from guideway.masks.kernels.views import Context, inner, int32s, int64s, lowest_bit, once

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
