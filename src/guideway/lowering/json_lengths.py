"""Formulas about string lengths alone, as sets of ranges."""

from bisect import bisect_left, bisect_right
from typing import cast

from guideway.lowering.expr import EMPTY, EPSILON, alt, concat, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.json_atoms import Text
from guideway.lowering.json_formulas import Every, Formula, Leaf, atoms, fold
from guideway.lowering.nodes import Expr
from guideway.syntax.json_schema_tree import Strings


def in_lengths(formula: Formula, character: Expr) -> Expr | None:
    """The strings that satisfy a formula about lengths alone; None for others, and for one range.

    Args:
        formula: what is said.
        character: the spellings of one character.
    """
    if isinstance(formula, Leaf) or not formula.parts:
        return None
    said = [cast("Text", atom).strings for atom in atoms(formula)]
    if any(strings != Strings(low=strings.low, high=strings.high) for strings in said):
        return None
    cuts = _cuts(said)
    spend(len(said) + len(cuts))
    every = (1 << len(cuts)) - 1

    def make(node: Formula, made: dict[Formula, int]) -> int:
        if isinstance(node, Leaf):
            return _cells(cast("Text", node.atom), cuts)
        found = every if isinstance(node, Every) else 0
        for part in node.parts:
            found = found & made[part] if isinstance(node, Every) else found | made[part]
        return found

    return _texts(_ranges(fold(formula, make), cuts), character)


def _cuts(said: list[Strings]) -> list[int]:
    ends = [one.high + 1 for one in said if one.high is not None]
    return sorted({0, *(one.low for one in said), *ends})


def _cells(atom: Text, cuts: list[int]) -> int:
    """A bit for each cell in which an atom holds."""
    low, high = atom.strings.low, atom.strings.high
    first = bisect_left(cuts, low)
    end = len(cuts) if high is None else bisect_right(cuts, high)
    held = (1 << max(first, end)) - (1 << first)
    return held if atom.sign else (1 << len(cuts)) - 1 - held


def _ranges(cells: int, cuts: list[int]) -> list[tuple[int, int | None]]:
    edges = [
        cut
        for place, cut in enumerate(cuts)
        if (cells >> place & 1) != (place > 0 and cells >> place - 1 & 1)
    ]
    ends = [end - 1 for end in edges[1::2]]
    return [*zip(edges[::2], [*ends, None], strict=False)]


def _texts(ranges: list[tuple[int, int | None]], character: Expr) -> Expr:
    """Counts of characters, nested so that no more than two are kept at once."""
    rest, following = EMPTY, 0
    for low, high in reversed(ranges):
        here = repeat(character, 0, None if high is None else high - low)
        rest = alt(here, concat(_count(character, following - low), rest))
        following = low
    return concat(_count(character, following), rest)


def _count(character: Expr, count: int) -> Expr:
    return repeat(character, count, count) if count > 0 else EPSILON
