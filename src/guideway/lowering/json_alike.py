"""One schema for all with the same keywords, so that equal tests are one atom."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TypeAlias, final

from guideway.syntax.json_schema_tree import (
    Address,
    Arrays,
    Condition,
    Contains,
    Document,
    Objects,
    Schema,
)

_Put: TypeAlias = Callable[[Address], Address]


@final
class Alike:
    """Which schema of a document stands for all that are alike.

    >>> from guideway.syntax.json_schema import parse_json_schema
    >>> from guideway.syntax.json_schema_source import JsonSchema
    >>> text = {"items": {"type": "string"}, "not": {"$ref": "#/items"}}
    >>> alike = Alike(parse_json_schema(JsonSchema(text)))
    >>> alike.first("#/not"), alike.first("#/items"), alike.first("#")
    ('#/items', '#/items', '#')
    """

    def __init__(self, document: Document) -> None:
        self._schemas = document.schemas
        self._known: dict[Address, Address] = {}
        self._first: dict[Hashable, Address] = {}
        self._worthwhile = any(_combines(schema) for schema in document.schemas.values())

    def first(self, address: Address) -> Address:
        """The schema that stands for all with the same keywords."""
        if not self._worthwhile:
            return address
        stack, opened = [address], set[Address]()
        while stack:
            at = stack[-1]
            schema = self._schemas[at]
            ahead: list[Address] = []
            if at not in self._known and at not in opened:
                opened.add(at)
                ahead = [p for p in _parts(schema) if p not in self._known and p not in opened]
            if not ahead:
                stack.pop()
                if at not in self._known:
                    self._known[at] = self._one(schema)
            stack += ahead
        return self._known[address]

    def _one(self, schema: Schema) -> Address:
        def put(part: Address) -> Address:
            return self._known.get(part, part)

        if len(schema.all_of) == 1 and _content(schema, lambda part: "") == _REFERENCE:
            return put(schema.all_of[0])
        return self._first.setdefault(_content(schema, put), schema.address)


def _combines(schema: Schema) -> bool:
    branches = schema.any_of or schema.one_of or schema.none_of or schema.condition
    return bool(branches) or len(schema.objects.patterns) > 1


def _parts(schema: Schema) -> list[Address]:
    found: list[Address] = []

    def put(part: Address) -> Address:
        found.append(part)
        return part

    _content(schema, put)
    return found


def _content(schema: Schema, put: _Put) -> Hashable:
    return (
        schema.kinds,
        schema.booleans,
        schema.strings,
        schema.numbers,
        _array(schema.arrays, put),
        _object(schema.objects, put),
        tuple(map(put, schema.all_of)),
        tuple(tuple(map(put, group)) for group in schema.any_of),
        tuple(tuple(map(put, group)) for group in schema.one_of),
        tuple(map(put, schema.none_of)),
        None if schema.condition is None else _condition(schema.condition, put),
    )


def _array(arrays: Arrays, put: _Put) -> Arrays:
    if arrays == _NO_ARRAYS:
        return arrays
    contains = arrays.contains
    return replace(
        arrays,
        prefix=tuple(map(put, arrays.prefix)),
        items=_perhaps(arrays.items, put),
        contains=None if contains is None else _contains(contains, put),
        unevaluated=_perhaps(arrays.unevaluated, put),
    )


def _contains(contains: Contains, put: _Put) -> Contains:
    return replace(contains, schema=put(contains.schema))


def _object(objects: Objects, put: _Put) -> Hashable:
    if objects == _NO_OBJECTS:
        return None
    return (
        tuple((name, put(part)) for name, part in objects.properties.items()),
        (objects.required, objects.low, objects.high, objects.needs),
        tuple((pattern, put(part)) for pattern, part in objects.patterns),
        tuple((name, put(part)) for name, part in objects.dependents),
        _perhaps(objects.additional, put),
        _perhaps(objects.names, put),
        _perhaps(objects.unevaluated, put),
    )


def _condition(condition: Condition, put: _Put) -> Condition:
    then, otherwise = _perhaps(condition.then, put), _perhaps(condition.otherwise, put)
    return Condition(put(condition.test), then, otherwise)


def _perhaps(part: Address | None, put: _Put) -> Address | None:
    return None if part is None else put(part)


_NO_ARRAYS = Arrays()
_NO_OBJECTS = Objects({})
_REFERENCE = _content(Schema("", all_of=("",)), lambda part: part)
