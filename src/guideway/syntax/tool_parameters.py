r"""Arguments of tools as elements, one for each argument.

    <parameter=city>            a string stands as it is; this is Qwen3-Coder's form
    Oslo
    </parameter>
    <parameter=days>            everything else is JSON
    [1, 2]
    </parameter>

Parameters come in the order in which the schema has them, those that are not required or not at
all. No value holds the end of its element. One that may be a string or null is null where it says
null, but for forms that mark strings.

What this module does not know: what is around the elements.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, final

from guideway.errors import SourceError, UnsupportedError, brief
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_part import part_of
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import Document, Schema
from guideway.syntax.python_types import type_source
from guideway.syntax.regions import Until
from guideway.syntax.sources import (
    Both,
    Either,
    Literal,
    PythonType,
    Repetition,
    Sequence,
    Source,
)
from guideway.syntax.special import Special
from guideway.syntax.tool_texts import texts_of

Parts: TypeAlias = tuple[Source, ...]

_NAME: Final = re.compile(r"[^<>\s\"]+\Z")
_REFERENCE: Final = frozenset(("$ref", "type"))
_OBJECT: Final = frozenset(("type", "properties", "required", "additionalProperties"))


@final
@dataclass(frozen=True, slots=True)
class Elements:
    """How elements are written: begin, name, middle, value, end, behind.

    Attributes:
        begin: before the name.
        middle: between the name and the value; of a string where `json` is another form.
        end: behind the value, which does not hold it.
        behind: behind the end.
        json: between the name and a value that is no string; None: as `middle`.
        none: what stands where there are no elements.
    """

    begin: Parts
    middle: Parts
    end: Source
    behind: Parts = ()
    json: Parts | None = None
    none: str = ""


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument.

    Attributes:
        name: of the property.
        required: whether it is always there.
        value: the JSON of its values, or the strings as they stand.
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
                f"the argument {name!r:.40} of the tool {tool} cannot be the name of an element, "
                "or has no schema",
                feature="name of an argument",
            )
    found: list[Parameter] = []
    for name, address in objects.properties.items():
        required, texts = name in objects.required, texts_of(document, address, f"{tool}: {name}")
        if texts is None:
            found.append(Parameter(name, required, part_of(source, address), False))
        else:
            found.append(Parameter(name, required, texts[0], True, texts[1]))
    return tuple(found)


def elements(listed: tuple[Parameter, ...], form: Elements) -> Source:
    """All arguments as elements."""
    each = [_element(one, form) for one in listed]
    parts = tuple(
        element if one.required else Repetition(element, 0, 1)
        for one, element in zip(listed, each, strict=True)
    )
    if not form.none or any(one.required for one in listed):
        return Sequence(parts)
    first = [Sequence((element, *parts[at:])) for at, element in enumerate(each, 1)]
    return Either((Literal(form.none), *first))


def _element(one: Parameter, form: Elements) -> Source:
    unbroken = Until(form.end, include=False)
    name, value = Literal(one.name), Both((one.value, unbroken))
    plain = form.middle if form.json is None else form.json
    written: list[Source] = []
    if not one.is_text:
        written.append(Sequence((*plain, value)))
    elif form.json is None and one.may_be_null:
        written.append(Sequence((*form.middle, value | "null")))
    else:
        written.append(Sequence((*form.middle, value)))
        if one.may_be_null:
            written.append(Sequence((*plain, Literal("null"))))
    inside = written[0] if len(written) == 1 else Either(tuple(written))
    return Sequence((*form.begin, name, inside, form.end, *form.behind))


def as_json(listed: tuple[Parameter, ...], text: str, form: Elements) -> str:
    """The arguments that elements have, as JSON.

    Args:
        listed: the parameters of the tool.
        text: the elements; special tokens are their names.
        form: how they are written.
    """
    known = {one.name: one for one in listed}
    found: list[str] = []
    for name, middle, value in _pattern(form).findall(text):
        one = known[name]
        marked = form.json is not None
        is_text = middle == _spelled(form.middle) if marked else one.is_text
        null = not marked and one.may_be_null and value == "null"
        written = json.dumps(value, ensure_ascii=False) if is_text and not null else value
        found.append(f"{json.dumps(name, ensure_ascii=False)}: {written}")
    return "{" + ", ".join(found) + "}"


@lru_cache(maxsize=32)
def _pattern(form: Elements) -> re.Pattern[str]:
    """The names, middles and values of elements."""
    middles = {_spelled(form.middle), _spelled(form.json or form.middle)}
    begin, middle = re.escape(_spelled(form.begin)), "|".join(map(re.escape, middles))
    end = re.escape(_spelled((form.end, *form.behind)))
    return re.compile(rf"{begin}([^<>\s\"]+?)({middle})(.*?){end}", re.DOTALL)


def _spelled(parts: Parts) -> str:
    """The text of literals, special tokens and sequences of them."""
    found = ""
    for part in parts:
        match part:
            case Literal(text) | Special(str(text)):
                found += text
            case Sequence(inside):
                found += _spelled(inside)
            case _:
                raise SourceError(f"{brief(part)} is not a text")
    return found


def _arguments(tool: str, document: Document) -> Schema:
    """What is said of the arguments, by the root or by what it names."""
    schema = document.schemas[document.root]
    while "$ref" in schema.keywords and _REFERENCE.issuperset(schema.keywords):
        schema = document.schemas[schema.all_of[0]]
    for keyword in schema.keywords:
        if keyword not in _OBJECT:
            raise UnsupportedError(
                f"the tool {tool}: {keyword} of arguments cannot be written as elements; the "
                "format 'hermes' writes arguments as JSON",
                feature=keyword,
            )
    if "object" not in schema.kinds:
        raise UnsupportedError(
            f"the arguments of the tool {tool} are not a JSON object",
            feature="tool whose arguments are no object",
        )
    return schema
