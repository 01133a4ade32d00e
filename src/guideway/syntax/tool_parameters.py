"""Arguments of tools as elements, one for each argument; here Qwen3-Coder's.

    <parameter=city>            strings are raw
    Oslo
    </parameter>
    <parameter=days>            other values are JSON
    [1, 2]
    </parameter>

Parameters keep the order of the schema; optional ones may be missing. No value contains the end of
its element. The text null of a nullable string is null, except in forms that mark strings.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, final

from guideway.errors import UnsupportedError
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_part import part_of
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import Document, Schema
from guideway.syntax.parts import parts_of
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
from guideway.syntax.tool_texts import may_be_null, strings_of

Parts: TypeAlias = tuple[Source, ...]

_NAME: Final = re.compile(r"[^<>\s\"]+\Z")
_REFERENCE: Final = frozenset(("$ref", "type"))
_OBJECT: Final = frozenset(("type", "properties", "required", "additionalProperties"))


@final
@dataclass(frozen=True, slots=True)
class Elements:
    """Notation of elements: begin, name, middle, value, end, behind.

    Attributes:
        middle: between the name and the value, or only a string if `json` is set.
        end: after the value, which does not contain it.
        json: between the name and a value other than a string.
        none: text if there are no elements.
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
        value: source of its JSON, or of raw strings (`is_text`).
        may_be_null: the text `null` is null.
    """

    name: str
    required: bool
    value: Source
    is_text: bool
    may_be_null: bool = False


def parameters(tool: str, arguments: PythonType | JsonSchema) -> tuple[Parameter, ...]:
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
        null = may_be_null(document, address)
        made = part_of(source, address) if null is None else strings_of(source, document, address)
        required = name in objects.required
        found.append(Parameter(name, required, made, null is not None, bool(null)))
    return tuple(found)


def elements(listed: tuple[Parameter, ...], form: Elements) -> Source:
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
    """Translate elements to JSON; special tokens in the text are their names."""
    known = {one.name: one for one in listed}
    found: list[str] = []
    for name, middle, value in _pattern(form).findall(text):
        one = known[name]
        marked = form.json is not None
        is_text = middle == spelled(*form.middle) if marked else one.is_text
        null = not marked and one.may_be_null and value == "null"
        written = json.dumps(value, ensure_ascii=False) if is_text and not null else value
        found.append(f"{json.dumps(name, ensure_ascii=False)}: {written}")
    return "{" + ", ".join(found) + "}"


@lru_cache(maxsize=32)
def _pattern(form: Elements) -> re.Pattern[str]:
    middles = {spelled(*form.middle), spelled(*(form.json or form.middle))}
    begin, middle = re.escape(spelled(*form.begin)), "|".join(map(re.escape, middles))
    end = re.escape(spelled(form.end, *form.behind))
    return re.compile(rf"{begin}([^<>\s\"]+?)({middle})(.*?){end}", re.DOTALL)


def spelled(*parts: Source) -> str:
    found = ""
    for part in parts:
        match part:
            case Literal(text) | Special(str(text)):
                found += text
            case _:
                found += spelled(*parts_of(part))
    return found


def _arguments(tool: str, document: Document) -> Schema:
    """Schema of the arguments, references followed."""
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
