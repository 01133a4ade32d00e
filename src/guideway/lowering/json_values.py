"""JSON values as hashable ones, equal exactly if JSON Schema calls them equal.

Equal arrays and objects are the same object, so comparing and hashing do not recurse.
"""

import json
from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import Any, TypeAlias, cast, final

from guideway.lowering.interning import Interned
from guideway.lowering.number_far import read_number
from guideway.syntax.frozen import by_identity, by_value
from guideway.syntax.json_schema_tree import Kind
from guideway.syntax.json_schema_values import kind_of
from guideway.syntax.json_text import Json
from guideway.syntax.json_text_deep import read_deep

Exact: TypeAlias = tuple[Kind, Hashable]

_DEEP = 100  # levels that the reader in C may have; it uses Python's stack
_DECODER = json.JSONDecoder(parse_int=read_number, parse_float=read_number)


@final
@by_identity
class Parts:
    """The items of an array, or the members of an object, in no order; how deep these nest."""

    all: tuple[Exact, ...] | frozenset[tuple[str, Exact]]
    levels: int


@final
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
    """The hashable form of a JSON text; numbers beyond counting are one (`number_far`).

    >>> read_exact(b'{"b": 1.0, "a": 2}') == read_exact(b'{"a": 2, "b": 10e-1}')
    True
    """
    written = text.decode()
    shallow = written.count("[") + written.count("{") <= _DEEP
    return exact(_DECODER.decode(written) if shallow else read_deep(written, _DECODER))


def array(items: tuple[Exact, ...]) -> Exact:
    """An array of items, or what is left of one."""
    return "array", _same(items, items)


def object_of(members: Iterable[tuple[str, Exact]]) -> Exact:
    """An object of members, or what is left of one."""
    parts = frozenset(members)
    return "object", _same(parts, (part for _, part in parts))


def _same(parts: tuple[Exact, ...] | frozenset[tuple[str, Exact]], inner: Iterable[Exact]) -> Parts:
    found = _parts.known(parts)
    if found is not None:
        return found
    return _parts.intern(parts, Parts(parts, 1 + max(map(levels_of, inner), default=0)))


def levels_of(value: Exact) -> int:
    """How deep a value nests.

    >>> levels_of(exact(1)), levels_of(exact([[], 2]))
    (0, 2)
    """
    return value[1].levels if isinstance(value[1], Parts) else 0


def members_of(value: Exact) -> dict[str, Exact]:
    """The members of an object, or what is left of them."""
    return dict(cast("frozenset[tuple[str, Exact]]", cast("Parts", value[1]).all))


def items_of(value: Exact) -> tuple[Exact, ...]:
    """The items of an array, or what is left of them."""
    return cast("tuple[Exact, ...]", cast("Parts", value[1]).all)
