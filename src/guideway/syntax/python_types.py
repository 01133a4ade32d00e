"""A Python type → the JSON Schema of the JSON that pydantic reads as a value of it.

    Person ─ pydantic's core schema ─▶ JSON Schema document ─ as any other ─▶ constraint

Two laws hold: `TypeAdapter(T).validate_json` reads every text of the schema without an error, and
what `dump_json(..., by_alias=True)` writes for a value of T is a text of the schema. Only functions
of the user's may still object: a validator, or a callable discriminator that finds no tag. A bound
behind a validator (`Field(gt=3)`) holds for the JSON value; pydantic checks what the validator
returns. So the document is made from what pydantic checks, not from the schema that it publishes.
Where texts are accepted but never written, only the written form is on offer: a Decimal stands in
quotes, an int is digits, a bool is no 1.

Not held, since pydantic's reader gives up on them: values nested deeper than 200 levels, and whole
numbers of more than 4,300 digits; nor dates of a `FutureDate` once they have come. Not in the
schema, though pydantic may write them:

- computed fields, fields with `init=False`, and what a serializer of the user's makes;
- times, durations and infinite floats in the forms that `ser_json_timedelta`, `ser_json_temporal`
  and `ser_json_inf_nan` ask for: the usual ones are on offer;
- flags combined, or none of them: an IntFlag is on offer as each of its members;
- URLs with characters beyond those of `python_types_urls`, international names above all;
- what `python_types_formats` leaves out of addresses, base64 and regular expressions;
- bytes, where a greatest length is asked for, that mix characters of different sizes;
- bounded times with an offset other than the bound's or UTC, and bounded durations in other units
  than `python_types_times` has;
- None as the key of a dict;
- past and future datetimes less than two days from now;
- undeclared keys that `extra="allow"` has kept, if a field is read by them too.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.sources import PythonType


@final
@dataclass(frozen=True, slots=True, eq=False)
class TypeSchema:
    """A type, as JSON sees it.

    Attributes:
        schema: the JSON Schema document, draft 2020-12; keys in the order of declaration.
        adapter: pydantic's TypeAdapter, whose `validate_json` reads a text of the schema. Of a
            callable it gives the dict of its validated arguments, without those left out.
    """

    schema: dict[str, Any]
    adapter: Any


def type_schema(type_: object, *, plain: bool = False) -> TypeSchema:
    """The schema of a type; the same type is read once.

    Args:
        type_: what `pydantic.TypeAdapter` takes, a TypeAdapter, or a callable, whose arguments are
            meant.
        plain: whether decimals in strings end where more digits tell nothing apart.

    Example:
        >>> type_schema(list[bool]).schema
        {'type': 'array', 'items': {'type': 'boolean'}}

    Raises:
        SourceError: pydantic says that the type is not well formed.
        UnsupportedError: pydantic does not know it, or no schema says exactly what it means; with
            the place in the type.
        LimitError: it has more than 10,000 parts, each counted wherever it stands.
    """
    return _remembered(PythonType(type_, spelling="plain" if plain else None))


@lru_cache(maxsize=256)
def _remembered(source: PythonType) -> TypeSchema:
    from guideway.syntax.python_types_adapter import adapt  # pydantic costs 100 ms

    return TypeSchema(*adapt(source.type, plain=source.spelling == "plain"))


def type_source(source: PythonType) -> JsonSchema:
    """The JSON texts of a type, as a source, in the form that it asks for.

    >>> type_source(PythonType(bool)).text
    '{"type":"boolean"}'

    Raises:
        SourceError, UnsupportedError, LimitError: as `type_schema`.
    """
    key_order, whitespace, spelling = source.style
    return JsonSchema(
        type_schema(source.type, plain=spelling == "plain").schema,
        key_order or "any",
        whitespace=whitespace or "any",
        spelling=spelling or "any",
    )
