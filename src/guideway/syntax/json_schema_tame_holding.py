"""Checks of keyword values in tame and wild parts of a JSON Schema."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, final

from guideway.syntax.json_schema_needs import Raw, Said
from guideway.syntax.json_schema_resources import LATEST, Draft
from guideway.syntax.json_schema_tame_values import is_shallow
from guideway.syntax.json_schema_tree import FORMATS, TYPES, factor_of

Lowers = Callable[[str], bool]
_MOST_MEETING: Final = 256  # branches of a late part
_KNOWN_TYPES: Final = frozenset(TYPES)
_KNOWN_FORMATS: Final = frozenset(FORMATS)
_NUMBERS: Final = frozenset((int, Decimal))


@final
class Holding:
    """Checks values, and appends subschemas to `below`; `lowers` checks patterns.

    >>> found = []
    >>> holding = Holding(2020, False, lambda pattern: True, found)
    >>> part = {"items": {}, "type": "text"}
    >>> holding.may_hold(part, {"items"}), holding.may_hold(part, {"type"}), found
    (True, False, [{}])
    """

    def __init__(self, draft: Draft, strict: bool, lowers: Lowers, below: list[Any]) -> None:
        self._draft, self._strict, self._lowers, self._todo = draft, strict, lowers, below

    def may_hold(self, raw: Raw, said: Said) -> bool:
        """Return True if these are keywords of tame parts with valid values."""
        for name in said:
            check = _CHECKS.get(name)
            if check is None or not check(self, raw[name]):
                return False
        return True

    def may_hold_wilder(self, name: str, value: Any) -> bool:
        """Check a keyword of any part, references excepted."""
        check = _CHECKS.get(name) or _WILDER.get(name)
        return check is not None and check(self, value)

    def type(self, value: Any) -> bool:
        if value.__class__ is str:
            return value in _KNOWN_TYPES
        return value.__class__ is list and len(value) > 0 and all(map(self.is_type, value))

    def is_type(self, name: Any) -> bool:
        return name.__class__ is str and name in _KNOWN_TYPES

    def values(self, value: Any) -> bool:
        return value.__class__ is list and len(value) > 0 and is_shallow(value)

    def count(self, value: Any) -> bool:
        return value.__class__ is int and value >= 0

    def number(self, value: Any) -> bool:
        return value.__class__ in _NUMBERS

    def bound(self, value: Any) -> bool:
        """Check an exclusive bound: a boolean in draft 4."""
        return value.__class__ is bool if self._draft == 4 else value.__class__ in _NUMBERS

    def multiple(self, value: Any) -> bool:
        return value.__class__ in _NUMBERS and value > 0 and factor_of(Decimal(value)) is not None

    def pattern(self, value: Any) -> bool:
        return value.__class__ is str and self._lowers(value)

    def format(self, value: Any) -> bool:
        return value.__class__ is str and (not self._strict or value in _KNOWN_FORMATS)

    def names(self, value: Any) -> bool:
        return value.__class__ is list and all(name.__class__ is str for name in value)

    def schema(self, value: Any) -> bool:
        self._todo.append(value)
        return value.__class__ is not list

    def schemas(self, value: Any) -> bool:
        if value.__class__ is list and value:
            self._todo.extend(value)
            return True
        return False

    def items(self, value: Any) -> bool:
        """Check `items`: a schema, or before 2020-12 a list of schemas."""
        if value.__class__ is list:
            return self._draft < LATEST and self.schemas(value)
        return self.schema(value)

    def members(self, value: Any) -> bool:
        if value.__class__ is dict:
            self._todo.extend(value.values())
            return True
        return False

    def branches(self, value: Any) -> bool:
        return self.schemas(value) and len(value) <= _MOST_MEETING

    def patterns(self, value: Any) -> bool:
        return self.members(value) and all(map(self._lowers, value))

    def lists(self, value: Any) -> bool:
        return value.__class__ is dict and all(map(self.names, value.values()))

    def conditions(self, value: Any) -> bool:
        """Check `dependencies`: lists of names, or schemas, by name."""
        return value.__class__ is dict and all(
            self.names(part) or (part.__class__ is not list and self.schema(part))
            for part in value.values()
        )


_CHECKS: Final[dict[str, Callable[[Holding, Any], bool]]] = {
    "type": Holding.type,
    "enum": Holding.values,
    "const": lambda check, value: is_shallow(value),
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), Holding.count),
    **dict.fromkeys(("minimum", "maximum"), Holding.number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), Holding.bound),
    "pattern": Holding.pattern,
    "format": Holding.format,
    "required": Holding.names,
    "properties": Holding.members,
    "additionalProperties": Holding.schema,
    "items": Holding.items,
    "prefixItems": Holding.schemas,
    "additionalItems": Holding.schema,
    "multipleOf": Holding.multiple,
}
_WILDER: Final[dict[str, Callable[[Holding, Any], bool]]] = {
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), Holding.branches),
    **dict.fromkeys(("not", "if", "then", "else", "propertyNames", "contains"), Holding.schema),
    **dict.fromkeys(
        ("minProperties", "maxProperties", "minContains", "maxContains"), Holding.count
    ),
    "patternProperties": Holding.patterns,
    "dependencies": Holding.conditions,
    "dependentRequired": Holding.lists,
    "dependentSchemas": Holding.members,
}
