"""Regular expressions as records that kernels derive."""

from array import array
from collections.abc import Callable
from struct import Struct
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.kernels import record_layout as at
from guideway.automaton.token_tries import untouched
from guideway.errors import LimitError
from guideway.language.expr import EMPTY, EPSILON, alt, both, byte_set, complement, concat, repeat
from guideway.language.fuel import spend
from guideway.language.nodes import Alt, And, Bytes, Concat, Expr, Not, Repeat, Rule, operands
from guideway.language.regular import parts_of

MOST_RECORDS: Final = 1 << 22  # 128 bytes each
EFFORT: Final = 1 << 14  # expressions derived before the first check for interrupts
_VERY_MANY: Final = 1 << 22  # room from which arrays only double, so that fuel is used in between
_UNPAID: Final = 1 << 18  # records that a long search may make without using fuel
_RECORD: Final = 2  # fuel for each further record: 4 million took 6 s and 512 MB
_FIELDS: Final = 5
_words: Final = Struct("<4q").unpack

# Growing arrays by count: first room, then slot, type and elements per unit of each array.
# RECORD has its final size at once: copying 262,144 records took 80 ms within one mask.
_TABLES: Final[dict[int, tuple[int, tuple[tuple[int, Any, int], ...]]]] = {
    at.RECORDS: (1024, ((at.RECORD, np.int64, at.WIDTH),)),
    at.SETS: (256, ((at.SET, np.int64, 4),)),
    at.PARTS: (1024, ((at.PART, np.int32, 1),)),
    at.LINES: (1024, ((at.LINE, np.int64, 1),)),
    at.TOP: (4096, ((at.LIST, np.int64, 1),)),
}
_HASHES: Final = {at.RECORDS: at.RECORD_HASH, at.SETS: at.SET_HASH}


@final
class Records:
    """The records of one lexer DFA with at most `states` lexical states."""

    def __init__(self, spellable: int, states: int) -> None:
        from guideway.automaton.kernels.entry import lexemes

        self._lexemes, self._spellable, self._most_states = lexemes, spellable, states
        self.context = np.zeros(at.SLOTS, np.int64)
        self._arrays: dict[int, NDArray[Any]] = {}
        for count, (room, arrays) in _TABLES.items():
            self.context[at.ROOMS + count] = room
            for slot, kind, each in arrays:
                most = max(room, MOST_RECORDS if count == at.RECORDS else 0)
                self._place(slot, untouched(most * each, kind))
        for count, slot in _HASHES.items():
            self._place(slot, np.zeros(2 * _TABLES[count][0], np.int32))
        used = [at.RECORDS, at.SETS, at.LINES, at.STATES, at.OPTIONS]
        self.context[used] = 1  # 0 means none
        self.context[at.ROOMS + at.STATES] = states
        self.context[at.ROOMS + at.EFFORT] = EFFORT
        self._arrays[at.RECORD][at.ABOUT] = at.DEAD
        self._known: dict[Expr, int] = {EMPTY: at.EMPTY}
        self._rules: list[Rule] = []
        self._write([EPSILON, complement(EMPTY)])
        every = self.record(byte_set(spellable))
        self.context[at.SPELLABLE] = self._arrays[at.RECORD][every * at.WIDTH + at.A]

    @property
    def nbytes(self) -> int:
        others = sum(array.nbytes for slot, array in self._arrays.items() if slot != at.RECORD)
        return others + int(self.context[at.RECORDS]) * at.WIDTH * 8

    def share(self, slot: int, array: "NDArray[Any]") -> None:
        self.context[slot] = array.__array_interface__["data"][0]

    def ask(self, what: int, a: int, *, begins: int = 0) -> int:
        """Result of `kernels.entry.lexemes`; -1 after `begins` restarts of a search, if given."""
        return self._asked(what, a, _NONE, _NONE, begins)

    def new_state(self) -> int:
        made = int(self.context[at.STATES])
        if made == self._most_states:
            self._serve(at.STATES)
        self.context[at.STATES] = made + 1
        return made

    def record(self, expr: Expr) -> int:
        found = self._known.get(expr)
        if found is None:
            self._write(self._unknown(expr))
            found = self._known[expr]
        return found

    def guess(self, record: int) -> int:
        """Estimate of the fewest bytes of a text of a record; may be too high."""
        return self._bound(record, 0)

    def most(self, record: int) -> int:
        """Upper bound on the bytes of a text that begin a character; FARTHEST if unbounded."""
        return self._bound(record, at.MOST_OF)

    def _bound(self, record: int, bit: int) -> int:
        found = int(self._arrays[at.RECORD][record * at.WIDTH + at.GUESS])
        return found >> bit & (2 * at.FARTHEST - 1)

    def expr(self, record: int) -> Expr:
        """An expression with the language of a record."""
        made: dict[int, Expr] = {}
        stack = [record]
        while stack:
            parts = self._operands(stack[-1])
            missing = [part for part in parts if part not in made]
            if missing:
                stack.extend(missing)
            else:
                one = stack.pop()
                made[one] = self._expr(one, [made[part] for part in parts])
        return made[record]

    def _fields(self, record: int) -> list[int]:
        return self._arrays[at.RECORD][record * at.WIDTH : record * at.WIDTH + 4].tolist()

    def _operands(self, record: int) -> list[int]:
        kind, a, b, _ = self._fields(record)
        if kind in (at.CONCAT, at.AND):
            return [a, b]
        if kind == at.ALT:
            return self._arrays[at.PART][a : a + b].tolist()
        return [a] if kind in (at.NOT, at.REPEAT) else []

    def _expr(self, record: int, parts: list[Expr]) -> Expr:
        kind, a, b, c = self._fields(record)
        if kind == at.BYTES:
            words = self._arrays[at.SET][a * 4 : a * 4 + 4]
            return byte_set(int.from_bytes(words.astype("<i8").tobytes(), "little"))
        if kind == at.RULE:
            return self._rules[a]
        if kind == at.REPEAT:
            return repeat(parts[0], b, None if c < 0 else c)
        if kind in _MADE:
            return _MADE[kind](*parts)
        return EPSILON if kind == at.EPSILON_KIND else EMPTY

    def _unknown(self, expr: Expr) -> list[Expr]:
        """Parts without a record, operands first; bytes skip the stack (e-mail 0.8 ms, not 1.9)."""
        known, found, stack = self._known, dict[Expr, None](), [expr]
        while stack:
            node = stack[-1]
            count = len(stack)
            for part in parts_of(node):
                if part in found or part in known:
                    continue
                if part.__class__ is Bytes:
                    found[part] = None
                else:
                    stack.append(part)
            if len(stack) == count:
                found[stack.pop()] = None
        return list(found)

    def _write(self, exprs: list[Expr]) -> None:
        new, known = {expr: -1 - index for index, expr in enumerate(exprs)}, self._known
        program: list[int] = []
        options: list[int] = []
        for expr in exprs:  # no number is 0; a look-up function would double the time
            match expr:
                case Concat(head, tail):
                    first, second = new.get(head) or known[head], new.get(tail) or known[tail]
                    program += (at.CONCAT, first, second, 0, 0)
                case Bytes(members):
                    words = _words((members & self._spellable).to_bytes(32, "little"))
                    program += (at.BYTES, *words)
                case Alt(parts):
                    first = len(exprs) * _FIELDS + len(options)
                    options += [new.get(part) or known[part] for part in parts]
                    program += (at.ALT, first, len(parts), 0, 0)
                case Repeat(item, low, high):
                    first = new.get(item) or known[item]
                    program += (at.REPEAT, first, *readable(low, high), 0)
                case And(left, right):
                    first, second = new.get(left) or known[left], new.get(right) or known[right]
                    program += (at.AND, first, second, 0, 0)
                case Not(item):
                    program += (at.NOT, new.get(item) or known[item], 0, 0, 0)
                case Rule():
                    program += self._of_rule(expr)
                case _:
                    program += (at.EPSILON_KIND, 0, 0, 0, 0)
        made = np.zeros(len(exprs), np.int64)
        written = np.frombuffer(array("q", program + options), np.int64)  # 3 times faster
        self._asked(at.WRITE, 0, written, made)
        known.update(zip(exprs, made.tolist(), strict=True))

    def _of_rule(self, rule: Rule) -> tuple[int, ...]:
        self._rules.append(rule)
        sure = rule.inhabited and not rule.needs & ~self._spellable
        return at.RULE, len(self._rules) - 1, int(sure), 0, 0

    def _asked(
        self,
        what: int,
        a: int,
        program: "NDArray[np.int64]",
        made: "NDArray[np.int64]",
        begins: int = 0,
    ) -> int:
        effort, paid = EFFORT, 0
        try:
            while True:
                found = self._lexemes(self.context, what, a, program, made)
                if found >= 0:
                    return found
                count = int(self.context[at.WANT]) - 1
                self._serve(count)
                if count == at.EFFORT:  # the search restarts, so double its effort
                    effort, begins = effort * 2, begins - 1
                    self.context[at.ROOMS + at.EFFORT] = effort
                    if begins == 0:
                        return -1
                if effort > EFFORT:
                    records = int(self.context[at.RECORDS])
                    paid = paid or records + _UNPAID
                    spend(_RECORD * max(records - paid, 0))
                    paid = max(records, paid)
        finally:
            if effort > EFFORT:
                self.context[at.ROOMS + at.EFFORT] = EFFORT

    def _serve(self, count: int) -> None:
        if count == at.STATES:
            raise _too_many(self._most_states, "states", "lexical states")
        if count == at.BODIES:
            self._give_body(int(self.context[at.BODILESS]))
        elif count == at.EFFORT:
            spend(int(self.context[at.ROOMS + at.EFFORT]))
        else:
            self._grow(count)

    def _give_body(self, rule: int) -> None:
        """Write the body of a rule, which is made on demand."""
        body = self.record(self._rules[int(self._arrays[at.RECORD][rule * at.WIDTH + at.A])].body)
        self._arrays[at.RECORD][rule * at.WIDTH + at.C] = body + 1

    def _grow(self, count: int) -> None:
        """Multiply the room of an array by four, from _VERY_MANY on by two."""
        room = int(self.context[at.ROOMS + count])
        room *= 4 if room < _VERY_MANY else 2
        if count == at.RECORDS and room > MOST_RECORDS:
            raise _too_many(MOST_RECORDS, "parts", "lexical records")
        self.context[at.ROOMS + count] = room
        for slot, kind, each in _TABLES[count][1]:
            before = self._arrays[slot]
            if len(before) >= room * each:
                continue
            grown = np.zeros(room * each, kind)
            grown[: len(before)] = before
            self._place(slot, grown)
        if count in _HASHES:
            self._place(_HASHES[count], np.zeros(2 * room, np.int32))
            for slot in _HASHES.values():
                self._arrays[slot][:] = 0
            self.ask(at.REHASH_RECORDS, 0)

    def _place(self, slot: int, array: "NDArray[Any]") -> None:
        self._arrays[slot] = array
        self.share(slot, array)


_NONE: Final = np.zeros(0, np.int64)
_MADE: Final[dict[int, Callable[..., Expr]]] = {
    at.CONCAT: concat,
    at.ALT: alt,
    at.AND: both,
    at.NOT: complement,
}


def readable(low: int, high: int | None) -> tuple[int, int]:
    """Counts as 31-bit numbers for kernels, -1 for no maximum.

    >>> readable(10**100, None), readable(2, 3)
    ((1073741822, -1), (2, 3))
    """
    return min(low, at.MOST), -1 if high is None or high > at.MOST else high


def _too_many(most: int, what: str, limit: str) -> LimitError:
    return LimitError(
        f"more than {most} {what} of regular languages", limit=limit, given=most + 1, needed=most
    )


def counted_apart(
    conjunction: And, is_count: Callable[[Repeat], bool], alive: "Callable[[Expr], bool]"
) -> "tuple[Expr | None, Repeat] | None":
    """Split a conjunction into its other operands, None if there are none, and its count.

    Return None if it has no repetition that `is_count` accepts.
    """
    parts = operands(conjunction)
    counts = [p for p in parts if isinstance(p, Repeat) and is_count(p)]
    if not counts:
        return None
    count = max(counts, key=lambda c: c.low if c.high is None else c.high)
    others: list[Expr] = []
    for part in parts:
        merged = count if part is count else _merged(count, part, alive)
        if merged is None and part in counts:
            merged = _merged(part, count, alive)
        if merged is None:
            others.append(part)
        else:
            count = merged
    rest: Expr | None = None
    for part in others:
        rest = part if rest is None else both(rest, part)
    return rest, count


def holds(
    expr: Expr, wanted: "Callable[[Expr], bool]", behind: Expr, known: "dict[Expr, bool]"
) -> bool:
    """Return True if a `wanted` part is directly followed by `behind` somewhere in an expression.

    Operands of conjunctions and complements are not searched.
    """
    todo = [expr]
    while todo:
        part = todo[-1]
        if part in known:
            todo.pop()
            continue
        below = () if isinstance(part, And | Not) else parts_of(part)
        missing = [inner for inner in below if inner not in known]
        if missing:
            todo += missing
            continue
        known[part] = any(known[inner] for inner in below) or (
            isinstance(part, Concat) and _is_before(part, behind) and wanted(part.head)
        )
    return known[expr]


def _is_before(part: Concat, behind: Expr) -> bool:
    return (part.tail.head if isinstance(part.tail, Concat) else part.tail) is behind


def _merged(count: Expr, other: Expr, alive: "Callable[[Expr], bool]") -> Repeat | None:
    """Both counts as one if `other` repeats a part of what `count` counts, else None."""
    if not (isinstance(count, Repeat) and isinstance(other, Repeat)):
        return None
    if not _is_part(other.item, count.item, alive):
        return None
    highs = [high for high in (count.high, other.high) if high is not None]
    found = repeat(other.item, max(count.low, other.low), min(highs, default=None))
    return found if isinstance(found, Repeat) else None


def _is_part(item: Expr, whole: Expr, alive: "Callable[[Expr], bool]") -> bool:
    """Return True if every text of `item` is a text of `whole`."""
    return item is whole or not alive(both(item, complement(whole)))
