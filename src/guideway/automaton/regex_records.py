"""Regular expressions as records that kernels derive."""

from array import array
from collections.abc import Callable, Sequence
from ctypes import addressof
from struct import Struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.jit.records import Table, dtype, field_of
from guideway.automaton.kernels import regex_layout as at
from guideway.automaton.kernels.regex_layout import Regex, RegexContext
from guideway.automaton.token_tries import share, untouched
from guideway.errors import GuidewayError, LimitError
from guideway.language.expr import EMPTY, EPSILON, both, byte_set, complement, repeat
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

# Growing tables and their first room. `records` has its final size at once: copying 262,144 of them
# took 80 ms within one mask.
_ROOMS: Final = {"records": 1024, "sets": 256, "parts": 1024, "lines": 1024, "listed": 4096}
_HASHED: Final = ("records", "sets")
_SIZE: Final = dtype(Regex).itemsize


class Records:
    """The records of one lexer DFA with at most `states` lexical states."""

    def __init__(self, spellable: int, states: int) -> None:
        from guideway.automaton.kernels.entry import lexemes

        self._lexemes, self._spellable, self._most_states = lexemes, spellable, states
        self.context, self._arrays = RegexContext(), dict[str, NDArray[Any]]()
        self.address = addressof(self.context)
        for name, room in _ROOMS.items():
            kind = dtype(field_of(RegexContext, f"{name}.rows")[1])
            self._place(name, "rows", untouched(MOST_RECORDS if name == "records" else room, kind))
            self._table(name).room = room
        for name in _HASHED:
            self._place(name, "hashes", np.zeros(2 * _ROOMS[name], np.int32))
        context = self.context  # 0 means none
        context.records.used = context.sets.used = context.lines.used = 1
        context.states.used = 1
        context.states.room, context.effort.room = states, EFFORT
        self._regex(at.EMPTY).about = at.DEAD
        self._known: dict[Expr, int] = {EMPTY: at.EMPTY}
        self._rules: list[Rule] = []
        self._write([EPSILON, complement(EMPTY)])
        every = self.record(byte_set(spellable))
        self.context.spellable = self._regex(every).a

    @property
    def nbytes(self) -> int:
        others = sum(array.nbytes for path, array in self._arrays.items() if path != "records.rows")
        return others + self.context.records.used * _SIZE

    def ask(self, what: int, a: int, *, begins: int = 0) -> int:
        """Result of `kernels.entry.lexemes`; -1 after `begins` restarts of a search, if given."""
        return self._run(what, a, _NONE, _NONE, begins)

    def new_state(self) -> int:
        made = self.context.states.used
        if made == self._most_states:
            self._serve(at.STATES)
        self.context.states.used = made + 1
        return made

    def record(self, expr: Expr) -> int:
        found = self._known.get(expr)
        if found is None:
            self._write(self._unknown(expr))
            found = self._known[expr]
        return found

    def guess(self, record: int) -> int:
        """Estimate of the fewest bytes of a text of a record; may be too high."""
        return self._regex(record).guess & (2 * at.FARTHEST - 1)

    def make(self, kind: int, a: int, b: int, c: int = 0, options: Sequence[int] = ()) -> int:
        """The record with these fields: records, and counts."""
        made = np.zeros(1, np.int64)
        self._run(at.WRITE, 0, np.array([kind, a, b, c, 0, *options]), made)
        return int(made[0])

    def counted(self, record: int, many: int, low: int, high: int) -> int:
        """A record whose texts end with the repetition `many`, limited to `low` to `high` items."""
        regex = self._regex(record)
        if record == many:
            item = regex.a if regex.kind == at.REPEAT else many
            return self.make(at.REPEAT, item, low, high)
        if regex.kind == at.CONCAT:
            return self.make(at.CONCAT, regex.a, self.counted(regex.b, many, low, high))
        if regex.kind == at.ALT:
            parts = self._arrays["parts.rows"][regex.a : regex.a + regex.b].tolist()
            options = [self.counted(part, many, low, high) for part in parts]
            return self.make(at.ALT, _FIELDS, len(options), options=options)
        raise GuidewayError("the rest of a counted character does not end with the repetition")

    def _regex(self, record: int) -> Regex:
        """The fields of a record, in the memory of kernels, which never moves."""
        return Regex.from_array(self._arrays["records.rows"], record)

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
        self._run(at.WRITE, 0, written, made)
        known.update(zip(exprs, made.tolist(), strict=True))

    def _of_rule(self, rule: Rule) -> tuple[int, ...]:
        self._rules.append(rule)
        sure = rule.inhabited and not rule.needs & ~self._spellable
        return at.RULE, len(self._rules) - 1, int(sure), 0, 0

    def _run(
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
                table = self.context.want - 1
                self._serve(table)
                if table == at.EFFORT:  # the search restarts, so double its effort
                    effort, begins = effort * 2, begins - 1
                    self.context.effort.room = effort
                    if begins == 0:
                        return -1
                if effort > EFFORT:
                    records = self.context.records.used
                    paid = paid or records + _UNPAID
                    spend(_RECORD * max(records - paid, 0))
                    paid = max(records, paid)
        finally:
            if effort > EFFORT:
                self.context.effort.room = EFFORT

    def _serve(self, table: int) -> None:
        if table == at.STATES:
            raise _too_many(self._most_states, "states", "lexical states")
        if table == at.BODIES:
            self._give_body(self.context.bodiless)
        elif table == at.EFFORT:
            spend(self.context.effort.room)
        else:
            self._grow(at.TABLES[table])

    def _give_body(self, rule: int) -> None:
        """Write the body of a rule, which is made on demand."""
        body = self.record(self._rules[self._regex(rule).a].body)
        self._regex(rule).c = body + 1

    def _table(self, name: str) -> "Table[Any]":
        return getattr(self.context, name)

    def _grow(self, name: str) -> None:
        """Multiply the room of a table by four, from _VERY_MANY on by two."""
        table = self._table(name)
        table.room *= 4 if table.room < _VERY_MANY else 2
        before = self._arrays[f"{name}.rows"]
        if name == "records" and table.room > MOST_RECORDS:
            raise _too_many(MOST_RECORDS, "parts", "lexical records")
        if len(before) < table.room:
            grown = untouched(table.room, before.dtype)
            grown[: len(before)] = before
            self._place(name, "rows", grown)
        if name in _HASHED:
            self._place(name, "hashes", untouched(2 * table.room, np.int32))
            for each in _HASHED:
                self._arrays[f"{each}.hashes"][:] = 0
            self.ask(at.REHASH_RECORDS, 0)

    def _place(self, name: str, field: str, array: "NDArray[Any]") -> None:
        self._arrays[f"{name}.{field}"] = array
        share(self._table(name), **{field: array})


_NONE: Final = np.zeros(0, np.int64)


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
        merged = count if part is count else _one_count(count, part, alive)
        if merged is None and part in counts:
            merged = _one_count(part, count, alive)
        if merged is None:
            others.append(part)
        else:
            count = merged
    rest: Expr | None = None
    for part in others:
        rest = part if rest is None else both(rest, part)
    return rest, count


def holds(
    expr: Expr, wanted: "Callable[[Expr], bool]", follower: Expr, known: "dict[Expr, bool]"
) -> bool:
    """Return True if `follower` directly follows a `wanted` part somewhere in an expression.

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
            isinstance(part, Concat) and _is_before(part, follower) and wanted(part.head)
        )
    return known[expr]


def _is_before(part: Concat, follower: Expr) -> bool:
    return (part.tail.head if isinstance(part.tail, Concat) else part.tail) is follower


def _one_count(count: Expr, other: Expr, alive: "Callable[[Expr], bool]") -> Repeat | None:
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
