"""Regular expressions as hash-consed records: fields, normal forms, bounds of length."""

from typing import Final

from guideway.automaton.jit.operands import inner, once
from guideway.automaton.kernels import regex_layout as at
from guideway.automaton.kernels.intern import add_hash, mixed, sort
from guideway.automaton.kernels.layout import ACCEPTS
from guideway.automaton.kernels.regex_layout import RegexContext


@inner
def lacking(context: RegexContext, what: int) -> int:
    """Set `want`; return 0."""
    context.want = what + 1
    return 0


@inner
def push(context: RegexContext, value: int) -> None:
    top = context.listed.used
    if top == context.listed.room:
        lacking(context, at.LISTED)
        return
    context.listed[top] = value
    context.listed.used = top + 1


@inner
def operand_of(context: RegexContext, record: int, index: int) -> int:
    one = context.records[record]
    return one.a if index == 0 else one.b


@inner
def add_line(context: RegexContext, members: int, after: int) -> None:
    if members == 0 or after == at.EMPTY:
        return
    end = context.lines.used
    if end == context.lines.room:
        lacking(context, at.LINES)
        return
    context.lines[end] = (members << 32) | after
    context.lines.used = end + 1


@inner
def set_of(context: RegexContext, a: int, b: int, c: int, d: int) -> int:
    if a | b | c | d == 0:
        return 0
    table, last = context.sets.hashes, 2 * context.sets.room - 1
    place = mixed(mixed(mixed(a, b), c), d) & last
    while table[place] != 0:
        words = context.sets[table[place]].words
        if words[0] == a and words[1] == b and words[2] == c and words[3] == d:
            return table[place]
        place = (place + 1) & last
    made = context.sets.used
    if made == context.sets.room:
        return lacking(context, at.SETS)
    context.sets.used = made + 1
    table[place] = made
    words = context.sets[made].words
    words[0], words[1], words[2], words[3] = a, b, c, d
    return made


@inner
def common_of(context: RegexContext, one: int, other: int) -> int:
    if one == other:
        return one
    p, q = context.sets[one].words, context.sets[other].words
    return set_of(
        context,
        p[0] & q[0],
        p[1] & q[1],
        p[2] & q[2],
        p[3] & q[3],
    )


@inner
def record_of(context: RegexContext, kind: int, a: int, b: int, c: int) -> int:
    """The record of a kind other than ALT with these fields."""
    table, last = context.records.hashes, 2 * context.records.room - 1
    code = mixed(mixed(mixed(kind, a), b), c)
    place = code & last
    while table[place] != 0:
        one = context.records[table[place]]
        if one.hash == code and one.kind == kind and one.a == a and one.b == b and one.c == c:
            return table[place]
        place = (place + 1) & last
    return _new(context, place, code, kind, a, b, c)


@inner
def union_of(context: RegexContext, first: int) -> int:
    """The union of the records from `first` on in `listed`, sorted; pops them."""
    listed, end = context.listed, context.listed.used
    context.listed.used = first
    if _ends_anyway(context, first, end):
        first += 1
    if end - first <= 1:
        return listed[first] if end > first else at.EMPTY
    code = end - first
    for index in range(first, end):
        code = mixed(code, listed[index])
    table, last = context.records.hashes, 2 * context.records.room - 1
    place = code & last
    while table[place] != 0:
        if _is_union(context, table[place], code, first, end - first):
            return table[place]
        place = (place + 1) & last
    begin = context.parts.used
    if begin + end - first > context.parts.room:
        return lacking(context, at.PARTS)
    for index in range(first, end):
        context.parts[begin + index - first] = listed[index]
    made = _new(context, place, code, at.ALT, begin, end - first, 0)
    if made:
        context.parts.used = begin + end - first
    return made


@once
def _ends_anyway(context: RegexContext, first: int, end: int) -> bool:
    """Return True if the list begins with ε and another option is nullable."""
    if first == end or context.listed[first] != at.EPSILON:
        return False
    for index in range(first + 1, end):
        if context.records[context.listed[index]].about & at.NULLABLE:
            return True
    return False


@inner
def _is_union(context: RegexContext, record: int, code: int, first: int, count: int) -> bool:
    one = context.records[record]
    if one.hash != code or one.kind != at.ALT or one.b != count:
        return False
    for index in range(count):
        if context.parts[one.a + index] != context.listed[first + index]:
            return False
    return True


@inner
def _new(context: RegexContext, place: int, code: int, kind: int, a: int, b: int, c: int) -> int:
    made = context.records.used
    if made == context.records.room:
        return lacking(context, at.RECORDS)
    context.records.used = made + 1
    context.records.hashes[place] = made
    one = context.records[made]
    one.kind, one.a, one.b, one.c, one.hash = kind, a, b, c, code
    if kind == at.ALT:
        _describe_union(context, made, a, b)
    else:
        _describe(context, made, kind, a, b)
    return made


@once
def _describe(context: RegexContext, made: int, kind: int, a: int, b: int) -> None:
    about, guess, least = 0, 0, 0
    if kind == at.EMPTY_KIND:
        about = at.DEAD
    elif kind == at.EPSILON_KIND:
        about = at.NULLABLE
    elif kind == at.BYTES or (kind == at.RULE and b):
        about, guess = at.SURE, 1
    elif kind == at.RULE:
        guess = 1
    elif kind == at.NOT:
        about = (context.records[a].about & at.NULLABLE) ^ at.NULLABLE
        guess = least = 1 - about
    elif kind == at.REPEAT:
        about = context.records[a].about & (at.NULLABLE | at.SURE) if b else at.NULLABLE
        guess = guess_of(context, a) * min(b, at.FARTHEST)
        least = least_of(context, a) * min(b, at.FARTHEST)
    else:
        about = context.records[a].about & context.records[b].about & (at.NULLABLE | at.SURE)
        about &= at.NULLABLE if kind == at.AND else about
        guess = guess_of(context, a) + guess_of(context, b)
        first, second = least_of(context, a), least_of(context, b)
        least = max(first, second) if kind == at.AND else first + second
    if kind == at.BYTES:
        least = 1
    context.records[made].about = about | at.SURE if about & at.NULLABLE else about
    bound = min(least, at.FARTHEST) << at.LEAST
    context.records[made].guess = bound | min(guess, at.FARTHEST)


@once
def _describe_union(context: RegexContext, made: int, begin: int, count: int) -> None:
    parts, about, guess, least = context.parts, 0, at.FARTHEST, at.FARTHEST
    for index in range(begin, begin + count):
        about |= context.records[parts[index]].about & (at.NULLABLE | at.SURE)
        guess = min(guess, guess_of(context, parts[index]))
        least = min(least, least_of(context, parts[index]))
    context.records[made].about = about
    context.records[made].guess = (least << at.LEAST) | guess


@inner
def guess_of(context: RegexContext, record: int) -> int:
    """Guess of the fewest bytes of a text; may be too high."""
    return context.records[record].guess & (2 * at.FARTHEST - 1)


@inner
def least_of(context: RegexContext, record: int) -> int:
    """Lower bound of the bytes of a text."""
    return context.records[record].guess >> at.LEAST


@once
def rehash(context: RegexContext) -> None:
    """Rebuild both hash tables after they have grown."""
    for record in range(1, context.records.used):
        code = context.records[record].hash
        add_hash(context.records.hashes, context.records.room, code, record)
    for number in range(1, context.sets.used):
        words = context.sets[number].words
        code = mixed(mixed(mixed(words[0], words[1]), words[2]), words[3])
        add_hash(context.sets.hashes, context.sets.room, code, number)


@inner
def state_of(context: RegexContext, record: int) -> int:
    found = context.records[record].state
    if found:
        return found
    made = context.states.used
    if made >= context.states.room:
        return lacking(context, at.STATES)
    nullable = context.records[record].about & at.NULLABLE
    context.flags[made] = ACCEPTS if nullable else 0
    context.state_records[made] = record
    context.records[record].state = made
    context.states.used = made + 1
    return made


@inner
def sort_list(context: RegexContext, first: int) -> None:
    """Sort the list from `first` on and drop duplicates."""
    listed, end = context.listed, context.listed.used
    sort(listed.rows, first, end)
    kept = first
    for index in range(first, end):
        if kept == first or listed[kept - 1] != listed[index]:
            listed[kept] = listed[index]
            kept += 1
    context.listed.used = kept


@inner
def is_among(context: RegexContext, first: int, end: int, wanted: int) -> bool:
    """Return True if a number is in the sorted list [first, end)."""
    listed, low, high = context.listed, first, end
    while low < high:
        middle = (low + high) >> 1
        if listed[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < end and listed[low] == wanted


@inner
def item_of(context: RegexContext, record: int) -> int:
    """The repeated item, or the record itself. x? counts x."""
    kind = context.records[record].kind
    if kind == at.REPEAT:
        return context.records[record].a
    if kind == at.ALT and context.records[record].b == 2:
        parts, place = context.parts, context.records[record].a
        if parts[place] == at.EPSILON:
            return parts[place + 1]
    return record


@inner
def low_of(context: RegexContext, record: int) -> int:
    if context.records[record].kind == at.REPEAT:
        return context.records[record].b
    return 1 if item_of(context, record) == record else 0


@inner
def high_of(context: RegexContext, record: int) -> int:
    """The greatest count, -1 if unbounded."""
    return context.records[record].c if context.records[record].kind == at.REPEAT else 1


_COMPARED: Final = 6  # parts of options that are compared
_PASSED: Final = 16  # nullable heads that are skipped in a row


@inner
def drop_tails(context: RegexContext, first: int) -> None:
    """Drop options that another becomes by skipping nullable heads (800 optional letters: 1 GB)."""
    listed, end = context.listed, context.listed.used
    for index in range(first, end):
        rest, passed = listed[index], 0
        while passed < _PASSED and _may_be_passed(context, rest):
            rest, passed = context.records[rest].b, passed + 1
            if is_among(context, first, end, rest):
                push(context, rest)
                passed = _PASSED
    if context.want or context.listed.used == end:
        context.listed.used = end
        return
    sort_list(context, end)
    kept, last = first, context.listed.used
    for index in range(first, end):
        if not is_among(context, end, last, listed[index]):
            listed[kept] = listed[index]
            kept += 1
    context.listed.used = kept


@inner
def leads_on(context: RegexContext, outer: int, inside: int) -> bool:
    """Return True if `outer` becomes `inside` by skipping nullable parts after equal heads."""
    for _ in range(_COMPARED):
        rest, passed = outer, 0
        while rest != inside and passed < _PASSED and _may_be_passed(context, rest):
            rest, passed = context.records[rest].b, passed + 1
        if rest == inside:
            return True
        if context.records[outer].kind != at.CONCAT or context.records[inside].kind != at.CONCAT:
            return False
        if context.records[outer].a != context.records[inside].a:
            return False
        outer, inside = context.records[outer].b, context.records[inside].b
    return False


@inner
def _may_be_passed(context: RegexContext, record: int) -> bool:
    if context.records[record].kind != at.CONCAT:
        return False
    return context.records[context.records[record].a].about & at.NULLABLE != 0


@inner
def nearest(context: RegexContext, base: int) -> int:
    """Pop the low half of the least number of the heap from `base` on."""
    least = context.listed[base] & 0xFFFFFFFF
    context.listed.used -= 1
    count = context.listed.used - base
    value, place = context.listed[context.listed.used], 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and context.listed[base + child + 1] < context.listed[base + child]:
            child += 1
        if context.listed[base + child] >= value:
            break
        context.listed[base + place] = context.listed[base + child]
        place = child
    context.listed[base + place] = value
    return least


@inner
def put_in_order(context: RegexContext, base: int, value: int) -> None:
    """Push a number on the heap from `base` on."""
    push(context, value)
    heap, place = context.listed, context.listed.used - base - 1
    if context.want:
        return
    while place > 0 and heap[base + (place - 1) // 2] > value:
        heap[base + place] = heap[base + (place - 1) // 2]
        place = (place - 1) // 2
    heap[base + place] = value
