"""Values of keywords, with their shapes checked."""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast, final

from guideway.errors import SourceError
from guideway.syntax.frozen import by_identity
from guideway.syntax.json_schema_tree import KINDS, Kind
from guideway.syntax.json_text import Json, extend, show
from guideway.syntax.names import did_you_mean

FORMATS = (
    "date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname",
    "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "json-pointer",
    "relative-json-pointer", "uuid", "regex",
)  # fmt: skip
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


@final
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
        value = self._given(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self.wrong(name, allowed, value)
        return Decimal(value)

    def text(self, name: str) -> str | None:
        value = self._given(name)
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
        value = self._given(name, default=False)
        if not isinstance(value, bool):
            raise self.wrong(name, "a boolean", value)
        return value

    def items(self, name: str) -> list[Json]:
        """A list of anything, [] if absent."""
        value = self._given(name, [])
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
        value = self._given(name, {})
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

    def _given(self, name: str, default: Any = None) -> Any:
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
