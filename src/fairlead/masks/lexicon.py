"""Regular languages as automata that all constraints of a process share.

A lexical state is an expression without rules; its row says where each byte leads. Strings, numbers
and whitespace are the same in every schema, so their states are made once. A row is made when it is
first asked for, by the plain engine, and is never moved or changed afterwards: kernels of other
threads may read while one is added.

The arrays are as large as they may ever get; the operating system gives memory for what is used.
"""

import threading
from typing import Final, final

import numpy as np

from fairlead.automata.derivative import Derivatives
from fairlead.errors import LimitError
from fairlead.lowering.expr import EMPTY, UNSURE
from fairlead.lowering.nodes import Expr
from fairlead.masks.kernels.layout import ACCEPTS, DEAD_END, DOUBTS, EXPANDED, GOES_ON
from fairlead.masks.memory import Held, track_shared

MOST_STATES: Final = 1 << 19  # 1 KB each
RENEW_AT: Final = 1 << 16  # when a new constraint gets a new lexicon
_MOST_ITEM_STATES: Final = 2048


@final
class Lexicon:
    """Lexical states over the bytes that a vocabulary can spell."""

    def __init__(self, spellable: int) -> None:
        self.spellable = spellable
        self.rows = np.zeros((MOST_STATES, 256), np.int32)
        self.flags = np.zeros(MOST_STATES, np.uint8)
        self.first = np.zeros((MOST_STATES, 4), np.uint64)
        self._machine = Derivatives(EMPTY, spellable)
        self._states: dict[Expr, int] = {}
        self._exprs: list[Expr] = [EMPTY]
        self._codes: dict[Expr, bool] = {}
        self._alive: dict[Expr, bool] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._exprs)

    def state(self, expr: Expr) -> int:
        """The state whose texts are those of a regular expression with at least one text."""
        found = self._states.get(expr)
        if found is not None:
            return found
        with self._lock:
            return self._state(expr)

    def expand(self, state: int, ahead: int = 0) -> None:
        """Make the row of a state, and of up to `ahead` states that it leads to."""
        with self._lock:
            self._expand(state)
            todo = [state]
            while ahead > 0 and todo:
                for following in np.unique(self.rows[todo.pop()]).tolist():
                    if following > 0 and not self.flags[following] & EXPANDED and ahead > 0:
                        self._expand(following)
                        todo.append(following)
                        ahead -= 1

    def _expand(self, state: int) -> None:
        if not self.flags[state] & EXPANDED:
            arcs = self._machine.arcs(self._exprs[state])
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
        found = self._alive.get(expr)
        if found is None:
            with self._lock:
                found = self._alive[expr] = self._machine.alive(expr)
        return found

    def countable(self, item: Expr) -> bool:
        """Whether repetitions of `item` can be counted while they are read.

        So it is if none of its texts begins another: then a text ends exactly where it can.
        """
        found = self._codes.get(item)
        if found is None:
            with self._lock:
                found = self._codes[item] = self._is_code(item)
        return found

    def _is_code(self, item: Expr) -> bool:
        seen = {item}
        todo = [item]
        while todo and len(seen) <= _MOST_ITEM_STATES:
            state = todo.pop()
            arcs = self._machine.arcs(state)
            if state.nullable and (arcs or state is item):
                return False
            fresh = {target for _, target in arcs} - seen
            seen |= fresh
            todo.extend(fresh)
        return not todo

    def _state(self, expr: Expr) -> int:
        found = self._states.get(expr)
        if found is None:
            found = len(self._exprs)
            if found == MOST_STATES:
                raise LimitError(
                    f"more than {MOST_STATES} states of regular languages",
                    limit="lexical states",
                    given=found + 1,
                    needed=MOST_STATES,
                )
            doubts = DOUBTS | EXPANDED if expr is UNSURE else 0
            self.flags[found] = doubts | (ACCEPTS if expr.nullable else 0)
            self._exprs.append(expr)
            self._states[expr] = found
        return found


def _bytes_of(members: int) -> "np.typing.NDArray[np.bool_]":
    packed = np.frombuffer(members.to_bytes(32, "little"), np.uint8)
    return np.unpackbits(packed, bitorder="little").view(np.bool_)


@final
class _Shared:
    """The lexicons that new constraints get, as the memory accounts see them."""

    def held(self) -> Held:
        """What the states take: a row, a set of bytes and a flag each."""
        with _lock:
            states = sum(len(one) for one in _lexicons.values())
        return Held(states=states, state_bytes=states * (4 * 256 + 32 + 1))

    def forget(self) -> None:
        """Leave the lexicons to those who use them."""
        with _lock:
            _lexicons.clear()


_lexicons: dict[int, Lexicon] = {}
_lock = threading.Lock()
track_shared(_Shared())


def shared_lexicon(spellable: int) -> Lexicon:
    """The lexicon of a new constraint: the present one, or a new one where that has grown large."""
    with _lock:
        found = _lexicons.get(spellable)
        if found is None or len(found) > RENEW_AT:
            found = _lexicons[spellable] = Lexicon(spellable)
        return found
