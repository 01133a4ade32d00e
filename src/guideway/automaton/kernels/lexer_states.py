"""Lexer states: the state after each byte, from derivatives of records."""

from typing import Final

from guideway.automaton.jit.operands import WholeNumbers, exists, fence, inner, lowest_bit, once
from guideway.automaton.kernels import regex_layout as at
from guideway.automaton.kernels.derive import (
    alt_of,
    both_of,
    derive,
    not_of,
    pair_of,
    repeat_of,
    undecided_pair,
)
from guideway.automaton.kernels.layout import DEAD_END, EXPANDED, GOES_ON, Context
from guideway.automaton.kernels.regex_layout import RegexContext
from guideway.automaton.kernels.regexes import (
    guess_of,
    nearest,
    operand_of,
    push,
    put_in_order,
    record_of,
    set_of,
    state_of,
)

_MOST: Final = 512  # options; a record with more is not split


@inner
def list_options(context: RegexContext, record: int) -> int:
    """Push the options of a record, or the record itself, on `listed`; return their number."""
    base, before = context.listed.used, context.records.used
    push(context, record)
    place = base
    while place < context.listed.used and context.want == 0:
        if not _split(context, place):
            place += 1
        elif context.listed.used - base > _MOST:
            context.listed[base], context.listed.used = record, base + 1
            break
    count = context.listed.used - base
    context.effort.used += (context.records.used - before) >> 3  # in units of one derivation
    return count


@inner
def _split(context: RegexContext, place: int) -> bool:
    """Replace a record on `listed` with its options; False if it has none."""
    record = context.listed[place]
    base = context.listed.used
    push(context, record * 2)
    if context.want or (context.records[record].kind != at.ALT and not _find(context, base)):
        context.listed.used = base
        return False
    end = context.listed.used
    _push_rebuilt(context, base, end)
    _put_back(context, place, base, end)
    return True


@once
def _find(context: RegexContext, base: int) -> bool:
    """Find the first alternative below the record at `base`; `listed` has node * 2 + side."""
    if context.records[context.listed[base] >> 1].kind not in (at.CONCAT, at.AND):
        return False
    while context.listed.used > base and context.want == 0:
        entry = context.listed[context.listed.used - 1]
        kind = context.records[entry >> 1].kind
        child = operand_of(context, entry >> 1, entry & 1)
        below = context.records[child].kind
        if below == at.ALT:
            return True
        if (kind == at.AND and below in (at.AND, at.CONCAT)) or (
            below == at.AND and entry & 1 == 0
        ):
            push(context, child * 2)
        else:
            while context.listed.used > base and context.listed[context.listed.used - 1] & 1:
                context.listed.used -= 1
            if context.listed.used > base:
                context.listed[context.listed.used - 1] += 1
    return False


@once
def _push_rebuilt(context: RegexContext, base: int, end: int) -> None:
    """Push the record at `base` once for each option at the end of the path."""
    listed = context.listed
    found = listed[end - 1] >> 1
    last = end
    if context.records[found].kind == at.ALT:  # the record itself
        last = base
    else:
        found = operand_of(context, found, listed[end - 1] & 1)
    first = context.records[found].a
    for index in range(first, first + context.records[found].b):
        made = context.parts[index]
        for step in range(last - 1, base - 1, -1):
            node, side = listed[step] >> 1, listed[step] & 1
            if context.records[node].kind == at.AND:
                made = both_of(context, made, operand_of(context, node, 1 - side))
            elif side:
                made = pair_of(context, context.records[node].a, made)
            else:
                made = pair_of(context, made, context.records[node].b)
        push(context, made)


@once
def _put_back(context: RegexContext, place: int, base: int, end: int) -> None:
    """Move the records from `end` on to `place` and then to `base`, without ∅."""
    listed, last = context.listed, context.listed.used
    context.listed.used, listed[place] = base, at.EMPTY
    for index in range(end, last):
        if listed[index] == at.EMPTY:
            continue
        if listed[place] == at.EMPTY:
            listed[place] = listed[index]
        else:
            push(context, listed[index])


_MOST_ITEM_STATES: Final = 2048
_MOST_OPEN: Final = 512
_MOST_SPENT: Final = 1 << 17  # EFFORT before Python is asked to account for it
_SHORT_SEARCH: Final = 1024  # waiting records in a search that may be abandoned
_WHOLE_SEARCH: Final = 256  # steps before a search splits records into options,
_SPLITTING: Final = 0x5555 << 14  # if it is begun the first, third, ... time: `records.EFFORT`


@inner
def explore(context: RegexContext, what: int, start: int) -> int:
    """EXPAND state `start`, or decide a property of record `start`.

    `listed` has the queue of records, from `place` on, and the heap of a search after it.
    """
    context.generation += 1
    turn, place = context.generation, 0
    if what == at.HAS_OPTION:
        return _has_option(context, start)
    if what == at.EXPAND:  # an option of a state may be empty, so no check
        push(context, context.state_records[start])
        context.records[context.listed[0]].queued = turn
    else:
        _queue(context, start, turn)
    while place < context.listed.used and context.want == 0:
        record, place = context.listed[place], place + 1
        derive(context, record)
        for index in range(context.records[record].arcs_at, context.records[record].arcs_end):
            _decide(context, context.lines[index] & 0xFFFFFFFF)
        if context.want:
            break
        if what == at.EXPAND:
            _expand(context, record)
            break
        if what == at.IS_ALIVE:
            about = context.records[record].about
            return int(about & at.NULLABLE != 0 or _goes_on(context, record))
        if _denies(context, what, record, start):
            return 0
        for index in range(context.records[record].arcs_at, context.records[record].arcs_end):
            _queue(context, context.lines[index] & 0xFFFFFFFF, turn)
    return 0 if what == at.IS_ALIVE else 1


@inner
def expand_wanted(context: Context) -> bool:
    """Expand the state in `want`, under the lexer DFA's lock; False if Python has to."""
    if not exists(context.regexes):
        return False
    state, regexes = context.want, context.regexes[0]
    if regexes.spent > _MOST_SPENT:
        return False
    regexes.listed.used = regexes.effort.used = regexes.want = 0
    explore(regexes, at.EXPAND, state)
    regexes.spent += regexes.effort.used
    return regexes.want == 0


@once
def _has_option(context: RegexContext, record: int) -> int:
    """Return 1 if an option of a record has a text, else 0.

    Records have options in common, so most are decided already.
    """
    for index in range(list_options(context, record)):
        option = context.listed[index]
        _decide(context, option)
        if context.records[option].about & (at.SURE | at.ALIVE):
            return 1
    return 0


@inner
def _decide(context: RegexContext, record: int) -> None:
    """Find out whether a record has a text."""
    part = _undecided(context, record)
    while part != 0 and context.want == 0:
        _search(context, max(part, -part), part < 0)
        part = _undecided(context, record)


@inner
def _search(context: RegexContext, sought: int, short: bool) -> None:
    """Search a text of a record, best first; if `short`, the record is HARD if that takes long."""
    context.generation += 1
    heap, last, steps = context.listed.used, _mark(context, sought, 0, 0), 0
    splits = context.effort.room & _SPLITTING != 0
    push(context, sought)
    while sought and context.want == 0:
        record, steps = nearest(context, heap), steps + 1
        derive(context, record)
        split = splits and steps > _WHOLE_SEARCH
        sought, last = _look_on(context, heap, record, sought, last, split)
        if short and sought and context.listed.used - heap > _SHORT_SEARCH:
            context.records[sought].about = context.records[sought].about | at.HARD
            context.listed.used, sought = heap, 0


@inner
def _undecided(context: RegexContext, record: int) -> int:
    """The record to search for the verdict on a record; 0 if it is known; negative: only a part."""
    listed, base = context.listed, context.listed.used
    push(context, record)
    while context.listed.used > base and context.want == 0:
        part = listed[context.listed.used - 1]
        if context.records[part].about & (at.SURE | at.ALIVE | at.DEAD):
            context.listed.used -= 1
            continue
        kind = context.records[part].kind
        if kind == at.AND:
            inside = undecided_pair(context, part)
            if inside:
                push(context, inside)
            if inside or context.records[part].about & at.DEAD:
                continue
        if kind in (at.AND, at.NOT, at.RULE):
            below = listed[context.listed.used - 2] if context.listed.used > base + 1 else 0
            context.listed.used = base
            return -part if context.records[below].kind == at.AND else part
        inside = _deciding(context, part)
        if inside:
            push(context, inside)
    return 0


@inner
def _deciding(context: RegexContext, record: int) -> int:
    """The part that decides whether a record is alive; 0 if decided now."""
    kind, a = context.records[record].kind, context.records[record].a
    verdict = 0
    for index in range(
        context.records[record].b if kind == at.ALT else 2 if kind == at.CONCAT else 1
    ):
        part = context.parts[a + index] if kind == at.ALT else operand_of(context, record, index)
        about = context.records[part].about
        if about & (at.SURE | at.ALIVE | at.DEAD) == 0:
            return part
        verdict = at.DEAD if about & at.DEAD else at.ALIVE
        if (verdict == at.DEAD) == (kind == at.CONCAT):
            break
    context.records[record].about = context.records[record].about | verdict
    return 0


@inner
def _look_on(
    context: RegexContext, heap: int, record: int, sought: int, last: int, split: bool
) -> tuple[int, int]:
    """Push the successors of a record on the heap; return what is still searched and the last met.

    `split` into options: 2^24 sets of `a.{12}b` & `c.{12}d` took too long, their 169 pairs 20 ms.
    """
    generation, found = context.generation, 0
    for index in range(context.records[record].arcs_at, context.records[record].arcs_end):
        after = context.lines[index] & 0xFFFFFFFF
        about = context.records[after].about
        if context.records[after].mark == generation or about & at.DEAD:
            continue
        last = _mark(context, after, record, last)
        if about & (at.SURE | at.ALIVE):
            found = after
            break
        if split:
            found, last = _put_options(context, heap, after, last)
            if found:
                break
        else:
            put_in_order(context, heap, (guess_of(context, after) << 32) | after)
    if context.want or (found == 0 and context.listed.used > heap):
        return sought, last
    _conclude(context, found, last)
    context.listed.used = heap
    return 0, 0


@once
def _put_options(context: RegexContext, heap: int, after: int, last: int) -> tuple[int, int]:
    """Push the options of a record on the heap; return a live one or 0, and the last visited."""
    base = context.listed.used
    generation = context.generation
    end = base + list_options(context, after)
    context.listed.used = base
    if context.want:
        return 0, last
    for index in range(base, end):
        option = context.listed[index]  # the heap overwrites what has been read
        about = context.records[option].about
        if about & at.DEAD or (context.records[option].mark == generation and option != after):
            continue
        if option != after:
            last = _mark(context, option, after, last)
        if about & (at.SURE | at.ALIVE):
            return option, last
        put_in_order(context, heap, (guess_of(context, option) << 32) | option)
    return 0, last


@inner
def _mark(context: RegexContext, record: int, came: int, before: int) -> int:
    """Mark a record as visited by the search; return it."""
    context.records[record].mark = context.generation
    context.records[record].came = came
    context.records[record].met = before
    return record


@once
def _conclude(context: RegexContext, found: int, last: int) -> None:
    """Mark all records on the path as alive, or all visited ones as dead if nothing was found."""
    record, verdict = (found, at.ALIVE) if found else (last, at.DEAD)
    while record:
        context.records[record].about = context.records[record].about | verdict
        one = context.records[record]
        record = one.came if found else one.met


@inner
def _expand(context: RegexContext, record: int) -> None:
    """Make the row of a record's state; written at once, as other threads may read it."""
    state = state_of(context, record)
    base = context.listed.used
    for _ in range(256):
        push(context, DEAD_END)
    if context.want:
        return
    a, b, c, d = _lead_on(context, record, base)
    if context.want:
        return
    context.listed.used = base
    rows = context.transitions
    context.leads[state].words[0], context.leads[state].words[1] = a, b
    context.leads[state].words[2], context.leads[state].words[3] = c, d
    fence()
    for byte in range(256):
        rows[state].after[byte] = context.listed[base + byte]
    fence()
    context.flags[state] |= EXPANDED | (GOES_ON if a | b | c | d else 0)


@once
def _lead_on(context: RegexContext, record: int, base: int) -> tuple[int, int, int, int]:
    """Write the state after each byte to the 256 numbers at `base`; return those bytes as a set."""
    a, b, c, d = 0, 0, 0, 0
    for index in range(context.records[record].arcs_at, context.records[record].arcs_end):
        after = context.lines[index] & 0xFFFFFFFF
        if context.records[after].about & at.DEAD:
            continue
        target, members = state_of(context, after), context.sets[context.lines[index] >> 32]
        a, b = a | members.words[0], b | members.words[1]
        c, d = c | members.words[2], d | members.words[3]
        for word in range(4):
            rest = members.words[word]
            while rest:
                context.listed[base + word * 64 + lowest_bit(rest)] = target
                rest &= rest - 1
    return a, b, c, d


@once
def _denies(context: RegexContext, what: int, record: int, start: int) -> bool:
    """Return True if a reached record, or their number, refutes the property of `start`."""
    if what == at.IS_OPEN:
        return context.listed.used >= _MOST_OPEN or not _goes_on(context, record)
    return _is_no_code(context, record, start) or context.listed.used > _MOST_ITEM_STATES


@inner
def _is_no_code(context: RegexContext, record: int, item: int) -> bool:
    """Return True if a text of `item` ends here and is empty or a prefix of another.

    A record like (ε|x) & ¬x is not known to be ε. It leads to another state than the one between
    items, which marks the end of an item.
    """
    nullable = context.records[record].about & at.NULLABLE != 0
    return nullable and (record == item or record != at.EPSILON)


@inner
def _goes_on(context: RegexContext, record: int) -> bool:
    """Return True if an arc leads to a live record; liveness must be known."""
    for index in range(context.records[record].arcs_at, context.records[record].arcs_end):
        if context.records[context.lines[index] & 0xFFFFFFFF].about & at.DEAD == 0:
            return True
    return False


@inner
def _queue(context: RegexContext, record: int, turn: int) -> None:
    """Queue a record that is alive, once in a turn."""
    if context.records[record].about & at.DEAD == 0 and context.records[record].queued != turn:
        context.records[record].queued = turn
        push(context, record)


@inner
def write(context: RegexContext, program: WholeNumbers, made: WholeNumbers) -> None:
    """Make the records of a program, one for each of `made`.

    Each takes five numbers: kind, A, B, C; for bytes the four words; for alternatives the index of
    their options in the program, and their number. A negative part -1 - n is record n of `made`.
    """
    for index in range(len(made)):
        if context.want:
            return
        place = index * 5
        kind, b = program[place], program[place + 2]
        first = program[place + 1]
        a = 0 if kind == at.BYTES else _written(made, first)
        if kind == at.BYTES:
            members = set_of(context, first, b, program[place + 3], program[place + 4])
            made[index] = record_of(context, at.BYTES, members, 0, 0) if members else at.EMPTY
        elif kind == at.CONCAT:
            made[index] = pair_of(context, a, _written(made, b))
        elif kind == at.ALT:
            for option in range(first, first + b):
                push(context, _written(made, program[option]))
            made[index] = alt_of(context, 0)
        elif kind == at.REPEAT:
            made[index] = repeat_of(context, a, b, program[place + 3])
        elif kind == at.AND:
            made[index] = both_of(context, a, _written(made, b))
        elif kind == at.NOT:
            made[index] = not_of(context, a)
        else:
            made[index] = record_of(context, int(kind), first, b, 0)


@inner
def _written(made: WholeNumbers, part: int) -> int:
    return made[-1 - part] if part < 0 else part
