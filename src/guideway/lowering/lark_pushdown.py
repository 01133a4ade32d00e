"""Lark's automaton as a pushdown system: moves that depend on the topmost state alone.

Stacks may grow without end, but states and controls are finite, so `automata.passages` can decide
which stacks have a completion. Controls: read a terminal or ignored text; reduce before or shift a
terminal; pop the states of a reduced rule and push its goto.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from guideway.lowering.expr import EPSILON
from guideway.lowering.lark_scanners import Way
from guideway.lowering.nodes import Expr
from guideway.syntax.lark_tree import END, LarkTable


@final
@dataclass(frozen=True, slots=True)
class Control:
    """Control state: the given terminal, the rule in reduction, its states left to pop."""

    terminal: str | None = None
    rule: str | None = None
    left: int = 0


FIRST: Final = Control()
"""Control that has to read something."""

DONE: Final = Control(END, END)
"""Control after acceptance."""

_NEXT: Final = Control(left=-1)  # after a terminal: the text may end


@final
@dataclass(frozen=True, slots=True)
class Move:
    """A transition: the text read, the next control, and the states that replace the topmost."""

    text: Expr
    after: Control
    states: tuple[int, ...]


@final
class Pushdown:
    """The moves of one automaton."""

    def __init__(self, table: LarkTable, ways: Callable[[int], Sequence[Way]]) -> None:
        self._table, self._ways = table, ways
        self._known: dict[tuple[Control, int], tuple[Move, ...]] = {}

    def moves(self, control: Control, state: int) -> tuple[Move, ...]:
        """All moves in a state, without duplicates."""
        key = control, state
        if key not in self._known:
            self._known[key] = tuple(dict.fromkeys(self._moves(control, state)))
        return self._known[key]

    def _moves(self, control: Control, state: int) -> Iterator[Move]:
        if control.rule is not None:
            yield self._reduced(control, control.rule, state)
        elif control.terminal is not None:
            yield from self._taken(control.terminal, state)
        else:
            for way in self._ways(state):
                after = _NEXT if way.ignored else Control(way.terminal)
                yield Move(way.text, after, (state,))
            if control is not FIRST:
                yield Move(EPSILON, Control(END), (state,))

    def _reduced(self, control: Control, rule: str, state: int) -> Move:
        if control.left:
            return Move(EPSILON, Control(control.terminal, rule, control.left - 1), ())
        return Move(EPSILON, Control(control.terminal), (state, self._table.gotos[state][rule]))

    def _taken(self, terminal: str, state: int) -> Iterator[Move]:
        number = self._table.reductions[state].get(terminal)
        shifted = self._table.shifts[state].get(terminal)
        if terminal == END and state == self._table.end:
            yield Move(EPSILON, DONE, (state,))
        elif number is not None:
            each = self._table.productions[number]
            begun = Control(terminal, each.rule, len(each.symbols))
            yield self._reduced(begun, each.rule, state)
        elif shifted is not None:
            yield Move(EPSILON, _NEXT, (state, shifted))
