"""JSON values as hashable ones, equal exactly if JSON Schema calls them equal.

1 = 1.0 = 10e-1, but not true; the order of members does not count. A value is its kind and content:

    {"a": [1, true]}    ("object", {("a", ("array", (("number", 1), ("boolean", True))))})

What this module does not know: schemas, spelling.
"""

import json
from collections.abc import Hashable
from decimal import Decimal
from typing import Any, TypeAlias, cast

from fairlead.syntax.json_schema_tree import Kind
from fairlead.syntax.json_schema_values import kind_of
from fairlead.syntax.json_text import Json

Exact: TypeAlias = tuple[Kind, Hashable]


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
    """The hashable form of a JSON text."""
    value: Any = json.loads(text, parse_int=Decimal, parse_float=Decimal)
    return exact(value)


def members_of(value: Exact) -> dict[str, Exact]:
    """The members of an object, or what is left of them."""
    return dict(cast("frozenset[tuple[str, Exact]]", value[1]))


def items_of(value: Exact) -> tuple[Exact, ...]:
    """The items of an array, or what is left of them."""
    return cast("tuple[Exact, ...]", value[1])
