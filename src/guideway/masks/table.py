"""Transitions of a recognizer as an array: 256 successors for each blurred state.

Number 0 is dead, and 1 is unsure: the caller must decide. A table only grows.
"""

from functools import lru_cache
from typing import Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from guideway.automata.recognizer import Blurry

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
