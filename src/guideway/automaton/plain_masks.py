"""Token masks of the plain engine (`language.derivative`): transitions, walks over a trie, a cache.

Transitions are an array: 256 successors for each state, without the bytes that its captures have
read. State 0 rejects. In state 1 these bytes matter, so the caller must decide. A table only grows.

A walk reads the trie of a vocabulary depth by depth, each from its first to its last live node:
7 ms inside a JSON string, 0.13 ms before a key (Llama 3, one thread).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import Held, Row, pack
from guideway.language.budget import Budget
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr
from guideway.vocabulary.vocabulary import Vocabulary

DEAD, UNSURE = 0, 1


class Table:
    """Successor numbers of states; rows of states not yet left are undefined."""

    def __init__(self, machine: Derivatives) -> None:
        self._machine = machine
        self._numbers: dict[Expr, int] = {}
        self._states: list[Expr | None] = [None, None]
        self._left = np.zeros(2, np.bool_)
        self.rows: NDArray[np.int32] = np.zeros((2, 256), np.int32)
        self._left[:2] = True
        self.rows[UNSURE] = UNSURE

    def __len__(self) -> int:
        return len(self._states) - 2

    def number(self, state: Expr) -> int:
        return self._number(self._machine.blurred(state))

    def state(self, number: int) -> Expr:
        state = self._states[number]
        if state is None:
            raise IndexError(number)
        return state

    def leave(self, numbers: NDArray[np.int32]) -> None:
        fresh = numbers[~self._left[numbers]]
        for number in np.unique(fresh).tolist() if fresh.size else ():
            row = np.zeros(256, np.int32)
            for members, target in self._machine.arcs(self.state(number)):
                row[_indices(members)] = self._number(target)
            self.rows[number] = row  # after numbering, which may have moved the rows
            self._left[number] = True

    def _number(self, blurred: Expr) -> int:
        if self._machine.unsure(blurred):
            return UNSURE
        number = self._numbers.setdefault(blurred, len(self._states))
        if number == len(self._states):
            self._states.append(blurred)
            if number == len(self._left):
                self._left = np.concatenate([self._left, np.zeros_like(self._left)])
                self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        return number


@lru_cache(4096)
def _indices(members: int) -> NDArray[np.int64]:
    return np.array([byte for byte in range(256) if members >> byte & 1], np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Result of a walk: tokens, the table's number of the state after each, and unsure tokens."""

    tokens: NDArray[np.int32]
    numbers: NDArray[np.int32]
    unsure: NDArray[np.int32]


def walk(table: Table, vocabulary: Vocabulary, state: Expr) -> Reached:
    """Tokens whose bytes the machine can read from `state`."""
    trie = vocabulary.trie
    numbers = np.zeros(len(trie) + 1, np.int32)  # of the nodes, 0 where dead
    numbers[-1] = table.number(state)  # the empty prefix
    for nodes, parents in vocabulary.levels:
        alive = np.flatnonzero(numbers[parents])
        if not alive.size:
            break
        before, here = numbers[parents[alive]], nodes[alive]
        table.leave(before)
        numbers[here] = table.rows.ravel().take(before << 8 | trie.byte[here])
    after = numbers[:-1].repeat(np.diff(trie.token_offsets))
    tokens, unsure = trie.token_ids, after == UNSURE
    sure = (after != 0) & ~unsure
    return Reached(tokens[sure], after[sure], tokens[unsure])


_STATE: Final = 5 << 10  # bytes of a state without its row: 3 to 7 KB in seven schemas


class Rows:
    """The masks of one machine over one vocabulary. Not thread safe: the owner locks."""

    def __init__(self, machine: Derivatives, vocabulary: Vocabulary, budget: Budget) -> None:
        self._machine, self._vocabulary, self._budget = machine, vocabulary, budget
        self._table = Table(machine)
        self._walked: tuple[Expr, Reached] | None = None

    def row(self, state: Expr) -> Row:
        """Mask of a state: readable tokens, and end ids if it accepts."""
        reached = self.reached(state)
        unsure = [t for t in reached.unsure.tolist() if self.after(state, t) is not None]
        return self.pack(state, np.concatenate([reached.tokens, np.array(unsure, np.int32)]))

    def pack(self, state: Expr, tokens: "np.typing.NDArray[np.int32]") -> Row:
        if not self._machine.accepts(state):
            return pack(tokens, self._vocabulary.width)
        ends = np.array(sorted(self._vocabulary.eos_ids), np.int32)
        return pack(np.concatenate([tokens, ends]), self._vocabulary.width)

    def reached(self, state: Expr) -> Reached:
        """Walk from a state, cached once: near the end of a budget it is used twice."""
        if self._walked is not None and self._walked[0] == state:
            return self._walked[1]
        if self._state_bytes > self._budget.table_bytes:
            self.forget()
        found = walk(self._table, self._vocabulary, state)
        self._walked = state, found
        return found

    def state(self, number: int) -> Expr:
        return self._table.state(number)

    def after(self, state: Expr, token: int) -> Expr | None:
        """Expr after the bytes of a token, None if they cannot be read."""
        spelling = self._vocabulary.spelling(token)
        if not spelling:
            return None
        following: Expr | None = state
        for byte in spelling:
            if following is None:
                return None
            following = self._machine.step(following, byte)
        return following

    def held(self) -> Held:
        return Held(states=len(self._table), state_bytes=self._state_bytes)

    @property
    def _state_bytes(self) -> int:
        return self._table.rows.nbytes + _STATE * len(self._table)

    def forget(self) -> None:
        self._machine.forget()
        self._walked = None
        self._table = Table(self._machine)
