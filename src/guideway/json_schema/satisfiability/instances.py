"""Search for an instance of a schema whose keywords interact.

A candidate combines what one choice of branches asks for: a listed value, an object of the required
members, or any instance of the one schema that asserts more than a type. `assertions`
decides whether it satisfies the whole schema, other branches and `not` included::

    {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}      {"a": ""}
    {"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}]}            "ab"

Without this search the first masks of MaskBench take 2.4 times as long at the 99th percentile.
"""

from collections.abc import Hashable, Iterator
from itertools import islice
from typing import Any, Final, final

from guideway.json_schema.satisfiability.assertions import (
    UNTOLD,
    VALUED,
    Instance,
    Raw,
    Validator,
    identity,
    parts_of,
    strings,
)
from guideway.regex.search import finds

_MOST_WAYS: Final = 24
_MOST_MADE: Final = 12  # values of one choice of branches
_MOST_TRIED: Final = 200
_MOST_TRIED_ALL: Final = 5_000  # in a document; 50 µs each
_MOST_LOOKS_ALL: Final = 200_000  # schema visits in a document; 1 µs each, 7,500 in real schemas
_DEEPEST: Final = 3  # nesting of candidates
_PLAIN: Final[tuple[Any, ...]] = ({}, "", None, 0, True, [])
_SAMPLES: Final[dict[str, Any]] = {
    "null": None,
    "boolean": True,
    "integer": 0,
    "number": 0,
    "string": "",
    "array": [],
    "object": {},
}
_GROUPS: Final = frozenset(("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref"))
_OF_OBJECTS: Final = frozenset(("properties", "required", "additionalProperties", "minProperties"))
_OF_MEMBERS: Final = frozenset(("properties", "patternProperties", "additionalProperties"))
_FRESH: Final = ("a", "b", "c", "d")
_NOTHING: Final = object()


@final
class InstanceSearch:
    """Searches instances of the parts of one document."""

    def __init__(self, judge: Validator) -> None:
        self._judge = judge
        self._tried = 0  # without the first candidate of each part
        self._looks = 0  # schema visits, also on the way to candidates
        self._plain = False  # True: candidates are plain JSON, without Instance

    def needs(self, part: Raw) -> "list[Raw] | None":
        """Parts that must have instances for `part` to have one; None if nothing is found.

        >>> judge = Validator({}, lambda part: set(part), alone=False)
        >>> witnesses, text = InstanceSearch(judge), {"type": "string"}
        >>> witnesses.needs({"anyOf": [{"required": ["a"]}], "properties": {"a": text}})
        [{'type': 'string'}]
        >>> witnesses.needs({"allOf": [text, {"type": "null"}]}) is None
        True
        """
        self._looks += self._judge.looked
        self._judge.looked, self._plain = 0, False
        tried = set[Hashable]()  # a third of the candidates are duplicates
        for value in self._candidates(part):
            key = identity(value)
            if key not in tried:
                self._tried += len(tried) > 0
                if self._judge.holds(part, value):
                    return parts_of(value)
                tried.add(key)
            if len(tried) > _MOST_TRIED or self._is_too_much():
                return None
        return None

    def _is_too_much(self) -> bool:
        """Return True when the document's budget of candidates or schema visits is spent."""
        return self._tried > _MOST_TRIED_ALL or self._looks > _MOST_LOOKS_ALL

    def _candidates(self, part: Raw) -> Iterator[Any]:
        """Candidates for a part, cheap ones first."""
        denied = False
        for plain in (False, True):
            self._plain = plain
            for way in islice(self._ways([part]), _MOST_WAYS):
                yield from islice(self._made(way, part, _DEEPEST), _MOST_MADE)
                if not denied:
                    yield from self._denying(part)
                denied = True
        if not denied:
            yield from self._denying(part)
        yield from _PLAIN

    def _denying(self, part: Raw) -> Iterator[Any]:
        """Objects with a member that fails a branch of `not` or `oneOf`."""
        said = self._judge.said_of(part)
        branches = [part["not"]] if "not" in said else part["oneOf"] if "oneOf" in said else []
        base: dict[str, Any] = dict.fromkeys(part["required"], "") if "required" in said else {}
        tried = 0
        for branch in map(self._judge.resolved, branches):
            about = branch.__class__ is dict and "properties" in self._judge.said_of(branch)
            for name, held in branch["properties"].items() if about else ():
                tried += 1
                if tried > _MOST_WAYS:
                    return
                others = [value for value in _PLAIN if not self._judge.holds(held, value)]
                yield from ({**base, name: value} for value in others[:2])

    def _ways(self, parts: list[Any]) -> Iterator[list[Raw]]:
        """Schemas that must hold together, for each choice of branches."""
        todo: list[tuple[list[Any], list[Raw]]] = [(parts, [])]
        for _ in range(_MOST_WAYS * 8):
            if not todo:
                return
            left, way = todo.pop()
            self._looks += 1 + len(way)
            if not left:
                yield [*{id(part): part for part in way}.values()]
                continue
            part, *rest = left
            part = self._judge.resolved(part)
            if part.__class__ is bool:
                todo += [(rest, way)] if part else []
            elif self._judge.said_of(part) is not UNTOLD:
                todo += [([*more, *rest], [*way, part]) for more in reversed(self._choices(part))]

    def _choices(self, part: Raw) -> list[list[Any]]:
        """Schemas that must hold with a schema, for each choice of its branches."""
        said = self._judge.said_of(part)
        ways: list[list[Any]] = [[*part["allOf"]] if "allOf" in said else []]
        for name in ("anyOf", "oneOf"):
            if name in said:
                ways = [[*way, branch] for way in ways for branch in part[name][:_MOST_WAYS]]
        if "$ref" in said:
            ways = [[*way, self._judge.targets[part["$ref"]]] for way in ways]
        if "if" in said:
            then = [part["if"], part.get("then", True)]
            both = (list[Any](), then, [part.get("else", True)])
            ways = [[*way, *more] for more in both for way in ways]
        return ways[:_MOST_WAYS]

    def _made(self, way: list[Raw], whole: Any, left: int) -> Iterator[Any]:
        """Values that may satisfy all schemas of a choice."""
        said = {id(part): self._judge.said_of(part) for part in way}
        valued = [part for part in way if not said[id(part)].isdisjoint(VALUED)]
        if valued:
            part = valued[0]
            yield from [part["const"]] if "const" in said[id(part)] else part["enum"][:_MOST_WAYS]
            return
        types = self._types(way)
        telling = [part for part in way if said[id(part)] - _GROUPS - {"type"}]
        if "object" in types and (len(types) == 1 or any(said[id(p)] & _OF_OBJECTS for p in way)):
            yield from self._objects(way, left)
        elif len(telling) == 1 and telling[0] is not whole and not self._plain:
            if said[id(telling[0])].isdisjoint(_GROUPS):
                yield Instance(telling[0])
        elif types and not telling:
            yield from (_SAMPLES[name] for name in sorted(types))
        if telling and "array" in types:
            yield from (_SAMPLES[name] for name in types & {"null", "boolean"})
            yield from self._arrays(way, left)
        if telling and "string" in types:
            yield from strings(way)

    def _types(self, way: list[Raw]) -> frozenset[str]:
        found = self._judge.types(True)
        for part in way:
            types = self._judge.types(part)
            found &= types | {"integer"} if "number" in types else types
        return found

    def _objects(self, way: list[Raw], left: int) -> Iterator[Any]:
        """Objects with the required members, filled up to `minProperties`, then with one more."""
        names = dict.fromkeys(name for part in way for name in part.get("required", ()))
        about = [part for part in way if not _OF_MEMBERS.isdisjoint(part)]
        least = max(part.get("minProperties", 0) for part in way)
        more = [name for part in way for name in part.get("properties", {})]
        for name in [*more, *_FRESH] if len(names) < least else ():
            names[name] = None
            if len(names) >= least:
                break
        made = {name: self._member(about, name, left) for name in names}
        if _NOTHING in made.values():
            return
        yield made
        for name in more[:_MOST_MADE]:
            member = _NOTHING if name in made else self._member(about, name, left)
            if member is not _NOTHING:
                yield {**made, name: member}

    def _arrays(self, way: list[Raw], left: int) -> Iterator[Any]:
        """Arrays of the least length and of one more item."""
        least = max(part.get("minItems", 0) for part in way)
        wanted = [part["contains"] for part in way if "contains" in self._judge.said_of(part)]
        if least == 0:
            yield []
        items = list[Any]()
        for place in range(least + 1 if least <= _MOST_MADE else 0):
            said = [_said_of_item(part, self._judge.said_of(part), place) for part in way]
            item = self._value([*said, *wanted], left)
            if item is _NOTHING:
                return
            items.append(item)
            if len(items) >= least:
                yield [*items]

    def _member(self, way: list[Raw], name: str, left: int) -> Any:
        return self._value([part for each in way for part in _said_of_member(each, name)], left)

    def _value(self, said: list[Any], left: int) -> Any:
        """A value that satisfies all schemas of a member or item, or _NOTHING."""
        found: dict[int, Any] = {}
        for member in map(self._judge.resolved, said):
            if member is not True:
                found[id(member)] = member
        members = list(found.values())
        if not members:
            return ""
        if left == 0 or False in members:
            return _NOTHING
        single = len(members) == 1 and self._judge.said_of(members[0]).isdisjoint(VALUED)
        if single and not self._plain:
            return Instance(members[0])
        for way in islice(self._ways(members), _MOST_MADE):
            for made in islice(self._made(way, None, left - 1), _MOST_MADE):
                if self._all_hold(members, made):
                    return made
        return _NOTHING

    def _all_hold(self, parts: list[Any], value: Any) -> bool:
        return all(self._judge.holds(part, value) for part in parts)


def _said_of_member(part: Raw, name: str) -> list[Any]:
    """Schemas of a part for a member, including patterns that may match."""
    patterns: dict[str, Any] = part.get("patternProperties", {})
    said = [held for text, held in patterns.items() if finds(text, name) is not False]
    if name in part.get("properties", {}):
        return [*said, part["properties"][name]]
    return said or [part.get("additionalProperties", True)]


def _said_of_item(part: Raw, said: "set[str] | frozenset[str]", place: int) -> Any:
    items: Any = part.get("items", True)
    prefix: list[Any] = part["prefixItems"] if "prefixItems" in said else []
    if items.__class__ is list:
        prefix, items = items, part.get("additionalItems", True)
    return prefix[place] if place < len(prefix) else items
