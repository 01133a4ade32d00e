"""Atoms for arrays and objects: one of some listed values, or none of them."""

from collections.abc import Callable, Iterable
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
    Some,
    all_of,
    any_of,
    atoms,
    leaf,
    opposite,
    replace,
)
from guideway.lowering.json_values import Exact, items_of, levels_of, members_of
from guideway.syntax.frozen import by_value
from guideway.syntax.json_schema_tree import Address

_FEW: Final = 4  # denied values that are expanded
_LEVELS: Final = 64  # levels of nesting above which values cost fuel
_LEVEL: Final = 160  # fuel for each such value


@final
@by_value
class Like:
    """One of these arrays or objects; `places`: schemas that give the order of members."""

    values: frozenset[Exact]
    places: frozenset[Address] = frozenset()

    def opposite(self) -> Formula:
        return leaf(Unlike(self.values, self.places), leaf(self))


@final
@by_value
class Unlike:
    """None of these values, or of their rests; `places` as in `Like`."""

    values: frozenset[Exact]
    places: frozenset[Address] = frozenset()

    def opposite(self) -> Formula:
        return like(self.values, self.places)


def like(values: Iterable[Exact], places: Iterable[Address] = ()) -> Formula:
    """`Like`, or FALSE if there are no values."""
    found = frozenset(values)
    return leaf(Like(found, frozenset(places))) if found else FALSE


def any_like(parts: Iterable[Formula]) -> Formula:
    """The disjunction of the parts, with their lists merged into one."""
    values, places, others = set[Exact](), set[Address](), list[Formula]()
    for part in parts:
        listed = _list_of(part)
        if listed is None:
            others.append(part)
        else:
            values |= listed.values
            places |= listed.places
    return any_of(like(values, places), *others)


def merged(said: Formula) -> Formula:
    """Merge all lists, and all denials, of a conjunction into one."""
    if not isinstance(said, Every):
        return said
    held: Like | None = None
    denied, places, others = set[Exact](), set[Address](), list[Formula]()
    for part in said.parts:
        atom = part.atom if isinstance(part, Leaf) else None
        if isinstance(atom, Like):
            held = atom if held is None else Like(held.values & atom.values, held.places)
        elif isinstance(atom, Unlike):
            denied |= atom.values
            places |= atom.places
        else:
            others.append(part)
    if len(said.parts) - len(others) < 2:
        return said
    spend(len(denied))
    if held is None:
        return all_of(*others, opposite(like(denied, places)))
    return all_of(*others, like(held.values - denied, held.places))


def alternatives(said: Formula, spell: Callable[[Like], list[Formula]]) -> list[Formula]:
    """Alternatives without `Like`, one for each listed value; `spell` gives their formulas."""
    if isinstance(said, Some) and _lists(said):
        plain = any_of(*(part for part in said.parts if not _lists(part)))
        listed = [part for part in said.parts if _lists(part)]
        return [_spelled_out(plain, spell), *(a for p in listed for a in alternatives(p, spell))]
    said = merged(said)
    parts = said.parts if isinstance(said, Every) else (said,)
    for part in parts:
        values = _list_of(part)
        if values is not None:
            if max(map(levels_of, values.values)) > _LEVELS:
                spend(_LEVEL * len(values.values))
            rest = [_spelled_out(other, spell) for other in parts if other is not part]
            return [all_of(value, *rest) for value in spell(values)]
    return [_spelled_out(said, spell)]


def _lists(said: Formula) -> bool:
    return any(isinstance(atom, Like) for atom in atoms(said))


def _list_of(said: Formula) -> Like | None:
    atom = said.atom if isinstance(said, Leaf) else None
    return atom if isinstance(atom, Like) else None


def _spelled_out(said: Formula, spell: Callable[[Like], list[Formula]]) -> Formula:
    """Replace lists, and denials of a few values, by formulas about their parts."""

    def told(atom: Atom) -> Formula | None:
        if isinstance(atom, Like):
            return any_of(*spell(atom))
        if isinstance(atom, Unlike) and len(atom.values) <= _FEW:
            return opposite(any_of(*map(exactly, atom.values)))
        return None

    return replace(said, told)


def exactly(value: Exact) -> Formula:
    """Formula about the parts of an array or object, or of the rest of one."""
    if value[0] == "array":
        parts = items_of(value)
        each = [item(n, leaf(Among(frozenset((part,))))) for n, part in enumerate(parts)]
        return all_of(*each, longer(len(parts)), shorter(len(parts)))
    members = dict(sorted(members_of(value).items()))
    each = [named(name, leaf(Among(frozenset((part,))))) for name, part in members.items()]
    required = [leaf(Required(name)) for name in members]
    return all_of(*each, *required, matching(Beside(frozenset(members), ()), FALSE))
