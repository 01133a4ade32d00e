"""Decode states, which cache masks and successors: one object for each macro state of a network.

Old states stay valid, in any thread.
"""

import sys
from collections.abc import Collection
from typing import Final, final

from guideway.errors import GuidewayError
from guideway.lowering.nodes import Expr
from guideway.masks.bits import Row
from guideway.masks.network import Network

ALL: Final = sys.maxsize  # tokens
PLAIN: Final = -1  # macro state of states of the plain engine
UNTIED: Final = -2  # macro state of states whose network is gone


@final
class State:
    """A position in a text. Equal states are the same object.

    Attributes:
        network: None for the plain engine or if UNTIED.
        macro: macro state, PLAIN or UNTIED.
        text: number of the text read of the current items (`marks`).
        hits, seen: cache hits, and those when the cache was last trimmed.
        enough: number of tokens known to suffice for an end after any next token.
        token, next: the first token taken, and the state after it.
    """

    # Most states have one predecessor and one successor, so these are slots: a dictionary and a
    # pair for each state would triple the garbage collector's work.
    __slots__ = (
        "__weakref__", "_before", "_by", "_end", "_others", "_rest", "accepts", "ended", "enough",
        "hits", "macro", "network", "next", "row", "seen", "text", "token",
    )  # fmt: skip

    def __init__(
        self, network: Network | None, macro: int, accepts: bool, rest: Expr | None = None
    ) -> None:
        self.network, self.macro, self.accepts = network, macro, accepts
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

    def reader(self) -> Network | None:
        if self.network is None and self.macro != PLAIN:
            raise GuidewayError("a state of another engine")
        return self.network

    def tie(self, equal: "State") -> None:
        """Give an UNTIED state the network of an equal one."""
        self.network, self.macro, self.text = equal.network, equal.macro, equal.text

    def let_go(self) -> None:
        """Forget the successors, to break reference cycles."""
        self.token, self.next, self._others = -1, None, None

    def end(self, row: Row, rest: Expr) -> "State":
        if self._end is None:
            self._end = State(self.network, self.macro, True, rest)
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

    def way_to_tie(self) -> "tuple[State, list[tuple[int, State]]]":
        """As `way`, from the last state that is not UNTIED or has a known rest."""
        steps: list[tuple[int, State]] = []
        state = self
        while state.macro == UNTIED and state._rest is None and state._before is not None:
            steps.append((state._by, state))
            state = state._before
        return state, steps[::-1]

    def copy(self) -> "State":
        made = State(None, UNTIED, self.accepts, self._rest)
        made.row, made.hits, made.seen = self.row, self.hits, self.seen
        made.enough = self.enough
        return made

    def lead_on(self, other: "State", copies: "dict[State, State]") -> None:
        """Copy the successors and the way of `other`, replacing states by their copies."""
        self.next = None if other.next is None else copies.get(other.next, other.next)
        self.token = other.token
        others = other._others
        if others is not None:
            others = {token: copies.get(state, state) for token, state in others.items()}
        before = other._before
        self._others, self._by = others, other._by
        self._before = None if before is None else copies.get(before, before)


def copied(states: Collection[State]) -> dict[State, State]:
    """UNTIED copies of states, without change for those without a network."""
    copies = {state: state if state.network is None else state.copy() for state in states}
    for state, copy in copies.items():
        copy.lead_on(state, copies)
    return copies
