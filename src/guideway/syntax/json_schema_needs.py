"""Conditions under which a simple schema has an instance, from its keywords alone."""

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, Final, TypeAlias

from guideway.syntax.json_schema_strings import ABOUT_STRINGS, has_string, is_string

Raw: TypeAlias = "dict[str, Any]"
Said: TypeAlias = AbstractSet[str]
"""The asserting keywords of a schema."""

VALUED: Final = frozenset(("enum", "const"))
_TYPES: Final[dict[type, set[str]]] = {
    str: {"string"},
    bool: {"boolean"},
    int: {"integer", "number"},
    type(None): {"null"},
}
_LOWER: Final = frozenset(("minimum", "exclusiveMinimum"))
_UPPER: Final = frozenset(("maximum", "exclusiveMaximum"))
_BOUNDS: Final = _LOWER | _UPPER
_NUMBERS: Final = frozenset((int, Decimal))
_OPEN_OR_FEWER: Final = frozenset(("exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_MANY: Final = 1 << 62
# A sequence of repeated character classes, with outer anchors only: it always matches some text.
_ANY_LENGTH: Final = re.compile(
    r"\^?(?:(?:[A-Za-z0-9 _:@/,;-]|\\[dws.]|\[(?:[a-z0-9_.-]|A-Z)+\])"
    r"(?:[*+?]|\{\d+(?:,\d*)?\})?)*\$?"
)


def needs(raw: Raw, said: Said) -> list[Any] | None:
    """Subschemas that must have instances for a schema to have one; None if that is not known.

    The schema is well formed, without references and combining keywords. `said` are its asserting
    keywords.

    >>> needs({"type": "array", "items": False, "minItems": 1}, {"type", "items", "minItems"})
    [False]
    """
    if not said.isdisjoint(VALUED):
        return _valued(raw, said)
    types: Any = raw.get("type")
    return (_JUDGES[types] if types.__class__ is str else _any_type)(raw, said)


def _any_type(raw: Raw, said: Said) -> list[Any] | None:
    if "type" not in raw:
        return []
    found = [_JUDGES[name](raw, said) for name in raw["type"]]
    return [] if [] in found else next((needed for needed in found if needed), None)


def _valued(raw: Raw, said: Said) -> list[Any] | None:
    """`needs` for `enum` or `const`, alone or with types and string keywords."""
    if len(said) == 1:
        return []
    if not said <= {"type", *VALUED, *ABOUT_STRINGS}:
        return None
    values = raw["enum"] if "enum" in said else [raw["const"]]
    if not said.isdisjoint(ABOUT_STRINGS):
        values = [value for value in values if value.__class__ is str and is_string(raw, value)]
    given = raw.get("type", "string")
    types = {given} if given.__class__ is str else set(given)
    return [] if any(types & _TYPES.get(value.__class__, set()) for value in values) else None


def _surely(raw: Raw, said: Said) -> list[Any]:
    return []


def _string(raw: Raw, said: Said) -> list[Any] | None:
    if "pattern" in said:
        plain = len(said) == 2 and _ANY_LENGTH.fullmatch(raw["pattern"])
        return [] if plain or has_string(raw) else None
    if "format" in said:
        return [] if len(said) == 2 or has_string(raw) else None
    return [] if raw.get("minLength", 0) <= raw.get("maxLength", _MANY) else None


def _number(raw: Raw, said: Said) -> list[Any] | None:
    """`needs` for numbers; in draft 4, exclusive bounds are booleans."""
    bounds = [raw[name] for name in said & _BOUNDS]
    if "multipleOf" not in said and all(bound.__class__ in _NUMBERS for bound in bounds):
        low = max((raw[name] for name in said & _LOWER), default=None)
        high = min((raw[name] for name in said & _UPPER), default=None)
        if low is not None and high is not None and low < high:
            return []
    return _integer(raw, said)


def _integer(raw: Raw, said: Said) -> list[Any] | None:
    if said.isdisjoint(_LOWER) or said.isdisjoint(_UPPER):
        return []
    closed = "minimum" in said and "maximum" in said and said.isdisjoint(_OPEN_OR_FEWER)
    low = raw["minimum"] if closed else None
    return [] if low.__class__ is int and low <= raw["maximum"] else None


def _array(raw: Raw, said: Said) -> list[Any] | None:
    low = raw.get("minItems", 0)
    if low > raw.get("maxItems", low):
        return None
    rest: Any = raw.get("items", True)
    prefix: list[Any] = raw["prefixItems"] if "prefixItems" in said else []
    if rest.__class__ is list:
        prefix, rest = rest, raw["additionalItems"] if "additionalItems" in said else True
    needed = prefix[:low] if low <= len(prefix) else [*prefix, rest]
    return [part for part in needed if part is not True]


def _object(raw: Raw, said: Said) -> list[Any] | None:
    if "required" not in said:
        return []
    properties, others = raw.get("properties", {}), raw.get("additionalProperties", True)
    needed = (properties.get(name, others) for name in raw["required"])
    return [part for part in needed if part is not True]


_JUDGES: Final[dict[str, Callable[[Raw, Said], "list[Any] | None"]]] = {
    "null": _surely,
    "boolean": _surely,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "array": _array,
    "object": _object,
}
