"""Schemas that say the same, as one, told by how they are written: `json_alike`, without reading.

Of a document that is read part by part, what one part is compared with would have to be read, and
all below it. Comparing how parts are written takes a third of that, and finds nearly as much: the
keywords that assert something, whatever their order, with parts that are alike; a part that is
nothing but a reference is what it refers to. 59 KB of schemas, of which five are combined: 100 ms
with what is read, 30 so.

What this module does not know: what keywords mean.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final, final

from fairlead.syntax.json_schema_needs import Raw
from fairlead.syntax.json_schema_tame_tree import TameSchema
from fairlead.syntax.json_schema_tame_values import BELOW, MAPS, is_shallow
from fairlead.syntax.json_schema_tree import Address
from fairlead.syntax.json_text import Json

_BRANCHED: Final = frozenset(("anyOf", "oneOf", "not", "if"))


def combines(raw: Raw) -> bool:
    """Whether parts are asked about together: branches, or key patterns, which may overlap."""
    return not _BRANCHED.isdisjoint(raw) or len(raw.get("patternProperties", ())) > 1


@final
class AlikeTexts:
    """Which part of a document stands for all that are alike.

    Args:
        schema: the document.
        written: what stands at an address, None if that is not in the document.
    """

    def __init__(self, schema: TameSchema, written: Callable[[Address], Json]) -> None:
        self._schema, self._written = schema, written
        self._kinds: dict[int, int] = {}  # of objects, by their ids
        self._numbers: dict[Hashable, int] = {}
        self._first: dict[Hashable, Address] = {}
        parts = (*schema.wild.values(), *schema.late.values())
        self._worthwhile = any(map(combines, parts))

    def first(self, address: Address) -> Address:
        """The one that stands for all that are like it; itself, where nothing is combined."""
        raw = self._written(address) if self._worthwhile else None
        if raw.__class__ is not dict:
            return address
        self._tell(raw)
        return self._first.setdefault(self._kinds[id(raw)], address)

    def _tell(self, root: Any) -> None:
        stack, opened = [root], set[int]()
        while stack:
            raw = stack[-1]
            ahead: list[Any] = []
            if id(raw) not in self._kinds and id(raw) not in opened:
                opened.add(id(raw))
                ahead = [
                    part
                    for part in self._parts(raw)
                    if id(part) not in self._kinds and id(part) not in opened
                ]
            if not ahead:
                stack.pop()
                if id(raw) not in self._kinds:
                    self._kinds[id(raw)] = self._kind(raw)
            stack += ahead

    def _kind(self, raw: Raw) -> int:
        said = self._said(raw)
        target = self._schema.targets.get(raw["$ref"]) if said == {"$ref"} else None
        found = None if target is None else self._kinds.get(id(target))
        if found is not None:
            return found
        content = frozenset([(name, self._held(name, raw[name])) for name in said])
        return self._numbers.setdefault(content, len(self._numbers))

    def _said(self, raw: Raw) -> set[str]:
        if "$ref" in raw and self._schema.draft <= 7:  # there, what stands beside $ref is ignored
            return {"$ref"}
        return self._schema.said(raw)

    def _put(self, part: Any) -> Hashable:
        """What stands for a part: one that is being looked at is only like itself."""
        if part.__class__ is dict:
            return self._kinds.get(id(part), (id(part),))
        return repr(part) if is_shallow(part) else (id(part),)

    def _parts(self, raw: Raw) -> list[Any]:
        """The schemas that a part holds, or refers to."""
        found: list[Any] = []
        for name in self._said(raw):
            value: Any = raw[name]
            if name == "$ref":
                found.append(self._schema.targets.get(value))
            elif name in BELOW:
                many = value.__class__ is list or (value.__class__ is dict and name in MAPS)
                found += (value if value.__class__ is list else value.values()) if many else [value]
        return [part for part in found if part.__class__ is dict]

    def _held(self, name: str, value: Any) -> Hashable:
        put = self._put
        if name == "$ref":
            return put(self._schema.targets.get(value, value))
        if name not in BELOW:
            return repr(value) if is_shallow(value) else (id(value),)
        if value.__class__ is list:
            return tuple([put(part) for part in value])
        if value.__class__ is dict and name in MAPS:
            return tuple([(key, put(part)) for key, part in value.items()])
        return put(value)
