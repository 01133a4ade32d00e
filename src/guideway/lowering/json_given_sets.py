"""What formulas say of the values that they list, as sets of these.

    Like(A) and Unlike(B) and F         those of A that are not in B and satisfy F
    (Like(A) and G) or F                those of A that satisfy G or F;  and all that satisfy F

A formula says so much of a value that it lists as of any other, and where it lists none of them,
less: so it is the values of which it holds, and what it says where nothing is `Like` what it lists.
As alternatives, and what others deny of them, two lists of 200 objects took minutes.

What this module does not know: how values are read, or written.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import final

from guideway.lowering.fuel import spend
from guideway.lowering.json_formulas import (
    FALSE,
    Atom,
    Every,
    Formula,
    Leaf,
    atoms,
    fold,
    leaf,
    replace,
)
from guideway.lowering.json_given import Like, Unlike
from guideway.lowering.json_values import Exact

Judge = Callable[[Atom, Exact], bool]


def values_listed(said: Formula) -> list[Exact]:
    """The values that a formula about arrays, or about objects, lists somewhere."""
    found: dict[Exact, None] = {}
    for atom in atoms(said):
        if isinstance(atom, Like):
            found |= dict.fromkeys(atom.values)
    return list(found)


def values_that_hold(said: Formula, values: list[Exact], judge: Judge) -> list[Exact]:
    """Those of some values of which a formula holds.

    Args:
        said: the formula.
        values: what it may hold of.
        judge: whether an atom that lists no values holds of one.
    """
    sets = _Sets(values, judge)
    return sets.chosen(fold(said, sets.of))


def where_none_is_listed(said: Formula) -> Formula:
    """What a formula says of values that are like none that it lists."""
    return replace(said, lambda atom: FALSE if isinstance(atom, Like) else leaf(atom))


@final
class _Sets:
    """Sets of some values, as bits of a number."""

    def __init__(self, values: list[Exact], judge: Judge) -> None:
        self._values, self._judge = values, judge
        self._places = {value: place for place, value in enumerate(values)}
        self._all = (1 << len(values)) - 1

    def of(self, node: Formula, made: dict[Formula, int]) -> int:
        """The values of which a formula holds, given those for its parts."""
        match node:
            case Leaf(Like(values)):
                return self._set(values)
            case Leaf(Unlike(values)):
                return self._all & ~self._set(values)
            case Leaf(atom):
                spend(len(self._values))
                return self._set(value for value in self._values if self._judge(atom, value))
            case _ if node.parts:
                spend(len(node.parts) * (1 + len(self._values) // 1024))
                parts = map(made.__getitem__, node.parts)
                return reduce(int.__and__ if isinstance(node, Every) else int.__or__, parts)
            case _:
                return 0 if node is FALSE else self._all

    def chosen(self, found: int) -> list[Exact]:
        """The values of a set."""
        bits = found.to_bytes(len(self._values) // 8 + 1, "little")
        return [v for place, v in enumerate(self._values) if bits[place >> 3] >> (place & 7) & 1]

    def _set(self, values: Iterable[Exact]) -> int:
        bits, places = bytearray(len(self._values) // 8 + 1), self._places
        for value in values:
            place = places.get(value)
            if place is not None:
                bits[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(bits, "little")
