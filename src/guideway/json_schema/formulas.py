"""Boolean formulas over the constraints of a JSON Schema, and their atoms."""

import json
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace as with_fields
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar, cast

from guideway.json_schema.numbers import read_number
from guideway.json_schema.text import Json, read_deep
from guideway.json_schema.tree import (
    Address,
    Kind,
    Numbers,
    Strings,
    kind_of,
)
from guideway.language.fuel import spend
from guideway.language.nodes import Expr, Interned
from guideway.language.values import by_identity, by_value


class Atom(Protocol):
    """Something that holds or does not; a hashable value."""

    def opposite(self) -> "Formula":
        """The negation."""
        ...


@by_identity
class Truth:
    """A constant."""

    holds: bool
    parts: ClassVar[tuple[()]] = ()
    denies: ClassVar[None] = None


@by_identity
class Leaf:
    """An atom; `denies` is the atom that it negates, if that is a leaf too."""

    atom: Atom
    denies: "Formula | None" = None
    parts: ClassVar[tuple[()]] = ()


@by_identity
class Every:
    """All of two or more parts, none an Every."""

    parts: "tuple[Formula, ...]"
    denies: ClassVar[None] = None


@by_identity
class Some:
    """Any of two or more parts, none a Some."""

    parts: "tuple[Formula, ...]"
    denies: ClassVar[None] = None


Formula: TypeAlias = Truth | Leaf | Every | Some
TRUE: Formula = Truth(True)
FALSE: Formula = Truth(False)
_Made = TypeVar("_Made")
_MANY: Final = 64  # parts joined without fuel
_EACH: Final = 8  # parts per unit of fuel above that: 4,000 bounds of 4,000 schemas took 4 s

_nodes = Interned[Formula]()


def leaf(atom: Atom, denies: Formula | None = None) -> Formula:
    """The formula of one atom; `denies` is the leaf that it negates."""
    found = _nodes.known(atom)
    return _nodes.intern(atom, Leaf(atom, denies)) if found is None else found


def all_of(*parts: Formula) -> Formula:
    """Conjunction."""
    return _joined(parts, Every, Some, TRUE, FALSE)


def any_of(*parts: Formula) -> Formula:
    """Disjunction."""
    return _joined(parts, Some, Every, FALSE, TRUE)


def _joined(
    parts: Iterable[Formula],
    same: type[Every] | type[Some],
    other: type[Every] | type[Some],
    neutral: Formula,
    deciding: Formula,
) -> Formula:
    flat: dict[Formula, None] = {}
    for part in parts:
        if part is deciding:
            return deciding
        if type(part) is same:
            flat |= dict.fromkeys(part.parts)
        elif part is not neutral:
            flat[part] = None
    if len(flat) > 1:
        if len(flat) > _MANY:
            spend(len(flat) // _EACH)
        key = (same is Every, *map(id, flat))  # ints: the garbage collector skips them
        found = _nodes.known(key)
        if found is not None:  # one third of calls
            return found
        if not flat.keys().isdisjoint([one.denies for one in flat]):
            return deciding
        if _absorb(flat, other):
            return _joined(flat, same, other, neutral, deciding)
        return _nodes.intern(key, same(tuple(flat)))
    return next(iter(flat), neutral)


def _absorb(flat: dict[Formula, None], other: type[Every] | type[Some]) -> bool:
    """Remove absorbed parts: a or (a and b) is a."""
    known = flat.keys()
    lost = [one for one in flat if type(one) is other and not known.isdisjoint(one.parts)]
    for one in lost:
        del flat[one]
    return bool(lost)


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction: none of TRUE, the formula itself if it is no conjunction."""
    if formula is TRUE:
        return ()
    return formula.parts if isinstance(formula, Every) else (formula,)


def opposite(formula: Formula, known: "dict[Formula, Formula] | None" = None) -> Formula:
    """The negation of a formula; `known` caches negations of parts."""

    def turn(node: Formula, turned: dict[Formula, Formula]) -> Formula:
        match node:
            case Every(parts):
                return any_of(*map(turned.__getitem__, parts))
            case Some(parts):
                return all_of(*map(turned.__getitem__, parts))
            case Leaf(atom):
                return atom.opposite()
            case _:
                return FALSE if node is TRUE else TRUE

    return fold(formula, turn, known if any(part.parts for part in formula.parts) else None)


def replace(formula: Formula, change: Callable[[Atom], Formula | None]) -> Formula:
    """Replace each atom by what `change` returns; None keeps it."""

    def put(node: Formula, changed: dict[Formula, Formula]) -> Formula:
        if type(node) is Leaf:
            found = change(node.atom)
            return node if found is None else found
        parts = tuple(map(changed.__getitem__, node.parts))
        if parts == node.parts:
            return node
        return all_of(*parts) if isinstance(node, Every) else any_of(*parts)

    return fold(formula, put)


def holds(
    formula: Formula, judge: Callable[[Atom], bool], known: "dict[Formula, bool] | None" = None
) -> bool:
    """Evaluate a formula, given the value of each atom; `known` caches values of parts."""

    def make(node: Formula, made: dict[Formula, bool]) -> bool:
        match node:
            case Every(parts):
                return all(map(made.__getitem__, parts))
            case Some(parts):
                return any(map(made.__getitem__, parts))
            case Leaf(atom):
                return judge(atom)
            case _:
                return node is TRUE

    return fold(formula, make, known)


def atoms(formula: Formula) -> list[Atom]:
    """The atoms, each once, in order of mention."""
    found: dict[Atom, None] = {}
    seen: set[Formula] = set()
    todo = [formula]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node) is Leaf:
            found[node.atom] = None
        todo += reversed(node.parts)
    return list(found)


def fold(
    root: Formula,
    make: "Callable[[Formula, dict[Formula, _Made]], _Made]",
    known: "dict[Formula, _Made] | None" = None,
) -> "_Made":
    """Evaluate `make` bottom-up, for each shared part once; `known` holds earlier results."""
    made: dict[Formula, _Made] = {} if known is None else known
    if known is None and not [part for part in root.parts if part.parts]:  # most values
        for part in root.parts:
            made[part] = make(part, made)
        return make(root, made)
    stack, begun = [root], len(made)
    while stack:
        node = stack[-1]
        if node not in made:
            missing = [part for part in node.parts if part not in made]
            if missing:
                stack += missing
                continue
            made[node] = make(node, made)
        stack.pop()
    spend(len(made) - begun)
    return made[root]


Exact: TypeAlias = tuple[Kind, Hashable]

_DEEP = 100  # levels that the reader in C may have; it uses Python's stack
_DECODER = json.JSONDecoder(parse_int=read_number, parse_float=read_number)


@by_identity
class Parts:
    """The items of an array, or the members of an object, in no order."""

    all: tuple[Exact, ...] | frozenset[tuple[str, Exact]]


@by_value
class _Joint:
    """Marks where the last `count` values become an array, or an object."""

    count: int
    names: list[str] | None


_parts = Interned[Parts]()


def exact(value: Json) -> Exact:
    """The hashable form of a value.

    >>> exact([1]) == exact([Decimal("1.0")]), exact(1) == exact(True)
    (True, False)
    """
    made: list[Exact] = []
    todo: list[Any] = [value]
    while todo:
        match cast("Json | _Joint", todo.pop()):
            case list() as items:
                todo.append(_Joint(len(items), None))
                todo += reversed(items)
            case dict() as members:
                todo.append(_Joint(len(members), list(members)))
                todo += reversed(members.values())
            case _Joint(count, names):
                start = len(made) - count
                parts = tuple(made[start:])
                del made[start:]
                made.append(
                    array(parts) if names is None else object_of(zip(names, parts, strict=True))
                )
            case bool() | None | str() as scalar:
                made.append((kind_of(scalar), scalar))
            case number:
                made.append(("number", Decimal(number)))
    return made[0]


def read_exact(text: bytes) -> Exact:
    """The hashable form of a JSON text; numbers beyond counting are one (`numbers.BEYOND`).

    >>> read_exact(b'{"b": 1.0, "a": 2}') == read_exact(b'{"a": 2, "b": 10e-1}')
    True
    """
    written = text.decode()
    shallow = written.count("[") + written.count("{") <= _DEEP
    return exact(_DECODER.decode(written) if shallow else read_deep(written, _DECODER))


def array(items: tuple[Exact, ...]) -> Exact:
    """An array of items, or the rest of one."""
    return "array", _same(items)


def object_of(members: Iterable[tuple[str, Exact]]) -> Exact:
    """An object of members, or the rest of one."""
    return "object", _same(frozenset(members))


def _same(parts: tuple[Exact, ...] | frozenset[tuple[str, Exact]]) -> Parts:
    found = _parts.known(parts)
    return _parts.intern(parts, Parts(parts)) if found is None else found


def members_of(value: Exact) -> dict[str, Exact]:
    """The members of an object, or of the rest of one."""
    return dict(cast("frozenset[tuple[str, Exact]]", cast("Parts", value[1]).all))


def items_of(value: Exact) -> tuple[Exact, ...]:
    """The items of an array, or of the rest of one."""
    return cast("tuple[Exact, ...]", cast("Parts", value[1]).all)


# Values


class _Signed:
    """An atom whose opposite has the other sign."""

    __slots__ = ()

    def opposite(self) -> Formula:
        atom: Any = self
        return leaf(with_fields(atom, sign=not atom.sign), leaf(atom) if atom.sign else None)


@by_value
class Holds(_Signed):
    """The schema at an address, or its opposite."""

    schema: Address
    sign: bool = True


@by_value
class Among(_Signed):
    """One of some values, or none of them."""

    values: frozenset[Exact]
    sign: bool = True


# Scalars


@by_value
class Text(_Signed):
    """The strings that some keywords allow, or all others."""

    strings: Strings
    sign: bool = True


@by_value
class Amount(_Signed):
    """The numbers that some keywords allow, or all others."""

    numbers: Numbers
    sign: bool = True


@by_value
class Flag:
    """One of these booleans."""

    values: frozenset[bool]

    def opposite(self) -> Formula:
        rest = frozenset((True, False)) - self.values
        return leaf(Flag(rest)) if rest else FALSE


# Objects


@by_value
class Beside:
    """All keys except some names and the keys of some languages."""

    names: frozenset[str]
    patterns: tuple[Expr, ...]


Keys: TypeAlias = Expr | Beside


@by_value
class Named:
    """The value of the member `name`, if there is one, satisfies `value`."""

    name: str
    value: Formula

    def opposite(self) -> Formula:
        if self.value is TRUE:
            return FALSE
        return all_of(leaf(Required(self.name)), named(self.name, opposite(self.value)))


@by_value
class Required:
    """There is a member `name`."""

    name: str

    def opposite(self) -> Formula:
        return named(self.name, FALSE)


@by_value
class Matching:
    """Every member whose key is among `keys` satisfies `value`."""

    keys: Keys
    value: Formula

    def opposite(self) -> Formula:
        return found(self.keys, opposite(self.value))


@by_value
class Found:
    """Some member whose key is among `keys` satisfies `value`."""

    keys: Keys
    value: Formula

    def opposite(self) -> Formula:
        return matching(self.keys, opposite(self.value))


@by_value
class AtLeast:
    """At least `count` members or items are still to come."""

    count: int

    def opposite(self) -> Formula:
        return at_most(self.count - 1)


@by_value
class AtMost:
    """At most `count` members or items are still to come."""

    count: int

    def opposite(self) -> Formula:
        return at_least(self.count + 1)


# Arrays


@by_value
class Item:
    """The item at `position`, if there is one, satisfies `value`."""

    position: int
    value: Formula

    def opposite(self) -> Formula:
        return all_of(at_least(self.position + 1), item(self.position, opposite(self.value)))


@by_value
class Items:
    """Every item from `start` on satisfies `value`."""

    start: int
    value: Formula

    def opposite(self) -> Formula:
        return some_item(self.start, opposite(self.value))


@by_value
class SomeItem:
    """Some item from `start` on satisfies `value`."""

    start: int
    value: Formula

    def opposite(self) -> Formula:
        return items(self.start, opposite(self.value))


@by_value
class Holding:
    """`low` to `high` of the items still to come satisfy `value`."""

    value: Formula
    low: int
    high: int | None

    def opposite(self) -> Formula:
        fewer = holding(self.value, 0, self.low - 1)
        return fewer if self.high is None else any_of(fewer, holding(self.value, self.high + 1))


@by_value
class Distinct:
    """All items are distinct, or, with sign False, some are equal."""

    sign: bool = True

    def opposite(self) -> Formula:
        return leaf(Distinct(not self.sign))


# Constructors that return TRUE or FALSE for trivial atoms


_Where = TypeVar("_Where")


def _every(atom: Callable[[_Where, Formula], Atom], where: _Where, value: Formula) -> Formula:
    return TRUE if value is TRUE else leaf(atom(where, value))


def _some(atom: Callable[[_Where, Formula], Atom], where: _Where, value: Formula) -> Formula:
    return FALSE if value is FALSE else leaf(atom(where, value))


def _lower(atom: Callable[[int], Atom], count: int) -> Formula:
    return leaf(atom(count)) if count > 0 else TRUE


def _upper(atom: Callable[[int], Atom], count: int) -> Formula:
    return leaf(atom(count)) if count >= 0 else FALSE


named = partial(_every, Named)
matching = partial(_every, Matching)
item = partial(_every, Item)
items = partial(_every, Items)
found = partial(_some, Found)
some_item = partial(_some, SomeItem)
at_least, at_most = partial(_lower, AtLeast), partial(_upper, AtMost)


def holding(value: Formula, low: int, high: int | None = None) -> Formula:
    """`Holding`, TRUE or FALSE."""
    if high is not None and high < low:
        return FALSE
    return leaf(Holding(value, low, high)) if low > 0 or high is not None else TRUE
