"""Formulas of `enum`, of exclusive branches of `oneOf`, and of the `unevaluated…` keywords."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Protocol, TypeAlias

from guideway.errors import UnsupportedError
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Among,
    Atom,
    Beside,
    Every,
    Exact,
    Formula,
    Holds,
    Leaf,
    Required,
    Some,
    all_of,
    any_of,
    at_least,
    at_most,
    atoms,
    conjuncts,
    exact,
    item,
    items,
    items_of,
    leaf,
    levels_of,
    matching,
    members_of,
    named,
    opposite,
    replace,
)
from guideway.json_schema.numbers import common
from guideway.json_schema.tree import KINDS, Address, Document, Kind, Objects, Schema
from guideway.language.fuel import spend
from guideway.language.nodes import Expr
from guideway.language.values import by_value

_FEW: Final = 4  # denied values that are expanded
_LEVELS: Final = 64  # levels of nesting above which values cost fuel
_LEVEL: Final = 160  # fuel for each such value


@by_value
class Like:
    """One of these arrays or objects; `places`: schemas that give the order of members."""

    values: frozenset[Exact]
    places: frozenset[Address] = frozenset()

    def opposite(self) -> Formula:
        return leaf(Unlike(self.values, self.places), leaf(self))


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
        listed = list_of(part)
        if listed is None:
            others.append(part)
        else:
            values |= listed.values
            places |= listed.places
    return any_of(like(values, places), *others)


def like_one(lists: Iterable[Like]) -> Formula:
    """Exactly one of the lists has the value."""
    values, places = Counter[Exact](), set[Address]()
    for listed in lists:
        values.update(listed.values)
        places |= listed.places
    return like((value for value, count in values.items() if count == 1), places)


def merged(formula: Formula) -> Formula:
    """Merge all lists, and all denials, of a conjunction into one."""
    if not isinstance(formula, Every):
        return formula
    held: Like | None = None
    denied, places, others = set[Exact](), set[Address](), list[Formula]()
    for part in formula.parts:
        atom = part.atom if isinstance(part, Leaf) else None
        if isinstance(atom, Like):
            held = atom if held is None else Like(held.values & atom.values, held.places)
        elif isinstance(atom, Unlike):
            denied |= atom.values
            places |= atom.places
        else:
            others.append(part)
    if len(formula.parts) - len(others) < 2:
        return formula
    spend(len(denied))
    if held is None:
        return all_of(*others, opposite(like(denied, places)))
    return all_of(*others, like(held.values - denied, held.places))


def alternatives(formula: Formula, spell: Callable[[Like], list[Formula]]) -> list[Formula]:
    """Alternatives without `Like`, one for each listed value; `spell` gives their formulas."""
    if isinstance(formula, Some) and _lists(formula):
        plain = any_of(*(part for part in formula.parts if not _lists(part)))
        listed = [part for part in formula.parts if _lists(part)]
        return [_spelled_out(plain, spell), *(a for p in listed for a in alternatives(p, spell))]
    formula = merged(formula)
    parts = conjuncts(formula)
    for part in parts:
        values = list_of(part)
        if values is not None:
            if max(map(levels_of, values.values)) > _LEVELS:
                spend(_LEVEL * len(values.values))
            rest = [_spelled_out(other, spell) for other in parts if other is not part]
            return [all_of(value, *rest) for value in spell(values)]
    return [_spelled_out(formula, spell)]


def _lists(formula: Formula) -> bool:
    return any(isinstance(atom, Like) for atom in atoms(formula))


def list_of(formula: Formula) -> Like | None:
    """The list that a formula is, if it is one."""
    atom = formula.atom if isinstance(formula, Leaf) else None
    return atom if isinstance(atom, Like) else None


def _spelled_out(formula: Formula, spell: Callable[[Like], list[Formula]]) -> Formula:
    """Replace lists, and denials of a few values, by formulas about their parts."""

    def told(atom: Atom) -> Formula | None:
        if isinstance(atom, Like):
            return any_of(*spell(atom))
        if isinstance(atom, Unlike) and len(atom.values) <= _FEW:
            return opposite(any_of(*map(exactly, atom.values)))
        return None

    return replace(formula, told)


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
    branches: list[Formula], exclude: Callable[[int, int], bool], *, halved: bool = False
) -> Formula:
    """Exactly one of the branches; `halved` allows a nested form for many overlaps."""
    if branches.count(TRUE) > 1:  # 1,000 bounds allow all strings: each pair took 4 µs
        return FALSE
    opposites: dict[int, Formula] = {}
    options: list[Formula] = []
    overlaps: list[list[int]] = [[] for _ in branches]
    spend(len(branches) ** 2)  # 1,000 branches take 4 s
    for first, second in combinations(range(len(branches)), 2):
        if not exclude(first, second):
            overlaps[first].append(second)
            overlaps[second].append(first)
    if halved and _are_dense(overlaps):
        return _one_by_halves([(formula, opposite(formula)) for formula in branches])
    for index, others in enumerate(overlaps):
        for other in others:
            if other not in opposites:
                opposites[other] = opposite(branches[other])
        options.append(all_of(branches[index], *(opposites[other] for other in others)))
    return any_of(*options) if options else FALSE


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


MOST_ALTERNATIVES = 1 << 10
_DEEPEST = 200


class Reader(Protocol):
    """Formulas of schemas (`meaning.Meaning`)."""

    document: Document

    def formula(self, address: Address | None) -> Formula:
        """Formula: the schema holds."""
        ...

    def schema(self, address: Address, kind: Kind) -> Formula:
        """Formula of a schema for values of one type."""
        ...

    def matched(self, objects: Objects) -> list[tuple[Expr, Formula]]:
        """Keys that patterns match, and the formulas of their values."""
        ...


@dataclass(frozen=True, slots=True)
class _Seen:
    """Evaluated parts: everything, or names, patterns, a prefix of items, some items."""

    all: bool = False
    names: frozenset[str] = frozenset()
    patterns: frozenset[Expr] = frozenset()
    count: int = 0
    holding: tuple[Formula, ...] = ()

    def join(self, other: "_Seen") -> "_Seen":
        return _Seen(
            self.all or other.all,
            self.names | other.names,
            self.patterns | other.patterns,
            max(self.count, other.count),
            tuple(dict.fromkeys(self.holding + other.holding)),
        )


_NOTHING = _Seen()
_Options: TypeAlias = "dict[tuple[Formula, _Seen], None]"
_ALWAYS: _Options = {(TRUE, _NOTHING): None}


def unevaluated(reader: Reader, schema: Schema, kind: Kind) -> Formula:
    """Formula of `unevaluatedProperties` for objects, of `unevaluatedItems` for arrays."""
    held = schema.objects.unevaluated if kind == "object" else schema.arrays.unevaluated
    if held is None:
        return TRUE
    value, parts = reader.formula(held), list[Formula]()
    for condition, seen in _Finder(reader, kind, schema).around(schema, 0, outermost=True):
        rest = TRUE
        if not seen.all and kind == "object":
            rest = matching(Beside(seen.names, tuple(seen.patterns)), value)
        elif not seen.all:
            rest = items(seen.count, any_of(value, *seen.holding))
        parts.append(all_of(condition, rest))
    return any_of(*parts)


class _Finder:
    """Finds the parts that in-place subschemas evaluate, with their conditions."""

    def __init__(self, reader: Reader, kind: Kind, root: Schema) -> None:
        self._reader, self._root = reader, root
        self._kind: Kind = kind

    def around(self, schema: Schema, depth: int, *, outermost: bool = False) -> _Options:
        if depth > _DEEPEST:
            raise self._too_many(f"look through more than {_DEEPEST} schemas in place")
        options: _Options = {(TRUE, self._own_parts(schema, outermost)): None}
        for part in schema.all_of:
            options = self._product(options, self._branch(part, depth))
        for group in schema.any_of:
            for branch in group:
                inside = self._branch(branch, depth)
                if list(inside) != list(_ALWAYS):
                    held = self._under(self._formula(branch), inside)
                    options = self._product(options, {**_ALWAYS, **held})
        for group in schema.one_of:
            each: _Options = {}
            for branch in group:
                each |= self._under(self._formula(branch), self._branch(branch, depth))
            options = self._product(options, each)
        options = self._product(options, self._conditional(schema, depth))
        for name, part in schema.objects.dependents if self._kind == "object" else ():
            held = self._under(leaf(Required(name)), self._branch(part, depth))
            options = self._product(options, {**_ALWAYS, **held})
        return options

    def _conditional(self, schema: Schema, depth: int) -> _Options:
        condition = schema.condition
        if condition is None:
            return _ALWAYS
        test = self._formula(condition.test)
        then = self._product(
            self._branch(condition.test, depth), self._branch(condition.then, depth)
        )
        otherwise = self._branch(condition.otherwise, depth)
        return self._under(test, then) | self._under(opposite(test), otherwise)

    def _branch(self, part: Address | None, depth: int) -> _Options:
        if part is None or part.startswith("="):  # enum and const evaluate nothing
            return _ALWAYS
        schema = self._reader.document.schemas[part]
        return self.around(schema, depth + 1) if self._kind in schema.kinds else _ALWAYS

    def _formula(self, part: Address) -> Formula:
        return self._reader.schema(part, self._kind)

    def _own_parts(self, schema: Schema, outermost: bool) -> _Seen:
        objects, arrays = schema.objects, schema.arrays
        if self._kind == "object":
            unevaluated = objects.unevaluated is not None and not outermost
            return _Seen(
                objects.additional is not None or unevaluated,
                frozenset(objects.properties),
                frozenset(keys for keys, _ in self._reader.matched(objects)),
            )
        unevaluated = arrays.unevaluated is not None and not outermost
        contains = arrays.contains
        marked = contains is not None and contains.marks
        return _Seen(
            arrays.items is not None or unevaluated,
            count=len(arrays.prefix),
            holding=(self._reader.formula(contains.schema),)
            if contains is not None and marked
            else (),
        )

    def _under(self, condition: Formula, options: _Options) -> _Options:
        return self._satisfiable((all_of(condition, other), seen) for other, seen in options)

    def _product(self, left: _Options, right: _Options) -> _Options:
        if right is _ALWAYS or left is _ALWAYS:
            return left if right is _ALWAYS else right
        return self._satisfiable(
            (all_of(first, second), here.join(there))
            for first, here in left
            for second, there in right
        )

    def _satisfiable(self, options: Iterable[tuple[Formula, _Seen]]) -> _Options:
        kept: _Options = {}
        for condition, seen in options:
            if condition is not FALSE:
                kept[(condition, seen)] = None
            if len(kept) > MOST_ALTERNATIVES:
                raise self._too_many(f"depend on more than {MOST_ALTERNATIVES} sets of branches")
        return kept

    def _too_many(self, why: str) -> UnsupportedError:
        name = "unevaluatedProperties" if self._kind == "object" else "unevaluatedItems"
        pointer = self._root.address.partition("#")[2]
        return UnsupportedError(f"{name} would {why}", feature=name, place=f"{pointer}/{name}")
