"""Decode states of canonical tokens: those that the tokenizer itself gives for their text.

A state is a state of the recognizer and a place of the `Cutter`. A token that both allow may lead
nowhere: after "a", if only "b" may follow and "ab" is a token. So a token is allowed if `routes`
finds a route to an end, in a new piece or, without a merge, in the same one.
"""

from typing import Final, final
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from guideway.automata.derivative import Derivatives
from guideway.constraints.explored import ListedStates
from guideway.constraints.readings import Readings
from guideway.constraints.routes import Options, Route, Routes, Spot
from guideway.constraints.segmentation import too_few
from guideway.errors import UnsatisfiableError
from guideway.lowering.expr import concat, literal
from guideway.lowering.nodes import Expr
from guideway.lowering.special import mark
from guideway.masks.bits import Row, has, pack
from guideway.masks.rows import Rows
from guideway.masks.state import State
from guideway.vocabulary.bounded import remember
from guideway.vocabulary.cutter import Cutter
from guideway.vocabulary.merges import Ids
from guideway.vocabulary.spellings import Vocabulary

_MOST_STARTS: Final = 256
_NONE: Final = 1 << 40  # longer than any route
_PLAIN: Final = -1  # number of these states, which kernels do not read


@final
class CanonicalStates(ListedStates):
    """The canonical states of one constraint; `lock` guards the recognizer and the cutter."""

    def __init__(
        self,
        expr: Expr,
        machine: Derivatives,
        rows: Rows[Expr],
        vocabulary: Vocabulary,
        cutter: Cutter,
    ) -> None:
        super().__init__(WeakValueDictionary[Spot, State](), vocabulary, cutter.lock)
        self._expr, self._cutter = expr, cutter
        self._routes = Routes(machine, rows, vocabulary, cutter)
        self._spots = WeakKeyDictionary[State, Spot]()
        self._ways = WeakKeyDictionary[State, Route]()
        self._starts = dict[bytes, State]()

    def start(self, lead: bytes) -> State:
        with self.lock:
            found = self._starts.get(lead)
            if found is None:
                spot = Spot(concat(literal(lead), self._expr), self._cutter.start, -1, "")
                route = self._routes.route(spot)
                if route is None:
                    raise UnsatisfiableError(
                        "no text of the source survives encoding and decoding: the tokenizer "
                        "changes each text, or reads the name of a special token in it",
                        conflict=("source", "tokenizer"),
                    )
                found = remember(self._starts, lead, self._state(spot, route), _MOST_STARTS)
            return found

    def mask(self, state: State) -> Row:
        with self.lock:
            if state.row is None:
                tokens, _ = self._open(self._spots[state])
                state.row = self._packed(state, tokens)
            return state.row

    def within(self, state: State, tokens_left: int) -> Row:
        """The mask without tokens after which `tokens_left - 1` more are not enough."""
        with self.lock:
            needed = self.distance(state)
            if needed > tokens_left:
                raise too_few(tokens_left, needed)
            tokens, lengths = self._open(self._spots[state])
            known = np.array(self._ways[state][:1], np.int64)
            fit = tokens[lengths < tokens_left]
            return self._packed(state, np.union1d(fit, known))

    def distance(self, state: State) -> int:
        return 0 if state.ended else len(self._ways[state])

    def after(self, state: State, token: int) -> State | None:
        with self.lock:
            spot = self._spots[state]
            allowed = has(self.mask(state), token)
            after = self._routes.following(spot, token) if allowed else None
            if after is None:
                return None
            known = self._ways[state]
            route = known[1:] if known[:1] == (token,) else self._routes.route(after)
            return None if route is None else self._state(after, route)

    def example(self) -> bytes:
        tokens = self._vocabulary.tokens
        route = self._ways[self.start(self._vocabulary.lead)]
        return b"".join(tokens[token] or b"" for token in route)

    def spells(self, read: Readings) -> bool:
        """Return True if the tokenizer reproduces a text; it reads special tokens in it."""
        text = self._vocabulary.lead + read.data
        for name in read.names:
            text = text.replace(name, mark(name.decode()))
        with self.lock:
            tokens = self._routes.encode(text)
            if tokens is None:
                return False
            return self._cutter.ends(self._cutter.run(self._cutter.start, tokens, joined=False))

    def forget(self) -> None:
        super().forget()
        with self.lock:
            self._routes.forget()

    def _state(self, spot: Spot, route: Route) -> State:
        found = self._states.get(spot)
        if found is None:
            accepts = spot.rest.nullable and self._cutter.ends(spot.place)
            found = self._states[spot] = State(None, _PLAIN, accepts, spot.rest)
            self._spots[found] = spot
        if len(route) < len(self._ways.get(found, (*route, -1))):
            self._ways[found] = route
        return found

    def _open(self, spot: Spot) -> tuple[Ids, Ids]:
        """Tokens with a route, and the shortest known length of the route after each."""
        least = np.full(self._vocabulary.width, _NONE)
        new = self._routes.options(spot.rest, spot.place, joined=False)
        self._measure(least, new, spot, joined=False)
        if self._cutter.merges(spot.token):
            going_on = self._routes.options(spot.rest, spot.place, joined=True)
            clashing = self._cutter.clashes(spot.token)
            kept = least[clashing]
            self._measure(least, going_on, spot, joined=True)
            least[clashing] = kept
        tokens = np.flatnonzero(least < _NONE)
        doubtful = tokens[self._cutter.restless[tokens]] if self._cutter.restless.any() else ()
        for token in map(int, doubtful):
            if not self._cutter.stays(spot.place, spot.tail, token):
                least[token] = _NONE
        tokens = np.flatnonzero(least < _NONE)
        return tokens, least[tokens]

    def _measure(self, least: Ids, options: Options, spot: Spot, *, joined: bool) -> None:
        least[options.tokens] = np.minimum(least[options.tokens], options.lengths)
        for token in options.open:
            if joined == self._cutter.joins(spot.token, token):
                after = self._routes.following(spot, token)
                route = None if after is None else self._routes.route(after)
                if route is not None:
                    least[token] = len(route)

    def _packed(self, state: State, tokens: Ids) -> Row:
        ends = np.array(sorted(self._vocabulary.eos_ids) if state.accepts else [], np.int64)
        return pack(np.concatenate([tokens, ends]).astype(np.int32), self._vocabulary.width)
