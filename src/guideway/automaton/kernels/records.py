"""Regular expressions as hash-consed records: their fields, normal forms and bounds of length."""

from typing import Final

from guideway.automaton.jit.views import Context, inner, int32s, int64s, once, uint8s
from guideway.automaton.kernels import record_layout as at
from guideway.automaton.kernels.intern import mixed
from guideway.automaton.kernels.layout import ACCEPTS


@inner
def lacking(context: Context, what: int) -> int:
    """Set WANT; return 0."""
    context[at.WANT] = what + 1
    return 0


@inner
def push(context: Context, value: int) -> None:
    top = context[at.TOP]
    if top == context[at.ROOMS + at.TOP]:
        lacking(context, at.TOP)
        return
    int64s(context, at.LIST)[top] = value
    context[at.TOP] = top + 1


@inner
def field(context: Context, record: int, which: int) -> int:
    return int(int64s(context, at.RECORD)[record * at.WIDTH + which])


@inner
def put(context: Context, record: int, which: int, value: int) -> None:
    int64s(context, at.RECORD)[record * at.WIDTH + which] = value


@inner
def add_line(context: Context, members: int, after: int) -> None:
    if members == 0 or after == at.EMPTY:
        return
    end = context[at.LINES]
    if end == context[at.ROOMS + at.LINES]:
        lacking(context, at.LINES)
        return
    int64s(context, at.LINE)[end] = (members << 32) | after
    context[at.LINES] = end + 1


@inner
def set_of(context: Context, a: int, b: int, c: int, d: int) -> int:
    if a | b | c | d == 0:
        return 0
    sets, table = int64s(context, at.SET), int32s(context, at.SET_HASH)
    last = 2 * context[at.ROOMS + at.SETS] - 1
    place = mixed(mixed(mixed(a, b), c), d) & last
    while table[place] != 0:
        start = table[place] * 4
        if (
            sets[start] == a
            and sets[start + 1] == b
            and sets[start + 2] == c
            and sets[start + 3] == d
        ):
            return int(table[place])
        place = (place + 1) & last
    made = context[at.SETS]
    if made == context[at.ROOMS + at.SETS]:
        return lacking(context, at.SETS)
    context[at.SETS] = made + 1
    table[place] = made
    sets[made * 4], sets[made * 4 + 1], sets[made * 4 + 2], sets[made * 4 + 3] = a, b, c, d
    return made


@inner
def common_of(context: Context, one: int, other: int) -> int:
    if one == other:
        return one
    sets, p, q = int64s(context, at.SET), one * 4, other * 4
    return set_of(
        context,
        sets[p] & sets[q],
        sets[p + 1] & sets[q + 1],
        sets[p + 2] & sets[q + 2],
        sets[p + 3] & sets[q + 3],
    )


@inner
def record_of(context: Context, kind: int, a: int, b: int, c: int) -> int:
    """The record of a kind other than ALT with these fields."""
    records, table = int64s(context, at.RECORD), int32s(context, at.RECORD_HASH)
    last = 2 * context[at.ROOMS + at.RECORDS] - 1
    code = mixed(mixed(mixed(kind, a), b), c)
    place = code & last
    while table[place] != 0:
        start = table[place] * at.WIDTH
        if (
            records[start + at.HASH] == code
            and records[start] == kind
            and records[start + at.A] == a
            and records[start + at.B] == b
            and records[start + at.C] == c
        ):
            return int(table[place])
        place = (place + 1) & last
    return _new(context, place, code, kind, a, b, c)


@inner
def union_of(context: Context, first: int) -> int:
    """The union of the records from `first` on in LIST, sorted; pops them."""
    listed, end = int64s(context, at.LIST), int(context[at.TOP])
    context[at.TOP] = first
    if _ends_anyway(context, first, end):
        first += 1
    if end - first <= 1:
        return int(listed[first]) if end > first else at.EMPTY
    code = end - first
    for index in range(first, end):
        code = mixed(code, listed[index])
    table, last = int32s(context, at.RECORD_HASH), 2 * context[at.ROOMS + at.RECORDS] - 1
    place = code & last
    while table[place] != 0:
        if _is_union(context, int(table[place]), code, first, end - first):
            return int(table[place])
        place = (place + 1) & last
    parts, begin = int32s(context, at.PART), context[at.PARTS]
    if begin + end - first > context[at.ROOMS + at.PARTS]:
        return lacking(context, at.PARTS)
    for index in range(first, end):
        parts[begin + index - first] = listed[index]
    made = _new(context, place, code, at.ALT, begin, end - first, 0)
    if made:
        context[at.PARTS] = begin + end - first
    return made


@once
def _ends_anyway(context: Context, first: int, end: int) -> bool:
    """Return True if the list begins with ε and another option is nullable."""
    listed = int64s(context, at.LIST)
    if first == end or listed[first] != at.EPSILON:
        return False
    for index in range(first + 1, end):
        if field(context, int(listed[index]), at.ABOUT) & at.NULLABLE:
            return True
    return False


@inner
def _is_union(context: Context, record: int, code: int, first: int, count: int) -> bool:
    records = int64s(context, at.RECORD)
    parts = int32s(context, at.PART)
    listed = int64s(context, at.LIST)
    place = record * at.WIDTH
    if (
        records[place + at.HASH] != code
        or records[place] != at.ALT
        or records[place + at.B] != count
    ):
        return False
    begin = records[place + at.A]
    for index in range(count):  # noqa: SIM110  kernels have no generators
        if parts[begin + index] != listed[first + index]:
            return False
    return True


@inner
def _new(context: Context, place: int, code: int, kind: int, a: int, b: int, c: int) -> int:
    made = context[at.RECORDS]
    if made == context[at.ROOMS + at.RECORDS]:
        return lacking(context, at.RECORDS)
    context[at.RECORDS] = made + 1
    int32s(context, at.RECORD_HASH)[place] = made
    put(context, made, at.KIND, kind)
    put(context, made, at.A, a)
    put(context, made, at.B, b)
    put(context, made, at.C, c)
    put(context, made, at.HASH, code)
    if kind == at.ALT:
        _describe_union(context, made, a, b)
    else:
        _describe(context, made, kind, a, b, c)
    return made


@once
def _describe(context: Context, made: int, kind: int, a: int, b: int, c: int) -> None:
    about, guess, least, most = 0, 0, 0, at.FARTHEST
    if kind == at.EMPTY_KIND:
        about = at.DEAD
    elif kind == at.EPSILON_KIND:
        about, most = at.NULLABLE, 0
    elif kind == at.BYTES or (kind == at.RULE and b):
        about, guess = at.SURE, 1
    elif kind == at.RULE:
        guess = 1
    elif kind == at.NOT:
        about = (field(context, a, at.ABOUT) & at.NULLABLE) ^ at.NULLABLE
        guess = least = 1 - about
    elif kind == at.REPEAT:
        about = field(context, a, at.ABOUT) & (at.NULLABLE | at.SURE) if b else at.NULLABLE
        guess = guess_of(context, a) * min(b, at.FARTHEST)
        least = least_of(context, a) * min(b, at.FARTHEST)
        most = most_of(context, a) * min(c, at.FARTHEST) if c >= 0 else most
        most = 0 if most_of(context, a) == 0 else most
    else:
        about = field(context, a, at.ABOUT) & field(context, b, at.ABOUT) & (at.NULLABLE | at.SURE)
        about &= at.NULLABLE if kind == at.AND else about
        guess = guess_of(context, a) + guess_of(context, b)
        first, second = least_of(context, a), least_of(context, b)
        least = max(first, second) if kind == at.AND else first + second
        first, second = most_of(context, a), most_of(context, b)
        most = min(first, second) if kind == at.AND else first + second
    if kind == at.BYTES:
        least, most = 1, 1 if _begins_one(context, a) else 0
    put(context, made, at.ABOUT, about | at.SURE if about & at.NULLABLE else about)
    bounds = (min(most, at.FARTHEST) << at.MOST_OF) | (min(least, at.FARTHEST) << at.LEAST)
    put(context, made, at.GUESS, bounds | min(guess, at.FARTHEST))


@once
def _describe_union(context: Context, made: int, begin: int, count: int) -> None:
    parts, about, guess, least, most = int32s(context, at.PART), 0, at.FARTHEST, at.FARTHEST, 0
    for index in range(begin, begin + count):
        about |= field(context, parts[index], at.ABOUT) & (at.NULLABLE | at.SURE)
        guess = min(guess, guess_of(context, parts[index]))
        least = min(least, least_of(context, parts[index]))
        most = max(most, most_of(context, parts[index]))
    put(context, made, at.ABOUT, about)
    put(context, made, at.GUESS, (most << at.MOST_OF) | (least << at.LEAST) | guess)


@inner
def guess_of(context: Context, record: int) -> int:
    """Guess of the fewest bytes of a text; may be too high."""
    return field(context, record, at.GUESS) & (2 * at.FARTHEST - 1)


@inner
def least_of(context: Context, record: int) -> int:
    """Lower bound of the bytes of a text."""
    return (field(context, record, at.GUESS) >> at.LEAST) & (2 * at.FARTHEST - 1)


@inner
def most_of(context: Context, record: int) -> int:
    """Upper bound of the UTF-8 lead bytes of a text, so of its characters; FARTHEST: none."""
    return field(context, record, at.GUESS) >> at.MOST_OF


@once
def _begins_one(context: Context, bytes_: int) -> bool:
    """Return True if a set has a byte that begins a UTF-8 character."""
    sets = int64s(context, at.SET)
    return sets[bytes_ * 4] != 0 or sets[bytes_ * 4 + 1] != 0 or sets[bytes_ * 4 + 3] != 0


@once
def rehash(context: Context) -> None:
    """Rebuild both hash tables after they have grown."""
    records, table = int64s(context, at.RECORD), int32s(context, at.RECORD_HASH)
    last = 2 * context[at.ROOMS + at.RECORDS] - 1
    for record in range(1, context[at.RECORDS]):
        place = records[record * at.WIDTH + at.HASH] & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = record
    sets, table = int64s(context, at.SET), int32s(context, at.SET_HASH)
    last = 2 * context[at.ROOMS + at.SETS] - 1
    for number in range(1, context[at.SETS]):
        start = number * 4
        place = (
            mixed(mixed(mixed(sets[start], sets[start + 1]), sets[start + 2]), sets[start + 3])
            & last
        )
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = number


@inner
def state_of(context: Context, record: int) -> int:
    found = field(context, record, at.STATE)
    if found:
        return found
    made = int(context[at.STATES])
    if made >= context[at.ROOMS + at.STATES]:
        return lacking(context, at.STATES)
    nullable = field(context, record, at.ABOUT) & at.NULLABLE
    uint8s(context, at.FLAG)[made] = ACCEPTS if nullable else 0
    int32s(context, at.STATE_RECORD)[made] = record
    put(context, record, at.STATE, made)
    context[at.STATES] = made + 1
    return made


@inner
def sort_list(context: Context, first: int) -> None:
    """Sort the list from `first` on and drop duplicates (Shell 1959, gaps 1, 4, 13, …)."""
    listed, end = int64s(context, at.LIST), int(context[at.TOP])
    gap = 1
    while gap * 3 < end - first:
        gap = gap * 3 + 1
    while gap > 0:
        for index in range(first + gap, end):
            value, place = listed[index], index
            while place - gap >= first and listed[place - gap] > value:
                listed[place] = listed[place - gap]
                place -= gap
            listed[place] = value
        gap //= 3
    kept = first
    for index in range(first, end):
        if kept == first or listed[kept - 1] != listed[index]:
            listed[kept] = listed[index]
            kept += 1
    context[at.TOP] = kept


@inner
def is_among(context: Context, first: int, end: int, wanted: int) -> bool:
    """Return True if a number is in the sorted list [first, end)."""
    listed, low, high = int64s(context, at.LIST), first, end
    while low < high:
        middle = (low + high) >> 1
        if listed[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < end and listed[low] == wanted


@inner
def item_of(context: Context, record: int) -> int:
    """The repeated item, or the record itself. x? counts x."""
    kind = field(context, record, at.KIND)
    if kind == at.REPEAT:
        return field(context, record, at.A)
    if kind == at.ALT and field(context, record, at.B) == 2:
        parts, place = int32s(context, at.PART), field(context, record, at.A)
        if parts[place] == at.EPSILON:
            return int(parts[place + 1])
    return record


@inner
def low_of(context: Context, record: int) -> int:
    if field(context, record, at.KIND) == at.REPEAT:
        return field(context, record, at.B)
    return 1 if item_of(context, record) == record else 0


@inner
def high_of(context: Context, record: int) -> int:
    """The greatest count, -1 if unbounded."""
    return field(context, record, at.C) if field(context, record, at.KIND) == at.REPEAT else 1


_DEPTH: Final = 8  # common heads, before two records differ


@inner
def is_denied(context: Context, one: int, other: int) -> bool:
    """Return True if one is a complement that obviously excludes all texts of the other."""
    if field(context, one, at.KIND) == at.NOT and _holds(context, field(context, one, at.A), other):
        return True
    return field(context, other, at.KIND) == at.NOT and _holds(
        context, field(context, other, at.A), one
    )


@inner
def _holds(context: Context, outer: int, inside: int) -> bool:
    """Return True if `inside` is `outer`, one of its options, or so after common heads."""
    for _ in range(_DEPTH):
        if outer == inside:
            return True
        concat = field(context, inside, at.KIND) == at.CONCAT
        if field(context, outer, at.KIND) == at.ALT:
            if _has_all(context, outer, inside):
                return True
            if not concat:
                return False
            outer = _option_like(context, outer, field(context, inside, at.A))
        if (
            not concat
            or field(context, outer, at.KIND) != at.CONCAT
            or field(context, outer, at.A) != field(context, inside, at.A)
        ):
            return False
        outer, inside = field(context, outer, at.B), field(context, inside, at.B)
    return False


@once
def _has_all(context: Context, outer: int, inside: int) -> bool:
    """Return True if the options of `inside` are among those of `outer`; both are sorted."""
    parts = int32s(context, at.PART)
    place = field(context, outer, at.A)
    end = place + field(context, outer, at.B)
    nested = field(context, inside, at.KIND) == at.ALT
    start = field(context, inside, at.A)
    for index in range(field(context, inside, at.B) if nested else 1):
        wanted = int(parts[start + index]) if nested else inside
        while place < end and parts[place] < wanted:
            place += 1
        if place == end or parts[place] != wanted:
            return False
    return True


@once
def _option_like(context: Context, outer: int, head: int) -> int:
    """An option of `outer` that is a concatenation with this head; 0 if none."""
    parts, first = int32s(context, at.PART), field(context, outer, at.A)
    for index in range(first, first + field(context, outer, at.B)):
        option = int(parts[index])
        if field(context, option, at.KIND) == at.CONCAT and field(context, option, at.A) == head:
            return option
    return 0


_SUPERFLUOUS_DEPTH: Final = 6
_PASSED: Final = 16  # nullable heads that are skipped in a row


@inner
def drop_superfluous(context: Context, first: int) -> None:
    """Drop options whose texts are all texts of another: see `language.expr`."""
    listed, end = int64s(context, at.LIST), int(context[at.TOP])
    for index in range(first, end):
        push(context, _shape(context, int(listed[index])))
    if context[at.WANT] or not _are_alike(context, end):
        context[at.TOP] = end
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
    if context[at.WANT]:
        context[at.TOP] = end
        return
    for place in range(2 * end - first, context[at.TOP]):
        if listed[place]:
            listed[kept] = listed[place]
            kept += 1
    context[at.TOP] = kept


@once
def _are_alike(context: Context, first: int) -> bool:
    """Return True if two of the shapes from `first` on are equal."""
    listed, end = int64s(context, at.LIST), int(context[at.TOP])
    for index in range(first, end):
        push(context, int(listed[index]))
    found = context[at.WANT] == 0
    if found:
        sort_list(context, end)
        found = context[at.TOP] - end < end - first
    context[at.TOP] = end
    return found


@once
def _shape(context: Context, option: int) -> int:
    """Hash of the items of an option, without counts."""
    code = 0
    for _ in range(_SUPERFLUOUS_DEPTH):
        concat = field(context, option, at.KIND) == at.CONCAT
        head = field(context, option, at.A) if concat else option
        code = mixed(code, item_of(context, head))
        if not concat:
            return code
        option = field(context, option, at.B)
    return mixed(code, option)


@once
def _covers(context: Context, outer: int, inside: int) -> bool:
    """Return True if both have the same items, and the counts of `outer` contain the others."""
    for _ in range(_SUPERFLUOUS_DEPTH):
        concat = field(context, outer, at.KIND) == at.CONCAT
        if concat != (field(context, inside, at.KIND) == at.CONCAT):
            return False
        head = field(context, outer, at.A) if concat else outer
        other = field(context, inside, at.A) if concat else inside
        if item_of(context, head) != item_of(context, other):
            return False
        most = high_of(context, head)
        if low_of(context, head) > low_of(context, other) or (
            most >= 0 and not 0 <= high_of(context, other) <= most
        ):
            return False
        if not concat:
            return True
        outer, inside = field(context, outer, at.B), field(context, inside, at.B)
    return outer == inside


@inner
def drop_tails(context: Context, first: int) -> None:
    """Drop options that another becomes by skipping nullable heads (800 optional letters: 1 GB)."""
    listed, end = int64s(context, at.LIST), int(context[at.TOP])
    for index in range(first, end):
        rest, passed = int(listed[index]), 0
        while passed < _PASSED and _may_be_passed(context, rest):
            rest, passed = field(context, rest, at.B), passed + 1
            if is_among(context, first, end, rest):
                push(context, rest)
                passed = _PASSED
    if context[at.WANT] or context[at.TOP] == end:
        context[at.TOP] = end
        return
    sort_list(context, end)
    kept, last = first, int(context[at.TOP])
    for index in range(first, end):
        if not is_among(context, end, last, int(listed[index])):
            listed[kept] = listed[index]
            kept += 1
    context[at.TOP] = kept


@inner
def leads_on(context: Context, outer: int, inside: int) -> bool:
    """Return True if `outer` becomes `inside` by skipping nullable parts after equal heads."""
    for _ in range(_SUPERFLUOUS_DEPTH):
        rest, passed = outer, 0
        while rest != inside and passed < _PASSED and _may_be_passed(context, rest):
            rest, passed = field(context, rest, at.B), passed + 1
        if rest == inside:
            return True
        if (
            field(context, outer, at.KIND) != at.CONCAT
            or field(context, inside, at.KIND) != at.CONCAT
        ):
            return False
        if field(context, outer, at.A) != field(context, inside, at.A):
            return False
        outer, inside = field(context, outer, at.B), field(context, inside, at.B)
    return False


@inner
def _may_be_passed(context: Context, record: int) -> bool:
    if field(context, record, at.KIND) != at.CONCAT:
        return False
    return field(context, field(context, record, at.A), at.ABOUT) & at.NULLABLE != 0


@inner
def nearest(context: Context, base: int) -> int:
    """Pop the low half of the least number of the heap from `base` on."""
    heap = int64s(context, at.LIST)
    least = int(heap[base] & 0xFFFFFFFF)
    context[at.TOP] -= 1
    count = context[at.TOP] - base
    value, place = heap[context[at.TOP]], 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and heap[base + child + 1] < heap[base + child]:
            child += 1
        if heap[base + child] >= value:
            break
        heap[base + place] = heap[base + child]
        place = child
    heap[base + place] = value
    return least


@inner
def put_in_order(context: Context, base: int, value: int) -> None:
    """Push a number on the heap from `base` on."""
    push(context, value)
    heap, place = int64s(context, at.LIST), context[at.TOP] - base - 1
    if context[at.WANT]:
        return
    while place > 0 and heap[base + (place - 1) // 2] > value:
        heap[base + place] = heap[base + (place - 1) // 2]
        place = (place - 1) // 2
    heap[base + place] = value
