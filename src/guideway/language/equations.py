"""Finite automata as expressions, by solving their equations; strongly connected components."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, final

from guideway.language.expr import EMPTY, EPSILON, alt, concat, repeat
from guideway.language.fuel import spend
from guideway.language.nodes import Expr

Node = TypeVar("Node", bound=Hashable)


def circles(
    start: Node, following: Callable[[Node], Sequence[Node]], seen: set[Node] | None = None
) -> Iterator[list[Node]]:
    """The components that can be reached from `start`, successors first.

    Example:
        >>> graph = {"a": ["b"], "b": ["c", "b"], "c": ["b", "d"], "d": []}
        >>> list(circles("a", graph.__getitem__))
        [['d'], ['c', 'b'], ['a']]

    Args:
        start: where to begin.
        following: where edges lead from a node.
        seen: nodes that are passed over; those that are found are added.
    """
    seen = set[Node]() if seen is None else seen
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    open_: list[Node] = []
    path = [(start, iter(following(start)))]
    _enter(start, number, lowest, open_)
    while path:
        node, rest = path[-1]
        after = next((each for each in rest if each not in seen), None)
        if after is None:
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[node])
            if lowest[node] == number[node]:
                yield _closed(node, open_, seen)
        elif after in number:
            lowest[node] = min(lowest[node], number[after])
        else:
            _enter(after, number, lowest, open_)
            path.append((after, iter(following(after))))


def _enter(node: Node, number: dict[Node, int], lowest: dict[Node, int], open_: list[Node]) -> None:
    number[node] = lowest[node] = len(number)
    open_.append(node)


def _closed(node: Node, open_: list[Node], seen: set[Node]) -> list[Node]:
    found: list[Node] = []
    while not found or found[-1] != node:
        found.append(open_.pop())
    seen.update(found)
    return found


Spell: TypeAlias = Callable[[int], Expr]

_PUTTING: Final = 20
"""Fuel for substituting one factor into another equation.

A component of n states takes n³ substitutions: `[ab]*a[ab]{10}` took 17 s before it was refused.
python.lark takes 422, no shipped grammar more.
"""


_JOINED: Final = 4  # marks after a state per unit of fuel: some 20 us


@final
@dataclass(frozen=True, slots=True)
class Automaton:
    """A complete deterministic automaton over symbols from 0 on.

    `rows` are the successors by symbol. Texts that lead to states with equal marks are equivalent.
    """

    rows: Sequence[Sequence[int]]
    marks: Sequence[Hashable]


def smallest(automaton: Automaton) -> tuple[Automaton, Sequence[int]]:
    """The minimal automaton, and the new state of each state.

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
    numbers = dict[Hashable, int]()
    return [numbers.setdefault(value, len(numbers)) for value in values]


@final
class Equations:
    """Expressions for the texts that lead from a state to an accepting one.

    `automaton` is minimal, `ends` tells which marks accept, `spell` gives one symbol of a bit set.
    `everything` replaces the expression of states from where all texts are accepted.

    >>> from guideway.language.expr import byte_set
    >>> a_then_bs = Automaton([[1, 2], [2, 1], [2, 2]], [False, True, False])
    >>> equations = Equations(a_then_bs, bool, lambda symbols: byte_set(symbols << 97))
    >>> equations.texts_from(0) is concat(byte_set(b"a"), repeat(byte_set(b"b")))
    True
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
        """The texts accepted from this state."""
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
        return self._ends[state] and set(self._rows[state]) == {state}

    def _enter(self, start: int) -> None:
        """Find reachable states, and drop edges to states without an end."""
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
        factors, constant = _parted(circle, self._edges, self._spell), dict[int, Expr]()
        for state in circle:
            edges = self._edges[state].items()
            out = [concat(self._spell(s), self._known[t]) for t, s in edges if t in self._known]
            constant[state] = alt(*([EPSILON] if self._ends[state] else []), *out)
        return _solved(sorted(circle), constant, factors)


def texts_by_mark(
    automaton: Automaton, wanted: Collection[Hashable], spell: Spell
) -> Mapping[Hashable, Expr]:
    """For each wanted mark, the texts that lead from the first state to states with it."""
    edges = dict[int, dict[int, int]]()
    for state, row in enumerate(automaton.rows):
        edges[state] = {}
        for symbol, target in enumerate(row):
            edges[state][target] = edges[state].get(target, 0) | 1 << symbol
    known = dict[int, dict[Hashable, Expr]]()
    for circle in circles(0, lambda state: [*edges[state]]):
        constants = {state: _constants(edges[state], known, spell) for state in circle}
        for state in circle:
            if (mark := automaton.marks[state]) in wanted:
                constants[state][mark] = alt(EPSILON, constants[state].get(mark, EMPTY))
        factors = _parted(circle, edges, spell)
        if not factors[circle[0]]:  # most components are single states
            known |= constants
            continue
        known |= {state: {} for state in circle}
        for mark in dict.fromkeys(mark for each in constants.values() for mark in each):
            constant = {state: constants[state].get(mark, EMPTY) for state in circle}
            copied = {state: dict(row) for state, row in factors.items()}
            for state, expr in _solved(sorted(circle), constant, copied).items():
                known[state][mark] = expr
    return known[0]


def _constants(
    edges: Mapping[int, int], known: Mapping[int, Mapping[Hashable, Expr]], spell: Spell
) -> dict[Hashable, Expr]:
    found = dict[Hashable, list[Expr]]()
    for target, symbols in edges.items():
        behind = known.get(target)
        if behind:
            spend(1 + len(behind) // _JOINED)
            spelled = spell(symbols)
            for mark, expr in behind.items():
                found.setdefault(mark, []).append(concat(spelled, expr))
    return {mark: alt(*exprs) for mark, exprs in found.items()}


def _parted(
    circle: Sequence[int], edges: Mapping[int, Mapping[int, int]], spell: Spell
) -> dict[int, dict[int, Expr]]:
    inside = frozenset(circle)
    return {
        state: {
            target: spell(symbols) for target, symbols in edges[state].items() if target in inside
        }
        for state in circle
    }


def _solved(
    circle: Sequence[int], constant: dict[int, Expr], factors: Mapping[int, dict[int, Expr]]
) -> Mapping[int, Expr]:
    """Solve X = Σ factor·Y | constant for the states of a component, last state first."""
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
