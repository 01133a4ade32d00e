"""Regular languages as automata that all constraints of a process share.

A lexical state is an expression without rules; its row says where each byte leads. Strings, numbers
and whitespace are the same in every schema, so their states are made once. A row is made when it is
first asked for, by `kernels.lexemes` from the record of its expression, and is never moved or
changed afterwards: kernels of other threads may read while one is added. What holds captures is no
record: its rows are made by the plain engine.

The arrays are as large as they may ever get; the operating system gives memory for what is used.
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
_OPTIONS: Final = 10  # take as long to make as a record
_MET: Final = 1024  # states, until the shortest text is searched for elsewhere,
_MADE: Final = 1 << 16  # and parts made for it: .1 s
_PART, _ALL, _ANY, _NONE = range(4)
_NOWHERE: Final = np.full(256, DEAD_END, np.int32)
RENEW_AT: Final = 1 << 16  # when a new constraint gets a new lexicon,
RENEW_AT_PARTS: Final = 1 << 19  # so that one that has met a huge language fails no other


@final
class Lexicon:
    """Lexical states over the bytes that a vocabulary can spell.

    Attributes:
        outgrown: whether it was found to be large, and nobody has seen to the next one yet.
    """

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
        """How many records of expressions there are, or as many as their options take as much as.

        Of `|` of 1,000 `[^x]*` each of 8,500 states has almost a thousand, and few are new records.
        """
        context = self.records.context
        return max(int(context[at.RECORDS]), int(context[at.PARTS]) // _OPTIONS)

    @property
    def nbytes(self) -> int:
        """What the states take: a row, a set of bytes, a record and a flag each."""
        return len(self) * (4 * 256 + 32 + 4 + 1) + self.records.nbytes

    def state(self, expr: Expr) -> int:
        """The state whose texts are those of an expression with at least one text."""
        found = self._states.get(expr)
        if found is None:
            with self.lock:
                found = self._state(expr)
        return found

    def expand(self, state: int, *, briefly: bool = False) -> bool:
        """Make the row of a state.

        With OPTIONS_OF added: find its options. False where that takes long, if `briefly`.
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
        """Note that all characters of a state between two have a spelling of one byte each.

        What meets them must have all spellings of a text, or none. Then its fewest characters are
        those of a text of such.
        """
        with self.lock:
            self.flags[state] |= PLAINLY

    def count_anew(self) -> None:
        """Have nobody pay for what kernels have made so far: it was for others, or is paid for."""
        self._counted, self.records.context[at.SPENT] = self.parts, 0

    def is_large(self) -> bool:
        """Whether new constraints get a new one."""
        return len(self) > RENEW_AT or self.parts > RENEW_AT_PARTS

    def begins(self, state: int, members: int) -> bool:
        """Whether a state that was expanded goes on with one of the bytes."""
        return int.from_bytes(self.first[state].tobytes(), "little") & members != 0

    def expr(self, state: int) -> Expr:
        """An expression whose texts are those of a state."""
        found = self._irregular.get(state)
        if found is None:
            with self.lock:
                found = self.records.expr(int(self._record_of[state]))
        return found

    def guess(self, state: int) -> int:
        """How many bytes a text of a state may have at least: see `Records.guess`."""
        return self.records.guess(int(self._record_of[state]))

    def most(self, state: int) -> int:
        """How many characters a text of a state has at most, or more; see `Records.most`."""
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
        """Make the row of a state that holds captures."""
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
        """Whether a regular expression has a text; numbers are the same in every schema."""
        if expr.inhabited and self.spellable == ALL_BYTES:  # no record of all that is behind it
            return True
        return self._asked(at.IS_ALIVE, expr, self._alive)

    def is_small(self, expr: Expr) -> bool:
        """Whether texts of ASCII characters lead from a regular expression to few states.

        What is spelled by a backslash mostly comes without one, too, and what is not ASCII leads to
        states between characters as these do, and to others within each.
        """
        return self._asked(at.IS_SMALL, expr, self._small)

    def is_open(self, expr: Expr) -> bool:
        """Whether every beginning of a text of a regular expression surely begins endlessly many.

        So it is if each of finitely many states, all of which have a text, goes on: false also
        where they are many.
        """
        return surely_open(expr) or self._asked(at.IS_OPEN, expr, self._open)

    def _asked(self, what: int, expr: Expr, known: dict[Expr, bool]) -> bool:
        """What kernels say of a regular expression, once."""
        found = known.get(expr)
        if found is None:
            with self.lock:
                found = known[expr] = self.records.ask(what, self.records.record(expr)) == 1
                self.count_anew()  # searches pay for what they do
        return found

    def shortest(self, expr: Expr) -> tuple[bool, bytes | None]:
        """Whether the least of the shortest texts of a regular expression is told, and that text.

        The parts of meets, opposites and choices between them are read side by side: together they
        may have few states where derivatives of the whole are many. It is told if `_MET` such
        states suffice, and few records. They are met in the order of their least texts, so the
        first that accepts has it.
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
        """Whether a repetition is better counted than written out as states, one for each count."""
        most = max(repeated.low, repeated.high or 0)
        return most >= _WORTH_COUNTING and self.countable(repeated.item)

    def holds_count(self, expr: Expr) -> bool:
        """Whether a regular expression has strings in it whose characters are counted.

        It is then read part by part: as one lexeme it would have states for each count.
        """
        found = self._holding.get(expr)
        return holds(expr, self._is_count, QUOTE, self._holding) if found is None else found

    def _is_count(self, head: Expr) -> bool:
        return any(isinstance(part, Repeat) and self.is_counted(part) for part in operands(head))

    def countable(self, item: Expr) -> bool:
        """Whether repetitions of `item` can be counted while they are read.

        So it is if none of its texts begins another: then a text ends exactly where it can.
        """
        return self._asked(at.IS_CODE, item, self._codes)


def _taken_apart(root: Expr) -> tuple[list[Expr], list[tuple[int, ...]]]:
    """The expressions that meets, opposites and choices between them are made of, and how.

    Returns:
        The parts, and what to evaluate one after the other: (_PART, number of a part), or an
        operation and the places of its operands in this list.
    """
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
    """Whether the whole holds where some parts do; None where that is not known, as of a part."""
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
    """The lexicons that new constraints get, as the memory accounts see them."""

    def held(self) -> Held:
        """What the states take, and the records that they are made from."""
        with _lock:
            shared = list(_lexicons.values())
        return Held(states=sum(map(len, shared)), state_bytes=sum(one.nbytes for one in shared))

    def forget(self) -> None:
        """Leave the lexicons to those who use them."""
        with _lock:
            _lexicons.clear()


_lexicons: dict[int, Lexicon] = {}
_lock = threading.Lock()
track_shared(_Shared())


def large_lexicon(spellable: int) -> Lexicon | None:
    """The lexicon of the last constraint, if it has grown large."""
    with _lock:
        found = _lexicons.get(spellable)
        return found if found is not None and found.is_large() else None


def shared_lexicon(spellable: int) -> Lexicon:
    """The lexicon of a new constraint: the present one, or a new one where that has grown large."""
    with _lock:
        found = _lexicons.get(spellable)
        if found is None or found.is_large():
            found = _lexicons[spellable] = Lexicon(spellable)
        return found
