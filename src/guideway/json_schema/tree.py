"""The tree of a JSON Schema; its keywords checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Any, Final, Literal, TypeAlias, cast

from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.formats import FORMATS
from guideway.json_schema.text import Json, extend, show
from guideway.language.values import by_identity, by_value
from guideway.regex.parser import parse_search
from guideway.regex.tree import Pattern
from guideway.sources.names import did_you_mean

Address: TypeAlias = str
Kind: TypeAlias = Literal["null", "boolean", "number", "string", "array", "object"]
KINDS: frozenset[Kind] = frozenset(("null", "boolean", "number", "string", "array", "object"))
Draft: TypeAlias = int
LATEST: Draft = 2020
JSON_TEXT = "x-guideway-json"
"""Our keyword for a string that contains JSON: its schema. Only Python types use it."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword that restricts instances.

    Attributes:
        how: how it is enforced, in words; "" if that depends on its value.
        about: the JSON type that it speaks about, None if there are several.
        schemas: whether its value is a schema ("itself"), or has schemas as "items" or "members".
        first: the first draft that has it.
        last: the last one.
    """

    how: str = ""
    about: Kind | None = None
    schemas: tuple[Literal["itself", "items", "members"], ...] = ()
    first: Draft = 4
    last: Draft = LATEST


_KEYWORDS: Final[dict[str, Keyword]] = {
    "type": Keyword("only values of these types can start"),
    "enum": Keyword(),
    "const": Keyword(first=6),
    "minimum maximum exclusiveMinimum exclusiveMaximum": Keyword(
        "an automaton over the digits, for every spelling of a number", "number"
    ),
    "multipleOf": Keyword("an automaton over the digits that tracks the remainder", "number"),
    "minLength maxLength": Keyword("characters are counted", "string"),
    "pattern": Keyword("an automaton that finds it anywhere in the string", "string"),
    "format": Keyword("the automaton of the format", "string"),
    JSON_TEXT: Keyword("JSON of its schema, spelled inside a string", "string"),
    "properties": Keyword("a trie of the keys; no key comes twice", "object", ("members",)),
    "required": Keyword("the object cannot end before these keys", "object"),
    "patternProperties": Keyword(
        "the automata of all key patterns run side by side", "object", ("members",)
    ),
    "additionalProperties": Keyword(
        "other keys are read to their end; none comes twice", "object", ("itself",)
    ),
    "propertyNames": Keyword("an automaton that every key satisfies", "object", ("itself",), 6),
    "minProperties maxProperties": Keyword("members are counted", "object"),
    "dependencies": Keyword("a condition that is tracked member by member", "object", ("members",)),
    "dependentRequired": Keyword(
        "a condition that is tracked member by member", "object", first=2019
    ),
    "dependentSchemas": Keyword(
        "a condition that is tracked member by member", "object", ("members",), 2019
    ),
    "unevaluatedProperties": Keyword(
        "members that other keywords evaluate are tracked one by one", "object", ("itself",), 2019
    ),
    "items": Keyword("item by item", "array", ("itself", "items")),
    "prefixItems": Keyword("item by item", "array", ("items",), 2020),
    "additionalItems": Keyword("item by item", "array", ("itself",), last=2019),
    "minItems maxItems": Keyword("items are counted", "array"),
    "uniqueItems": Keyword("items are remembered by value; an equal one cannot end", "array"),
    "contains": Keyword("matching items are counted", "array", ("itself",), 6),
    "minContains maxContains": Keyword("matching items are counted", "array", first=2019),
    "unevaluatedItems": Keyword(
        "items that other keywords evaluate are tracked one by one", "array", ("itself",), 2019
    ),
    "allOf": Keyword("intersected with the keywords beside it", None, ("items",)),
    "anyOf": Keyword("alternatives; shared parts are followed once", None, ("items",)),
    "oneOf": Keyword("alternatives, each without its overlap with the others", None, ("items",)),
    "not": Keyword("the complement, keyword by keyword", None, ("itself",)),
    "if then else": Keyword("(if and then) or (not if and else)", None, ("itself",), 7),
    "$ref": Keyword("replaced by the schema it refers to"),
    "$dynamicRef": Keyword("replaced by the schema it refers to from here", first=2020),
    "$recursiveRef": Keyword(
        "replaced by the schema it refers to from here", first=2019, last=2019
    ),
}
KEYWORDS: Final = {name: said for names, said in _KEYWORDS.items() for name in names.split()}
ASSERTED: Final[dict[Draft, frozenset[str]]] = {
    draft: frozenset(name for name, said in KEYWORDS.items() if said.first <= draft <= said.last)
    for draft in (4, 6, 7, 2019, LATEST)
}
"""The keywords by draft."""
KIND_OF: Final = {name: said.about for name, said in KEYWORDS.items() if said.about is not None}
OF_KIND: Final = {
    kind: frozenset(name for name, about in KIND_OF.items() if about == kind) for kind in KINDS
}
"""The keywords that speak about the values of one JSON type."""
NAMING: Final = frozenset(
    (
        *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("$defs", "definitions"),
    )
)
ANNOTATIONS: Final = frozenset(
    (
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$comment", "contentEncoding", "contentMediaType", "contentSchema"),
    )
)


def _having(schemas: str, *others: str) -> frozenset[str]:
    return frozenset(others).union(n for n, said in KEYWORDS.items() if schemas in said.schemas)


SCHEMAS: Final = _having("itself", "contentSchema")
"""Keywords whose value is a schema."""
LISTS: Final = _having("items")
MAPS: Final = _having("members", "$defs", "definitions")
PLACES: Final = SCHEMAS | LISTS | MAPS


@by_value
class Bound:
    value: Decimal
    exclusive: bool = False


@by_value
class Strings:
    """Keywords of strings; lengths count code points, `holds` is the schema of embedded JSON."""

    values: frozenset[str] | None = None
    low: int = 0
    high: int | None = None
    pattern: Pattern | None = None
    format: str | None = None
    holds: "Address | None" = None


@by_value
class Numbers:
    """Keywords of numbers; None for all values.

    `integer`: whole numbers. `digits`: draft 4's integer, which excludes 1.0. `double`: format
    "double", which limits the digits of plain spelling.
    """

    values: frozenset[Decimal] | None = None
    integer: bool = False
    digits: bool = False
    lower: tuple[Bound, ...] = ()
    upper: tuple[Bound, ...] = ()
    multiples: tuple[Decimal, ...] = ()
    double: bool = False


@by_value
class Contains:
    """Number of items that satisfy a schema; `marks`: they count as evaluated (2020)."""

    schema: Address
    low: int = 1
    high: int | None = None
    marks: bool = True


@by_value
class Arrays:
    """Keywords of arrays; `items` is for those after the prefix."""

    prefix: tuple[Address, ...] = ()
    items: Address | None = None
    low: int = 0
    high: int | None = None
    contains: Contains | None = None
    unique: bool = False
    unevaluated: Address | None = None


@by_value
class Objects:
    """Keywords of objects.

    Attributes:
        properties: in declared order.
        additional: schema of members in neither `properties` nor `patterns`.
        names: schema of all names.
        low: least number of members.
        high: greatest number.
        needs: names that must be present if another one is.
        dependents: schema of the object if a name is present.
        unevaluated: schema of members that no other keyword evaluates, here or in place.
    """

    properties: Mapping[str, Address]
    required: tuple[str, ...] = ()
    patterns: tuple[tuple[Pattern, Address], ...] = ()
    additional: Address | None = None
    names: Address | None = None
    low: int = 0
    high: int | None = None
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    dependents: tuple[tuple[str, Address], ...] = ()
    unevaluated: Address | None = None


@by_value
class Condition:
    test: Address
    then: Address | None = None
    otherwise: Address | None = None


@by_identity
class Schema:
    """One schema: an instance has one of `kinds` and satisfies all the groups below.

    Attributes:
        keywords: its asserting keywords, for messages.
        all_of: `$ref` and `allOf`.
        any_of: `anyOf`, and `enum` with arrays or objects.
        one_of: `oneOf`: exactly one of each group.
        none_of: `not`.
        value: the only value, an array or an object.
    """

    address: Address
    keywords: tuple[str, ...] = ()
    kinds: frozenset[Kind] = KINDS
    booleans: frozenset[bool] = frozenset((True, False))
    strings: Strings = Strings()
    numbers: Numbers = Numbers()
    arrays: Arrays = Arrays()
    objects: Objects = Objects({})
    all_of: tuple[Address, ...] = ()
    any_of: tuple[tuple[Address, ...], ...] = ()
    one_of: tuple[tuple[Address, ...], ...] = ()
    none_of: tuple[Address, ...] = ()
    condition: Condition | None = None
    value: Json = None

    @property
    def in_place(self) -> tuple[Address, ...]:
        """All schemas that apply to the same instance."""
        combined = self.all_of or self.any_of or self.one_of or self.none_of or self.condition
        if not combined and not self.objects.dependents:  # the usual case, and a hot path
            return ()
        found = [*self.all_of, *chain.from_iterable(self.any_of + self.one_of), *self.none_of]
        if self.condition is not None:
            found += [
                part
                for part in (self.condition.test, self.condition.then, self.condition.otherwise)
                if part is not None
            ]
        found += [schema for _, schema in self.objects.dependents]
        return tuple(found)


@by_identity
class Document:
    """All reachable schemas.

    Attributes:
        restricts: returns True if a schema surely restricts something and allows something.
        first: the first schema that is written like this one.
    """

    root: Address
    schemas: Mapping[Address, Schema]
    restricts: Callable[[Address], bool] = lambda address: False
    first: Callable[[Address], Address] = lambda address: address


TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

_KINDS: dict[type, Kind] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    Decimal: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_SOME_TYPES = f"one or more of {', '.join(TYPES)}"


@by_identity
class Keywords:
    """The keywords of the schema at `pointer`; each method reads one, None if it is absent."""

    raw: Mapping[str, Json]
    pointer: str

    def place(self, name: str) -> str:
        return extend(self.pointer, name)

    def wrong(self, name: str, allowed: str, given: object, hint: str = "") -> SourceError:
        """The error for a value of the wrong shape."""
        message = f"{name} must be {allowed}, not {show(given)}{hint}"
        return SourceError(message, place=self.place(name))

    def count(self, name: str) -> int | None:
        """A length or a number of items."""
        value = self.number(name, "a count (0 or more)")
        if value is None:
            return None
        if value < 0 or value != value.to_integral_value():
            raise self.wrong(name, "a count (0 or more)", self.raw[name])
        return int(value)

    def number(self, name: str, allowed: str = "a number") -> Decimal | None:
        value = self._value(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self.wrong(name, allowed, value)
        return Decimal(value)

    def text(self, name: str) -> str | None:
        value = self._value(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "a string", value)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings, () if absent."""
        values = self.items(name)
        for value in values:
            if not isinstance(value, str):
                raise self.wrong(name, "an array of strings", value)
        return tuple(dict.fromkeys(cast("list[str]", values)))

    def flag(self, name: str) -> bool:
        """A boolean, False if absent."""
        value = self._value(name, default=False)
        if not isinstance(value, bool):
            raise self.wrong(name, "a boolean", value)
        return value

    def items(self, name: str) -> list[Json]:
        """A list of anything, [] if absent."""
        value = self._value(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, "an array", value)
        return cast("list[Json]", value)

    def branches(self, name: str) -> list[Json]:
        """A list of one or more schemas, [] if absent."""
        branches = self.items(name)
        if name in self.raw and not branches:
            raise self.wrong(name, "an array of one or more schemas", [])
        return branches

    def mapping(self, name: str) -> dict[str, Json]:
        """An object whose values are schemas, {} if absent."""
        value = self._value(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, "an object of schemas", value)
        return cast("dict[str, Json]", value)

    def types(self) -> frozenset[str]:
        """The names that `type` allows, all if absent."""
        value = self.raw.get("type", list(TYPES))
        names = value if isinstance(value, list) else [value]
        for name in names:
            if not isinstance(name, str) or name not in TYPES:
                raise self.wrong("type", _SOME_TYPES, name, did_you_mean(name, TYPES))
        if not names:
            raise self.wrong("type", _SOME_TYPES, [])
        return frozenset(cast("list[str]", names))

    def _value(self, name: str, default: Any = None) -> Any:
        """The value; null is a value of the wrong shape, not an absent keyword."""
        value = self.raw.get(name, default)
        if value is None and name in self.raw:
            raise SourceError(f"{name} must not be null", place=self.place(name))
        return value


@lru_cache(maxsize=1 << len(TYPES))
def kinds_of(types: frozenset[str]) -> frozenset[Kind]:
    """The kinds of instances that the types admit: integers are numbers."""
    names = types | {"number"} if "integer" in types else types
    return frozenset(kind for kind in KINDS if kind in names)


def kind_of(value: Json) -> Kind:
    return _KINDS[value.__class__]


MOST_RESTS = 1024
_SMALL = 12
_MOST_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Factor:
    """`whole`·10^-`scale`; digits are divided by `whole` after `scale` decimal places."""

    whole: int
    scale: int


def factor_of(value: Decimal, most: int = MOST_RESTS) -> Factor | None:
    """The factor of a positive value, None if it has more than `most` remainders.

    >>> factor_of(Decimal("0.25")), factor_of(Decimal(998244353))
    (Factor(whole=25, scale=2), None)
    """
    exact = without_zeros(value)
    scale = -int(exact.as_tuple().exponent)
    if len(exact.as_tuple().digits) > _MOST_DIGITS:
        return None
    whole = int(exact.scaleb(scale))
    if whole <= _SMALL and abs(scale) <= _MOST_DIGITS:
        return Factor(whole, scale)
    if scale < 0:
        whole, scale = whole * 10 ** min(-scale, _MOST_DIGITS), 0
    return Factor(whole, scale) if whole * (scale + 1) <= most else None


def without_zeros(value: Decimal) -> Decimal:
    """Remove zeros at the end; `normalize` would round to 28 digits."""
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    return Decimal((sign, tuple(map(int, short)), int(exponent) + len(text) - len(short)))


OF_SCALARS: Final = OF_KIND["string"] | OF_KIND["number"] | {"enum", "const", "type"}
"""The keywords that say something of scalars, or which values there are."""

_PLAIN: Final = {
    (integer, digits): Numbers(None, integer, digits)
    for integer in (True, False)
    for digits in (True, False)
}
_ANY_STRING: Final = Strings()


def with_scalars(schema: Schema, values: Sequence[Json]) -> Schema:
    """Restrict `schema` to these values; kinds that it excludes stay excluded."""
    kinds = frozenset(kind_of(value) for value in values)
    numbers = frozenset(
        Decimal(value)
        for value in values
        if isinstance(value, int | Decimal) and not isinstance(value, bool)
    )
    return replace(
        schema,
        kinds=schema.kinds & kinds,
        booleans=frozenset(value for value in values if isinstance(value, bool)),
        strings=replace(
            schema.strings, values=frozenset(value for value in values if isinstance(value, str))
        ),
        numbers=replace(schema.numbers, values=numbers),
    )


def read_strings(keywords: Keywords, *, strict: bool) -> Strings:
    """Keywords of strings; an unknown format is refused only if `strict`."""
    if keywords.raw.keys().isdisjoint(OF_KIND["string"]):
        return _ANY_STRING
    text = keywords.text("pattern")
    return Strings(
        low=keywords.count("minLength") or 0,
        high=keywords.count("maxLength"),
        pattern=None if text is None else read_pattern(text, keywords.place("pattern")),
        format=_format(keywords, strict),
    )


def _format(keywords: Keywords, strict: bool) -> str | None:
    name = keywords.text("format")
    if name is None or name in FORMATS:
        return name
    if strict:
        raise UnsupportedError(
            f"the format {show(name)} is not supported; supported are "
            f"{', '.join(FORMATS)}{did_you_mean(name, FORMATS)}",
            feature=f"format {name}",
            place=keywords.place("format"),
        )
    return None


def read_numbers(keywords: Keywords, types: frozenset[str], draft: Draft) -> Numbers:
    integer = "integer" in types and "number" not in types
    double = keywords.raw.get("format") == "double"
    if keywords.raw.keys().isdisjoint(OF_KIND["number"]) and not double:
        return _PLAIN[integer, integer and draft == 4]
    lower = _bounds(keywords, "minimum", "exclusiveMinimum", draft)
    upper = _bounds(keywords, "maximum", "exclusiveMaximum", draft)
    multiple = keywords.number("multipleOf")
    if multiple is not None and multiple <= 0:
        raise keywords.wrong("multipleOf", "more than 0", keywords.raw["multipleOf"])
    if multiple is not None and factor_of(multiple) is None:
        raise UnsupportedError(
            f"multipleOf {multiple} has more than {MOST_RESTS} remainders",
            feature="multipleOf",
            place=keywords.place("multipleOf"),
        )
    multiples = () if multiple is None else (multiple,)
    return Numbers(None, integer, integer and draft == 4, lower, upper, multiples, double)


def _bounds(keywords: Keywords, closed: str, open_: str, draft: Draft) -> tuple[Bound, ...]:
    bound = keywords.number(closed)
    if draft == 4:  # there, exclusiveMinimum: true is said about minimum
        exclusive = keywords.flag(open_)
        return () if bound is None else (Bound(bound, exclusive),)
    other = keywords.number(open_)
    found = () if bound is None else (Bound(bound),)
    return found if other is None else (*found, Bound(other, True))


def read_pattern(text: str, place: str) -> Pattern:
    """Parse the ECMA 262 pattern at `place`."""
    try:
        return parse_search(text)
    except (SourceError, UnsupportedError) as error:
        message = str(error).partition("\n")[0].removesuffix(f" (at {error.place})")
        raise error.at(place, message, text=error.text, position=error.position) from None
