"""Whether a JSON Schema is tame, told in one cheap pass over its JSON.

In a tame schema nothing can be refused, so that its parts may wait until they are entered: types,
bounds, values, properties, items, references into the same document, alternatives that stand alone.
Most schemas in use hold nothing else. What is not tame, or perhaps wrong, is for
`syntax.json_schema` to read, which says what is wrong with it.

The pass looks at what can be reached from the root, as reading does. Of each part it also tells
whether it surely has an instance; where that would take a search it says nothing.

What this module does not know: what schemas mean beyond that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias, final
from urllib.parse import unquote

from fairlead.errors import FairleadError
from fairlead.syntax.json_schema_keywords import LATEST, READ, Draft, find_draft
from fairlead.syntax.json_schema_needs import VALUED, Raw, needs
from fairlead.syntax.json_schema_values import FORMATS, TYPES
from fairlead.syntax.json_text import Json
from fairlead.syntax.regex import parse_regex

MOST_BRANCHES: Final = 8
_DRAFTS: Final = (4, 6, 7, 2019, 2020)
ASSERTED: Final[dict[Draft, frozenset[str]]] = {
    draft: frozenset(name for name, (first, last) in READ.items() if first <= draft <= last)
    for draft in _DRAFTS
}
"""The keywords that assert something in each draft."""

_GROUPS: Final = frozenset(("anyOf", "oneOf", "allOf"))
_KNOWN_TYPES: Final = frozenset(TYPES)
_KNOWN_FORMATS: Final = frozenset(FORMATS)
_NUMBERS: Final = frozenset((int, Decimal))
_OF_SCALARS: Final = frozenset(
    (
        *("type", "enum", "const", "minLength", "maxLength", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    )
)
_OF_NUMBERS: Final = frozenset(("integer", "number"))
_Waiting: TypeAlias = tuple[int, list[Any], bool]  # who, and what it needs: all, or any of it


@final
@dataclass(frozen=True, slots=True, eq=False)
class TameSchema:
    """A tame schema as it is written.

    Attributes:
        root: the whole of it.
        draft: the draft it is written in.
        targets: where its references lead.
        sure: the ids of the objects in it that are schemas and surely have an instance.
    """

    root: Json
    draft: Draft
    targets: dict[str, Any]
    sure: set[int]

    def said(self, raw: Raw) -> set[str]:
        """The keywords of a part that assert something."""
        return raw.keys() & ASSERTED[self.draft]

    def options(self, raw: Json) -> list[Json]:
        """The schemas, without reference or alternatives, that a part stands for any of."""
        found, todo, seen = list[Json](), [raw], set[int]()
        while todo:
            part = todo.pop()
            below = _in_place(part, self.targets)
            if below is None:
                found.append(part)
            elif id(part) not in seen:
                seen.add(id(part))
                todo.extend(reversed(below))
        return found


def read_tame(raw: Json, *, strict: bool) -> TameSchema | None:
    """The schema `raw`, if it is tame.

    >>> read_tame({"type": "string", "maxLength": 3}, strict=False).draft
    2020
    >>> read_tame({"type": "strong"}, strict=False) is None
    True

    Args:
        raw: a JSON value.
        strict: whether unknown formats are to be refused.
    """
    named: Raw = raw if isinstance(raw, dict) else {}
    try:
        draft = find_draft(named.get("$schema"), "", LATEST)
    except FairleadError:
        return None
    check = _Check(raw, draft, strict)
    return TameSchema(raw, draft, check.targets, check.sure) if check.passes() else None


@final
class _Check:
    """One pass over a document."""

    def __init__(self, root: Json, draft: Draft, strict: bool) -> None:
        self._root, self._draft, self._strict = root, draft, strict
        self._asserted = ASSERTED[draft]
        self._id = "id" if draft == 4 else "$id"
        self._nested_ids = False
        self._todo: list[Any] = [root]
        self._in_place: dict[int, Raw] = {}
        self._one_of: list[list[Any]] = []
        self._waiting: list[_Waiting] = []
        self.targets: dict[str, Any] = {}
        self.sure: set[int] = set()

    def passes(self) -> bool:
        """Whether all is tame."""
        seen, todo = set[int](), self._todo
        while todo:
            raw = todo.pop()
            if raw.__class__ is dict:
                if id(raw) not in seen:
                    seen.add(id(raw))
                    if not self._node(raw):
                        return False
            elif raw.__class__ is not bool:
                return False
        if (self.targets and self._nested_ids) or self._loops():
            return False
        if not all(map(self._exclusive, self._one_of)):
            return False
        self._settle()
        return True

    def _node(self, raw: Raw) -> bool:
        said = raw.keys() & self._asserted
        if raw is not self._root and ("$schema" in raw or self._id in raw):
            if "$schema" in raw:
                return False
            self._nested_ids = True
        if "$ref" in said and (self._draft <= 7 or len(said) == 1):
            return self._reference(raw)
        if not said.isdisjoint(_GROUPS):
            return len(said) == 1 and self._group(raw, *said)
        for name in said:
            check = _CHECKS.get(name)
            if check is None or not check(self, raw[name]):
                return False
        return self._judge(raw, said)

    # What stands for others

    def _reference(self, raw: Raw) -> bool:
        name = raw["$ref"]
        if name.__class__ is not str or not (name == "#" or name.startswith("#/")):
            return False
        if name not in self.targets:
            found = self._follow(name)
            if found is None:
                return False
            self.targets[name] = found
            self._todo.append(found)
        self._in_place[id(raw)] = raw
        self._waiting.append((id(raw), [self.targets[name]], True))
        return True

    def _follow(self, name: str) -> Json:
        """Where a pointer leads, None where that is not plain."""
        value: Any = self._root
        for step in unquote(name).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if value.__class__ is not dict or (value is not self._root and self._id in value):
                return None
            value = value.get(key)
        return value

    def _group(self, raw: Raw, name: str) -> bool:
        branches = raw[name]
        most = 1 if name == "allOf" else MOST_BRANCHES
        if branches.__class__ is not list or not 1 <= len(branches) <= most:
            return False
        if name == "oneOf":
            self._one_of.append(branches)
        self._todo.extend(branches)
        self._in_place[id(raw)] = raw
        self._waiting.append((id(raw), branches, False))
        return True

    def _exclusive(self, branches: list[Any]) -> bool:
        """Whether the types of the branches differ, so that one of them is any of them."""
        taken = set[str]()
        for branch in branches if len(branches) > 1 else ():
            names = self._types(branch)
            if not names.isdisjoint(taken):
                return False
            taken |= names | (_OF_NUMBERS if names & _OF_NUMBERS else set())
        return True

    def _types(self, part: Any) -> set[str]:
        """The names of types that a part may have, all of them where that is not plain."""
        while part.__class__ is dict and (below := _in_place(part, self.targets)):
            part = below[0] if len(below) == 1 else True
        types = part.get("type", TYPES) if part.__class__ is dict else TYPES
        return {types} if isinstance(types, str) else set(types)

    def _loops(self) -> bool:
        """Whether a schema stands for itself."""
        closed, opened = set[int](), set[int]()
        for start in self._in_place.values():
            stack = [start]
            while stack:
                raw = stack[-1]
                if id(raw) in opened or id(raw) in closed:
                    stack.pop()
                    opened.discard(id(raw))
                    closed.add(id(raw))
                    continue
                opened.add(id(raw))
                below = [p for p in _in_place(raw, self.targets) or () if id(p) in self._in_place]
                if any(id(part) in opened for part in below):
                    return True
                stack.extend(part for part in below if id(part) not in closed)
        return False

    # What surely has an instance

    def _settle(self) -> None:
        """Who needs others has an instance if they have; mostly these were met later."""
        left = [one for one in reversed(self._waiting) if not self._settled(*one)]
        dependents: dict[int, list[_Waiting]] = {}
        for one in left:
            for part in one[1]:
                dependents.setdefault(id(part), []).append(one)
        while left:
            one = left.pop()
            if one[0] not in self.sure and self._settled(*one):
                left.extend(dependents.get(one[0], ()))

    def _settled(self, key: int, needed: list[Any], every: bool) -> bool:
        sure = self.sure
        if (all if every else any)(part is True or id(part) in sure for part in needed):
            sure.add(key)
            return True
        return False

    def _judge(self, raw: Raw, said: set[str]) -> bool:
        """Note whether a schema has an instance, or what it needs for that.

        It is tame in any case, unless `enum` or `const` stand beside each other or parts.
        """
        if not said.isdisjoint(VALUED) and (said >= VALUED or not said <= _OF_SCALARS):
            return False
        needed = needs(raw, said)
        if needed:
            self._waiting.append((id(raw), needed, True))
        elif needed is not None:
            self.sure.add(id(raw))
        return True

    # Keywords

    def type(self, value: Any) -> bool:
        """The names of types."""
        if value.__class__ is str:
            return value in _KNOWN_TYPES
        return (
            value.__class__ is list
            and len(value) > 0
            and all(name.__class__ is str and name in _KNOWN_TYPES for name in value)
        )

    def values(self, value: Any) -> bool:
        """One or more values."""
        return value.__class__ is list and len(value) > 0 and is_shallow(value)

    def anything(self, value: Any) -> bool:
        """One value."""
        return is_shallow(value)

    def count(self, value: Any) -> bool:
        """A length or a number of items."""
        return value.__class__ is int and value >= 0

    def number(self, value: Any) -> bool:
        """A number."""
        return value.__class__ in _NUMBERS

    def bound(self, value: Any) -> bool:
        """A number, or in draft 4 a boolean."""
        return value.__class__ is bool if self._draft == 4 else value.__class__ in _NUMBERS

    def pattern(self, value: Any) -> bool:
        """A pattern that is an automaton at once."""
        return value.__class__ is str and is_plain_pattern(value)

    def format(self, value: Any) -> bool:
        """The name of a format."""
        return value.__class__ is str and (not self._strict or value in _KNOWN_FORMATS)

    def names(self, value: Any) -> bool:
        """A list of names."""
        return value.__class__ is list and all(name.__class__ is str for name in value)

    def schema(self, value: Any) -> bool:
        """A schema."""
        self._todo.append(value)
        return True

    def schemas(self, value: Any) -> bool:
        """A list of one or more schemas."""
        if value.__class__ is list and value:
            self._todo.extend(value)
            return True
        return False

    def items(self, value: Any) -> bool:
        """A schema, or before 2020-12 a list of them."""
        if value.__class__ is list:
            return self._draft < LATEST and self.schemas(value)
        return self.schema(value)

    def members(self, value: Any) -> bool:
        """Schemas by name."""
        if value.__class__ is dict:
            self._todo.extend(value.values())
            return True
        return False


_CHECKS: Final[dict[str, Callable[[_Check, Any], bool]]] = {
    "type": _Check.type,
    "enum": _Check.values,
    "const": _Check.anything,
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), _Check.count),
    **dict.fromkeys(("minimum", "maximum"), _Check.number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _Check.bound),
    "pattern": _Check.pattern,
    "format": _Check.format,
    "required": _Check.names,
    "properties": _Check.members,
    "additionalProperties": _Check.schema,
    "items": _Check.items,
    "prefixItems": _Check.schemas,
}


def _in_place(raw: Any, targets: dict[str, Any]) -> list[Any] | None:
    """What a tame schema stands for any of, None if for itself."""
    if raw.__class__ is not dict:
        return None
    if "$ref" in raw:
        return [targets[raw["$ref"]]]
    for name in ("anyOf", "oneOf", "allOf"):
        if name in raw:
            return raw[name]
    return None


def is_shallow(value: Any, most: int = 32) -> bool:
    """Whether a value nests in `most` levels, so that it may be compared as a whole.

    >>> is_shallow([1, {"a": [2]}])
    True
    """
    parts = [value]
    for _ in range(most + 1):
        below: list[Any] = []
        for part in parts:
            if part.__class__ is list:
                below += part
            elif part.__class__ is dict:
                below += part.values()
        parts = below
        if not parts:
            return True
    return False


@lru_cache(maxsize=1024)
def is_plain_pattern(text: str) -> bool:
    """Whether a pattern is well formed and needs no product of automata: no lookaround."""
    try:
        pattern = parse_regex(text, "ecma")
    except FairleadError:
        return False
    return not (pattern.looks or pattern.boundaries or pattern.backs)
