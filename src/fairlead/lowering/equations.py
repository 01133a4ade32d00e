r"""Finite automata to expressions of the core, by their equations.

What leads from a state to the end is one equation for each state,

    X = a·X | b·Y | ε        that is        X = a*·(b·Y | ε)        (Arden 1961)

solved from the states at the end backwards, the states of a circle together. So each state's
expression is made of those of the states that follow, and its derivatives are these expressions:
reading them takes no more states than the automaton has.

Equal states are made one first (Moore 1956), so equal languages come out as one object. A state
from which everything leads to the end may be told by an expression of its own.

What this module does not know: what symbols stand for, `Spell` does.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from fairlead.lowering.circles import circles
from fairlead.lowering.expr import EMPTY, EPSILON, alt, concat, repeat
from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Expr

Spell: TypeAlias = Callable[[int], Expr]

_PUTTING: Final = 20
"""What putting a factor into another equation costs: as much time as so many parts elsewhere.

A circle of n states that all lead to each other takes n³ of them, and its expressions are as long:
`[ab]*a[ab]{10}` took 17 s, on a busy machine, before it was refused. python.lark takes 422, no
shipped grammar more.
"""


@final
@dataclass(frozen=True, slots=True)
class Automaton:
    """A complete deterministic automaton over symbols from 0 on.

    Attributes:
        rows: where each state leads by each symbol.
        marks: what is true of each state; texts that lead to equal marks may be told together.
    """

    rows: Sequence[Sequence[int]]
    marks: Sequence[Hashable]


def smallest(automaton: Automaton) -> tuple[Automaton, Sequence[int]]:
    """The automaton with equal states made one, and which of its states each state has become.

    >>> smallest(Automaton([[1, 2], [1, 2], [0, 0]], "xxy"))
    (Automaton(rows=((0, 1), (0, 0)), marks=('x', 'y')), [0, 0, 1])
    """
    kinds = _numbered(automaton.marks)
    count = 0
    while count != max(kinds) + 1:
        count = max(kinds) + 1
        spend(len(kinds))
        looks = [
            (kind, *[kinds[target] for target in row])
            for kind, row in zip(kinds, automaton.rows, strict=True)
        ]
        kinds = _numbered(looks)
    first = dict[int, int]()
    for state, kind in enumerate(kinds):
        first.setdefault(kind, state)
    rows = tuple(tuple(kinds[t] for t in automaton.rows[state]) for state in first.values())
    return Automaton(rows, tuple(automaton.marks[state] for state in first.values())), kinds


def _numbered(values: Sequence[Hashable]) -> list[int]:
    """A number for each value, from 0 on, in the order in which they come first."""
    numbers = dict[Hashable, int]()
    return [numbers.setdefault(value, len(numbers)) for value in values]


@final
class Equations:
    r"""The texts that lead from states to those whose marks say that they may end there.

    >>> from fairlead.lowering.expr import byte_set
    >>> a_then_bs = Automaton([[1, 2], [2, 1], [2, 2]], [False, True, False])
    >>> equations = Equations(a_then_bs, bool, lambda symbols: byte_set(symbols << 97))
    >>> equations.texts_from(0) is concat(byte_set(b"a"), repeat(byte_set(b"b")))
    True

    Args:
        automaton: as `smallest` makes it.
        ends: what a mark says.
        spell: one symbol out of a set, as a bit set.
        everything: what to call the texts from where all texts lead to the end.
    """

    def __init__(
        self,
        automaton: Automaton,
        ends: Callable[[Hashable], bool],
        spell: Spell,
        everything: Expr | None = None,
    ) -> None:
        self._spell, self._everything = spell, everything
        self._ends = [ends(mark) for mark in automaton.marks]
        self._rows = automaton.rows
        self._edges = dict[int, dict[int, int]]()
        self._alive = set[int]()
        self._known = dict[int, Expr]()
        self._seen = set[int]()

    def texts_from(self, start: int) -> Expr:
        """The texts from this state."""
        self._enter(start)
        for circle in (
            circles(start, self._following, self._seen) if start not in self._known else ()
        ):
            if self._everything is not None and self._is_all(circle[0]):
                self._known[circle[0]] = self._everything
            else:
                self._known |= self._circle(circle)
        return self._known[start]

    def _is_all(self, state: int) -> bool:
        """Whether all texts lead from here back to here, and to the end."""
        return self._ends[state] and set(self._rows[state]) == {state}

    def _enter(self, start: int) -> None:
        """Learn where the states lead that can be reached; not to where no text ends."""
        sources = {} if start in self._edges else {start: list[int]()}
        new = [*sources]
        for state in new:  # grows while we go
            for target in set(self._rows[state]):
                if target not in self._edges and target not in sources:
                    sources[target] = []
                    new.append(target)
                if target in sources:
                    sources[target].append(state)
        todo = [each for each in new if self._ends[each] or self._alive & {*self._rows[each]}]
        self._alive.update(todo)
        while todo:
            before = [state for state in sources[todo.pop()] if state not in self._alive]
            self._alive.update(before)
            todo += before
        for state in new:
            edges = self._edges[state] = {}
            for symbol, target in enumerate(self._rows[state]):
                if target in self._alive:
                    edges[target] = edges.get(target, 0) | 1 << symbol

    def _following(self, state: int) -> Sequence[int]:
        return [*self._edges[state]]

    def _circle(self, circle: Sequence[int]) -> Mapping[int, Expr]:
        inside = frozenset(circle)
        constant = dict[int, Expr]()
        factors = dict[int, dict[int, Expr]]()
        for state in circle:
            out = [EPSILON] if self._ends[state] else []
            factors[state] = {}
            for target, symbols in self._edges[state].items():
                if target in inside:
                    factors[state][target] = self._spell(symbols)
                else:
                    out.append(concat(self._spell(symbols), self._known[target]))
            constant[state] = alt(*out)
        return _solved(sorted(circle), constant, factors)


def _solved(
    circle: Sequence[int], constant: dict[int, Expr], factors: Mapping[int, dict[int, Expr]]
) -> Mapping[int, Expr]:
    """What leads from the states of a circle to the end: X = Σ factor·Y | constant for each.

    The last are put into the first, so that the first comes out as its rounds, repeated.
    """
    for state in reversed(circle):
        row = factors[state]
        rounds = repeat(row.pop(state, EMPTY))
        constant[state] = concat(rounds, constant[state])
        for target, factor in row.items():
            row[target] = concat(rounds, factor)
        for other in circle[: circle.index(state)]:
            way = factors[other].pop(state, EMPTY)
            spend(_PUTTING * len(row))
            constant[other] = alt(constant[other], concat(way, constant[state]))
            for target, factor in row.items():
                before = factors[other].get(target, EMPTY)
                factors[other][target] = alt(before, concat(way, factor))
    known = dict[int, Expr]()
    for state in circle:
        found = [concat(factor, known[target]) for target, factor in factors[state].items()]
        known[state] = alt(*found, constant[state])
    return known
