"""A Python type → the JSON Schema of the JSON that pydantic reads as a value of it.

Two laws hold: `TypeAdapter(T).validate_json` reads every text of the schema without an error, and
`dump_json(..., by_alias=True)` of a value of T gives a text of the schema. Only user functions may
still object: a validator, or a callable discriminator that finds no tag. A bound after a validator
(`Field(gt=3)`) holds for the JSON value; pydantic checks what the validator returns. So the schema
is made from pydantic's core schema, not from the JSON Schema that pydantic publishes. Where
pydantic accepts texts that it never writes, only the written form is allowed.

Exceptions to the first law: nesting deeper than 200 levels, whole numbers of more than 4,300
digits, and dates of a `FutureDate` once they have come. Not in the schema, though pydantic may
write them:

- computed fields, fields with `init=False`, output of custom serializers;
- times, durations and infinite floats in the forms of `ser_json_timedelta`, `ser_json_temporal` and
  `ser_json_inf_nan`;
- combined flags: an IntFlag is one of its members;
- URLs with characters outside `python_types_urls`, above all international names;
- what `python_types_formats` leaves out of addresses, base64 and regular expressions;
- bytes with `max_length` that mix characters of different sizes;
- bounded times with an offset other than the bound's or UTC, and bounded durations in other units
  than those of `python_types_times`;
- None as the key of a dict;
- past and future datetimes less than two days from now;
- undeclared keys that `extra="allow"` keeps, if a field is read by them too.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.sources import PythonType


@final
@dataclass(frozen=True, slots=True, eq=False)
class TypeSchema:
    """The JSON Schema of a type, and its reader.

    Attributes:
        schema: JSON Schema document, draft 2020-12; keys in the order of declaration.
        adapter: pydantic's TypeAdapter, whose `validate_json` reads a text of the schema. For a
            callable it gives the dict of its validated arguments, without omitted ones.
    """

    schema: dict[str, Any]
    adapter: Any


def type_schema(type_: object, *, plain: bool = False) -> TypeSchema:
    """Schema of a type, cached. `plain` drops digits of decimals that make no difference.

    Example:
        >>> type_schema(list[bool]).schema
        {'type': 'array', 'items': {'type': 'boolean'}}
    """
    return _remembered(PythonType(type_, spelling="plain" if plain else None))


@lru_cache(maxsize=256)
def _remembered(source: PythonType) -> TypeSchema:
    from guideway.syntax.python_types_adapter import adapt  # pydantic costs 100 ms

    return TypeSchema(*adapt(source.type, plain=source.spelling == "plain"))


def type_source(source: PythonType) -> JsonSchema:
    """JsonSchema of a type, in the style that the source asks for.

    >>> type_source(PythonType(bool)).text
    '{"type":"boolean"}'
    """
    key_order, whitespace, spelling = source.style
    return JsonSchema(
        type_schema(source.type, plain=spelling == "plain").schema,
        key_order or "any",
        whitespace=whitespace or "any",
        spelling=spelling or "any",
    )
