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
from dataclasses import dataclass
from typing import Final, final

from guideway.errors import UnsupportedError
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_part import part_of
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import Document, Schema
from guideway.syntax.python_types import type_source
from guideway.syntax.regions import Until
from guideway.syntax.sources import Both, Literal, PythonType, Repetition, Sequence, Source
from guideway.syntax.tool_texts import texts_of

END: Final = "\n</parameter>"
_ELEMENT: Final = re.compile(r"<parameter=([^>\n]*)>\n(.*?)\n</parameter>\n", re.DOTALL)
_UNBROKEN: Final = Until(Literal(END), include=False)
_NAME: Final = re.compile(r"[^>\s]+\Z")
_REFERENCE: Final = frozenset(("$ref", "type"))
_OBJECT: Final = frozenset(("type", "properties", "required", "additionalProperties"))


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
        SourceError: as of any JSON Schema.
        LimitError: the same, or too much is said of a string.
        UnsupportedError: they are more than properties, or a string has a format.
    """
    source = type_source(arguments) if isinstance(arguments, PythonType) else arguments
    document = parse_json_schema(source)
    objects = _arguments(tool, document).objects
    for name in (*objects.properties, *objects.required):
        if not _NAME.match(name) or name not in objects.properties:
            raise UnsupportedError(
                f"the tool {tool} has an argument {name!r:.40}, which is no name of an element or "
                "has no schema",
                feature="name of an argument",
            )
    found: list[Parameter] = []
    for name, address in objects.properties.items():
        required, texts = name in objects.required, texts_of(document, address, f"{tool}: {name}")
        if texts is None:
            found.append(Parameter(name, required, part_of(source, address), False))
        else:
            text = Both((texts[0], _UNBROKEN))
            value = text | "null" if texts[1] else text
            found.append(Parameter(name, required, value, True, texts[1]))
    return tuple(found)


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


def _arguments(tool: str, document: Document) -> Schema:
    """What is said of the arguments, by the root or by what it names."""
    schema = document.schemas[document.root]
    while "$ref" in schema.keywords and _REFERENCE.issuperset(schema.keywords):
        schema = document.schemas[schema.all_of[0]]
    for keyword in schema.keywords:
        if keyword not in _OBJECT:
            raise UnsupportedError(
                f"the tool {tool}: {keyword} of arguments has no form as elements; the format "
                "'hermes' writes arguments as JSON",
                feature=keyword,
            )
    if "object" not in schema.kinds:
        raise UnsupportedError(
            f"the arguments of the tool {tool} are no JSON object",
            feature="tool whose arguments are no object",
        )
    return schema
