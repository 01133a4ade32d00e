"""Inclusion of regular expressions, as far as it is decided soon."""

from collections.abc import Callable
from typing import Final, TypeAlias, final

from guideway.lowering.dominance import superfluous
from guideway.lowering.expr import ANYTHING
from guideway.lowering.nodes import Expr

_PAIRS: Final = 200  # pairs of expressions in one comparison
_PAIR: Final = 4  # fuel per pair: 150,000 parts take a second

Arcs: TypeAlias = list[tuple[int, Expr]]


@final
class Inclusion:
    """Inclusion between regular expressions; each pair is compared once."""

    def __init__(
        self,
        arcs: Callable[[Expr], Arcs],
        alive: Callable[[Expr], bool],
        fuel: Callable[[int], None],
    ) -> None:
        self._arcs, self._alive, self._fuel = arcs, alive, fuel
        self._tables: dict[Expr, Arcs] = {}
        self._within: dict[tuple[Expr, Expr], bool] = {}

    def forget(self) -> None:
        self._tables.clear()
        self._within.clear()

    def table(self, expr: Expr) -> Arcs:
        """Byte sets to each live target of an expression."""
        found = self._tables.get(expr)
        if found is None:
            made: dict[Expr, int] = {}
            for members, target in self._arcs(expr):
                made[target] = made.get(target, 0) | members
            found = [(members, to) for to, members in made.items() if self._alive(to)]
            self._tables[expr] = found
        return found

    def both(self, one: Expr, other: Expr) -> list[tuple[Expr, Expr]]:
        """Pairs of states that two expressions reach by the same byte."""
        others = self.table(other)
        return [
            (after, target)
            for members, after in self.table(one)
            for more, target in others
            if members & more
        ]

    def is_within(self, one: Expr, other: Expr) -> bool:
        """Return True if `one` is known to be included in `other`."""
        if one is ANYTHING or other is ANYTHING:
            return other is ANYTHING
        key = one, other
        found = self._within.get(key)
        if found is None:
            counted = one in superfluous((one, other))
            found = self._within[key] = counted or self._contained(one, other)
        return found

    def _contained(self, one: Expr, other: Expr) -> bool:
        first = one, other
        came: dict[tuple[Expr, Expr], tuple[Expr, Expr] | None] = {first: None}
        todo = [first]
        for pair in todo:  # grows while it is read
            self._fuel(_PAIR)
            if len(todo) > _PAIRS:
                return False
            if not self._may_hold(*pair):
                way: tuple[Expr, Expr] | None = pair
                while way is not None:  # the pairs before it are refuted, too
                    self._within[way], way = False, came[way]
                return False
            for after in self.both(*pair):
                if after not in came:
                    came[after] = pair
                    todo.append(after)
        self._within.update(dict.fromkeys(came, True))
        return True

    def _may_hold(self, left: Expr, right: Expr) -> bool:
        """Return False if the first byte refutes the inclusion."""
        if (left.nullable and not right.nullable) or self._within.get((left, right)) is False:
            return False
        every = sum(members for members, _ in self.table(right))
        return not any(members & ~every for members, _ in self.table(left))
