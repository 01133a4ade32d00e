"""`unevaluatedProperties` and `unevaluatedItems`: one alternative for each set of branches."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, final

from guideway.errors import UnsupportedError
from guideway.lowering.json_atoms import Beside, Required, items, matching
from guideway.lowering.json_formulas import FALSE, TRUE, Formula, all_of, any_of, leaf, opposite
from guideway.lowering.nodes import Expr
from guideway.syntax.json_schema_tree import Address, Document, Kind, Objects, Schema

MOST_ALTERNATIVES = 1 << 10
_DEEPEST = 200


class Reader(Protocol):
    """Formulas of schemas (`json_meaning.Meaning`)."""

    document: Document

    def said(self, address: Address | None) -> Formula:
        """Formula: the schema holds."""
        ...

    def schema(self, address: Address, kind: Kind) -> Formula:
        """Formula of a schema for values of one type."""
        ...

    def matched(self, objects: Objects) -> list[tuple[Expr, Formula]]:
        """Keys that patterns match, and the formulas of their values."""
        ...


@final
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


def unevaluated_members(reader: Reader, schema: Schema) -> Formula:
    """Formula of `unevaluatedProperties`."""
    if schema.objects.unevaluated is None:
        return TRUE
    value = reader.said(schema.objects.unevaluated)
    options = _Finder(reader, "object", schema).around(schema, 0, outermost=True)
    return any_of(
        *(
            condition
            if seen.all
            else all_of(condition, matching(Beside(seen.names, tuple(seen.patterns)), value))
            for condition, seen in options
        )
    )


def unevaluated_items(reader: Reader, schema: Schema) -> Formula:
    """Formula of `unevaluatedItems`."""
    if schema.arrays.unevaluated is None:
        return TRUE
    value = reader.said(schema.arrays.unevaluated)
    options = _Finder(reader, "array", schema).around(schema, 0, outermost=True)
    return any_of(
        *(
            condition
            if seen.all
            else all_of(condition, items(seen.count, any_of(value, *seen.holding)))
            for condition, seen in options
        )
    )


@final
class _Finder:
    """Finds the parts that in-place subschemas evaluate, with their conditions."""

    def __init__(self, reader: Reader, kind: Kind, root: Schema) -> None:
        self._reader, self._root = reader, root
        self._kind: Kind = kind

    def around(self, schema: Schema, depth: int, *, outermost: bool = False) -> _Options:
        if depth > _DEEPEST:
            raise self._too_many(f"look through more than {_DEEPEST} schemas in place")
        options: _Options = {(TRUE, self._own(schema, outermost)): None}
        for part in schema.all_of:
            options = self._product(options, self._inside(part, depth))
        for group in schema.any_of:
            for branch in group:
                inside = self._inside(branch, depth)
                if list(inside) != list(_ALWAYS):
                    held = self._under(self._said(branch), inside)
                    options = self._product(options, {**_ALWAYS, **held})
        for group in schema.one_of:
            each: _Options = {}
            for branch in group:
                each |= self._under(self._said(branch), self._inside(branch, depth))
            options = self._product(options, each)
        options = self._product(options, self._conditional(schema, depth))
        for name, part in schema.objects.dependents if self._kind == "object" else ():
            held = self._under(leaf(Required(name)), self._inside(part, depth))
            options = self._product(options, {**_ALWAYS, **held})
        return options

    def _conditional(self, schema: Schema, depth: int) -> _Options:
        condition = schema.condition
        if condition is None:
            return _ALWAYS
        test = self._said(condition.test)
        then = self._product(
            self._inside(condition.test, depth), self._inside(condition.then, depth)
        )
        otherwise = self._inside(condition.otherwise, depth)
        return self._under(test, then) | self._under(opposite(test), otherwise)

    def _inside(self, part: Address | None, depth: int) -> _Options:
        if part is None or part.startswith("="):  # enum and const evaluate nothing
            return _ALWAYS
        schema = self._reader.document.schemas[part]
        return self.around(schema, depth + 1) if self._kind in schema.kinds else _ALWAYS

    def _said(self, part: Address) -> Formula:
        return self._reader.schema(part, self._kind)

    def _own(self, schema: Schema, outermost: bool) -> _Seen:
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
            holding=(self._reader.said(contains.schema),)
            if contains is not None and marked
            else (),
        )

    def _under(self, condition: Formula, options: _Options) -> _Options:
        return self._kept((all_of(condition, other), seen) for other, seen in options)

    def _product(self, left: _Options, right: _Options) -> _Options:
        if right is _ALWAYS or left is _ALWAYS:
            return left if right is _ALWAYS else right
        return self._kept(
            (all_of(first, second), here.join(there))
            for first, here in left
            for second, there in right
        )

    def _kept(self, options: Iterable[tuple[Formula, _Seen]]) -> _Options:
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
