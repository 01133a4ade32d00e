"""Decide whether a partly known instance satisfies a schema: True, False or None (unknown).

Instances are JSON values with `Instance` (any instance of another schema) inside. True and False
hold for every choice of those. Keywords are checked one by one; None if that does not decide.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias, final

from guideway.syntax.json_schema_needs import Raw
from guideway.syntax.json_schema_strings import satisfies
from guideway.syntax.json_schema_tree import kind_of
from guideway.syntax.regex_finding import finds

Verdict: TypeAlias = "bool | None"
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


def every(answers: Iterable[Verdict]) -> Verdict:
    """Three-valued `all`."""
    unknown = False
    for answer in answers:
        if answer is False:
            return False
        unknown = unknown or answer is None
    return None if unknown else True


def denied(answer: Verdict) -> Verdict:
    """Three-valued `not`."""
    return None if answer is None else not answer


def some(answers: Iterable[Verdict]) -> Verdict:
    """Three-valued `any`."""
    return denied(every(map(denied, answers)))


def one(answers: Iterable[Verdict]) -> Verdict:
    """Three-valued: exactly one is true."""
    sure, unknown = False, False
    for answer in answers:
        if answer and sure:
            return False
        sure, unknown = sure or answer is True, unknown or answer is None
    return None if unknown else sure


@final
class Verdicts:
    """Checks instances of the schemas of one document.

    >>> judge = Verdicts({}, lambda part: set(part), alone=False)
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

    def holds(self, part: Any, value: Any, left: int = _DEEPEST) -> Verdict:
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

    def _keyword(self, name: str, part: Raw, value: Any, left: int) -> Verdict:
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

    def _condition(self, part: Raw, value: Any, left: int) -> Verdict:
        test = self.holds(part["if"], value, left)
        then, otherwise = (
            self.holds(part.get(name, True), value, left) for name in ("then", "else")
        )
        if test is None:
            return True if then is True and otherwise is True else None
        return then if test else otherwise

    def _asserted(self, about: str, name: str, part: Raw, value: Any, left: int) -> Verdict:
        if value.__class__ is Instance:
            types = self.types(value.part)
            return None if about in types or (about == "number" and types & _NUMBER) else True
        if kind_of(value) != about:
            return True
        if about in ("object", "array"):
            look = self._of_object if about == "object" else self._of_array
            return look(name, part, value, left)
        return (satisfies if about == "string" else _of_number)(name, part[name], value)

    def _named(self, name: str, part: Raw, value: Any) -> Verdict:
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

    def _typed(self, value: Any, wanted: frozenset[str]) -> Verdict:
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

    def _of_array(self, name: str, part: Raw, value: "list[Any]", left: int) -> Verdict:
        match name:
            case "minItems" | "maxItems":
                return len(value) >= part[name] if name == "minItems" else len(value) <= part[name]
            case "uniqueItems":
                return part[name] is False or len(value) < 2 or None
            case "contains":
                return self._contains(part, value, left)
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

    def _contains(self, part: Raw, value: "list[Any]", left: int) -> Verdict:
        said = self.said_of(part)
        low = part["minContains"] if "minContains" in said else 1
        high = part["maxContains"] if "maxContains" in said else len(value)
        answers = [self.holds(part["contains"], one_, left) for one_ in value]
        least, most = answers.count(True), len(value) - answers.count(False)
        if least >= low and most <= high:
            return True
        return False if most < low or least > high else None

    def _of_object(self, name: str, part: Raw, value: "dict[str, Any]", left: int) -> Verdict:
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

    def _members(self, held: Raw, value: "dict[str, Any]", left: int) -> Verdict:
        """Check `properties`; an inlined, faster `every`."""
        unknown = False
        for key in value:
            if key in held:
                answer = self.holds(held[key], value[key], left)
                if answer is False:
                    return False
                unknown = unknown or answer is None
        return None if unknown else True

    def _others(self, name: str, part: Raw, value: "dict[str, Any]", left: int) -> Verdict:
        """Check `patternProperties` or `additionalProperties`."""
        patterns: dict[str, Any] = part.get("patternProperties", {})
        answers: list[Verdict] = []
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


def _of_number(name: str, held: Any, value: "int | Decimal") -> Verdict:
    if held.__class__ is bool:
        return None
    match name:
        case "minimum":
            return value >= held
        case "maximum":
            return value <= held
        case "exclusiveMinimum":
            return value > held
        case "exclusiveMaximum":
            return value < held
        case _:
            both_whole = value.__class__ is int and held.__class__ is int
            return value % held == 0 if both_whole else None


def _same(one: Any, other: Any) -> Verdict:
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


_COMBINED: Final[dict[str, Callable[[Iterable[Verdict]], Verdict]]] = {
    "allOf": every,
    "anyOf": some,
    "oneOf": one,
}
_ABOUT: Final[dict[str, str]] = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), "number"),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), "number"),
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "minItems", "maxItems"), "array"),
    **dict.fromkeys(("uniqueItems", "contains", "minContains", "maxContains"), "array"),
    **dict.fromkeys(("properties", "required", "additionalProperties"), "object"),
    **dict.fromkeys(("patternProperties", "propertyNames"), "object"),
    **dict.fromkeys(("minProperties", "maxProperties"), "object"),
    **dict.fromkeys(("dependencies", "dependentRequired", "dependentSchemas"), "object"),
}
