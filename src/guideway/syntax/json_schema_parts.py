"""Parts of a JSON Schema without subschemas: scalars, numbers, patterns."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from guideway.errors import SourceError, UnsupportedError
from guideway.syntax.json_schema_keywords import Draft, asserted
from guideway.syntax.json_schema_multiples import MOST_RESTS, factor_of
from guideway.syntax.json_schema_tree import Bound, Numbers, Schema, Strings
from guideway.syntax.json_schema_values import FORMATS, Keywords, kind_of, kinds_of
from guideway.syntax.json_text import Json, show
from guideway.syntax.names import did_you_mean
from guideway.syntax.regex_finding import parsed
from guideway.syntax.regex_tree import Pattern

_OF_NUMBERS: Final = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
)
_OF_STRINGS: Final = frozenset(("minLength", "maxLength", "pattern", "format"))
_LISTED: Final = frozenset(("enum", "const"))
OF_SCALARS: Final = _OF_STRINGS | _OF_NUMBERS | _LISTED | {"type"}
"""The keywords that say something of scalars, or which values there are."""

_PARTED: Final = frozenset(("array", "object"))
_PLAIN: Final = {
    (integer, digits): Numbers(None, integer, digits)
    for integer in (True, False)
    for digits in (True, False)
}
_ANY_STRING: Final = Strings()
_ONE_OF: Final = {"const", "type"}


def read_scalars(said: Mapping[str, Json], draft: Draft) -> Schema | None:
    """The schema of keywords that allow no arrays and objects, else None."""
    if not said.keys() <= OF_SCALARS or said.keys() >= _LISTED:
        return None
    keywords = Keywords(said, "")
    types = keywords.types()
    values: Sequence[Json] | None = [said["const"]] if "const" in said else None
    values = keywords.items("enum") if "enum" in said else values
    if types & _PARTED if values is None else any(isinstance(v, list | dict) for v in values):
        return None
    kinds, strings = kinds_of(types), read_strings(keywords, strict=False)
    numbers = read_numbers(keywords, types, draft)
    schema = Schema("", tuple(said), kinds, strings=strings, numbers=numbers)
    return schema if values is None else with_scalars(schema, values)


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


def scalars_of(
    branches: Sequence[Json], draft: Draft, known: frozenset[str] | None, *, once: bool
) -> list[Json] | None:
    """The scalars of branches that are one constant each, else None.

    `once` leaves out values of several branches, as `oneOf` does; `known` are the keywords of the
    metaschema's vocabularies.

    >>> scalars_of([{"const": 1}, {"const": 2}, {"const": Decimal("1.0")}], 2020, None, once=True)
    [2]
    """
    found = Counter[tuple[str, Any]]()
    for raw in branches:
        said = asserted(raw, draft, known) if isinstance(raw, dict) else {}
        value = said.get("const")
        if not said.keys() <= _ONE_OF or "const" not in said or isinstance(value, list | dict):
            return None
        if "type" in said and not (said["type"] == "string" and isinstance(value, str)):
            return None
        found[kind_of(value), value] += 1
    return [value for (_, value), times in found.items() if times == 1 or not once]


def read_strings(keywords: Keywords, *, strict: bool) -> Strings:
    """Keywords of strings; an unknown format is refused only if `strict`."""
    if keywords.raw.keys().isdisjoint(_OF_STRINGS):
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
    if keywords.raw.keys().isdisjoint(_OF_NUMBERS) and not double:
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
        return parsed(text)
    except (SourceError, UnsupportedError) as error:
        raise _placed(error, place) from None


def _placed(error: SourceError | UnsupportedError, place: str) -> SourceError | UnsupportedError:
    """The error of a pattern with the place in the schema; its caret stays."""
    message = str(error).partition("\n")[0].removesuffix(f" (at {error.place})")
    if isinstance(error, SourceError):
        return SourceError(message, place=place, text=error.text, position=error.position)
    return UnsupportedError(
        message, feature=error.feature, place=place, text=error.text, position=error.position
    )
