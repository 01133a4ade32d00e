"""Lexer states: the state after each byte, from derivatives of records."""

from typing import Final

from guideway.automaton.jit.views import (
    Context,
    WholeNumbers,
    fence,
    inner,
    int32s,
    int64s,
    lowest_bit,
    once,
    uint8s,
)
from guideway.automaton.kernels import record_layout as at
from guideway.automaton.kernels.derive import (
    alt_of,
    both_of,
    derive,
    meet_inside,
    not_of,
    pair_of,
    repeat_of,
)
from guideway.automaton.kernels.layout import DEAD_END, EXPANDED, GOES_ON, LEXICON, OPTIONS_OF
from guideway.automaton.kernels.layout import WANT as WANTED
from guideway.automaton.kernels.records import (
    field,
    guess_of,
    nearest,
    push,
    put,
    put_in_order,
    record_of,
    set_of,
    state_of,
)

_MOST: Final = 512  # options; a record with more is not split


@inner
def list_options(context: Context, record: int) -> int:
    """Push the options of a record, or the record itself, on LIST; return their number."""
    listed, base, before = int64s(context, at.LIST), int(context[at.TOP]), int(context[at.RECORDS])
    push(context, record)
    place = base
    while place < context[at.TOP] and context[at.WANT] == 0:
        if not _split(context, place):
            place += 1
        elif context[at.TOP] - base > _MOST:
            listed[base], context[at.TOP] = record, base + 1
            break
    count = int(context[at.TOP]) - base
    context[at.EFFORT] += (context[at.RECORDS] - before) >> 3  # in units of one derivation
    return count


@inner
def _split(context: Context, place: int) -> bool:
    """Replace a record on LIST with its options; False if it has none."""
    record = int(int64s(context, at.LIST)[place])
    base = int(context[at.TOP])
    push(context, record * 2)
    if context[at.WANT] or (field(context, record, at.KIND) != at.ALT and not _find(context, base)):
        context[at.TOP] = base
        return False
    end = int(context[at.TOP])
    _push_rebuilt(context, base, end)
    _put_back(context, place, base, end)
    return True


@once
def _find(context: Context, base: int) -> bool:
    """Find the first alternative from the record at `base`; LIST has the path, node * 2 + side."""
    listed = int64s(context, at.LIST)
    if field(context, int(listed[base] >> 1), at.KIND) not in (at.CONCAT, at.AND):
        return False
    while context[at.TOP] > base and context[at.WANT] == 0:
        entry = int(listed[context[at.TOP] - 1])
        kind = field(context, entry >> 1, at.KIND)
        child = field(context, entry >> 1, at.A + (entry & 1))
        below = field(context, child, at.KIND)
        if below == at.ALT:
            return True
        if (kind == at.AND and below in (at.AND, at.CONCAT)) or (
            below == at.AND and entry & 1 == 0
        ):
            push(context, child * 2)
        else:
            while context[at.TOP] > base and listed[context[at.TOP] - 1] & 1:
                context[at.TOP] -= 1
            if context[at.TOP] > base:
                listed[context[at.TOP] - 1] += 1
    return False


@once
def _push_rebuilt(context: Context, base: int, end: int) -> None:
    """Push the record at `base` once for each option at the end of the path."""
    listed, parts = int64s(context, at.LIST), int32s(context, at.PART)
    found = int(listed[end - 1] >> 1)
    last = end
    if field(context, found, at.KIND) == at.ALT:  # the record itself
        last = base
    else:
        found = field(context, found, at.A + int(listed[end - 1] & 1))
    first = field(context, found, at.A)
    for index in range(first, first + field(context, found, at.B)):
        made = int(parts[index])
        for step in range(last - 1, base - 1, -1):
            node, side = int(listed[step] >> 1), int(listed[step] & 1)
            if field(context, node, at.KIND) == at.AND:
                made = both_of(context, made, field(context, node, at.B - side))
            elif side:
                made = pair_of(context, field(context, node, at.A), made)
            else:
                made = pair_of(context, made, field(context, node, at.B))
        push(context, made)


@once
def _put_back(context: Context, place: int, base: int, end: int) -> None:
    """Move the records from `end` on to `place` and then to `base`, without ∅."""
    listed, last = int64s(context, at.LIST), int(context[at.TOP])
    context[at.TOP], listed[place] = base, at.EMPTY
    for index in range(end, last):
        if listed[index] == at.EMPTY:
            continue
        if listed[place] == at.EMPTY:
            listed[place] = listed[index]
        else:
            push(context, int(listed[index]))


@inner
def split_state(context: Context, state: int) -> None:
    """Write the options of a state, -1 if not split; never changed later, as others may read."""
    base, listed = int(context[at.TOP]), int64s(context, at.LIST)
    count, kept = list_options(context, int(int32s(context, at.STATE_RECORD)[state])), base
    for index in range(base, base + count):
        option = int(listed[index])
        if context[at.WANT] == 0 and field(context, option, at.ABOUT) & at.DEAD == 0:
            listed[kept], kept = state_of(context, option), kept + 1
    context[at.TOP] = base
    if context[at.WANT]:
        return
    begin, options = int(context[at.OPTIONS]), int32s(context, at.OPTION)
    if count == 1 or begin + count + 1 > at.OPTIONS_ROOM:
        int32s(context, at.OPTION_AT)[state] = -1
        return
    for index in range(base, kept):
        options[begin + index - base] = listed[index]
    options[begin + kept - base] = 0
    context[at.OPTIONS] = begin + kept - base + 1
    fence()
    int32s(context, at.OPTION_AT)[state] = begin


_MOST_ITEM_STATES: Final = 2048
_MOST_OPEN: Final = 512
_MOST_SMALL: Final = 32
_PLAIN_LOW: Final = -1 << 32  # bits of printable ASCII without the backslash
_PLAIN_HIGH: Final = (1 << 63) - 1 & ~(1 << 0x5C - 0x40)
_MOST_SPENT: Final = 1 << 17  # EFFORT before Python is asked to account for it
_SHORT_SEARCH: Final = 1024  # waiting records in a search that may be abandoned
_WHOLE_SEARCH: Final = 256  # steps before a search splits records into options,
_SPLITTING: Final = 0x5555 << 14  # if it is begun the first, third, ... time: `records.EFFORT`


@inner
def explore(context: Context, what: int, start: int) -> int:
    """EXPAND state `start`, or decide IS_CODE, IS_ALIVE, IS_OPEN or IS_SMALL of record `start`.

    LIST has the queue of records, from `place` on. A search runs before a record is done, if
    needed; its heap is after the queue.
    """
    context[at.GENERATION] += 1
    turn, sought, last, heap, place = int(context[at.GENERATION]), 0, 0, 0, 0
    short, steps, splits = False, 0, context[at.ROOMS + at.EFFORT] & _SPLITTING != 0
    if what == at.EXPAND:  # an option of a state may be empty, so no check
        push(context, int(int32s(context, at.STATE_RECORD)[start]))
        put(context, int(int64s(context, at.LIST)[0]), at.QUEUED, turn)
    else:
        _queue(context, start, turn)
    while place < context[at.TOP] and context[at.WANT] == 0:
        queued = int(int64s(context, at.LIST)[place])
        record = nearest(context, heap) if sought else queued
        derive(context, record)
        if sought:
            steps += 1
            split = splits and steps > _WHOLE_SEARCH
            sought, last = _look_on(context, heap, record, sought, last, split)
            if short and sought and context[at.TOP] - heap > _SHORT_SEARCH:
                put(context, sought, at.ABOUT, field(context, sought, at.ABOUT) | at.HARD)
                context[at.TOP], sought = heap, 0
            continue
        found = _unknown(context, record)
        sought, short = abs(found), found < 0
        if sought:
            context[at.GENERATION] += 1
            heap, last, steps = int(context[at.TOP]), _met(context, sought, 0, 0), 0
            push(context, sought)
            continue
        place += 1
        if what == at.EXPAND:
            _expand(context, record)
            return 1
        if what == at.IS_ALIVE:
            return int(
                field(context, record, at.ABOUT) & at.NULLABLE != 0 or _goes_on(context, record)
            )
        if _denies(context, what, record, start):
            return 0
        _queue_all_after(context, record, turn, what)
    return 0 if what == at.IS_ALIVE else 1


@inner
def expand_wanted(context: Context) -> bool:
    """Expand the state in WANT, under the lexer DFA's lock; False if Python has to."""
    state, records = int(context[WANTED]), int64s(context, LEXICON)
    if context[LEXICON] == 0 or int32s(records, at.STATE_RECORD)[state & (OPTIONS_OF - 1)] == 0:
        return False
    if records[at.SPENT] > _MOST_SPENT:
        return False
    records[at.TOP] = records[at.EFFORT] = records[at.WANT] = 0
    if state >= OPTIONS_OF:
        split_state(records, state - OPTIONS_OF)
    else:
        explore(records, at.EXPAND, state)
    records[at.SPENT] += records[at.EFFORT]
    return records[at.WANT] == 0


@inner
def _unknown(context: Context, record: int) -> int:
    """The record to search first; 0 if liveness after each arc is known; negative: only a part."""
    lines, listed, base = int64s(context, at.LINE), int64s(context, at.LIST), int(context[at.TOP])
    for index in range(field(context, record, at.ARCS_AT), field(context, record, at.ARCS_END)):
        push(context, int(lines[index] & 0xFFFFFFFF))
        while context[at.TOP] > base and context[at.WANT] == 0:
            part = int(listed[context[at.TOP] - 1])
            if field(context, part, at.ABOUT) & (at.SURE | at.ALIVE | at.DEAD):
                context[at.TOP] -= 1
                continue
            kind = field(context, part, at.KIND)
            if kind == at.AND:
                inside = meet_inside(context, part)
                if inside:
                    push(context, inside)
                if inside or field(context, part, at.ABOUT) & at.DEAD:
                    continue
            if kind in (at.AND, at.NOT, at.RULE):
                below = int(listed[context[at.TOP] - 2]) if context[at.TOP] > base + 1 else 0
                context[at.TOP] = base
                return -part if field(context, below, at.KIND) == at.AND else part
            inside = _deciding(context, part)
            if inside:
                push(context, inside)
    return 0


@inner
def _deciding(context: Context, record: int) -> int:
    """The part that decides whether a record is alive; 0 if decided now."""
    kind, a = field(context, record, at.KIND), field(context, record, at.A)
    parts, verdict = int32s(context, at.PART), 0
    for index in range(
        field(context, record, at.B) if kind == at.ALT else 2 if kind == at.CONCAT else 1
    ):
        part = int(parts[a + index]) if kind == at.ALT else field(context, record, at.A + index)
        about = field(context, part, at.ABOUT)
        if about & (at.SURE | at.ALIVE | at.DEAD) == 0:
            return part
        verdict = at.DEAD if about & at.DEAD else at.ALIVE
        if (verdict == at.DEAD) == (kind == at.CONCAT):
            break
    put(context, record, at.ABOUT, field(context, record, at.ABOUT) | verdict)
    return 0


@inner
def _look_on(
    context: Context, heap: int, record: int, sought: int, last: int, split: bool
) -> tuple[int, int]:
    """Push the successors of a record on the heap; return what is still searched and the last met.

    `split` into options: 2^24 sets of `a.{12}b` & `c.{12}d` took too long, their 169 pairs 20 ms.
    """
    lines, generation, found = int64s(context, at.LINE), context[at.GENERATION], 0
    for index in range(field(context, record, at.ARCS_AT), field(context, record, at.ARCS_END)):
        after = int(lines[index] & 0xFFFFFFFF)
        about = field(context, after, at.ABOUT)
        if field(context, after, at.MARK) == generation or about & at.DEAD:
            continue
        last = _met(context, after, record, last)
        if about & (at.SURE | at.ALIVE):
            found = after
            break
        if split:
            found, last = _put_options(context, heap, after, last)
            if found:
                break
        else:
            put_in_order(context, heap, (guess_of(context, after) << 32) | after)
    if context[at.WANT] or (found == 0 and context[at.TOP] > heap):
        return sought, last
    _conclude(context, found, last)
    context[at.TOP] = heap
    return 0, 0


@once
def _put_options(context: Context, heap: int, after: int, last: int) -> tuple[int, int]:
    """Push the options of a record on the heap; return a live one or 0, and the last visited."""
    base = int(context[at.TOP])
    listed = int64s(context, at.LIST)
    generation = context[at.GENERATION]
    end = base + list_options(context, after)
    context[at.TOP] = base
    if context[at.WANT]:
        return 0, last
    for index in range(base, end):
        option = int(listed[index])  # the heap overwrites what has been read
        about = field(context, option, at.ABOUT)
        if about & at.DEAD or (field(context, option, at.MARK) == generation and option != after):
            continue
        if option != after:
            last = _met(context, option, after, last)
        if about & (at.SURE | at.ALIVE):
            return option, last
        put_in_order(context, heap, (guess_of(context, option) << 32) | option)
    return 0, last


@inner
def _met(context: Context, record: int, came: int, before: int) -> int:
    """Mark a record as visited by the search; return it."""
    put(context, record, at.MARK, int(context[at.GENERATION]))
    put(context, record, at.CAME, came)
    put(context, record, at.MET, before)
    return record


@once
def _conclude(context: Context, found: int, last: int) -> None:
    """Mark all records on the path as alive, or all visited ones as dead if nothing was found."""
    record, verdict = (found, at.ALIVE) if found else (last, at.DEAD)
    while record:
        put(context, record, at.ABOUT, field(context, record, at.ABOUT) | verdict)
        record = field(context, record, at.CAME if found else at.MET)


@inner
def _expand(context: Context, record: int) -> None:
    """Make the row of a record's state; written at once, as other threads may read it."""
    state, flags = state_of(context, record), uint8s(context, at.FLAG)
    base = int(context[at.TOP])
    for _ in range(256):
        push(context, DEAD_END)
    if context[at.WANT]:
        return
    a, b, c, d = _lead_on(context, record, base)
    if context[at.WANT]:
        return
    context[at.TOP] = base
    first = int64s(context, at.FIRSTS)
    rows = int32s(context, at.ROWS)
    listed = int64s(context, at.LIST)
    first[state * 4], first[state * 4 + 1] = a, b
    first[state * 4 + 2], first[state * 4 + 3] = c, d
    fence()
    for byte in range(256):
        rows[state * 256 + byte] = listed[base + byte]
    fence()
    flags[state] |= EXPANDED | (GOES_ON if a | b | c | d else 0)


@once
def _lead_on(context: Context, record: int, base: int) -> tuple[int, int, int, int]:
    """Write the state after each byte to the 256 numbers at `base`; return those bytes as a set."""
    lines = int64s(context, at.LINE)
    sets = int64s(context, at.SET)
    listed = int64s(context, at.LIST)
    a, b, c, d = 0, 0, 0, 0
    for index in range(field(context, record, at.ARCS_AT), field(context, record, at.ARCS_END)):
        after = int(lines[index] & 0xFFFFFFFF)
        if field(context, after, at.ABOUT) & at.DEAD:
            continue
        target, place = state_of(context, after), (lines[index] >> 32) * 4
        a, b = a | int(sets[place]), b | int(sets[place + 1])
        c, d = c | int(sets[place + 2]), d | int(sets[place + 3])
        for word in range(4):
            rest = int(sets[place + word])
            while rest:
                listed[base + word * 64 + lowest_bit(rest)] = target
                rest &= rest - 1
    return a, b, c, d


@once
def _denies(context: Context, what: int, record: int, start: int) -> bool:
    """Return True if a reached record, or their number, refutes the property of `start`."""
    if what == at.IS_OPEN:
        return context[at.TOP] >= _MOST_OPEN or not _goes_on(context, record)
    if what == at.IS_SMALL:
        return context[at.TOP] >= _MOST_SMALL
    return _is_no_code(context, record, start) or context[at.TOP] > _MOST_ITEM_STATES


@inner
def _is_no_code(context: Context, record: int, item: int) -> bool:
    """Return True if a text of `item` ends here and is empty or a prefix of another.

    A record like (ε|x) & ¬x is not known to be ε. It leads to another state than the one between
    items, which marks the end of an item.
    """
    nullable = field(context, record, at.ABOUT) & at.NULLABLE != 0
    return nullable and (record == item or record != at.EPSILON)


@inner
def _goes_on(context: Context, record: int) -> bool:
    """Return True if an arc leads to a live record; liveness must be known."""
    lines = int64s(context, at.LINE)
    for index in range(field(context, record, at.ARCS_AT), field(context, record, at.ARCS_END)):
        if field(context, int(lines[index] & 0xFFFFFFFF), at.ABOUT) & at.DEAD == 0:
            return True
    return False


@once
def _queue_all_after(context: Context, record: int, turn: int, what: int) -> None:
    """Queue the successors; for IS_SMALL only those by printable ASCII."""
    lines, sets = int64s(context, at.LINE), int64s(context, at.SET)
    for index in range(field(context, record, at.ARCS_AT), field(context, record, at.ARCS_END)):
        place = (lines[index] >> 32) * 4
        plain = (sets[place] & _PLAIN_LOW) | (sets[place + 1] & _PLAIN_HIGH)
        if what != at.IS_SMALL or plain != 0:
            _queue(context, int(lines[index] & 0xFFFFFFFF), turn)


@inner
def _queue(context: Context, record: int, turn: int) -> None:
    """Queue a record that is alive, once in a turn."""
    if (
        field(context, record, at.ABOUT) & at.DEAD == 0
        and field(context, record, at.QUEUED) != turn
    ):
        put(context, record, at.QUEUED, turn)
        push(context, record)


@inner
def write(context: Context, program: WholeNumbers, made: WholeNumbers) -> None:
    """Make the records of a program, one for each of `made`.

    Each takes five numbers: kind, A, B, C; for bytes the four words; for alternatives the index of
    their options in the program, and their number. A negative part -1 - n is record n of `made`.
    """
    for index in range(made.shape[0]):
        if context[at.WANT]:
            return
        place = index * 5
        kind, b = program[place], int(program[place + 2])
        first = int(program[place + 1])
        a = 0 if kind == at.BYTES else _written(made, first)
        if kind == at.BYTES:
            members = set_of(context, first, b, int(program[place + 3]), int(program[place + 4]))
            made[index] = record_of(context, at.BYTES, members, 0, 0) if members else at.EMPTY
        elif kind == at.CONCAT:
            made[index] = pair_of(context, a, _written(made, b))
        elif kind == at.ALT:
            for option in range(first, first + b):
                push(context, _written(made, int(program[option])))
            made[index] = alt_of(context, 0)
        elif kind == at.REPEAT:
            made[index] = repeat_of(context, a, b, int(program[place + 3]))
        elif kind == at.AND:
            made[index] = both_of(context, a, _written(made, b))
        elif kind == at.NOT:
            made[index] = not_of(context, a)
        else:
            made[index] = record_of(context, int(kind), first, b, 0)


@inner
def _written(made: WholeNumbers, part: int) -> int:
    return int(made[-1 - part]) if part < 0 else part
