"""Outlines of schemas, exclusive branches of `oneOf`, and values that are denied."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Among,
    Beside,
    Every,
    Exact,
    Formula,
    Holds,
    Leaf,
    Required,
    all_of,
    any_of,
    at_least,
    at_most,
    atoms,
    conjuncts,
    exact,
    item,
    items_of,
    leaf,
    matching,
    members_of,
    named,
)
from guideway.json_schema.numbers import common
from guideway.json_schema.tree import KINDS, Address, Document, Kind, Schema
from guideway.language.fuel import spend
from guideway.language.values import by_value


@by_value
class Unlike:
    """None of these arrays or objects, or of their rests."""

    values: frozenset[Exact]

    def opposite(self) -> Formula:
        return any_of(*map(exactly, self.values))


def exactly(value: Exact) -> Formula:
    """Formula about the parts of an array or object, or of the rest of one."""
    if value[0] == "array":
        parts = items_of(value)
        each = [item(n, leaf(Among(frozenset((part,))))) for n, part in enumerate(parts)]
        return all_of(*each, at_least(len(parts)), at_most(len(parts)))
    members = dict(sorted(members_of(value).items()))
    each = [named(name, leaf(Among(frozenset((part,))))) for name, part in members.items()]
    required = [leaf(Required(name)) for name in members]
    return all_of(*each, *required, matching(Beside(frozenset(members), ()), FALSE))


Scalars: TypeAlias = "frozenset[Exact] | None"  # None: any
_DEPTH = 8
_MOST_KNOWN = 1 << 14
_EXCLUSIVE_FEW = 16


@dataclass(frozen=True, slots=True)
class Outline:
    """A superset of the values that a schema allows.

    `scalars`: None for any. `members`: schemas of the values of required members. `closed`: the
    only allowed names, None if not known.
    """

    kinds: frozenset[Kind] = KINDS
    scalars: Scalars = None
    members: dict[str, tuple[Address, ...]] = field(default_factory=dict[str, tuple[Address, ...]])
    closed: frozenset[str] | None = None


class Outlines:
    """The outlines of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: dict[Address, Outline] = {}
        self._typed: dict[Address, frozenset[Kind]] = {}
        self._impossible: dict[Formula, bool] = {}

    def exclude(self, first: Address, second: Address, kind: Kind) -> bool:
        """Return True if surely no value of a type satisfies both schemas."""
        return self._exclude((first,), (second,), kind, _DEPTH)

    def impossible(self, value: Formula) -> bool:
        """Return True if a formula plainly has no value: other constants or types."""
        if not isinstance(value, Every):
            return value is FALSE
        found = self._impossible.get(value)
        if found is None:
            if len(self._impossible) > _MOST_KNOWN:
                self._impossible.clear()
            found = self._impossible[value] = self._contradict(value.parts)
        return found

    def simple(self, value: Formula) -> bool:
        """Return True if a formula only mentions scalars and listed values."""
        for atom in atoms(value):
            if isinstance(atom, Holds) and self.of(atom.schema).kinds & {"array", "object"}:
                return False
        return True

    def listed(self, value: Formula) -> list[Exact]:
        """A superset of the scalars that a formula allows, in order; [] if unknown."""
        atom = value.atom if isinstance(value, Leaf) else None
        if not isinstance(atom, Holds) or not atom.sign:
            return []
        outline = self.of(atom.schema)
        if outline.scalars is None or outline.kinds & {"array", "object"}:
            return []
        return sorted((one for one in outline.scalars if one[0] in outline.kinds), key=repr)

    def _contradict(self, parts: tuple[Formula, ...]) -> bool:
        kinds, scalars = KINDS, None
        for part in parts:
            if isinstance(part, Leaf) and isinstance(part.atom, Holds) and part.atom.sign:
                outline = self.of(part.atom.schema)
                kinds, scalars = kinds & outline.kinds, common((scalars, outline.scalars))
            elif isinstance(part, Leaf) and isinstance(part.atom, Among) and part.atom.sign:
                kinds &= {kind for kind, _ in part.atom.values}
                scalars = common((scalars, _or_nested(part.atom.values)))
        if not kinds or scalars is None or kinds & {"array", "object"}:
            return not kinds
        return not any(kind in kinds for kind, _ in scalars)

    def _exclude(
        self, first: tuple[Address, ...], second: tuple[Address, ...], kind: Kind, depth: int
    ) -> bool:
        return any(
            self._clash(self.of(one), self.of(other), kind, depth)
            for one in first
            for other in second
        )

    def _clash(self, first: Outline, second: Outline, kind: Kind, depth: int) -> bool:
        if kind not in first.kinds & second.kinds:
            return True
        if kind == "object":
            return self._objects_clash(first, second, depth)
        if kind == "array" or first.scalars is None or second.scalars is None:
            return False
        return not any(value[0] == kind for value in first.scalars & second.scalars)

    def _objects_clash(self, first: Outline, second: Outline, depth: int) -> bool:
        for one, other in ((first, second), (second, first)):
            if one.closed is not None and not one.closed.issuperset(other.members):
                return True
        shared = [name for name in first.members if name in second.members]
        return depth > 0 and any(
            self._differ(first.members[name], second.members[name], depth - 1) for name in shared
        )

    def _differ(self, first: tuple[Address, ...], second: tuple[Address, ...], depth: int) -> bool:
        if not first or not second:
            return False
        kinds = KINDS.intersection(*(self.of(part).kinds for part in (*first, *second)))
        return all(self._exclude(first, second, kind, depth) for kind in kinds)

    def of(self, address: Address) -> Outline:
        """The outline of one schema, with its references and `allOf`."""
        found = self._known.get(address)
        if found is None:
            found = self._known[address] = self._outline(address)
        return found

    def _outline(self, address: Address) -> Outline:
        kinds, scalars, closed = KINDS, None, None
        members: dict[str, tuple[Address, ...]] = {}
        declared: dict[str, tuple[Address, ...]] = {}
        for schema in self._applied(address):
            kinds &= schema.kinds
            for group in schema.any_of + schema.one_of:
                kinds &= frozenset[Kind]().union(*map(self._kinds, group))
            scalars = common((scalars, _scalars(schema)))
            closed = common((closed, self._closed(schema)))
            members.update(dict.fromkeys(schema.objects.required, ()))
            for name, part in schema.objects.properties.items():
                declared[name] = (*declared.get(name, ()), part)
        members = {name: declared.get(name, ()) for name in members}
        return Outline(kinds, scalars, members, closed)

    def kinds(self, value: Formula) -> frozenset[Kind]:
        """A superset of the types that a formula allows."""
        kinds = KINDS
        for part in conjuncts(value):
            atom = part.atom if isinstance(part, Leaf) else None
            if isinstance(atom, Holds) and atom.sign:
                kinds &= self._kinds(atom.schema)
            elif isinstance(atom, Among) and atom.sign:
                kinds &= {kind for kind, _ in atom.values}
        return kinds

    def _kinds(self, branch: Address) -> frozenset[Kind]:
        found = self._typed.get(branch)
        if found is None:
            found = KINDS
            for schema in self._applied(branch):
                found &= schema.kinds
            self._typed[branch] = found
        return found

    def _applied(self, address: Address) -> list[Schema]:
        """The schema and those that it implies."""
        found, order = {address}, [address]
        for part in order:  # grows while it is read
            schema = self._document.schemas[part]
            single = [group[0] for group in schema.any_of + schema.one_of if len(group) == 1]
            for other in (*schema.all_of, *single):
                if other not in found:
                    found.add(other)
                    order.append(other)
        return [self._document.schemas[part] for part in order]

    def _closed(self, schema: Schema) -> frozenset[str] | None:
        objects = schema.objects
        if objects.additional is None or objects.patterns:
            return None
        never = not self._document.schemas[objects.additional].kinds
        return frozenset(objects.properties) if never else None


def exactly_one(
    branches: list[Formula],
    denied: Callable[[int], Formula],
    exclude: Callable[[int, int], bool],
    *,
    halved: bool = False,
) -> Formula:
    """Exactly one of the branches; `denied` gives the opposite of one by its number.

    `halved` allows a nested form for many overlaps.
    """
    if branches.count(TRUE) > 1:  # 1,000 bounds allow all strings: each pair took 4 µs
        return FALSE
    options: list[Formula] = []
    overlaps: list[list[int]] = [[] for _ in branches]
    spend(len(branches) ** 2)  # 1,000 branches take 4 s
    for first, second in combinations(range(len(branches)), 2):
        if not exclude(first, second):
            overlaps[first].append(second)
            overlaps[second].append(first)
    if halved and _are_dense(overlaps):
        return _one_by_halves([(formula, denied(n)) for n, formula in enumerate(branches)])
    for index, others in enumerate(overlaps):
        options.append(all_of(branches[index], *map(denied, others)))
    return any_of(*options)


def _are_dense(overlaps: list[list[int]]) -> bool:
    """Return True if so many pairs overlap that halves need fewer parts."""
    count = len(overlaps)
    return count > _EXCLUSIVE_FEW and sum(map(len, overlaps)) > 2 * count * count.bit_length()


def _one_by_halves(branches: list[tuple[Formula, Formula]]) -> Formula:
    """Exactly one branch: one of a half, and none of the other half."""
    if len(branches) == 1:
        return branches[0][0]
    first, second = branches[: len(branches) // 2], branches[len(branches) // 2 :]
    return any_of(
        all_of(_one_by_halves(first), *(denied for _, denied in second)),
        all_of(_one_by_halves(second), *(denied for _, denied in first)),
    )


def _scalars(schema: Schema) -> Scalars:
    if schema.numbers.values is None or schema.strings.values is None:
        return None
    found: set[Exact] = {exact(value) for value in schema.numbers.values}
    found |= {exact(value) for value in schema.strings.values}
    found |= {exact(value) for value in schema.booleans}
    found.add(exact(None))
    return frozenset(found)


def _or_nested(values: frozenset[Exact]) -> Scalars:
    return None if any(kind in ("array", "object") for kind, _ in values) else values
