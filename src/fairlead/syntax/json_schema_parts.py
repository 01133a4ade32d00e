"""Parts of a JSON Schema that name no other schema: scalars, numbers, patterns.

What this module does not know: which schema stands where.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from fairlead.errors import SourceError, UnsupportedError
from fairlead.syntax.json_schema_keywords import Draft
from fairlead.syntax.json_schema_multiples import MOST_RESTS, factor_of
from fairlead.syntax.json_schema_tree import Bound, Numbers, Schema
from fairlead.syntax.json_schema_values import Keywords, kind_of
from fairlead.syntax.json_text import Json
from fairlead.syntax.regex_finding import parsed
from fairlead.syntax.regex_tree import Pattern

_OF_NUMBERS: Final = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
)
_PLAIN: Final = {
    (integer, digits): Numbers(None, integer, digits)
    for integer in (True, False)
    for digits in (True, False)
}


def with_scalars(schema: Schema, values: Sequence[Json]) -> Schema:
    """`schema`, for these values only; those of a kind that it excludes stay excluded."""
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


def read_numbers(keywords: Keywords, types: frozenset[str], draft: Draft) -> Numbers:
    """What a schema says about numbers."""
    integer = "integer" in types and "number" not in types
    if keywords.raw.keys().isdisjoint(_OF_NUMBERS):
        return _PLAIN[integer, integer and draft == 4]
    lower = _bounds(keywords, "minimum", "exclusiveMinimum", draft)
    upper = _bounds(keywords, "maximum", "exclusiveMaximum", draft)
    multiple = keywords.number("multipleOf")
    if multiple is not None and multiple <= 0:
        raise keywords.wrong("multipleOf", "more than 0", keywords.raw["multipleOf"])
    if multiple is not None and factor_of(multiple) is None:
        raise UnsupportedError(
            f"multipleOf {multiple} leaves more than {MOST_RESTS} different rests",
            feature="multipleOf",
            place=keywords.place("multipleOf"),
        )
    multiples = () if multiple is None else (multiple,)
    return Numbers(None, integer, integer and draft == 4, lower, upper, multiples)


def _bounds(keywords: Keywords, closed: str, open_: str, draft: Draft) -> tuple[Bound, ...]:
    bound = keywords.number(closed)
    if draft == 4:  # there, exclusiveMinimum: true is said about minimum
        exclusive = keywords.flag(open_)
        return () if bound is None else (Bound(bound, exclusive),)
    other = keywords.number(open_)
    found = () if bound is None else (Bound(bound),)
    return found if other is None else (*found, Bound(other, True))


def read_pattern(text: str, place: str) -> Pattern:
    """An ECMA 262 pattern that stands at `place`."""
    try:
        return parsed(text)
    except (SourceError, UnsupportedError) as error:
        raise _placed(error, place) from None


def _placed(error: SourceError | UnsupportedError, place: str) -> SourceError | UnsupportedError:
    """The error about a pattern, said about the schema: its caret stays, its place is a pointer."""
    message = str(error).partition("\n")[0].removesuffix(f" (at {error.place})")
    if isinstance(error, SourceError):
        return SourceError(message, place=place, text=error.text, position=error.position)
    return UnsupportedError(
        message, feature=error.feature, place=place, text=error.text, position=error.position
    )
