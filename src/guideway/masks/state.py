"""Decode states: values that remember their masks and where tokens lead.

A state is a macro state of a network, one object each. Who keeps an old one can go back to it, at
any time and from any thread.

What this module does not know: how masks are made.
"""

import sys
from collections.abc import Collection
from typing import Final, final

from guideway.errors import GuidewayError
from guideway.lowering.nodes import Expr
from guideway.masks.bits import Row
from guideway.masks.network import Network

ALL: Final = sys.maxsize  # tokens
PLAIN: Final = -1  # instead of a macro state, where there is doubt what can come to an end
UNTIED: Final = -2  # instead of a macro state, where the network that had it is gone


@final
class State:
    """Where a text stands. Compared by identity: equal states are the same object.

    Attributes:
        network: what the state belongs to; None where the plain engine reads it, or it is UNTIED.
        macro: its macro state there,
        text: and what has been read of items that it is within (`marks`), a number of the arena's.
        accepts: whether the text may end here.
        ended: whether an end id has been taken.
        row: the mask, while it is remembered.
        hits: how often the mask was remembered when it was asked for.
        seen: how many of these the last look for a row to forget saw.
        enough: as many tokens as are known to suffice for an end whatever the next one is.
        token: the token that was taken first, -1 if none was,
        next: and the state after it.
    """

    # Most states have one way here and one on: no object beside them says so. For the collector a
    # dictionary and a pair for each state were as much again, twice.
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
        """The state after a token, if that was taken before."""
        if token == self.token:
            return self.next
        return None if self._others is None else self._others.get(token)

    def follow(self, token: int, state: "State") -> None:
        """Remember where a token leads, and a way there."""
        if self.token < 0:
            self.next = state  # before its token: other threads look for that
            self.token = token
        elif self._others is None:
            self._others = {token: state}
        else:
            self._others[token] = state
        if state._rest is None and state._before is None:
            state._before, state._by = self, token

    def reader(self) -> Network | None:
        """The network that reads it; None: the plain engine does."""
        if self.network is None and self.macro != PLAIN:
            raise GuidewayError("a state of another engine")
        return self.network

    def tie(self, equal: "State") -> None:
        """Let a state that is UNTIED go on as one that says the same."""
        self.network, self.macro, self.text = equal.network, equal.macro, equal.text

    def let_go(self) -> None:
        """Forget where tokens lead: then nothing that can be reached from here leads back."""
        self.token, self.next, self._others = -1, None, None

    def end(self, row: Row, rest: Expr) -> "State":
        """The state after an end id, after which only they may come."""
        if self._end is None:
            self._end = State(self.network, self.macro, True, rest)
            self._end.ended, self._end.row = True, row
        return self._end

    def know_rest(self, rest: Expr | None) -> None:
        """Remember what may follow; None where the plain engine does not know."""
        self._rest, self._before = rest, None

    def known_rest(self) -> Expr:
        """What may follow, where it is known."""
        if self._rest is None:
            raise GuidewayError("what follows this state has not been asked for")
        return self._rest

    def way(self) -> "tuple[State, list[tuple[int, State]]]":
        """The last state on the way here whose rest is known; tokens from there, where they led."""
        steps: list[tuple[int, State]] = []
        state = self
        while state._rest is None and state._before is not None:
            steps.append((state._by, state))
            state = state._before
        return state, steps[::-1]

    def way_to_tie(self) -> "tuple[State, list[tuple[int, State]]]":
        """The same, but for the last one that is not UNTIED, or whose rest is known."""
        steps: list[tuple[int, State]] = []
        state = self
        while state.macro == UNTIED and state._rest is None and state._before is not None:
            steps.append((state._by, state))
            state = state._before
        return state, steps[::-1]

    def copy(self) -> "State":
        """A state that knows the mask, and is UNTIED."""
        made = State(None, UNTIED, self.accepts, self._rest)
        made.row, made.hits, made.seen = self.row, self.hits, self.seen
        made.enough = self.enough
        return made

    def lead_on(self, other: "State", copies: "dict[State, State]") -> None:
        """Where the tokens lead that were taken from `other`, and the way there, among copies."""
        self.next = None if other.next is None else copies.get(other.next, other.next)
        self.token = other.token
        others = other._others
        if others is not None:
            others = {token: copies.get(state, state) for token, state in others.items()}
        before = other._before
        self._others, self._by = others, other._by
        self._before = None if before is None else copies.get(before, before)


def copied(states: Collection[State]) -> dict[State, State]:
    """Copies of states that know the same and are UNTIED; of those in no network, themselves."""
    copies = {state: state if state.network is None else state.copy() for state in states}
    for state, copy in copies.items():
        copy.lead_on(state, copies)
    return copies
