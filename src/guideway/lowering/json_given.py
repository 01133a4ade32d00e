"""Atoms about arrays and objects that are given: one of some values, or none of them.

An `enum` lists its values, and what is said beside it, of branches and other lists, holds of each
of them or does not (`json_given_sets`). Only a few values are said part by part.

What this module does not know: schemas, spelling.
"""

from collections.abc import Iterable
from typing import Final, final

from guideway.lowering.fuel import spend
from guideway.lowering.json_atoms import (
    Among,
    Beside,
    Required,
    item,
    longer,
    matching,
    named,
    shorter,
)
from guideway.lowering.json_formulas import (
    FALSE,
    Atom,
    Every,
    Formula,
    Leaf,
    all_of,
    any_of,
    leaf,
    opposite,
    replace,
)
from guideway.lowering.json_values import Exact, items_of, members_of
from guideway.syntax.frozen import by_value
from guideway.syntax.json_schema_tree import Address

_FEW: Final = 4  # values, which are told apart as well as schemas are


@final
@by_value
class Like:
    """One of these values.

    Attributes:
        values: arrays or objects.
        places: the schemas that list them, where members come in the order of these.
    """

    values: frozenset[Exact]
    places: frozenset[Address] = frozenset()

    def opposite(self) -> Formula:
        """None of them."""
        return leaf(Unlike(self.values, self.places), leaf(self))


@final
@by_value
class Unlike:
    """The rest is none of these rests of values; `places` are those of its opposite."""

    values: frozenset[Exact]
    places: frozenset[Address] = frozenset()

    def opposite(self) -> Formula:
        """One of them."""
        return like(self.values, self.places)


def like(values: Iterable[Exact], places: Iterable[Address] = ()) -> Formula:
    """`Like`, unless that cannot hold."""
    found = frozenset(values)
    return leaf(Like(found, frozenset(places))) if found else FALSE


def any_like(parts: Iterable[Formula]) -> Formula:
    """Any of the parts; what they list is one list."""
    values, places, others = set[Exact](), set[Address](), list[Formula]()
    for part in parts:
        listed = listed_by(part)
        if listed is None:
            others.append(part)
        else:
            values |= listed.values
            places |= listed.places
    return any_of(like(values, places), *others)


def none_like(said: Formula) -> Formula:
    """The same formula; what it says values are none of is one list."""
    if not isinstance(said, Every):
        return said
    values, places, others = set[Exact](), set[Address](), list[Formula]()
    for part in said.parts:
        atom = part.atom if isinstance(part, Leaf) else None
        if isinstance(atom, Unlike):
            values |= atom.values
            places |= atom.places
        else:
            others.append(part)
    if len(said.parts) - len(others) < 2:
        return said
    spend(len(values))
    return all_of(*others, opposite(like(values, places)))


def told_apart(said: Formula) -> Formula:
    """The same formula; that values are none of a few is said part by part."""

    def told(atom: Atom) -> Formula | None:
        if isinstance(atom, Unlike) and len(atom.values) <= _FEW:
            return opposite(any_of(*map(exactly, atom.values)))
        return None

    return replace(said, told)


def listed_by(said: Formula) -> Like | None:
    """The values that a formula lists, if that is all it says."""
    atom = said.atom if isinstance(said, Leaf) else None
    return atom if isinstance(atom, Like) else None


def exactly(value: Exact) -> Formula:
    """An array or object, or what is left of one, part by part."""
    if value[0] == "array":
        parts = items_of(value)
        each = [item(n, leaf(Among(frozenset((part,))))) for n, part in enumerate(parts)]
        return all_of(*each, longer(len(parts)), shorter(len(parts)))
    members = dict(sorted(members_of(value).items()))
    each = [named(name, leaf(Among(frozenset((part,))))) for name, part in members.items()]
    required = [leaf(Required(name)) for name in members]
    return all_of(*each, *required, matching(Beside(frozenset(members), ()), FALSE))
