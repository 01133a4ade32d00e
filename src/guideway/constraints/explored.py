"""Decode states of a `TokenGraph`, for vocabularies that cannot spell every byte alone."""

import threading
from collections.abc import MutableMapping
from typing import Any, final

from guideway.constraints.token_graph import TokenGraph
from guideway.lowering.expr import concat, literal
from guideway.lowering.nodes import Expr
from guideway.masks.bits import Row, pack
from guideway.masks.memory import Held, held_rows
from guideway.masks.rows import Rows
from guideway.masks.state import State
from guideway.vocabulary.spellings import Vocabulary


class ListedStates:
    """Decode states that hold the rest of the language; `lock` guards the recognizer."""

    def __init__(
        self, states: MutableMapping[Any, State], vocabulary: Vocabulary, lock: "threading.RLock"
    ) -> None:
        self._states, self._vocabulary, self.lock = states, vocabulary, lock
        self._end_row = pack(sorted(vocabulary.eos_ids), vocabulary.width)

    def end(self, state: State) -> State:
        return state.end(self._end_row, self.rest(state))

    def rest(self, state: State) -> Expr:
        return state.known_rest()

    def held(self) -> Held:
        return held_rows(state.row for state in self._states.values())

    def size(self) -> int:
        return self.held().bytes

    def forget(self) -> None:
        with self.lock:
            for state in self._states.values():
                state.row = None


@final
class ExploredStates(ListedStates):
    """The states of one constraint, from a graph built beforehand."""

    def __init__(
        self, expr: Expr, graph: TokenGraph, rows: Rows[Expr], vocabulary: Vocabulary
    ) -> None:
        super().__init__({}, vocabulary, threading.RLock())
        self._expr, self._graph, self._rows = expr, graph, rows

    def start(self, lead: bytes) -> State:
        rest = concat(literal(lead), self._expr)
        with self.lock:
            self._graph.include(rest)
            return self._state(rest)

    def mask(self, state: State) -> Row:
        with self.lock:
            if state.row is None:
                state.row = self._graph.row(self.rest(state))
            return state.row

    def after(self, state: State, token: int) -> State | None:
        with self.lock:
            following = self._rows.after(self.rest(state), token)
            if following is None or not self._graph.alive(following):
                return None
            return self._state(following)

    def _state(self, rest: Expr) -> State:
        found = self._states.get(rest)
        if found is None:
            found = self._states[rest] = State(None, 0, rest.nullable, rest)
        return found
