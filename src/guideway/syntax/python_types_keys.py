"""Keys by which pydantic reads the fields of an object; each field has several paths.

    alias="x"                              x
    AliasChoices("x", AliasPath("y", 0))   x, else the first item of y
    populate_by_name                       those, else the name

One key of each field is allowed: the one under which it is written, if it is read there. Where a
path of another field leads to that key, the other field needs its own key in the text.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from guideway.syntax.python_types_place import Core, Place, Schema

Path: TypeAlias = list[str | int]


@final
@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: name in Python, key in JSON, paths in order, type with metadata."""

    name: str
    key: str
    paths: list[Path]
    required: bool
    core: Core
    value: Core


def key_paths(name: str, field: Core, at: Place) -> list[Path]:
    """Paths along which pydantic looks for a field, in order.

    >>> key_paths("a", {"validation_alias": ["x", 0]}, Place("T", {"validate_by_name": True}))
    [['x', 0], ['a']]
    """
    alias: Any = field.get("validation_alias")
    if alias is None or at.config.get("validate_by_alias") is False:
        return [[name]]
    # A key; or a path of keys and indices; or several paths, of which the first found counts.
    paths: Any = [[alias]] if isinstance(alias, str) else alias
    paths = paths if isinstance(paths[0], list) else [paths]
    by_name = at.config.get("validate_by_name") or at.config.get("populate_by_name")
    return [*paths, [name]] if by_name else paths


def key_on_offer(name: str, field: Core, paths: list[Path]) -> str | None:
    """The key under which a field is written if it is read there, else the first one or None."""
    keys = [path[0] for path in paths if len(path) == 1 and isinstance(path[0], str)]
    written = field.get("serialization_alias") or name
    return written if written in keys else next(iter(keys), None)


def shared_keys(fields: Iterable[Field], offered: Iterable[Field], at: Place) -> Schema:
    """`dependentRequired` for `fields` that would be read from the key of an offered one."""
    owners: dict[str, Field] = {}
    for field in offered:
        other = owners.setdefault(field.key, field)
        if other is not field:
            raise _read_twice(field, other, at)
    needed: dict[str, list[str]] = {}
    for field in fields:
        for key, before in _others(field, owners):
            if before:
                raise _read_twice(field, owners[key], at)
            if not field.required:
                needed.setdefault(key, []).append(field.key)
    return {"dependentRequired": needed} if needed else {}


def _others(field: Field, owners: dict[str, Field]) -> Iterator[tuple[str, bool]]:
    """The offered keys on the other paths of a field, and whether pydantic looks there first."""
    before = True
    for path in field.paths:
        if path == [field.key] and owners.get(field.key) is field:
            before = False
        elif path[0] in owners and (before or path[0] != field.key):
            yield str(path[0]), before


def _read_twice(field: Field, other: Field, at: Place) -> Exception:
    return at.child(f".{field.name}").refuse(
        f"the key {other.key!r} of the field {other.name}",
        f"is read for the field {field.name} as well; give one of them another alias",
        "alias",
    )
