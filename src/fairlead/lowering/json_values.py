"""JSON values as hashable ones, equal exactly if JSON Schema calls them equal.

1 = 1.0 = 10e-1, but not true; the order of members does not count. A value is its kind and content:

    {"a": [1, true]}    ("object", {("a", ("array", (("number", 1), ("boolean", True))))})

What this module does not know: schemas, spelling.
"""

import json
from collections.abc import Hashable
from decimal import Decimal
from typing import Any, TypeAlias, cast

from fairlead.syntax.json_schema_tame import is_shallow
from fairlead.syntax.json_schema_tree import Kind
from fairlead.syntax.json_schema_values import kind_of
from fairlead.syntax.json_text import Json
from fairlead.syntax.json_text_deep import read_deep, write_deep

Exact: TypeAlias = tuple[Kind, Hashable]

_DEEP = 100  # levels; Python compares nested tuples on its own stack
_DECODER = json.JSONDecoder(parse_int=Decimal, parse_float=Decimal)


def exact(value: Json) -> Exact:
    """The hashable form of a value, whose nesting its reader has limited.

    >>> exact([1]) == exact([Decimal("1.0")]), exact(1) == exact(True)
    (True, False)
    """
    match value:
        case list() as items:
            return "array", tuple(exact(item) for item in items)
        case dict() as members:
            return "object", frozenset((key, exact(part)) for key, part in members.items())
        case bool() | None | str():
            return kind_of(value), value
        case number:
            return "number", Decimal(number)


def read_exact(text: bytes) -> Exact:
    """The hashable form of a JSON text; of one that nests deeply, a text in which equals are alike.

    >>> read_exact(b'{"b": 1.0, "a": 2}') == read_exact(b'{"a": 2, "b": 10e-1}')
    True
    """
    written = text.decode()
    if written.count("[") + written.count("{") <= _DEEP:
        return exact(_DECODER.decode(written))
    value: Any = read_deep(written, _DECODER)
    return exact(value) if is_shallow(value, _DEEP) else (kind_of(value), _alike(value))


def _alike(value: Any) -> str:
    """The text of a value, its members sorted and its numbers spelled in one way."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            members = cast("dict[str, Any]", part)
            for name in sorted(members):
                members[name] = members.pop(name)
        if isinstance(part, dict | list):
            todo.extend(cast("dict[str, Any]", part).values() if isinstance(part, dict) else part)  # pyright: ignore[reportUnknownArgumentType]
    return write_deep(value, _scalar)


def _scalar(value: object) -> str:
    if not isinstance(value, Decimal):
        return json.dumps(value)
    sign, digits, exponent = value.as_tuple()
    kept = "".join(map(str, digits)).rstrip("0")
    behind = len(digits) - len(kept) + cast("int", exponent)
    return f"{'-' if sign else ''}{kept}e{behind}" if kept else "0"


def members_of(value: Exact) -> dict[str, Exact]:
    """The members of an object, or what is left of them."""
    return dict(cast("frozenset[tuple[str, Exact]]", value[1]))


def items_of(value: Exact) -> tuple[Exact, ...]:
    """The items of an array, or what is left of them."""
    return cast("tuple[Exact, ...]", value[1])
