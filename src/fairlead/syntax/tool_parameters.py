r"""Arguments of tools as elements, one for each, as Qwen3-Coder writes them.

    <parameter=city>            a string stands as it is, on lines of its own
    Oslo
    </parameter>
    <parameter=days>            everything else is JSON
    [1, 2]
    </parameter>

Parameters come in the order in which the schema has them, those that are not required or not at
all. A string does not hold the end of its element. One that may be null is null where it says null.

What this module does not know: what is around the elements.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast, final

from fairlead.errors import UnsupportedError
from fairlead.syntax.json_schema import parse_json_schema
from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.json_text import write_json
from fairlead.syntax.python_types import type_source
from fairlead.syntax.regions import Until
from fairlead.syntax.sources import (
    Both,
    Choice,
    Literal,
    PythonType,
    Regex,
    Repetition,
    Sequence,
    Source,
)

END: Final = "\n</parameter>"
_ELEMENT: Final = re.compile(r"<parameter=([^>\n]*)>\n(.*?)\n</parameter>\n", re.DOTALL)
_NAME: Final = re.compile(r"[^>\s]+\Z")
_NOTES: Final = frozenset(
    {
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$comment", "$defs", "definitions", "$schema", "$id", "type"),
    }
)
_OBJECT: Final = _NOTES | {"properties", "required", "additionalProperties"}
_STRING: Final = _NOTES | {"minLength", "maxLength", "pattern", "enum", "const"}


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument.

    Attributes:
        name: of the property.
        required: whether it is always there.
        value: what stands between the lines.
        is_text: whether that is the string itself, and no JSON.
        may_be_null: whether the text `null` is no string.
    """

    name: str
    required: bool
    value: Source
    is_text: bool
    may_be_null: bool = False


def parameters(tool: str, arguments: PythonType | JsonSchema) -> tuple[Parameter, ...]:
    """The arguments of a tool.

    >>> [one.name for one in parameters("f", JsonSchema({"properties": {"a": {}, "b": {}}}))]
    ['a', 'b']

    Args:
        tool: its name, for messages.
        arguments: its arguments.

    Raises:
        SourceError, LimitError: as of any JSON Schema.
        UnsupportedError: they are more than properties, or a string is more than its characters.
    """
    source = type_source(arguments) if isinstance(arguments, PythonType) else arguments
    parse_json_schema(source)  # so that what is read below is well formed
    document = cast("Mapping[str, Any]", source.value)
    schema = _named(document, document)
    _check(tool, schema, _OBJECT, "arguments")
    if "object" not in schema.get("type", ["object"]):
        raise UnsupportedError(
            f"the arguments of the tool {tool} are no JSON object",
            feature="tool whose arguments are no object",
        )
    required = cast("list[str]", schema.get("required", []))
    properties = cast("Mapping[str, Any]", schema.get("properties", {}))
    for name in (*properties, *required):
        if not _NAME.match(name) or name not in properties:
            raise UnsupportedError(
                f"the tool {tool} has an argument {name!r:.40}, which is no name of an element or "
                "has no schema",
                feature="name of an argument",
            )
    return tuple(
        replace(_parameter(tool, name, part, document, source), required=name in required)
        for name, part in properties.items()
    )


def elements(listed: tuple[Parameter, ...]) -> Source:
    """All arguments as elements."""
    each = [
        Sequence((Literal(f"<parameter={one.name}>\n"), one.value, Literal(f"{END}\n")))
        for one in listed
    ]
    return Sequence(
        tuple(
            element if one.required else Repetition(element, 0, 1)
            for one, element in zip(listed, each, strict=True)
        )
    )


def as_json(listed: tuple[Parameter, ...], text: str) -> str:
    r"""The arguments that elements have, as JSON.

    >>> listed = parameters("f", JsonSchema({"properties": {"a": {"type": "string"}, "b": {}}}))
    >>> as_json(listed, "<parameter=a>\n1\n</parameter>\n<parameter=b>\n[2]\n</parameter>\n")
    '{"a": "1", "b": [2]}'
    """
    known = {one.name: one for one in listed}
    found: list[str] = []
    for name, value in _ELEMENT.findall(text):
        one = known[name]
        null = one.may_be_null and value == "null"
        written = json.dumps(value, ensure_ascii=False) if one.is_text and not null else value
        found.append(f"{json.dumps(name, ensure_ascii=False)}: {written}")
    return "{" + ", ".join(found) + "}"


def _parameter(
    tool: str, name: str, part: Any, document: Mapping[str, Any], source: JsonSchema
) -> Parameter:
    schema = _named(part, document)
    branches = {"anyOf", "oneOf"} & schema.keys()
    if len(branches) == 1 and schema.keys() <= _NOTES | branches:
        listed = [_named(each, document) for each in schema[branches.pop()]]
        strings = [each for each in listed if each.get("type") != "null"]
        if len(strings) == 1 == len(listed) - 1 and _is_string(strings[0]):
            text = _text(f"{tool}: {name}", strings[0])
            return Parameter(name, True, Both((text, _UNBROKEN)) | "null", True, True)
    if _is_string(schema):
        return Parameter(name, True, Both((_text(f"{tool}: {name}", schema), _UNBROKEN)), True)
    whole: dict[str, Any] = {
        "allOf": [part],
        **{key: document[key] for key in _DEFINED if key in document},
    }
    return Parameter(name, True, _schema(whole, source), False)


_DEFINED: Final = ("$defs", "definitions", "$schema")
_UNBROKEN: Final = Until(Literal(END), include=False)


def _schema(whole: dict[str, Any], source: JsonSchema) -> JsonSchema:
    return JsonSchema(
        write_json(whole),
        source.key_order,
        source.whitespace,
        source.spelling,
        source.formats,
        dict(source.resource_texts),
    )


def _named(schema: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a reference into the document names, if it is nothing else."""
    for _ in range(32):
        known = cast("Mapping[str, Any]", schema if isinstance(schema, Mapping) else {})
        if not isinstance(known.get("$ref"), str):
            break
        place, _, name = str(known["$ref"]).rpartition("/")
        found = document.get(place.removeprefix("#/"), {})
        if place not in ("#/$defs", "#/definitions") or set(known) - _NOTES - {"$ref"}:
            break
        schema = found.get(name, {})
    return cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) else {}


def _is_string(schema: Mapping[str, Any]) -> bool:
    """Whether all its values are strings, by what it says itself."""
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(listed, list):
        named = cast("list[Any]", listed)
        return bool(named) and all(isinstance(each, str) for each in named)
    return schema.get("type") == "string"


def _text(place: str, schema: Mapping[str, Any]) -> Source:
    """The strings themselves."""
    _check(place, schema, _STRING, "a string")
    found: list[Source] = []
    if "enum" in schema or "const" in schema:
        found.append(Choice(schema.get("enum", [schema.get("const")])))
    if "minLength" in schema:
        found.append(Regex(rf"[\s\S]{{{int(schema['minLength'])},}}"))
    if "maxLength" in schema:
        found.append(Regex(rf"[\s\S]{{0,{int(schema['maxLength'])}}}"))
    if "pattern" in schema:
        found.append(Regex(rf"[\s\S]*(?:{schema['pattern']})[\s\S]*", "ecma"))
    return Both((*found, Regex(r"[\s\S]*")))


def _check(place: str, schema: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    for keyword in schema:
        if keyword not in known:
            raise UnsupportedError(
                f"the tool {place}: {keyword} of {what} has no form as an element; the format "
                "'hermes' writes arguments as JSON",
                feature=keyword,
            )
