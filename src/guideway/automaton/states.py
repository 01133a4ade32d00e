"""Decode states: the mask of a position in a text, and the state after a token.

States are values; equal ones are one object. `States` makes them, by the compiled automaton or,
where that has no room, by the plain engine.
"""

import sys
import threading
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import numpy as np

from guideway.automaton.lexer_dfa import shared_dfa
from guideway.automaton.plain_masks import Rows
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.token_mask_cache import shared_mask_cache
from guideway.automaton.token_tries import Held, Row, total
from guideway.errors import GuidewayError, LimitError
from guideway.json_schema.text import pause, resume
from guideway.language.budget import FREE, Budget
from guideway.language.derivative import Derivatives, read_on
from guideway.language.expr import concat, literal
from guideway.language.fuel import metering, while_there_is_room
from guideway.language.nodes import Expr
from guideway.vocabulary.vocabulary import Vocabulary

ALL: Final = sys.maxsize  # tokens
PLAIN: Final = -1  # macro state of states of the plain engine


class State:
    """A position in a text. Equal states are the same object.

    Attributes:
        automaton: None for the plain engine.
        macro: macro state, or PLAIN.
        text: number of the text read of the current items (`marks`).
        hits, seen: cache hits, and those when the cache was last trimmed.
        enough: number of tokens known to suffice for an end after any next token.
        token, next: the first token taken, and the state after it.
    """

    # Most states have one predecessor and one successor, so these are slots: a dictionary and a
    # pair for each state would triple the garbage collector's work.
    __slots__ = (
        "__weakref__", "_before", "_by", "_end", "_others", "_rest", "accepts", "ended", "enough",
        "hits", "macro", "next", "pda", "row", "seen", "text", "token",
    )  # fmt: skip

    def __init__(
        self, pda: PushdownAutomaton | None, macro: int, accepts: bool, rest: Expr | None = None
    ) -> None:
        self.pda, self.macro, self.accepts = pda, macro, accepts
        self.row: Row | None = None
        self.hits = self.seen = self.text = 0
        self.ended, self.enough = False, ALL
        self.token = -1
        self.next: State | None = None
        self._others: dict[int, State] | None = None
        self._before: State | None = None
        self._by = -1
        self._end: State | None = None
        self._rest = rest

    def following(self, token: int) -> "State | None":
        if token == self.token:
            return self.next
        return None if self._others is None else self._others.get(token)

    def follow(self, token: int, state: "State") -> None:
        if self.token < 0:
            self.next = state  # before `token`, which other threads check
            self.token = token
        elif self._others is None:
            self._others = {token: state}
        else:
            self._others[token] = state
        if state._rest is None and state._before is None:
            state._before, state._by = self, token

    def reader(self) -> PushdownAutomaton | None:
        if self.pda is None and self.macro != PLAIN:
            raise GuidewayError("a state of another engine")
        return self.pda

    def let_go(self) -> None:
        """Forget the successors, to break reference cycles."""
        self.token, self.next, self._others = -1, None, None

    def end(self, row: Row, rest: Expr) -> "State":
        if self._end is None:
            self._end = State(self.pda, self.macro, True, rest)
            self._end.ended, self._end.row = True, row
        return self._end

    def know_rest(self, rest: Expr | None) -> None:
        self._rest, self._before = rest, None

    def known_rest(self) -> Expr:
        if self._rest is None:
            raise GuidewayError("what follows this state has not been asked for")
        return self._rest

    def way(self) -> "tuple[State, list[tuple[int, State]]]":
        """The last state on the way here with a known rest, and the tokens and states after it."""
        steps: list[tuple[int, State]] = []
        state = self
        while state._rest is None and state._before is not None:
            steps.append((state._by, state))
            state = state._before
        return state, steps[::-1]


MOST_STARTS: Final = 256  # cached initial states: empty, or the healed end of a prompt

_DOUBTS: Final = 4  # tokens of a mask that kernels cannot decide before they are no longer asked


class States:
    """The states of one constraint; `beside` has others' results for the current automaton."""

    def __init__(
        self, expr: Expr, machine: Derivatives, vocabulary: Vocabulary, budget: Budget
    ) -> None:
        self._expr, self._machine, self._vocabulary = expr, machine, vocabulary
        self._tokens = vocabulary.tokens
        self._budget = budget
        self.plain = Rows(machine, vocabulary, budget)
        self.lock = threading.RLock()
        self.beside = dict[type, Any]()
        self._plain_states: dict[Expr, State] = {}
        self._known: dict[int, State] = {}  # states of the automaton
        self._with_rows: deque[State] = deque()  # states with rows outside a mask store
        self._misses = 0
        self._renew()

    def _renew(self) -> None:
        dfa = shared_dfa(self._vocabulary.spellable)
        self.mask_cache = shared_mask_cache(self._vocabulary, dfa)
        dfa.count_anew()
        self._pda = PushdownAutomaton(self._expr, self._machine, self.mask_cache)
        self._known, self._starts = self._pda.states, dict[bytes, State]()
        self.beside = {}

    @property
    def _outgrown(self) -> bool:
        return self.mask_cache.spent or self._pda.arena.nbytes > self._budget.table_bytes

    def _outgrow(self) -> None:
        """Start a new automaton; states that are still held stay in the old one."""
        for state in self._with_rows:
            state.row = None
        self._with_rows.clear()
        for state in self._known.values():
            state.let_go()
        self._known.clear()
        self._renew()

    def __del__(self) -> None:
        """Break reference cycles: 3 of 4 objects waited for the garbage collector."""
        for states in (self._known, self._plain_states):
            for state in states.values():
                state.let_go()
            states.clear()

    def start(self, lead: bytes) -> State:
        """The state of a text that begins with `lead`."""
        found = self._starts.get(lead)
        if found is not None and not self._outgrown:
            return found
        paused = pause()
        try:
            with self._token():
                return self._started(lead)
        finally:
            resume(paused)

    @contextmanager
    def _limited(self) -> Generator[None]:
        """Limit the work of one mask or token, by the budget."""
        dfa = self.mask_cache.dfa
        dfa.count_anew()  # others have made the rest
        try:
            with self._budget.token():
                yield
        except LimitError:
            if dfa.is_large():
                with self.lock:  # what was made for nothing is freed
                    self.mask_cache.spent = True
                    self._outgrow()
            raise

    def _token(self) -> AbstractContextManager[None]:
        return FREE if self._budget.token_fuel is None or metering() else self._limited()

    def _started(self, lead: bytes) -> State:
        with self.lock:
            if self._outgrown:
                self._outgrow()
            found = self._starts.get(lead)
            if found is None:
                found = self._begin(concat(literal(lead), self._expr) if lead else self._expr)
                if len(self._starts) >= MOST_STARTS:
                    self._starts.clear()
                self._starts[lead] = found
            return found

    def _begin(self, rest: Expr) -> State:
        found = None
        with while_there_is_room:
            found = self._enter(self._pda, rest)
        if found is None:  # shared arrays are full: start new ones
            with while_there_is_room:
                self._renew()
                found = self._enter(self._pda, rest)
        found = found or self._plain_state(rest)
        found.know_rest(rest)
        return found

    def _enter(self, pda: PushdownAutomaton, rest: Expr) -> State:
        """The state of a rest of the text; of the plain engine where the kernels are unsure."""
        macro = pda.enter(rest)
        if not pda.arena.macro(macro)[1]:
            return self._state(pda, macro)
        return self._plain_state(rest)

    def _plain_state(self, rest: Expr) -> State:
        if len(self._plain_states) > self._budget.rows:
            self._plain_states.clear()
        return self._plain_states.setdefault(rest, State(None, PLAIN, rest.nullable, rest))

    def mask(self, state: State) -> Row:
        """Tokens allowed in a state, and the end ids if it accepts."""
        paused = not self._misses and pause()  # only for the first mask
        try:
            with self._token():
                return self._mask(state)
        finally:
            resume(paused)

    def _mask(self, state: State) -> Row:
        with self.lock:
            with while_there_is_room:
                return self._filled(state)
            with while_there_is_room:
                self._move(state)
                return self._filled(state)
            self._move_to_plain(state)
            return self._filled(state)

    def after(self, state: State, token: int) -> State | None:
        found = state.following(token)
        if found is None:
            with self.lock, self._token():
                with while_there_is_room:
                    return self._after(state, token)
                return self._after_all(state, token)
        return found

    def _after_all(self, state: State, token: int) -> State | None:
        with while_there_is_room:
            self._move(state)
            return self._after(state, token)
        self._move_to_plain(state)
        rest = self._read_plainly(state, token)
        found = None if rest is None else self._plain_state(rest)
        if found is not None:
            state.follow(token, found)
        return found

    def _move(self, state: State) -> None:
        """Move a state to a new automaton, as its own is full."""
        rest = self.rest(state)
        self._renew()
        found = self._enter(self._pda, rest)
        state.pda, state.macro, state.text = found.pda, found.macro, 0
        if found.pda is not None:
            self._pda.states[state.macro] = state

    def _move_to_plain(self, state: State) -> None:
        """Move a state to the plain engine: slow, but without bounded tables: masks never fail."""
        self._machine.living.consult(None)
        state.know_rest(self.rest(state))
        state.pda, state.macro = None, PLAIN

    def end(self, state: State) -> State:
        return state.end(self.mask_cache.ends, self.rest(state))

    def rest(self, state: State) -> Expr:
        """Expression of the rest; the plain engine replays the tokens after the last known rest."""
        with self.lock:
            begun, steps = state.way()
            rest = begun.known_rest()
            for token, after in steps:
                for byte in self._tokens[token] or b"":
                    rest = self._machine.after(rest, byte)
                after.know_rest(rest)
            return state.known_rest()

    @property
    def pda(self) -> PushdownAutomaton:
        return self._pda

    def held(self) -> Held:
        with self.lock:
            rows, nbytes = len(self._with_rows), self._pda.arena.nbytes
            own = Held(
                rows=rows,
                row_bytes=rows * 4 * self.mask_cache.words,
                states=len(self._known),
                state_bytes=nbytes,
                hits=sum(state.hits for state in self._known.values()),
                misses=self._misses,
            )
            return total([own, self.plain.held()])

    def size(self) -> int:
        """Memory of what `held` counts, without visiting all states."""
        rows = len(self._with_rows) * 4 * self.mask_cache.words
        return rows + self._pda.arena.nbytes + self.plain.held().bytes

    def forget(self) -> None:
        with self.lock:
            for state in self._with_rows:
                state.row = None
            self._with_rows.clear()
            self._plain_states.clear()
            self.plain.forget()
            self._renew()

    def _after(self, state: State, token: int) -> State | None:
        found = self._find_after(state, token)
        if found is not None:
            state.follow(token, found)
        return found

    def _find_after(self, state: State, token: int) -> State | None:
        if token >= len(self._tokens) or not self._tokens[token]:
            return None
        pda = state.reader()
        if pda is None:
            return self._reached_plainly(state, token, self._pda)
        code = pda.read(state.macro, token, state.text)
        if code & 1:
            return self._reached_plainly(state, token, pda)
        if code == 0:
            return None
        macro = code >> 2
        key = pda.marks.key(macro) if pda.marks.any else macro
        found = pda.states.get(key)
        if found is None:
            found = pda.states[key] = State(pda, macro, code & 2 != 0)
            found.text = key >> 32
        return found

    def _reached_plainly(self, state: State, token: int, pda: PushdownAutomaton) -> State | None:
        rest = self._read_plainly(state, token)
        return None if rest is None else self._enter(pda, rest)

    def _read_plainly(self, state: State, token: int) -> Expr | None:
        """Expression after a token; the plain engine keeps all texts of a capture, kernels one."""
        rest: Expr | None = self.rest(state)
        for byte in self._tokens[token] or b"":
            rest = None if rest is None else self._machine.step(rest, byte)
        return rest

    def _decided(self, state: State, pda: PushdownAutomaton, unsure: list[int]) -> Iterator[int]:
        """The allowed ones among the unsure tokens of a mask.

        Kernels are asked first: the plain engine reads the whole text again, 90 ms for 1,600 bytes.
        It decides after _DOUBTS undecided tokens, sharing prefixes: 1,312 tokens within nested
        captures took 0.73 s one by one, 0.2 s so.
        """
        doubts, known = 0, dict[bytes, Expr | None]()
        for token in unsure:
            if doubts < _DOUBTS:
                code = pda.read(state.macro, token, state.text)
                if code & 1 == 0:
                    if code:
                        yield token
                    continue
                doubts += 1
            if not known:
                known[b""] = self.rest(state)
            if read_on(known, self._tokens[token] or b"", self._machine.step) is not None:
                yield token

    def _state(self, pda: PushdownAutomaton, macro: int) -> State:
        found = pda.states.get(macro)
        if found is None:
            found = pda.states[macro] = State(pda, macro, pda.arena.macro(macro)[0])
        return found

    def _filled(self, state: State) -> Row:
        row = state.row
        if row is None:
            self._misses += 1
            row, stored_row = self._fill(state)
            state.row = row
            if not stored_row:
                self._remember(state)
        return row

    def _fill(self, state: State) -> tuple[Row, bool]:
        pda = state.reader()
        if pda is None:
            return self.plain.row(self.rest(state)), False
        row, unsure, stored_row = pda.fill(state.macro)
        if unsure:
            row = row.copy()
            for token in self._decided(state, pda, unsure):
                row[token >> 5] |= np.uint32(1 << (token & 31))
            row.flags.writeable = False
        return row, stored_row

    def _remember(self, state: State) -> None:
        """Add a row; drop the least recently used ones over the limit (a clock: Corbató 1968)."""
        self._with_rows.append(state)
        while len(self._with_rows) > self._budget.rows:
            oldest = self._with_rows.popleft()
            if oldest.hits > oldest.seen:
                oldest.seen = oldest.hits
                self._with_rows.append(oldest)
            else:
                oldest.row = None
