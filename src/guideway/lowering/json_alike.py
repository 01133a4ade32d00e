"""One schema for all with the same keywords, so that equal tests are one atom."""

from collections.abc import Callable, Hashable
from typing import Final, TypeAlias, final

from guideway.syntax.json_schema_tree import (
    Address,
    Arrays,
    Condition,
    Contains,
    Document,
    Objects,
    Schema,
)

_Put: TypeAlias = Callable[[Address], Hashable]
_ALIASES: Final = (("$ref",), ("allOf",))
_MOST_LISTED: Final = 16  # schemas of one shape that another one is compared with
_MOST_STEPS: Final = 50_000  # of all comparisons in a document, which then take .3 s


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
        self._first: dict[Hashable, list[Address]] = {}
        self._left = _MOST_STEPS

    def first(self, address: Address) -> Address:
        """The schema that stands for all with the same keywords."""
        found = self._root(address)
        if found not in self._known:
            key = _content(self._schemas[found], _unnamed)
            listed = self._first.setdefault(key, [])
            if any(self._are_alike(other, found) for other in listed):
                found = self._root(found)
            elif len(listed) < _MOST_LISTED:
                listed.append(found)
            self._known[found] = found
        return found

    def _root(self, address: Address) -> Address:
        address = self._aim(address)
        while (found := self._known.get(address, address)) != address:
            address = found
        return address

    def _aim(self, address: Address) -> Address:
        """What a schema refers to if it says nothing else, else itself."""
        while self._schemas[address].keywords in _ALIASES:
            schema = self._schemas[address]
            if len(schema.all_of) != 1:
                break
            (address,) = schema.all_of
        return address

    def _are_alike(self, one: Address, other: Address) -> bool:
        """Whether two schemas, and their parts, say the same; False after too many steps."""
        todo, seen = [(one, other)], dict[tuple[Address, Address], None]()
        while todo:
            left, right = map(self._root, todo.pop())
            if left == right or (left, right) in seen:
                continue
            self._left -= 1
            parts, others = list[Address](), list[Address]()
            same = _listed(self._schemas[left], parts) == _listed(self._schemas[right], others)
            if not same or self._left < 0:
                return False
            seen[left, right] = None
            todo += zip(parts, others, strict=True)
        for pair in seen:
            left, right = map(self._root, pair)
            if left != right:
                self._known[right] = left
        return True


def _unnamed(_: Address) -> Hashable:
    return True


def _listed(schema: Schema, parts: list[Address]) -> Hashable:
    """The keywords of a schema, whose parts are appended to `parts`."""

    def put(part: Address) -> Hashable:
        parts.append(part)
        return True

    return _content(schema, put)


def _content(schema: Schema, put: _Put) -> Hashable:
    return (
        (schema.kinds, schema.booleans, schema.strings, schema.numbers),
        _array(schema.arrays, put),
        _object(schema.objects, put),
        tuple(map(put, schema.all_of)),
        tuple(tuple(map(put, group)) for group in schema.any_of),
        tuple(tuple(map(put, group)) for group in schema.one_of),
        tuple(map(put, schema.none_of)),
        None if schema.condition is None else _condition(schema.condition, put),
    )


def _array(arrays: Arrays, put: _Put) -> Hashable:
    contains = arrays.contains
    return (
        tuple(map(put, arrays.prefix)),
        _perhaps(arrays.items, put),
        (arrays.low, arrays.high, arrays.unique),
        None if contains is None else _contains(contains, put),
        _perhaps(arrays.unevaluated, put),
    )


def _contains(contains: Contains, put: _Put) -> Hashable:
    return put(contains.schema), contains.low, contains.high, contains.marks


def _object(objects: Objects, put: _Put) -> Hashable:
    return (
        tuple((name, put(part)) for name, part in objects.properties.items()),
        (objects.required, objects.low, objects.high, objects.needs),
        tuple((pattern, put(part)) for pattern, part in objects.patterns),
        tuple((name, put(part)) for name, part in objects.dependents),
        _perhaps(objects.additional, put),
        _perhaps(objects.names, put),
        _perhaps(objects.unevaluated, put),
    )


def _condition(condition: Condition, put: _Put) -> Hashable:
    return tuple(
        _perhaps(part, put) for part in (condition.test, condition.then, condition.otherwise)
    )


def _perhaps(part: Address | None, put: _Put) -> Hashable:
    return None if part is None else put(part)
