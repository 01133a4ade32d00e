"""Decide from JSON alone whether schemas exclude each other: by types, listed values or members.

A `oneOf` whose branches exclude each other equals an `anyOf`.
"""

from collections.abc import Callable
from decimal import Decimal
from itertools import combinations
from typing import Any, Final, TypeAlias

from guideway.syntax.json_schema_needs import Raw

Resolve: TypeAlias = Callable[[Any], Any]
Known: TypeAlias = "frozenset[tuple[str, object]]"

_DEPTH: Final = 4
_KINDS: Final = {
    **{name: name for name in ("null", "boolean", "number", "string", "array", "object")},
    "integer": "number",
}
_OBJECTS: Final = frozenset(("object",))


def exclude_each_other(branches: list[Any], resolve: Resolve) -> bool:
    """Return True if no value satisfies two of the branches; False if unknown.

    `resolve` follows references; keywords of its result apply, but their values may be malformed.

    >>> a, b = ({"properties": {"t": {"const": t}}, "required": ["t"]} for t in "ab")
    >>> plain = {"type": "null"}
    >>> exclude_each_other([{**a, "type": "object"}, {**b, "type": "object"}, plain], lambda x: x)
    True
    >>> exclude_each_other([a, b], lambda x: x)  # both allow 1
    False
    """
    return are_told_apart(branches, resolve) or all(
        apart(one, other, resolve) for one, other in combinations(branches, 2)
    )


def are_told_apart(branches: list[Any], resolve: Resolve) -> bool:
    """Return True if all branches are objects that a required member's listed values tell apart."""
    parts = [resolve(branch) for branch in branches]
    if not all(part.__class__ is dict and _kinds(part) == _OBJECTS for part in parts):
        return False
    for name in set[str].intersection(*map(_required, parts)):
        listed = [_listed(resolve(_properties(part).get(name))) for part in parts]
        if len(frozenset[Any]().union(*listed)) == sum(map(len, listed)) and all(listed):
            return True
    return False


def _listed(part: Any) -> Known:
    """Listed scalars of a schema; empty if unknown."""
    return (_values(part) if part.__class__ is dict else None) or frozenset()


def apart(one: Any, other: Any, resolve: Resolve, depth: int = _DEPTH) -> bool:
    """Return True if two schemas surely exclude each other."""
    one, other = resolve(one), resolve(other)
    if one is False or other is False:
        return True
    if one.__class__ is not dict or other.__class__ is not dict:
        return False
    shared = _kinds(one) & _kinds(other)
    if not shared:
        return True
    known, others = _values(one), _values(other)
    if known is not None and others is not None:
        return known.isdisjoint(others)
    if known is not None or others is not None:
        shared &= {kind for kind, _ in known or others or ()}
    return not shared or (shared == _OBJECTS and _objects_apart(one, other, resolve, depth))


def _kinds(raw: Raw) -> frozenset[str]:
    types: Any = raw.get("type")
    names: Any = [types] if types.__class__ is str else types
    if names.__class__ is not list:
        return frozenset(_KINDS.values())
    return frozenset(_KINDS[name] for name in names if name.__class__ is str and name in _KINDS)


def _values(raw: Raw) -> "Known | None":
    """Scalars that `enum` or `const` list; None without these or with arrays or objects."""
    listed = raw["enum"] if raw.get("enum").__class__ is list else None
    if "const" in raw:
        listed = [raw["const"]]
    if listed is None:
        return None
    found = {(_kind(value), value) for value in listed if value.__class__ not in (list, dict)}
    return frozenset(found) if len(found) == len(listed) else None


def _kind(value: Any) -> str:
    if value is None or value.__class__ is bool:
        return "null" if value is None else "boolean"
    return "number" if value.__class__ in (int, Decimal) else "string"


def _objects_apart(one: Raw, other: Raw, resolve: Resolve, depth: int) -> bool:
    needed, more = _required(one), _required(other)
    if not (_lets_in(one, more) and _lets_in(other, needed)):
        return True
    mine, theirs = _properties(one), _properties(other)
    return depth > 0 and any(
        apart(mine[name], theirs[name], resolve, depth - 1)
        for name in needed & more
        if name in mine and name in theirs
    )


def _required(raw: Raw) -> set[str]:
    names: Any = raw.get("required")
    return {n for n in names if n.__class__ is str} if names.__class__ is list else set()


def _properties(raw: Raw) -> dict[str, Any]:
    found: Any = raw.get("properties")
    return found if found.__class__ is dict else {}


def _lets_in(raw: Raw, names: set[str]) -> bool:
    """Return False if the schema forbids one of these members."""
    closed = raw.get("additionalProperties") is False and "patternProperties" not in raw
    return not closed or names <= _properties(raw).keys()
