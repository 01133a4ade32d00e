"""What a JSON Schema says of its instances before it is lowered: types, strings, needs, clashes."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import chain, combinations
from typing import Any, Final, TypeAlias, final

from guideway.json_schema.formats import FORMATS
from guideway.json_schema.resources import KIND_OF, OF_KIND
from guideway.json_schema.tree import kind_of
from guideway.regex.search import finds, samples

_MOST_PATTERNS: Final = 3  # whose samples are concatenated
_LONGEST: Final = 256


def satisfies(name: str, held: Any, text: str) -> bool | None:
    """Check a string keyword; None if unknown.

    >>> satisfies("maxLength", 2, "abc"), satisfies("format", "date", "2000-01-01")
    (False, None)
    """
    match name:
        case "minLength":
            return len(text) >= held
        case "maxLength":
            return len(text) <= held
        case "pattern":
            return finds(held, text)
        case _:
            return None if held in FORMATS else True  # `json_schema.formats` knows them


def strings(parts: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A few strings that satisfy the string keywords of all `parts`, which are well formed.

    >>> next(strings([{"pattern": "^a+$"}, {"minLength": 3}]))
    'aaa'
    >>> list(strings([{"pattern": "^a"}, {"pattern": "^b"}]))
    []
    """
    said = _said(parts)
    low = max((held for name, held in said if name == "minLength"), default=0)
    high = min((held for name, held in said if name == "maxLength"), default=_LONGEST)
    patterns = [held for name, held in said if name == "pattern"]
    found = samples(tuple(patterns), low, high) if patterns else ()
    for text in chain(found, (char * max(low, 1) for char in "a0-"), ("",)):
        if low <= _LONGEST and all(satisfies(name, held, text) for name, held in said):
            yield text


def has_string(part: dict[str, Any]) -> bool:
    """Return True if a string is found that satisfies the string keywords of a schema."""
    return _has_string(_said((part,)))


def _said(parts: Iterable[dict[str, Any]]) -> tuple[tuple[str, Any], ...]:
    found = [(name, part[name]) for part in parts for name in part if name in OF_KIND["string"]]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1024)
def _has_string(said: tuple[tuple[str, Any], ...]) -> bool:
    return any(True for _ in strings([{name: held} for name, held in said]))


Raw: TypeAlias = "dict[str, Any]"
Said: TypeAlias = AbstractSet[str]
"""The asserting keywords of a schema."""

VALUED: Final = frozenset(("enum", "const"))
_TYPES: Final[dict[type, set[str]]] = {
    str: {"string"},
    bool: {"boolean"},
    int: {"integer", "number"},
    type(None): {"null"},
}
_LOWER: Final = frozenset(("minimum", "exclusiveMinimum"))
_UPPER: Final = frozenset(("maximum", "exclusiveMaximum"))
_BOUNDS: Final = _LOWER | _UPPER
_NUMBERS: Final = frozenset((int, Decimal))
_OPEN_OR_FEWER: Final = frozenset(("exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_MANY: Final = 1 << 62
# A sequence of repeated character classes, with outer anchors only: it always matches some text.
_ANY_LENGTH: Final = re.compile(
    r"\^?(?:(?:[A-Za-z0-9 _:@/,;-]|\\[dws.]|\[(?:[a-z0-9_.-]|A-Z)+\])"
    r"(?:[*+?]|\{\d+(?:,\d*)?\})?)*\$?"
)


def needs(raw: Raw, said: Said) -> list[Any] | None:
    """Subschemas that must have instances for a schema to have one; None if that is not known.

    The schema is well formed, without references and combining keywords. `said` are its asserting
    keywords.

    >>> needs({"type": "array", "items": False, "minItems": 1}, {"type", "items", "minItems"})
    [False]
    """
    if not said.isdisjoint(VALUED):
        return _valued(raw, said)
    types: Any = raw.get("type")
    return (_JUDGES[types] if types.__class__ is str else _any_type)(raw, said)


def _any_type(raw: Raw, said: Said) -> list[Any] | None:
    if "type" not in raw:
        return []
    found = [_JUDGES[name](raw, said) for name in raw["type"]]
    return [] if [] in found else next((needed for needed in found if needed), None)


def _valued(raw: Raw, said: Said) -> list[Any] | None:
    """`needs` for `enum` or `const`, alone or with types and string keywords."""
    if len(said) == 1:
        return []
    if not said <= {"type", *VALUED}:
        return None
    values = raw["enum"] if "enum" in said else [raw["const"]]
    given = raw.get("type", "string")
    types = {given} if given.__class__ is str else set(given)
    return [] if any(types & _TYPES.get(value.__class__, set()) for value in values) else None


def _surely(raw: Raw, said: Said) -> list[Any]:
    return []


def _string(raw: Raw, said: Said) -> list[Any] | None:
    if "pattern" in said:
        plain = len(said) == 2 and _ANY_LENGTH.fullmatch(raw["pattern"])
        return [] if plain or has_string(raw) else None
    if "format" in said:
        return [] if len(said) == 2 or has_string(raw) else None
    return [] if raw.get("minLength", 0) <= raw.get("maxLength", _MANY) else None


def _number(raw: Raw, said: Said) -> list[Any] | None:
    """`needs` for numbers; in draft 4, exclusive bounds are booleans."""
    bounds = [raw[name] for name in said & _BOUNDS]
    if "multipleOf" not in said and all(bound.__class__ in _NUMBERS for bound in bounds):
        low = max((raw[name] for name in said & _LOWER), default=None)
        high = min((raw[name] for name in said & _UPPER), default=None)
        if low is not None and high is not None and low < high:
            return []
    return _integer(raw, said)


def _integer(raw: Raw, said: Said) -> list[Any] | None:
    if said.isdisjoint(_LOWER) or said.isdisjoint(_UPPER):
        return []
    closed = "minimum" in said and "maximum" in said and said.isdisjoint(_OPEN_OR_FEWER)
    low = raw["minimum"] if closed else None
    return [] if low.__class__ is int and low <= raw["maximum"] else None


def _array(raw: Raw, said: Said) -> list[Any] | None:
    low = raw.get("minItems", 0)
    if low > raw.get("maxItems", low):
        return None
    rest: Any = raw.get("items", True)
    prefix: list[Any] = raw["prefixItems"] if "prefixItems" in said else []
    if rest.__class__ is list:
        prefix, rest = rest, raw["additionalItems"] if "additionalItems" in said else True
    needed = prefix[:low] if low <= len(prefix) else [*prefix, rest]
    return [part for part in needed if part is not True]


def _object(raw: Raw, said: Said) -> list[Any] | None:
    if "required" not in said:
        return []
    properties, others = raw.get("properties", {}), raw.get("additionalProperties", True)
    needed = (properties.get(name, others) for name in raw["required"])
    return [part for part in needed if part is not True]


_JUDGES: Final[dict[str, Callable[[Raw, Said], "list[Any] | None"]]] = {
    "null": _surely,
    "boolean": _surely,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "array": _array,
    "object": _object,
}


DEPENDENT: Final = frozenset(("dependentRequired", "dependencies", "dependentSchemas"))
"""Keywords by which the presence of a name requires something."""


def allows_nothing(raw: Raw, said: AbstractSet[str]) -> bool:
    """Return True for `{"not": {}}`, a common way to write `false`."""
    return said == {"not"} and (raw["not"] is True or raw["not"] == {})


def most_dependent(raw: Raw, said: AbstractSet[str]) -> int:
    """The greatest number of entries in a dependency keyword."""
    return max((len(_mapped(raw[name])) for name in said & DEPENDENT), default=0)


def _mapped(value: Any) -> list[Any]:
    """Values of an object, or [None] for anything else."""
    return list(value.values()) if value.__class__ is dict else [None]


Answer: TypeAlias = "bool | None"
_DEEPEST: Final = 24  # schemas within schemas
_MOST: Final = 2000  # schemas visited before the answer is None
_BRANCHES: Final = frozenset(("then", "else"))  # checked with `if`
_NUMBER: Final = frozenset(("integer", "number"))
UNTOLD: Final = frozenset(("",))
"""In place of the keywords of a schema that is not analysed: its verdict is None."""
_COUNTED: Final = frozenset(("required", "minProperties", "maxProperties", "minItems", "maxItems"))
_NAMED: Final = frozenset(("type", "enum", "const"))
_EVERY_TYPE: Final = frozenset(
    ("null", "boolean", "integer", "number", "string", "array", "object")
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Any instance of a schema."""

    part: Raw


def identity(value: Any) -> Hashable:
    """Hashable key of a value; equal values of different types differ."""
    if value.__class__ is dict:
        return dict, *[(key, identity(part)) for key, part in value.items()]
    if value.__class__ is list:
        return list, *map(identity, value)
    return value.__class__, value


def parts_of(value: Any) -> "list[Raw]":
    """Schemas of all `Instance` in a value."""
    if value.__class__ is dict:
        return [part for member in value.values() for part in parts_of(member)]
    if value.__class__ is list:
        return [part for item in value for part in parts_of(item)]
    return [value.part] if isinstance(value, Instance) else []


def every(answers: Iterable[Answer]) -> Answer:
    """Three-valued `all`."""
    unknown = False
    for answer in answers:
        if answer is False:
            return False
        unknown = unknown or answer is None
    return None if unknown else True


def denied(answer: Answer) -> Answer:
    """Three-valued `not`."""
    return None if answer is None else not answer


def some(answers: Iterable[Answer]) -> Answer:
    """Three-valued `any`."""
    return denied(every(map(denied, answers)))


def one(answers: Iterable[Answer]) -> Answer:
    """Three-valued: exactly one is true."""
    sure, unknown = False, False
    for answer in answers:
        if answer and sure:
            return False
        sure, unknown = sure or answer is True, unknown or answer is None
    return None if unknown else sure


@final
class Validator:
    """Checks instances of the schemas of one document.

    >>> judge = Validator({}, lambda part: set(part), alone=False)
    >>> part = {"required": ["a"], "not": {"required": ["b"]}}
    >>> judge.holds(part, {"a": 1}), judge.holds(part, {"a": 1, "b": 2}), judge.holds(part, {})
    (True, False, False)

    Args:
        targets: schemas by `$ref`.
        said_of: the asserting keywords of a schema, or UNTOLD.
        alone: True if other keywords are ignored beside `$ref`.
    """

    def __init__(
        self,
        targets: dict[str, Any],
        said_of: "Callable[[Raw], set[str] | frozenset[str]]",
        *,
        alone: bool,
    ) -> None:
        self.targets, self._said_of, self._alone = targets, said_of, alone
        self._said: dict[int, set[str] | frozenset[str]] = {}  # by id
        self._held: list[Raw] = []  # keeps the ids valid
        self._orders: dict[int, list[str]] = {}
        self._types: dict[int, frozenset[str]] = {}
        self.looked = 0  # visited schemas; reset by callers

    def said_of(self, part: Raw) -> "set[str] | frozenset[str]":
        found = self._said.get(id(part))
        if found is None:
            found = self._said[id(part)] = self._said_of(part)
            self._held.append(part)
        return found

    def resolved(self, part: Any) -> Any:
        """Follow `$ref` without other keywords; references have no loops."""
        while part.__class__ is dict and "$ref" in part:
            if not self._alone and len(self.said_of(part)) > 1:
                return part
            part = self.targets[part["$ref"]]
        return part

    def types(self, part: Any) -> frozenset[str]:
        """Types allowed by the schema's `type`."""
        part = self.resolved(part)
        found = self._types.get(id(part))
        if found is None:
            if part.__class__ is not dict or "type" not in self.said_of(part):
                return _EVERY_TYPE
            named: Any = part["type"]
            found = frozenset((named,) if named.__class__ is str else named)
            self._types[id(part)] = found
        return found

    def holds(self, part: Any, value: Any, left: int = _DEEPEST) -> Answer:
        part = self.resolved(part)
        if part.__class__ is bool:
            return part
        if value.__class__ is Instance and value.part is part:
            return True
        self.looked += 1
        if left == 0 or self.looked > _MOST:
            return None
        unknown = False
        for name in self._in_order(part):  # an inlined `every`, twice as fast
            if name in _NAMED:
                answer = self._named(name, part, value)
            else:
                answer = self._keyword(name, part, value, left - 1)
            if answer is False:
                return False
            unknown = unknown or answer is None
        return None if unknown else True

    def _in_order(self, part: Raw) -> list[str]:
        """Keywords of a schema, cheap ones first."""
        found = self._orders.get(id(part))
        if found is None:
            said = self.said_of(part)
            found = said if len(said) < 2 else sorted(said, key=lambda name: (_rank(name), name))
            found = self._orders[id(part)] = [*found]
        return found

    def _keyword(self, name: str, part: Raw, value: Any, left: int) -> Answer:
        about = _ABOUT.get(name)
        if about is not None:
            return self._asserted(about, name, part, value, left)
        held: Any = part.get(name)
        if name in _COMBINED:
            return _COMBINED[name](self.holds(branch, value, left) for branch in held)
        match name:
            case "$ref":
                return self.holds(self.targets[held], value, left)
            case "not":
                return denied(self.holds(held, value, left))
            case "if":
                return self._condition(part, value, left)
            case _:
                return True if name in _BRANCHES else None

    def _condition(self, part: Raw, value: Any, left: int) -> Answer:
        test = self.holds(part["if"], value, left)
        then, otherwise = (
            self.holds(part.get(name, True), value, left) for name in ("then", "else")
        )
        if test is None:
            return True if then is True and otherwise is True else None
        return then if test else otherwise

    def _asserted(self, about: str, name: str, part: Raw, value: Any, left: int) -> Answer:
        if value.__class__ is Instance:
            types = self.types(value.part)
            return None if about in types or (about == "number" and types & _NUMBER) else True
        if kind_of(value) != about:
            return True
        if about in ("object", "array"):
            look = self._of_object if about == "object" else self._of_array
            return look(name, part, value, left)
        return satisfies(name, part[name], value) if about == "string" else None

    def _named(self, name: str, part: Raw, value: Any) -> Answer:
        """Check `type`, `enum` or `const`."""
        if name == "type":
            return self._typed(value, self.types(part))
        listed: list[Any] = part["enum"] if name == "enum" else [part["const"]]
        if value.__class__ is str:
            return value in listed
        if isinstance(value, Instance):
            types = self.types(value.part)
            kinds = {"number" if one in _NUMBER else one for one in types}
            return False if kinds.isdisjoint(map(kind_of, listed)) else None
        return some(_same(value, other) for other in listed)

    def _typed(self, value: Any, wanted: frozenset[str]) -> Answer:
        if isinstance(value, Instance):
            have = self.types(value.part)
            wider = wanted | _NUMBER if "number" in wanted else wanted
            if have <= wider:
                return True
            met = have & (wanted | _NUMBER if wanted & _NUMBER else wanted)
            return None if met else False
        kind = kind_of(value)
        if kind == "number" and "number" not in wanted:
            return "integer" in wanted and value == int(value)
        return kind in wanted

    def _of_array(self, name: str, part: Raw, value: "list[Any]", left: int) -> Answer:
        match name:
            case "minItems" | "maxItems":
                return len(value) >= part[name] if name == "minItems" else len(value) <= part[name]
            case "uniqueItems":
                return part[name] is False or len(value) < 2 or None
            case "contains":
                return None
            case "minContains" | "maxContains":
                return True  # checked with `contains`
            case _:
                return every(
                    self.holds(held, value[place], left)
                    for place, held in self._items(name, part, len(value))
                )

    def _items(self, name: str, part: Raw, length: int) -> "list[tuple[int, Any]]":
        """The (index, schema) pairs of a keyword."""
        held: Any = part[name]
        if held.__class__ is list:
            return [(place, held[place]) for place in range(min(len(held), length))]
        before: Any = part.get("items", {}) if name == "additionalItems" else ()
        if before.__class__ is dict or before.__class__ is bool:
            return []  # without a list of items, additionalItems has no effect
        if "prefixItems" in self.said_of(part):
            before = part["prefixItems"]
        return [(place, held) for place in range(len(before), length)]

    def _of_object(self, name: str, part: Raw, value: "dict[str, Any]", left: int) -> Answer:
        held = part[name]
        match name:
            case "required":
                return value.keys() >= set(held)
            case "minProperties" | "maxProperties":
                return len(value) >= held if name == "minProperties" else len(value) <= held
            case "properties":
                return self._members(held, value, left)
            case "propertyNames":
                return every(self.holds(held, key, left) for key in value)
            case "patternProperties" | "additionalProperties":
                return self._others(name, part, value, left)
            case _:
                return every(
                    value.keys() >= set(need)
                    if need.__class__ is list
                    else self.holds(need, value, left)
                    for key, need in held.items()
                    if key in value
                )

    def _members(self, held: Raw, value: "dict[str, Any]", left: int) -> Answer:
        """Check `properties`; an inlined, faster `every`."""
        unknown = False
        for key in value:
            if key in held:
                answer = self.holds(held[key], value[key], left)
                if answer is False:
                    return False
                unknown = unknown or answer is None
        return None if unknown else True

    def _others(self, name: str, part: Raw, value: "dict[str, Any]", left: int) -> Answer:
        """Check `patternProperties` or `additionalProperties`."""
        patterns: dict[str, Any] = part.get("patternProperties", {})
        answers: list[Answer] = []
        for key, one_ in value.items():
            found = {pattern: finds(pattern, key) for pattern in patterns}
            if name == "patternProperties":
                about = [(patterns[one], found[one]) for one in patterns if found[one] is not False]
            elif key in part.get("properties", {}) or True in found.values():
                continue
            else:
                about = [(part[name], None if None in found.values() else True)]
            for held, is_about in about:
                answer = self.holds(held, one_, left)
                answers.append(answer if answer or is_about else None)
        return every(answers)


def _rank(name: str) -> int:
    return 0 if name in _NAMED else 1 if name in _COUNTED else 2 if name in _ABOUT else 3


def _same(one: Any, other: Any) -> Answer:
    """Return whether two JSON values are equal; `one` may contain Instance."""
    if isinstance(one, Instance):
        return None
    if kind_of(one) != kind_of(other):
        return False
    if one.__class__ is dict:
        return one.keys() == other.keys() and every(_same(one[key], other[key]) for key in one)
    if one.__class__ is list:
        return len(one) == len(other) and every(map(_same, one, other))
    return one == other


_COMBINED: Final[dict[str, Callable[[Iterable[Answer]], Answer]]] = {
    "allOf": every,
    "anyOf": some,
    "oneOf": one,
}
_ABOUT: Final = {name: kind for name, kind in KIND_OF.items() if not name.startswith("unevaluated")}


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
    return all(apart(one, other, resolve) for one, other in combinations(branches, 2))


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
    known, others = _listed_scalars(one), _listed_scalars(other)
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


def _listed_scalars(raw: Raw) -> "Known | None":
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
