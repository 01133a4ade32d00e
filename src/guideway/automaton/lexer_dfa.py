"""The lexer DFA, which constraints share: states of regular expressions, lengths of their texts."""

import threading
from collections import defaultdict
from heapq import heappop, heappush
from typing import Final, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np

from guideway.automaton.kernels import regex_layout as at
from guideway.automaton.kernels.layout import (
    ACCEPTS,
    DEAD_END,
    DOUBTS,
    EXPANDED,
)
from guideway.automaton.regex_records import Records, holds, readable
from guideway.automaton.token_tries import Held, share, track_shared, untouched
from guideway.json_schema.spelling import QUOTE
from guideway.language.expr import ALL_BYTES, EPSILON, both, byte_set, concat, repeat
from guideway.language.fuel import spend_beside
from guideway.language.nodes import Bytes, Concat, Expr, Repeat, operands
from guideway.language.regular import surely_open

MOST_STATES: Final = 1 << 19  # 1 KB each
_WORTH_COUNTING: Final = 4
_OPTIONS: Final = 10  # options that cost as much as a record
RENEW_AT: Final = 1 << 16  # sizes at which a new constraint gets a new lexer DFA,
RENEW_AT_PARTS: Final = 1 << 17  # so that a huge language does not make others fail


class LexerDfa:
    """Lexical states over the bytes of a vocabulary."""

    def __init__(self, spellable: int) -> None:
        self.spellable = spellable
        self.rows = untouched((MOST_STATES, 256), np.int32)
        self.flags = untouched(MOST_STATES, np.uint8)
        self.first = untouched((MOST_STATES, 4), np.uint64)
        self.records = Records(spellable, MOST_STATES)
        self._record_of = untouched(MOST_STATES, np.int32)
        share(
            self.records.context,
            transitions=self.rows,
            flags=self.flags,
            leads=self.first,
            state_records=self._record_of,
        )
        self._states: dict[Expr, int] = {}
        self._holding: dict[Expr, bool] = {}
        self._answers: dict[tuple[int, Expr], bool] = {}
        self._counted = 0
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return self.records.context.states.used

    @property
    def parts(self) -> int:
        """Number of records, or a tenth of the number of options: one record may have 1,000."""
        context = self.records.context
        return max(context.records.used, context.parts.used // _OPTIONS)

    @property
    def nbytes(self) -> int:
        return len(self) * (4 * 256 + 32 + 4 + 1) + self.records.nbytes

    def state(self, expr: Expr) -> int:
        """The state of an expression that has at least one text.

        That of an item with captures inside, entered in its middle, is in doubt: the plain engine
        reads its end.
        """
        found = self._states.get(expr)
        if found is None:
            with self.lock:
                found = self._states[expr] = self._numbered(expr)
        return found

    def expand(self, state: int, *, briefly: bool = False) -> bool:
        """Make the row of a state; with `briefly`, return False where that takes long."""
        done = True
        with self.lock:
            if not self.flags[state] & EXPANDED:
                try:
                    done = self.records.ask(at.EXPAND, state, begins=int(briefly)) >= 0
                finally:  # who fails here has paid: the next one does not pay for it
                    made = max(self.parts - self._counted, self.records.context.spent)
                    self.count_anew()
                spend_beside(made)
        return done

    def count_anew(self) -> None:
        """Reset the work counters: work of kernels so far was for others or is already charged."""
        self._counted, self.records.context.spent = self.parts, 0

    def is_large(self) -> bool:
        return len(self) > RENEW_AT or self.parts > RENEW_AT_PARTS

    def begins(self, state: int, members: int) -> bool:
        """Return True if an expanded state has a transition on one of these bytes."""
        return self.first_bytes(state) & members != 0

    def first_bytes(self, state: int) -> int:
        """The set of bytes that lead on from an expanded state."""
        return int.from_bytes(self.first[state].tobytes(), "little")

    def guess(self, state: int) -> int:
        """Estimate of the fewest bytes of a text (`Records.guess`)."""
        return self.records.guess(int(self._record_of[state]))

    def _numbered(self, expr: Expr) -> int:
        if expr.regular:
            return self.records.ask(at.NUMBER, self.records.record(expr))
        made = self.records.new_state()
        self.flags[made] = DOUBTS | EXPANDED
        return made

    def alive(self, expr: Expr) -> bool:
        if expr.inhabited and self.spellable == ALL_BYTES:  # needs no records
            return True
        return self._answer(at.IS_ALIVE, expr)

    def meets(self, state: int, inside: int, between: int, low: int, high: int) -> bool:
        """Return True if `state` has a text that goes on from `inside` by so many items.

        `inside` is a state within an item, `between` that between two. A byte that begins no item
        follows them.
        """
        closing = byte_set(self.spellable & ~self.first_bytes(between))
        with self.lock:
            records, (whole, rest, many) = self.records, self._record_of[[state, inside, between]]
            left = records.counted(int(rest), int(many), low, high)
            text = records.make(at.CONCAT, left, records.record(closing))
            found = records.ask(at.HAS_OPTION, records.make(at.AND, int(whole), text)) == 1
            self.count_anew()  # searches pay for what they do
        return found

    def is_open(self, expr: Expr) -> bool:
        """Return True if every prefix of a text surely has infinitely many continuations."""
        return surely_open(expr) or self._answer(at.IS_OPEN, expr)

    def _answer(self, what: int, expr: Expr) -> bool:
        """Ask the kernels about a regular expression, once."""
        found = self._answers.get((what, expr))
        if found is None:
            with self.lock:
                found = self.records.ask(what, self.records.record(expr)) == 1
                self._answers[what, expr] = found
                self.count_anew()  # searches pay for what they do
        return found

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
        return self._answer(at.IS_CODE, item)


_dfas: dict[int, LexerDfa] = {}
_lock = threading.Lock()


def _held() -> Held:
    shared = list(_dfas.values())
    return Held(states=sum(map(len, shared)), state_bytes=sum(one.nbytes for one in shared))


track_shared(_held, _dfas.clear)


def shared_dfa(spellable: int) -> LexerDfa:
    """The lexer DFA for a new constraint; a new one if the current one has grown large."""
    with _lock:
        found = _dfas.get(spellable)
        if found is None or found.is_large():
            found = _dfas[spellable] = LexerDfa(spellable)
        return found


_LONGEST: Final = 4096  # bytes of a literal translated at once


def is_byte(expr: Expr) -> TypeGuard[Bytes]:
    return isinstance(expr, Bytes) and expr.members & (expr.members - 1) == 0


def bounded_fields(
    rest: Expr, count: Repeat, tail: Expr, dfa: LexerDfa
) -> tuple[int, int, int, int] | None:
    """Fields of a BOUNDED node: a pattern with its count, and the byte that ends it.

    Return None if there is no single such byte, or a character may begin with it.
    """
    closing = tail.head if isinstance(tail, Concat) else tail
    between = dfa.state(repeat(count.item))
    dfa.expand(between)
    if not isinstance(closing, Bytes) or dfa.begins(between, closing.members):
        return None
    unit = concat(both(rest, repeat(count.item)), closing)
    low, high = readable(count.low, count.high)
    return dfa.state(unit), low, high, between


def run_of(expr: Expr) -> tuple[bytes, Expr]:
    """The fixed bytes at the head of an expression, and the rest."""
    found = bytearray()
    rest = expr
    while len(found) < _LONGEST:
        head = rest.head if isinstance(rest, Concat) else rest
        if not is_byte(head):
            break
        found.append(head.members.bit_length() - 1)
        if not isinstance(rest, Concat):
            return bytes(found), EPSILON
        rest = rest.tail
    return bytes(found), rest


_SPANS_MET: Final = 256  # lexical states in a search for the nearest end
_SPANS_LONGEST: Final = len("\\ud83d\\ude00")  # bytes of a character
_NEAR: Final = 256  # successors of a state with too many that count as such, too
_BEHIND: Final = 1 << 12  # successors of a state; an e-mail address has 2,013: 25 ms, once


class Spans:
    def __init__(self) -> None:
        self._least: dict[int, int] = {}
        self._far = set[int]()  # states with ends that take long to find
        self._farthest: dict[int, int | None] = {}

    def least(self, dfa: LexerDfa, state: int) -> int | None:
        """Length of a short text of a state, mostly a shortest one; None if it takes long.

        Best first by `guess`: no end is among the nearest 256 of the 60,000 states of times.
        """
        before, heap = {state: state}, [] if state in self._far else [(0, 0, state)]
        for _ in range(_SPANS_MET):
            if not heap:
                break
            _, length, one = heappop(heap)
            if not dfa.expand(one, briefly=True):
                break
            if dfa.flags[one] & ACCEPTS or one in self._least:
                return self._learn(state, one, before)
            for target in _targets(dfa, one):
                if target not in before:
                    before[target] = one
                    heappush(heap, (length + 1 + dfa.guess(target), length + 1, target))
        self._far.add(state)
        return None

    def least_bounded(self, dfa: LexerDfa, bounded: list[int]) -> int | None:
        """Upper bound on the shortest rest of a BOUNDED node; None if characters are needed."""
        _, state, needed, allowed, *_ = bounded
        bytes_ = None if needed else self.least(dfa, state)
        if bytes_ is None or allowed < 0 or bytes_ <= allowed + len('"'):
            return bytes_
        return _SPANS_LONGEST * (allowed + 1)  # includes a started character and the closing byte

    def farthest_bounded(self, dfa: LexerDfa, bounded: list[int]) -> int | None:
        """Upper bound on `least_bounded` of all successors of a BOUNDED node; None if not known."""
        _, state, needed, allowed, *_ = bounded
        found = None if needed else self.farthest(dfa, state)
        if found is None or allowed < 0:
            return found
        return max(found, _SPANS_LONGEST * (found - len('"')))  # may be less than `found`

    def _learn(self, state: int, end: int, before: dict[int, int]) -> int:
        length = self._least.setdefault(end, 0)
        while end != state:
            end, length = before[end], length + 1
            self._least[end] = length
        return length

    def farthest(self, dfa: LexerDfa, state: int) -> int | None:
        """Upper bound on `least` of a state and all its successors; None if there are too many."""
        if state not in self._farthest:
            met, whole = self._reachable(dfa, state)
            found = self._greatest(dfa, met) if whole else None
            for one in met if whole else met[:_NEAR]:
                self._farthest.setdefault(one, found)
        return self._farthest[state]

    def _reachable(self, dfa: LexerDfa, state: int) -> tuple[list[int], bool]:
        """A state and its successors in breadth-first order, and whether these are all."""
        met, known = [state], {state}
        for one in met:  # which grows
            if len(met) > _BEHIND or not dfa.expand(one, briefly=True):
                return met, False
            for target in _targets(dfa, one):
                if target not in known:
                    known.add(target)
                    met.append(target)
        return met, True

    def _greatest(self, dfa: LexerDfa, met: list[int]) -> int | None:
        """Greatest distance of a closed set of states: a search backwards from accept states."""
        sources = defaultdict[int, list[int]](list)
        for one in met:
            for target in _targets(dfa, one):
                sources[target].append(one)
        ends = [one for one in met if dfa.flags[one] & ACCEPTS]
        lengths = dict.fromkeys(ends, 0)
        for one in ends:  # which grows
            for source in sources[one]:
                if source not in lengths:
                    lengths[source] = lengths[one] + 1
                    ends.append(source)
        self._least.update(lengths)
        return lengths[ends[-1]] if len(ends) == len(met) else None


def _targets(dfa: LexerDfa, state: int) -> list[int]:
    return [one for one in np.unique(dfa.rows[state]).tolist() if one != DEAD_END]


_spans: "WeakKeyDictionary[LexerDfa, Spans]" = WeakKeyDictionary()


def shared_spans(dfa: LexerDfa) -> Spans:
    return _spans.setdefault(dfa, Spans())


class Lengths:
    """Verdicts on patterns over one kind of character, whose boundary is the state `between`."""

    def __init__(self, dfa: LexerDfa, between: int) -> None:
        self._dfa, self._between = dfa, between

    def alive(self, state: int, inside: int, low: int, high: int) -> bool:
        """Return True if the pattern has a text of `low` to `high` (-1: any) more characters.

        A byte that begins no character follows them; `inside` is the state in the current one.
        """
        return self._dfa.meets(state, inside, self._between, low, high)
