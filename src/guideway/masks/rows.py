"""Token masks of the plain engine, with a small cache; rows are shared without copying."""

from collections import OrderedDict
from typing import Final, Generic, final

import numpy as np

from guideway.automata.budget import Budget
from guideway.automata.recognizer import Blurry
from guideway.masks.forest import Held, Row, pack
from guideway.masks.table import State, Table
from guideway.masks.walk import Reached, walk
from guideway.vocabulary.spellings import Vocabulary

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
