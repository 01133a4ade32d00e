"""A JSON Schema as written, with the classification of its parts."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeAlias, cast, final

from guideway.syntax.json_schema_later import allows_nothing
from guideway.syntax.json_schema_needs import Raw
from guideway.syntax.json_schema_resources import READ, Draft
from guideway.syntax.json_text import Json, extend

ASSERTED: Final[dict[Draft, frozenset[str]]] = {
    draft: frozenset(name for name, (first, last) in READ.items() if first <= draft <= last)
    for draft in (4, 6, 7, 2019, 2020)
}
"""Asserting keywords by draft."""

GROUPS: Final = ("anyOf", "oneOf", "allOf")
"""Keywords with a list of schemas for the same instance."""

_Way: TypeAlias = "tuple[_Way, str | int] | None"  # parent and last key
_ELSEWHERE: Final = frozenset(("$ref", *GROUPS))


@final
@dataclass(frozen=True, slots=True, eq=False)
class TameSchema:
    """A schema and its parts, by id.

    Attributes:
        root: the whole schema.
        targets: schemas by reference.
        parts: reachable objects that are schemas.
        sure: parts that surely have an instance.
        wild: parts that are not tame.
        late: parts lowered as a whole when they are entered.
        eager: parts from which a wild one is reachable.
        typed: the type of parts without other keywords, "" for parts without any.
    """

    root: Json
    draft: Draft
    targets: dict[str, Any]
    parts: Collection[int]
    sure: set[int]
    wild: dict[int, Raw]
    late: dict[int, Raw]
    eager: set[int]
    typed: dict[int, str]

    def said(self, raw: Raw) -> set[str]:
        """The asserting keywords of a part."""
        return raw.keys() & ASSERTED[self.draft]

    def is_tame(self, raw: Json) -> bool:
        return id(raw) in self.parts and id(raw) not in self.wild

    def is_sure(self, raw: Raw) -> bool:
        """Return True if a part other than `false` surely has an instance."""
        return id(raw) in self.sure

    def is_nothing(self, raw: Json) -> bool:
        """Return True if a part surely has no instance."""
        if raw.__class__ is not dict:
            return raw is False
        part = cast("Raw", raw)
        return "not" in part and allows_nothing(part, self.said(part))

    def options(self, raw: Json) -> list[Json]:
        """Alternatives of a part, with references followed."""
        if raw.__class__ is dict and _ELSEWHERE.isdisjoint(cast("Raw", raw)):
            return [raw]
        found, todo, seen = list[Json](), [raw], set[int]()
        while todo:
            part = todo.pop()
            whole = id(part) in self.wild or id(part) in self.late
            below = None if whole else stands_for(part, self.targets)
            if below is None:
                found.append(part)
            elif id(part) not in seen:
                seen.add(id(part))
                todo.extend(reversed(below))
        return found

    def pointers(self, goals: Collection[int]) -> Iterator[tuple[int, str]]:
        """Ids and JSON pointers of some parts, lazily, the root first."""
        left = len(goals)
        told = dict[int, tuple[_Way, str]]()
        todo: list[tuple[Any, _Way]] = [(self.root, None)]
        while todo and left:
            value, way = todo.pop()
            if id(value) in goals:
                left -= 1
                yield id(value), _pointer(way, told)
            inside = value.items() if value.__class__ is dict else enumerate(value)
            todo += [(one, (way, key)) for key, one in inside if one.__class__ in (dict, list)]


def _pointer(way: _Way, told: dict[int, tuple[_Way, str]]) -> str:
    """JSON pointer of a path; continues from a known one (`not` 3,000 deep took 2.7 s)."""
    keys, at = list[str](), way
    while at is not None and id(at) not in told:
        at, key = at
        keys.append(str(key))
    found = reduce(extend, reversed(keys), "" if at is None else told[id(at)][1])
    told[id(way)] = way, found  # keeps the id valid
    return found


def stands_for(raw: Any, targets: dict[str, Any]) -> list[Any] | None:
    """Schemas whose union equals a tame schema; None without reference or group."""
    if raw.__class__ is not dict:
        return None
    if "$ref" in raw:
        return [targets[raw["$ref"]]]
    for name in GROUPS:
        if name in raw:
            return raw[name]
    return None
