"""Lexical states: DFAs of regular languages, shared by all constraints of a process.

Rows are made on demand, by `kernels.lexemes` or, with captures, by the plain engine. They never
move or change, as kernels of other threads may read them.
"""

import threading
from collections.abc import Sequence
from typing import Final, final

import numpy as np

from guideway.automata.derivative import Derivatives
from guideway.lowering.endless import surely_open
from guideway.lowering.expr import ALL_BYTES, EMPTY, UNSURE
from guideway.lowering.fuel import spend, spend_beside
from guideway.lowering.json_text import QUOTE
from guideway.lowering.nodes import Alt, And, Expr, Not, Repeat, operands
from guideway.masks.conjunctions import holds
from guideway.masks.kernels import record_layout as at
from guideway.masks.kernels.bound_layout import OPTIONS_OF, PLAINLY
from guideway.masks.kernels.layout import ACCEPTS, DEAD_END, DOUBTS, EXPANDED, GOES_ON
from guideway.masks.memory import Held, track_shared
from guideway.masks.records import Records
from guideway.masks.space import untouched

MOST_STATES: Final = 1 << 19  # 1 KB each
_WORTH_COUNTING: Final = 4
_OPTIONS: Final = 10  # options that cost as much as a record
_MET: Final = 1024  # tuples of states in a search for the shortest text,
_MADE: Final = 1 << 16  # and parts made in it: 0.1 s
_PART, _ALL, _ANY, _NONE = range(4)
_NOWHERE: Final = np.full(256, DEAD_END, np.int32)
RENEW_AT: Final = 1 << 16  # sizes at which a new constraint gets a new lexicon,
RENEW_AT_PARTS: Final = 1 << 19  # so that a huge language does not make others fail


@final
class Lexicon:
    """Lexical states over the bytes of a vocabulary; `outgrown` until a successor is prepared."""

    def __init__(self, spellable: int) -> None:
        self.spellable, self.outgrown = spellable, False
        self._bytes = np.flatnonzero(_bytes_of(spellable))
        self.rows = untouched((MOST_STATES, 256), np.int32)
        self.flags = untouched(MOST_STATES, np.uint8)
        self.first = untouched((MOST_STATES, 4), np.uint64)
        self.records = Records(spellable, MOST_STATES)
        self._record_of = untouched(MOST_STATES, np.int32)
        self.option_at = untouched(MOST_STATES, np.int32)
        self.options = untouched(at.OPTIONS_ROOM, np.int32)
        for slot, array in (
            (at.ROWS, self.rows),
            (at.FLAG, self.flags),
            (at.FIRSTS, self.first),
            (at.STATE_RECORD, self._record_of),
            (at.OPTION_AT, self.option_at),
            (at.OPTION, self.options),
        ):
            self.records.share(slot, array)
        self._machine = Derivatives(EMPTY, spellable)
        self._states: dict[Expr, int] = {}
        self._irregular: dict[int, Expr] = {}
        self._codes: dict[Expr, bool] = {}
        self._alive: dict[Expr, bool] = {}
        self._holding: dict[Expr, bool] = {}
        self._small: dict[Expr, bool] = {}
        self._open: dict[Expr, bool] = {}
        self._counted = 0
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return int(self.records.context[at.STATES])

    @property
    def parts(self) -> int:
        """Number of records, or a tenth of the number of options: one record may have 1,000."""
        context = self.records.context
        return max(int(context[at.RECORDS]), int(context[at.PARTS]) // _OPTIONS)

    @property
    def nbytes(self) -> int:
        return len(self) * (4 * 256 + 32 + 4 + 1) + self.records.nbytes

    def state(self, expr: Expr) -> int:
        """The state of an expression that has at least one text."""
        found = self._states.get(expr)
        if found is None:
            with self.lock:
                found = self._state(expr)
        return found

    def expand(self, state: int, *, briefly: bool = False) -> bool:
        """Make the row of a state; with OPTIONS_OF added, find its options.

        With `briefly`, return False where that takes long.
        """
        done = True
        with self.lock:
            if state >= OPTIONS_OF:
                self.records.ask(at.SPLIT, state - OPTIONS_OF)
            elif state in self._irregular:
                self._expand(state)
            elif not self.flags[state] & EXPANDED:
                done = self.records.ask(at.EXPAND, state, begins=int(briefly)) >= 0
                made = max(self.parts - self._counted, int(self.records.context[at.SPENT]))
                self.count_anew()
                spend_beside(made)
                self.outgrown = self.outgrown or self.is_large()
        return done

    def spells_plainly(self, state: int) -> None:
        """Note that each character of a state has a spelling of one byte.

        Patterns must contain all spellings of a text or none; plain ones have fewest characters.
        """
        with self.lock:
            self.flags[state] |= PLAINLY

    def count_anew(self) -> None:
        """Reset the work counters: work of kernels so far was for others or is already charged."""
        self._counted, self.records.context[at.SPENT] = self.parts, 0

    def is_large(self) -> bool:
        return len(self) > RENEW_AT or self.parts > RENEW_AT_PARTS

    def begins(self, state: int, members: int) -> bool:
        """Return True if an expanded state has a transition on one of these bytes."""
        return int.from_bytes(self.first[state].tobytes(), "little") & members != 0

    def expr(self, state: int) -> Expr:
        found = self._irregular.get(state)
        if found is None:
            with self.lock:
                found = self.records.expr(int(self._record_of[state]))
        return found

    def guess(self, state: int) -> int:
        """Estimate of the fewest bytes of a text (`Records.guess`)."""
        return self.records.guess(int(self._record_of[state]))

    def most(self, state: int) -> int:
        """Upper bound on the characters of a text (`Records.most`)."""
        return self.records.most(int(self._record_of[state]))

    def _state(self, expr: Expr) -> int:
        found = self._states.get(expr)
        if found is None:
            found = self._numbered(expr)
            self._states[expr] = found
        return found

    def _numbered(self, expr: Expr) -> int:
        if expr.regular:
            return self.records.ask(at.NUMBER, self.records.record(expr))
        made = self.records.new_state()
        doubts = DOUBTS | EXPANDED if expr is UNSURE else 0
        self.flags[made] = doubts | (ACCEPTS if expr.nullable else 0)
        self._irregular[made] = expr
        return made

    def _expand(self, state: int) -> None:
        if self.flags[state] & EXPANDED:
            return
        arcs = self._machine.arcs(self._irregular[state])
        row = np.full(256, DEAD_END, np.int32)
        every = 0
        for members, target in arcs:
            every |= members
            row[_bytes_of(members)] = self._state(target)
        self.rows[state] = row
        self.first[state] = np.frombuffer(every.to_bytes(32, "little"), np.uint64)
        self.flags[state] |= EXPANDED | (GOES_ON if arcs else 0)

    def alive(self, expr: Expr) -> bool:
        if expr.inhabited and self.spellable == ALL_BYTES:  # needs no records
            return True
        return self._asked(at.IS_ALIVE, expr, self._alive)

    def is_small(self, expr: Expr) -> bool:
        """Return True if texts of ASCII characters reach few states; escapes add few others."""
        return self._asked(at.IS_SMALL, expr, self._small)

    def is_open(self, expr: Expr) -> bool:
        """Return True if every prefix of a text surely has infinitely many continuations."""
        return surely_open(expr) or self._asked(at.IS_OPEN, expr, self._open)

    def _asked(self, what: int, expr: Expr, known: dict[Expr, bool]) -> bool:
        """Ask the kernels about a regular expression, once."""
        found = known.get(expr)
        if found is None:
            with self.lock:
                found = known[expr] = self.records.ask(what, self.records.record(expr)) == 1
                self.count_anew()  # searches pay for what they do
        return found

    def shortest(self, expr: Expr) -> tuple[bool, bytes | None]:
        """Least of the shortest texts of a regular expression: (is it known, the text or None).

        Runs the operands of And, Not and Alt in parallel, as derivatives of the whole may have many
        states; visits tuples of states in the order of their least texts.
        """
        parts, asked = _taken_apart(expr)
        met, most = [tuple(map(self.state, parts))], self.parts + _MADE
        words = {met[0]: b""}
        for states in met:  # which grows
            word, alive = words[states], [state for state in states if state != DEAD_END]
            ends = [state != DEAD_END and bool(self.flags[state] & ACCEPTS) for state in states]
            if _evaluated(asked, ends):
                return True, word
            spend(len(asked))
            far = len(met) > _MET or self.parts > most
            if far or not all(self.expand(state, briefly=True) for state in alive):
                return False, None
            rows = np.stack([_NOWHERE if s == DEAD_END else self.rows[s] for s in states])
            columns, first = np.unique(rows[:, self._bytes], axis=1, return_index=True)
            for way in np.argsort(first).tolist():
                target = tuple(columns[:, way].tolist())
                may_end = [None if state != DEAD_END else False for state in target]
                if target not in words and _evaluated(asked, may_end) is not False:
                    words[target] = word + bytes((int(self._bytes[first[way]]),))
                    met.append(target)
        return True, None

    def is_counted(self, repeated: Repeat) -> bool:
        """Return True if counting a repetition is better than one state for each count."""
        most = max(repeated.low, repeated.high or 0)
        return most >= _WORTH_COUNTING and self.countable(repeated.item)

    def holds_count(self, expr: Expr) -> bool:
        """Return True if an expression has strings with counted characters, so is no lexeme."""
        found = self._holding.get(expr)
        return holds(expr, self._is_count, QUOTE, self._holding) if found is None else found

    def _is_count(self, head: Expr) -> bool:
        return any(isinstance(part, Repeat) and self.is_counted(part) for part in operands(head))

    def countable(self, item: Expr) -> bool:
        """Return True if repetitions of `item` can be counted: no text is a prefix of another."""
        return self._asked(at.IS_CODE, item, self._codes)


def _taken_apart(root: Expr) -> tuple[list[Expr], list[tuple[int, ...]]]:
    """The operands of And, Not and unions of them, and a program of (operation, *indices)."""
    parts, places, asked = dict[Expr, int](), dict[Expr, int](), list[tuple[int, ...]]()
    stack = [root]
    while stack:
        operation, held = _operation(stack[-1])
        missing = [one for one in held if one not in places]
        stack += missing
        if not missing:
            node = stack.pop()
            if node not in places:
                of = [places[one] for one in held] or [parts.setdefault(node, len(parts))]
                places[node] = len(asked)
                asked.append((operation, *of))
    return [*parts], asked


def _operation(node: Expr) -> tuple[int, tuple[Expr, ...]]:
    match node:
        case And(left, right):
            return _ALL, (left, right)
        case Not(item):
            return _NONE, (item,)
        case Alt(options) if any(isinstance(option, And | Not) for option in options):
            return _ANY, options
        case _:
            return _PART, ()


def _evaluated(asked: list[tuple[int, ...]], parts: Sequence[bool | None]) -> bool | None:
    """Run the program of `_taken_apart` in three-valued logic; None is unknown."""
    found: list[bool | None] = []
    for operation, *of in asked:
        held = [parts[of[0]]] if operation == _PART else [found[place] for place in of]
        decisive = operation in (_ANY, _NONE)
        one = decisive if decisive in held else None if None in held else not decisive
        found.append(not one if operation == _NONE and one is not None else one)
    return found[-1]


def _bytes_of(members: int) -> "np.typing.NDArray[np.bool_]":
    packed = np.frombuffer(members.to_bytes(32, "little"), np.uint8)
    return np.unpackbits(packed, bitorder="little").view(np.bool_)


@final
class _Shared:
    def held(self) -> Held:
        with _lock:
            shared = list(_lexicons.values())
        return Held(states=sum(map(len, shared)), state_bytes=sum(one.nbytes for one in shared))

    def forget(self) -> None:
        with _lock:
            _lexicons.clear()


_lexicons: dict[int, Lexicon] = {}
_lock = threading.Lock()
track_shared(_Shared())


def large_lexicon(spellable: int) -> Lexicon | None:
    with _lock:
        found = _lexicons.get(spellable)
        return found if found is not None and found.is_large() else None


def shared_lexicon(spellable: int) -> Lexicon:
    """The lexicon for a new constraint; a new one if the current one has grown large."""
    with _lock:
        found = _lexicons.get(spellable)
        if found is None or found.is_large():
            found = _lexicons[spellable] = Lexicon(spellable)
        return found
