"""Finite automata: minimisation, their texts as expressions, strongly connected components."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias, TypeVar

from guideway.language.expr import EMPTY, EPSILON, alt, concat, repeat
from guideway.language.fuel import spend
from guideway.language.nodes import Expr, Rule

Node = TypeVar("Node", bound=Hashable)


def strongly_connected(
    starts: Iterable[Node],
    following: Callable[[Node], Sequence[Node]],
    seen: set[Node] | None = None,
) -> Iterator[list[Node]]:
    """The strongly connected components that can be reached, successors first (Tarjan 1972).

    Example:
        >>> graph = {"a": ["b"], "b": ["c", "b"], "c": ["b", "d"], "d": []}
        >>> list(strongly_connected("a", graph.__getitem__))
        [['d'], ['c', 'b'], ['a']]

    Args:
        starts: where to begin, in order.
        following: where edges lead from a node.
        seen: nodes that are passed over; those that are found are added.
    """
    seen = set[Node]() if seen is None else seen
    for start in starts:
        if start not in seen:
            yield from _components_from(start, following, seen)


def _components_from(
    start: Node, following: Callable[[Node], Sequence[Node]], seen: set[Node]
) -> Iterator[list[Node]]:
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
                yield _pop_component(node, open_, seen)
        elif after in number:
            lowest[node] = min(lowest[node], number[after])
        else:
            _enter(after, number, lowest, open_)
            path.append((after, iter(following(after))))


def _enter(node: Node, number: dict[Node, int], lowest: dict[Node, int], open_: list[Node]) -> None:
    number[node] = lowest[node] = len(number)
    open_.append(node)


def _pop_component(node: Node, open_: list[Node], seen: set[Node]) -> list[Node]:
    found: list[Node] = []
    while not found or found[-1] != node:
        found.append(open_.pop())
    seen.update(found)
    return found


Spell: TypeAlias = Callable[[int], Expr]


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
    kinds = _refined(automaton)
    first = dict[int, int]()
    for state, kind in enumerate(kinds):
        first.setdefault(kind, state)
    rows = tuple(tuple(kinds[t] for t in automaton.rows[state]) for state in first.values())
    return Automaton(rows, tuple(automaton.marks[state] for state in first.values())), kinds


def _refined(automaton: Automaton) -> list[int]:
    """The class of each state, numbered in the order of the first ones (Hopcroft 1971)."""
    kinds = _numbered(automaton.marks)
    classes: list[set[int]] = [set() for _ in {*kinds}]
    for state, kind in enumerate(kinds):
        classes[kind].add(state)
    before = _before(automaton.rows)
    todo = {*range(len(classes))}
    while todo:
        sources = defaultdict[int, list[int]](list)  # by symbol
        for symbol, state in chain.from_iterable(before[each] for each in classes[todo.pop()]):
            sources[symbol].append(state)
        spend(1 + len(sources))
        for states in sources.values():
            found = defaultdict[int, set[int]](set)
            for state in states:
                found[kinds[state]].add(state)
            for kind, inside in found.items():
                smaller, larger = sorted((inside, classes[kind] - inside), key=len)
                if smaller:
                    for state in smaller:
                        kinds[state] = len(classes)
                    todo.add(len(classes))
                    classes[kind] = larger
                    classes.append(smaller)
    return _numbered(kinds)


def _before(rows: Sequence[Sequence[int]]) -> list[list[tuple[int, int]]]:
    """For each state, the symbols and states that lead to it."""
    found: list[list[tuple[int, int]]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for symbol, target in enumerate(row):
            found[target].append((symbol, state))
    return found


def _numbered(values: Sequence[Hashable]) -> list[int]:
    numbers = dict[Hashable, int]()
    return [numbers.setdefault(value, len(numbers)) for value in values]


class Texts:
    """The texts that lead from a state to an accepting one.

    `ends` tells which states accept, `spell` gives one symbol of a bit set. `everything` replaces
    the expression of a state after which all texts are accepted. States on a cycle of several are
    regular rules.

    >>> from guideway.language.expr import byte_set
    >>> rows = [[1, 2], [2, 1], [2, 2]]  # an a, then b's
    >>> texts = Texts(rows, [False, True, False], lambda symbols: byte_set(symbols << 97))
    >>> texts.after(0) is concat(byte_set(b"a"), repeat(byte_set(b"b")))
    True
    """

    def __init__(
        self,
        rows: Sequence[Sequence[int]],
        ends: Sequence[bool],
        spell: Spell,
        everything: Expr | None = None,
    ) -> None:
        self._rows, self._ends, self._spell, self._everything = rows, ends, spell, everything
        self._alive = reaching(rows, [state for state, end in enumerate(ends) if end])
        self._known, self._seen = dict[int, Expr](), set[int]()

    def after(self, state: int) -> Expr:
        """The texts that lead from this state to an accepting one."""
        if state not in self._alive:
            return EMPTY
        for component in strongly_connected([state], self._following, self._seen):
            spend(len(component))
            if len(component) > 1:
                rules = {each: Rule("state", regular=True, inhabited=True) for each in component}
                self._known |= {each: self._or_end(each, rule) for each, rule in rules.items()}
                for each, rule in rules.items():
                    rule.define(alt(*self._steps(each)))
            else:
                self._known[component[0]] = self._self_loop(component[0])
        return self._known[state]

    def _following(self, state: int) -> list[int]:
        return [target for target in dict.fromkeys(self._rows[state]) if target in self._alive]

    def _or_end(self, state: int, more: Expr) -> Expr:
        return alt(more, EPSILON) if self._ends[state] else more

    def _self_loop(self, state: int) -> Expr:
        """The expression of a state that only itself leads back to."""
        if self._everything is not None and self._ends[state] and {*self._rows[state]} == {state}:
            return self._everything
        again = sum(1 << symbol for symbol, to in enumerate(self._rows[state]) if to == state)
        rest = self._or_end(state, alt(*self._steps(state)))
        return concat(repeat(self._spell(again)), rest) if again else rest

    def _steps(self, state: int) -> list[Expr]:
        """One symbol, then the rest, for each known state that follows."""
        symbols = dict[int, int]()
        for symbol, target in enumerate(self._rows[state]):
            symbols[target] = symbols.get(target, 0) | 1 << symbol
        known = ((each, self._known[to]) for to, each in symbols.items() if to in self._known)
        return [concat(self._spell(each), rest) for each, rest in known]


def reaching(rows: Sequence[Sequence[int]], targets: Sequence[int]) -> set[int]:
    """The states from which one of the targets can be reached, and the targets."""
    before = _before(rows)
    found, todo = {*targets}, [*targets]
    while todo:
        fresh = {state for _, state in before[todo.pop()]} - found
        found |= fresh
        todo += fresh
    return found
