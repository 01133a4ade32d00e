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
    """What an item or a rule stands for.

    Attributes:
        whole: all its texts.
        some: those that are not empty.
        size: how many items it is made of, those of rules in place counted.
        ways: in how many ways it may begin with a rule in place, one within another.
    """

    whole: Expr
    some: Expr
    size: int = 1
    ways: int = 0


NOTHING: Final = Part(EPSILON, EMPTY, 0)


@final
class LeftRecursion:
    """The texts of rules that begin with each other.

    Args:
        bases: B of the module's equations: texts that begin with none of the rules.
        ways: R, in pieces, by the rules from which and to which they lead.
        looks: how many levels of Ahead stand in them.
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
        for same in alike:  # each after those to which it leads
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
        """Those of a rule that are not empty."""
        end = self._first[name]
        return either(
            concat(base, self._between(begin, end).whole) for begin, base in self._bases.items()
        )

    def _between(self, begin: str, end: str) -> Part:
        """T of the module's equations."""
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
        # All of them lead to each other, so there is a way on from each to the end.
        return either(
            concat(step, self._between(after, end).whole)
            for before in self._bases  # in their order, which sets have not
            if before in self._free[begin]
            for after, step in self._steps[before].items()
        )


def left_circles(
    names: Sequence[str], corners: Callable[[str], list[str]]
) -> Iterable[Sequence[str]]:
    """The sets of rules that begin with each other, each rule in one of them."""
    seen: set[str] = set()
    for name in names:
        if name not in seen:
            yield from circles(name, corners, seen)
