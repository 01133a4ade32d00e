"""Decode states that are expressions, read by the plain engine: the counterpart of `masks.states`.

For vocabularies that cannot spell every byte on its own, where a `TokenGraph` tells from which
states an end can be reached; these are small. And for languages that look ahead.
"""

import threading
from typing import Protocol, final

from fairlead.lowering.expr import concat, literal
from fairlead.lowering.nodes import Expr
from fairlead.masks.bits import Row, pack
from fairlead.masks.memory import Held
from fairlead.masks.rows import Rows
from fairlead.masks.states import State
from fairlead.vocabulary.spellings import Vocabulary


class Graph(Protocol):
    """Which tokens lead to an end."""

    def include(self, start: Expr) -> None:
        """Look at a state that texts begin with."""
        ...

    def row(self, state: Expr) -> Row:
        """The tokens from which an end can be reached, and the end ids where the text may end."""
        ...

    def alive(self, state: Expr) -> bool:
        """Whether an end can be reached from a state."""
        ...


@final
class Everywhere:
    """The graph of a vocabulary that can spell every byte: what the recognizer reads can end."""

    def __init__(self, rows: Rows[Expr]) -> None:
        self._rows = rows

    def include(self, start: Expr) -> None:
        """Nothing has to be known beforehand."""

    def row(self, state: Expr) -> Row:
        """As the recognizer reads."""
        return self._rows.row(state)

    def alive(self, state: Expr) -> bool:
        """The recognizer has seen to that."""
        return True


@final
class ExploredStates:
    """The states of one constraint."""

    def __init__(self, expr: Expr, graph: Graph, rows: Rows[Expr], vocabulary: Vocabulary) -> None:
        self._expr, self._graph, self._rows = expr, graph, rows
        self._end_row = pack(sorted(vocabulary.eos_ids), vocabulary.width)
        self._states: dict[Expr, State] = {}
        self._lock = threading.RLock()

    def start(self, lead: bytes) -> State:
        """The state of a text that begins with `lead`."""
        rest = concat(literal(lead), self._expr)
        with self._lock:
            self._graph.include(rest)
            return self._state(rest)

    def mask(self, state: State) -> Row:
        """The tokens from which an end can be reached, and the end ids where the text may end."""
        with self._lock:
            if state.row is None:
                state.row = self._graph.row(self.rest(state))
            return state.row

    def after(self, state: State, token: int) -> State | None:
        """The state after a token, None where no end can be reached from there."""
        with self._lock:
            following = self._rows.after(self.rest(state), token)
            if following is None or not self._graph.alive(following):
                return None
            return self._state(following)

    def end(self, state: State) -> State:
        """The state after an end id."""
        return state.end(self._end_row, self.rest(state))

    def rest(self, state: State) -> Expr:
        """What may follow, as an expression."""
        return state.known_rest()

    def held(self) -> Held:
        """What is remembered at the moment, besides what `Rows` holds."""
        rows = [state.row for state in self._states.values() if state.row is not None]
        return Held(rows=len(rows), row_bytes=sum(row.nbytes for row in rows))

    def forget(self) -> None:
        """Forget the masks."""
        with self._lock:
            for state in self._states.values():
                state.row = None

    def _state(self, rest: Expr) -> State:
        found = self._states.get(rest)
        if found is None:
            found = self._states[rest] = State(None, 0, rest.nullable, rest)
        return found
