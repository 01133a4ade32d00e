"""Schemas that say the same, as one, told by how they are written: `json_alike`, without reading.

Of a document that is read part by part, what one part is compared with would have to be read, and
all below it. Comparing how parts are written takes a third of that, and finds nearly as much: the
keywords that assert something, whatever their order, with parts that are alike; a part that is
nothing but a reference is what it refers to. 59 KB of schemas, of which five are combined: 100 ms
with what is read, 30 so.

Most parts are like no other, as what they and the parts in them say of themselves already tells,
or hold the very parts that another holds. All below is looked at where both say nothing.

What this module does not know: what keywords mean.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final, final

from guideway.syntax.json_schema_needs import Raw
from guideway.syntax.json_schema_tame_tree import TameSchema
from guideway.syntax.json_schema_tame_values import BELOW, MAPS, is_shallow
from guideway.syntax.json_schema_tree import Address
from guideway.syntax.json_text import Json

_REFERENCE: Final = {"$ref"}
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
        self._same: dict[Hashable, Address] = {}  # by the very parts that they hold,
        self._outlined: dict[Hashable, tuple[Raw, Address]] = {}  # and the first of an outline
        self._told: dict[Address, Address] = {}
        parts = (*schema.wild.values(), *schema.late.values())
        self._worthwhile = any(map(combines, parts))

    def first(self, address: Address) -> Address:
        """The one that stands for all that are like it; itself, where nothing is combined."""
        if not self._worthwhile:
            return address
        found = self._told.get(address)
        if found is None:
            raw = self._written(address)
            found = self._found(self._followed(raw), address) if raw.__class__ is dict else address
            self._told[address] = found
        return found

    def _found(self, raw: Raw, address: Address) -> Address:
        """The same, by what it holds if others hold the same, or only where all outlines agree."""
        same = self._content(raw, self._identity)
        found = self._same.get(same)
        if found is None:
            outline = self._content(raw, self._outline)
            other, before = self._outlined.setdefault(outline, (raw, address))
            found = before if other is raw else self._numbered(raw, address, other, before)
            self._same[same] = found
        return found

    def _numbered(self, raw: Raw, address: Address, other: Raw, before: Address) -> Address:
        for part, place in ((other, before), (raw, address)):
            self._tell(part)
            self._first.setdefault(self._kinds[id(part)], place)
        return self._first[self._kinds[id(raw)]]

    def _followed(self, raw: Any) -> Raw:
        """The part that references and nothing else lead to."""
        found: Any = raw
        while found.__class__ is dict:  # a ring of them is no document that is read part by part
            raw = found
            alone = "$ref" in raw and self._said(raw) == _REFERENCE
            found = self._schema.targets.get(raw["$ref"]) if alone else None
        return raw

    def _identity(self, part: Any) -> Hashable:
        """That it is this very part."""
        if part.__class__ is dict:
            return (id(self._followed(part)),)
        return _written(part)

    def _outline(self, part: Any) -> Hashable:
        """What it says but for what is below."""
        if part.__class__ is dict:
            return self._content(self._followed(part), _blank)
        return _written(part)

    def _content(self, raw: Raw, put: Callable[[Any], Hashable]) -> Hashable:
        """What a part says, with something for each part below."""
        return frozenset([(name, self._held(name, raw[name], put)) for name in self._said(raw)])

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
        content = self._content(raw, self._put)
        return self._numbers.setdefault(content, len(self._numbers))

    def _said(self, raw: Raw) -> set[str]:
        if "$ref" in raw and self._schema.draft <= 7:  # there, what stands beside $ref is ignored
            return {"$ref"}
        return self._schema.said(raw)

    def _put(self, part: Any) -> Hashable:
        """What stands for a part: one that is being looked at is only like itself."""
        if part.__class__ is dict:
            return self._kinds.get(id(part), (id(part),))
        return _written(part)

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

    def _held(self, name: str, value: Any, put: Callable[[Any], Hashable]) -> Hashable:
        if name == "$ref":
            return put(self._schema.targets.get(value, value))
        if name not in BELOW:
            return _written(value)
        if value.__class__ is list:
            return tuple([put(part) for part in value])
        if value.__class__ is dict and name in MAPS:
            return tuple([(key, put(part)) for key, part in value.items()])
        return put(value)


def _written(value: Any) -> Hashable:
    if value.__class__ is str:
        return repr(value)
    return repr(value) if is_shallow(value) else (id(value),)


def _blank(part: Any) -> Hashable:
    return None if part.__class__ is dict else _written(part)
