"""Lark's automaton as a pushdown system: what it may do next, told by the topmost state alone.

Stacks of a grammar may grow for ever where no text comes to an end. Their states are finitely many,
and so is what can be said of each: with which control a text leaves it, whatever is below. That is
enough to decide whether one comes to its end (`automata.passages`). A control is one of

    nothing is read      a terminal or what is ignored comes next, or the end of the text
    a terminal is read   the automaton reduces before it, or shifts it
    a rule is reduced    so many states of it are still to be taken away, then its own is put there

What this module does not know: texts, indentation, stacks.
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
    """What the automaton is about to do.

    Attributes:
        terminal: that it has been given, if any; END at the end of the text.
        rule: that it has reduced, if any.
        left: how many states of the rule are still on the stack.
    """

    terminal: str | None = None
    rule: str | None = None
    left: int = 0


FIRST: Final = Control()
"""Something has to be read."""

DONE: Final = Control(END, END)
"""All is read."""

_NEXT: Final = Control(left=-1)  # something has been read: the text may end


@final
@dataclass(frozen=True, slots=True)
class Move:
    """One thing that it may do in a state.

    Attributes:
        text: what is read meanwhile.
        after: the control behind it.
        states: what stands then in the place of the state, the topmost last.
    """

    text: Expr
    after: Control
    states: tuple[int, ...]


@final
class Pushdown:
    """The moves of one automaton.

    Args:
        table: the automaton.
        ways: what may be taken in a state.
    """

    def __init__(self, table: LarkTable, ways: Callable[[int], Sequence[Way]]) -> None:
        self._table, self._ways = table, ways
        self._known: dict[tuple[Control, int], tuple[Move, ...]] = {}

    def moves(self, control: Control, state: int) -> tuple[Move, ...]:
        """All that it may do; each equal way once."""
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
