"""Pushdown automata: stacks, moves, and templates whose arguments are stacks.

A grammar gives its parser as a `Pushdown`; searches of this folder run it without knowing the
grammar. A control state waits for a text (`FIRST`), has read a terminal and reduces, or is `DONE`.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Protocol
from weakref import WeakValueDictionary

from guideway.language.expr import Uncaptured
from guideway.language.nodes import Expr


class Frame:
    """A stack: its topmost state and the frames below; `margin` characters begin each line.

    `needs` caches `Automaton.needs` of the stacks with one more frame, by state and margin.
    """

    __slots__ = ("__weakref__", "_above", "below", "depth", "margin", "needs", "state")

    def __init__(self, state: int, below: "Frame | None", margin: int) -> None:
        self.state, self.below, self.margin = state, below, margin
        self.depth: int = 0 if below is None else below.depth + 1
        self.needs: dict[tuple[int, int], int | None] = {}
        self._above: WeakValueDictionary[tuple[int, int], Frame] | None = None

    def push(self, state: int, margin: int | None = None) -> "Frame":
        """This stack with one more state, interned."""
        key = state, self.margin if margin is None else margin
        if self._above is None:
            self._above = WeakValueDictionary()
        found = self._above.get(key)
        if found is None:
            found = self._above[key] = Frame(state, self, key[1])
        return found

    def under(self, count: int) -> "Frame":
        """The stack without its `count` topmost states."""
        frame = self
        while count and frame.below is not None:
            frame, count = frame.below, count - 1
        return frame


@dataclass(frozen=True, slots=True)
class Control:
    """Control state: the given terminal, the rule in reduction, its states left to pop."""

    terminal: str | None = None
    rule: str | None = None
    left: int = 0


FIRST: Final = Control()
"""Control that has to read something."""

DONE: Final = Control("", "")
"""Control after acceptance."""


@dataclass(frozen=True, slots=True)
class Move:
    """A transition: the text read, the next control, and the states that replace the topmost."""

    text: Expr
    after: Control
    states: tuple[int, ...]


class Pushdown(Protocol):
    """The moves of one automaton."""

    def moves(self, control: Control, state: int) -> tuple[Move, ...]:
        """All moves in a state, without duplicates."""
        ...


class Stacked(Uncaptured):
    """Base of templates with a stack in each argument; `pushdown` is None if none tells all."""

    pushdown: Pushdown | None

    def stack(self, argument: Hashable) -> Frame:
        """The stack in an argument."""
        raise NotImplementedError
