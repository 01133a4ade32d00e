"""A Python type → the JSON Schema of the JSON that pydantic reads as a value of it.

`TypeAdapter(T).validate_json` reads every text of the schema, and `dump_json(..., by_alias=True)`
of a value of T gives a text of it; docs/enforced/python-types.md lists the exceptions. The schema
is made from pydantic's core schema, which says exactly what is valid.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guideway.json_schema.source import JsonSchema
from guideway.sources.sources import PythonType


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
    from guideway.python_types.adapter import adapt  # pydantic costs 100 ms

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
