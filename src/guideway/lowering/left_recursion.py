"""Rewrite left recursion: X = B | X·R becomes X = B·R*, for sets of rules."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, final

from guideway.lowering.alternatives import either
from guideway.lowering.circles import circles
from guideway.lowering.expr import EMPTY, EPSILON, alt, concat, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr, Rule
from guideway.syntax.frozen import by_identity


@final
@by_identity
class Part:
    """Expressions of an item or a rule.

    whole: all texts; some: the non-empty ones; size: number of items, with those of rules in place;
    ways: ways to begin with a rule in place, nested ones included.
    """

    whole: Expr
    some: Expr
    size: int = 1
    ways: int = 0


NOTHING: Final = Part(EPSILON, EMPTY, 0)


@final
class LeftRecursion:
    """Texts of mutually left-recursive rules.

    bases: texts that begin with none of the rules; ways: what follows rule k in rule j, by (k, j);
    looks: levels of Ahead in them.
    """

    def __init__(
        self,
        bases: Mapping[str, list[Expr]],
        ways: Mapping[tuple[str, str], list[Part]],
        looks: int,
    ) -> None:
        self._looks = looks
        free = dict[str, list[str]]({name: [] for name in bases})
        for (before, after), parts in ways.items():
            if any(part.whole.nullable for part in parts):
                free[before].append(after)
        alike = list(left_circles([*bases], free.__getitem__))
        first = self._first = {name: same[0] for same in alike for name in same}
        self._bases, self._free = dict[str, Expr](), dict[str, frozenset[str]]()
        for same in alike:  # successors first
            self._bases[same[0]] = either(base for name in same for base in bases[name])
            behind = {first[after] for name in same for after in free[name]} - {same[0]}
            spend(len(behind))
            self._free[same[0]] = frozenset((same[0],)).union(*(self._free[b] for b in behind))
        steps = dict[tuple[str, str], list[Expr]]()
        for (before, after), parts in ways.items():
            steps.setdefault((first[before], first[after]), []).extend(part.some for part in parts)
        self._steps = dict[str, dict[str, Expr]]({name: {} for name in self._bases})
        for (before, after), somes in steps.items():
            self._steps[before][after] = either(somes)
        self._known: dict[tuple[str, str], Part] = {}

    def texts(self, name: str) -> Expr:
        """Non-empty texts of a rule."""
        end = self._first[name]
        return either(
            concat(base, self._between(begin, end).whole) for begin, base in self._bases.items()
        )

    def _between(self, begin: str, end: str) -> Part:
        """Texts that complete rule `end` after rule `begin`: R* of the equation."""
        if len(self._bases) == 1:
            step = self._steps[begin][end]
            return Part(repeat(step), repeat(step, 1))
        if (begin, end) not in self._known:
            name, looks = f"{end} behind {begin}", self._looks
            rule = Rule(name, make=lambda: self._on(begin, end), looks=looks)
            free = end in self._free[begin]
            self._known[begin, end] = Part(alt(rule, EPSILON) if free else rule, rule)
        return self._known[begin, end]

    def _on(self, begin: str, end: str) -> Expr:
        # The rules are strongly connected, so each can reach the end.
        return either(
            concat(step, self._between(after, end).whole)
            for before in self._bases  # in a fixed order, unlike the set
            if before in self._free[begin]
            for after, step in self._steps[before].items()
        )


def left_circles(
    names: Sequence[str], corners: Callable[[str], list[str]]
) -> Iterable[Sequence[str]]:
    """The strongly connected sets of rules by their first rules."""
    seen: set[str] = set()
    for name in names:
        if name not in seen:
            yield from circles(name, corners, seen)
