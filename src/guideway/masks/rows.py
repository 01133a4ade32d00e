"""Token masks of the plain engine: transitions, walks over a trie, a small cache.

Transitions are an array: 256 successors for each blurred state. Number 0 is dead, and 1 is unsure:
the caller must decide. A table only grows.

The walk over the trie of a vocabulary goes depth by depth. Only the range from the first to the
last live node of a depth is used: 7 ms inside a JSON string, 0.13 ms before a key (Llama 3, one
thread); selecting live nodes took 12 ms in the string. Deep nodes are few, mostly runs of spaces,
and are walked one by one.
"""

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from guideway.automata.budget import Budget
from guideway.automata.recognizer import Blurry
from guideway.masks.forest import Held, Row, pack
from guideway.vocabulary.spellings import Vocabulary
from guideway.vocabulary.trie import Trie

State = TypeVar("State")
DEAD, UNSURE = 0, 1


@final
class Table(Generic[State]):
    """Successor numbers of states; rows of states not yet left are undefined."""

    def __init__(self, recognizer: Blurry[State]) -> None:
        self._recognizer = recognizer
        self._numbers: dict[State, int] = {}
        self._states: list[State | None] = [None, None]
        self._left = np.zeros(64, np.bool_)
        self.rows: NDArray[np.int32] = np.zeros((64, 256), np.int32)
        self._left[:2] = True
        self.rows[UNSURE] = UNSURE

    def __len__(self) -> int:
        return len(self._states)

    def number(self, state: State) -> int:
        return self._number(self._recognizer.blurred(state))

    def state(self, number: int) -> State:
        state = self._states[number]
        if state is None:
            raise IndexError(number)
        return state

    def leave(self, numbers: NDArray[np.int32]) -> None:
        fresh = numbers[~self._left[numbers]]
        for number in np.unique(fresh).tolist() if fresh.size else ():
            row = np.zeros(256, np.int32)
            for members, target in self._recognizer.arcs(self.state(number)):
                row[_indices(members)] = self._number(target)
            self.rows[number] = row  # after numbering, which may have moved the rows
            self._left[number] = True

    def _number(self, blurred: State) -> int:
        if self._recognizer.unsure(blurred):
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


_DEEP: Final = 12  # bytes; few nodes of a vocabulary are deeper
_FEW: Final = 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Result of a walk: tokens, the table's number of the state after each, and unsure tokens."""

    tokens: NDArray[np.int32]
    numbers: NDArray[np.int32]
    unsure: NDArray[np.int32]


def walk(table: Table[State], trie: Trie, state: State) -> Reached:
    """Tokens whose bytes the recognizer can read from `state`."""
    low = depth = 0
    numbers = np.array([table.number(state)], np.int32)  # of the nodes from `low` on, 0 where dead
    found: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    while (alive := np.flatnonzero(numbers)).size:
        found.append(_tokens(trie, low, numbers))
        if depth >= _DEEP and alive.size <= _FEW:
            living = zip((low + alive).tolist(), numbers[alive].tolist(), strict=True)
            found.append(_below(table, trie, [*living]))
            break
        first, last = low + int(alive[0]), low + int(alive[-1])
        begin, end = int(trie.first_child[first]), int(trie.first_child[last + 1])
        before = numbers.take(trie.parent[begin:end] - low)
        table.leave(before)
        numbers = table.rows.ravel().take(before << 8 | trie.byte[begin:end])
        low, depth = begin, depth + 1
    tokens = np.concatenate([pair[0] for pair in found])
    after = np.concatenate([pair[1] for pair in found])
    sure = after != UNSURE
    return Reached(tokens[sure], after[sure], tokens[~sure])


def _below(
    table: Table[State], trie: Trie, living: list[tuple[int, int]]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Tokens below some nodes, each with the state that it leads to."""
    tokens, after = list[int](), list[int]()
    while living:
        node, number = living.pop()
        begin, end = int(trie.first_child[node]), int(trie.first_child[node + 1])
        if begin < end:
            table.leave(np.array([number], np.int32))
        for child in range(begin, end):
            if following := int(table.rows[number, trie.byte[child]]):
                living.append((child, following))
                own = trie.token_ids[trie.token_offsets[child] : trie.token_offsets[child + 1]]
                tokens += own.tolist()
                after += [following] * len(own)
    return np.array(tokens, np.int32), np.array(after, np.int32)


def _tokens(
    trie: Trie, low: int, numbers: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Tokens at the live nodes from `low` on, each with the state that it leads to."""
    offsets = trie.token_offsets[low : low + len(numbers) + 1]
    after = numbers.repeat(np.diff(offsets))
    alive = np.flatnonzero(after)
    return trie.token_ids[offsets[0] : offsets[-1]].take(alive), after.take(alive)


_STATE: Final = 5 << 10  # bytes of a state without its row: 3 to 7 KB in seven schemas


@final
class Rows(Generic[State]):
    """The masks of one recognizer over one vocabulary. Not thread safe: the owner locks."""

    def __init__(self, recognizer: Blurry[State], vocabulary: Vocabulary, budget: Budget) -> None:
        self._recognizer, self._vocabulary, self._budget = recognizer, vocabulary, budget
        self._table = Table(recognizer)
        self._rows: OrderedDict[State, Row] = OrderedDict()
        self._walked: tuple[State, Reached] | None = None
        self._hits = self._misses = 0
        self.end_row = pack(sorted(vocabulary.eos_ids), vocabulary.width)

    def row(self, state: State) -> Row:
        """Mask of a state: readable tokens, and end ids if it accepts."""
        found = self._rows.get(state)
        self._hits += found is not None
        if found is None:
            self._misses += 1
            reached = self.reached(state)
            unsure = [t for t in reached.unsure.tolist() if self.after(state, t) is not None]
            found = self.pack(state, np.concatenate([reached.tokens, np.array(unsure, np.int32)]))
            self._rows[state] = found
            if len(self._rows) > self._budget.rows:
                self._rows.popitem(last=False)
        self._rows.move_to_end(state)
        return found

    def pack(self, state: State, tokens: "np.typing.NDArray[np.int32]") -> Row:
        if not self._recognizer.accepts(state):
            return pack(tokens, self._vocabulary.width)
        ends = np.array(sorted(self._vocabulary.eos_ids), np.int32)
        return pack(np.concatenate([tokens, ends]), self._vocabulary.width)

    def reached(self, state: State) -> Reached:
        """Walk from a state, cached once: near the end of a budget it is used twice."""
        if self._walked is not None and self._walked[0] == state:
            return self._walked[1]
        if self._state_bytes > self._budget.table_bytes:
            self.forget()
        found = walk(self._table, self._vocabulary.trie, state)
        self._walked = state, found
        return found

    def state(self, number: int) -> State:
        return self._table.state(number)

    def after(self, state: State, token: int) -> State | None:
        """State after the bytes of a token, None if they cannot be read."""
        spelling = self._vocabulary.tokens[token] if token < len(self._vocabulary.tokens) else None
        if not spelling:
            return None
        following: State | None = state
        for byte in spelling:
            if following is None:
                return None
            following = self._recognizer.step(following, byte)
        return following

    def held(self) -> Held:
        count = len(self._rows)
        return Held(
            rows=count,
            row_bytes=count * self.end_row.nbytes,
            states=len(self._table),
            state_bytes=self._state_bytes,
            hits=self._hits,
            misses=self._misses,
        )

    @property
    def _state_bytes(self) -> int:
        return self._table.rows.nbytes + _STATE * len(self._table)

    def forget(self) -> None:
        self._recognizer.forget()
        self._walked = None
        self._table = Table(self._recognizer)
        self._rows.clear()
