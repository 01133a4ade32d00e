"""Describe the texts of a type or source, for prompts and for people.

    {
      "name": string,  // the full name
      "age"?: integer from 0 to 149,
      "tags": [string, ...],
      "home": Address | null
    }
    Address = { "street": string }

A question mark means optional. The notation is TypeScript's with additional words, because models
know it. All that the constraint enforces is described, except patterns that have a name.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from sys import float_info
from typing import Any, Final

from guideway.chat.tool_formats import FORMATS
from guideway.chat.tools import Tools
from guideway.context_free.lark.source import Lark
from guideway.errors import GuidewayError
from guideway.json_schema.parser import Library, Place, Scope
from guideway.json_schema.resources import Catalogue
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import read_json
from guideway.json_schema.tree import JSON_TEXT
from guideway.python_types.place import INTEGER_SCHEMA
from guideway.python_types.source import type_schema
from guideway.sources import regions, sources
from guideway.sources.sources import Sequence as Chain

_INDENT = "  "
_FITS = 60  # characters of an object on one line
_DEEPEST = 50  # levels described; Python's stack is limited
_GREATEST = Decimal(repr(float_info.max))  # the bound of every float is not worth telling
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}
_SHAPES = {
    "date": "date YYYY-MM-DD",
    "time": "time HH:MM:SS",
    "date-time": "date and time YYYY-MM-DDTHH:MM:SS",
    "ISO 8601 duration": "ISO 8601 duration such as P1DT2H30M",
}
_KINDS = {
    "properties": "object",
    "additionalProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "pattern": "string",
    "format": "string",
}


def describe(what: object) -> str:
    """Return a description of the texts of a type or source, for prompts and people.

    >>> describe(list[bool])
    '[boolean, ...]'

    Args:
        what: what `guideway.compile` takes.

    Raises:
        SourceError, UnsupportedError: as `guideway.compile`, for what is no source.
    """
    given = sources.source(what)
    match given:
        case sources.PythonType(type_):
            return _Writer(type_schema(type_).schema).document()
        case JsonSchema():
            return _Writer(read_json(given.text), given.resource_texts).document()
        case sources.Gbnf(text, root):
            return f"a text of {root} in this grammar:\n{text}"
        case Lark(text, start):
            return f"a text of {start} in this Lark grammar:\n{text}"
        case regions.Composed() if type(given) not in _TEXTS:
            return describe(given.spelled_out)
        case _:
            return _TEXTS.get(type(given), lambda _: type(given).__name__)(given)


def _describe_tools(given: Tools) -> str:
    """The notation of a call, and the functions."""
    form = FORMATS[given.format]
    call = "".join(
        part if isinstance(part, str) else _written(part)
        for part in (
            *form.opening, *form.head, "NAME", *form.middle, "ARGUMENTS", *form.tail, *form.closing
        )
    )  # fmt: skip
    reply = "any text" if given.choice == "none" else f"a call of a function, as\n{call}"
    reply = f"any text, or {reply}" if given.choice == "auto" else reply
    functions = [json.dumps(schema["function"]) for schema in given.schemas]
    return "\n".join([reply, "where the functions are", *functions])


def _written(part: sources.Source) -> str:
    match part:
        case sources.Literal(text):
            return text
        case regions.Special(token):
            return str(token)
        case sources.Choice(options):
            return options[0]
        case _:
            return describe(part)


_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    sources.Choice: lambda given: "one of: " + " | ".join(map(_quote, given.options)),
    sources.Literal: lambda given: _quote(given.text),
    sources.Text: lambda _: "any text",
    sources.Regex: lambda given: f"text that matches the regular expression {given.pattern}",
    sources.Either: lambda given: "\nor ".join(map(describe, given.parts)),
    sources.Both: lambda given: "\nand ".join(map(describe, given.parts)),
    Chain: lambda given: "\nthen ".join(map(describe, given.parts)),
    sources.Inverse: lambda given: f"any text but {describe(given.item)}",
    sources.Repetition: lambda given: (
        f"{_count(given.low, given.high)} times {describe(given.item)}"
    ),
    regions.Substring: lambda given: (
        f"a part of this text, word for word: {_quote(''.join(given.chunks))}"
    ),
    regions.Special: lambda given: f"the token {given.token}",
    regions.Others: lambda given: (
        "any text and special tokens" + "".join(f", but no {token}" for token in given.without)
    ),
    regions.Until: lambda given: (
        f"any text {'up to' if given.include else 'without'} {describe(given.stop)}"
    ),
    regions.Captured: lambda given: describe(given.item),
    regions.Region: lambda given: describe(given.item),
    regions.Regions: lambda given: (
        "any text, in which may stand\n" + "\nor ".join(map(describe, given.tags))
    ),
    regions.Thinking: lambda given: (
        f"{describe(given.begin)}, thoughts, {describe(given.end)}, then\n{describe(given.item)}"
    ),
    Tools: _describe_tools,
}
"""Descriptions of sources that are not JSON."""


def _quote(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _count(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return str(low) if low == high else f"{low} to {high}"


class _Writer:
    """Writes one document; definitions follow the type that mentions them."""

    def __init__(self, document: Any, texts: tuple[tuple[str, str], ...] = ()) -> None:
        catalogue = Catalogue(document, texts, dynamic=False)
        self._document = document
        self._library = Library(catalogue)
        self._resources = {id(resource.raw): resource for resource in catalogue.every}
        self._scope: Scope = self._library.main  # of the schema that is written
        self._names: dict[str, str] = {}  # by the address of the schema
        self._definitions: list[tuple[str, Place]] = []
        self._depth = 0

    def document(self) -> str:
        """The whole document and its definitions."""
        note = _note(self._document)
        lines = [f"// {note}"] if note else []
        lines.append(self._write(self._document, ""))
        for name, place in self._definitions:  # each may mention others
            self._scope = place.scope
            note = _note(place.raw)
            lines.append(f"{name} = {self._write(place.raw, '')}{f'  // {note}' if note else ''}")
        return "\n".join(lines)

    def _write(self, schema: Any, margin: str) -> str:
        if self._depth == _DEEPEST:
            return "..."
        self._depth += 1
        around = self._scope
        if id(schema) in self._resources:  # references in it lead on from there
            self._scope = around.entering(self._resources[id(schema)])
        try:
            return self._written(schema, margin)
        finally:
            self._depth -= 1
            self._scope = around

    def _written(self, schema: Any, margin: str) -> str:
        if isinstance(schema, bool):
            return "any" if schema else "nothing"
        if "$ref" in schema:
            return self._reference(schema, margin)
        for name in ("enum", "const"):
            if name in schema:
                values = schema[name] if name == "enum" else [schema[name]]
                return " | ".join(map(_quote, values))
        for name in ("anyOf", "oneOf"):
            if name in schema:
                return " | ".join(self._write(part, margin) for part in schema[name])
        return self._typed(schema, margin)

    def _reference(self, schema: Any, margin: str) -> str:
        reference = str(schema["$ref"])
        name = re.split("[/#]", reference)[-1]
        place = self._find(reference)
        if place is None:
            return name
        if place.raw == INTEGER_SCHEMA:
            rest = {name: value for name, value in schema.items() if name != "$ref"}
            return self._write({"type": "integer", **rest}, margin)
        if place.raw is self._document:
            return "the whole"
        if place.address not in self._names:
            name = self._free(name or place.scope.resource.uri.rpartition("/")[2])
            self._names[place.address] = name
            self._definitions.append((name, place))
        return self._names[place.address]

    def _find(self, reference: str) -> Place | None:
        """Target of a reference; None if it cannot be resolved."""
        here = Place(self._scope, self._scope.resource.pointer, self._scope.resource.raw)
        try:
            return self._library.resolve(here, "$ref", reference)
        except GuidewayError:
            return None

    def _free(self, name: str) -> str:
        """`name`, with a number if something else is called so."""
        taken = set(self._names.values())
        numbered = (f"{name}{n}" for n in range(2, len(taken) + 3))
        return next(free for free in (name, *numbered) if free not in taken)

    def _typed(self, schema: Any, margin: str) -> str:
        kinds: Any = schema.get("type") or next((_KINDS[n] for n in _KINDS if n in schema), "any")
        if isinstance(kinds, list):
            options: list[Any] = [{**schema, "type": kind} for kind in kinds]  # pyright: ignore[reportUnknownVariableType]
            return " | ".join(self._write(option, margin) for option in options)
        match kinds:
            case "object":
                return self._object(schema, margin)
            case "array":
                return self._array(schema, margin)
            case "string":
                return self._string(schema, margin)
            case "integer" | "number":
                return _number(kinds, schema)
            case _:
                return str(kinds)

    def _string(self, schema: Any, margin: str) -> str:
        if JSON_TEXT in schema:
            return f"string with the JSON of {self._write(schema[JSON_TEXT], margin)}"
        return _string(schema)

    def _object(self, schema: Any, margin: str) -> str:
        inner = margin + _INDENT
        required: Any = schema.get("required", ())
        members = [
            (f"{_quote(key)}{'' if key in required else '?'}: {self._write(part, inner)}", part)
            for key, part in schema.get("properties", {}).items()
            if part is not False
        ]
        rest: Any = schema.get("additionalProperties", False)
        if rest is not False:
            names = _string({"type": "string", **schema.get("propertyNames", {})})
            members.append((f"[key: {names}]: {self._write(rest, inner)}", rest))
        notes = [_note(part) for _, part in members]
        flat = ", ".join(line for line, _ in members)
        if not any(notes) and len(flat) <= _FITS and "\n" not in flat:
            return f"{{ {flat} }}" if flat else "{}"
        lines = [
            f"{inner}{line}{',' if index < len(members) else ''}{f'  // {note}' if note else ''}"
            for index, ((line, _), note) in enumerate(zip(members, notes, strict=True), 1)
        ]
        return "\n".join(["{", *lines, f"{margin}}}"])

    def _array(self, schema: Any, margin: str) -> str:
        items: Any = schema.get("items", True)
        prefix: Any = schema.get("prefixItems", ())
        if isinstance(items, list):  # as drafts before 2020-12 write it
            prefix, items = items, schema.get("additionalItems", True)  # pyright: ignore[reportUnknownVariableType]
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        parts = [
            self._write(part, margin) + ("" if index < low else "?")
            for index, part in enumerate(prefix)
        ]
        if items is not False:
            parts += [self._write(items, margin), "..."]
        plural = f" ({_count(low, high)} items)" if (low > len(prefix) or high is not None) else ""
        return f"[{', '.join(parts)}]{plural}"


def _note(schema: Any) -> str:
    """Text of a comment: description, default, example."""
    if not isinstance(schema, dict):
        return ""
    said: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
    notes = [" ".join(str(said.get("description", "")).split())]
    if said.get("default") is not None:
        notes.append(f"default {_quote(said['default'])}")
    examples: Any = said.get("examples")
    if isinstance(examples, list) and examples:
        notes.append(f"for example {_quote(examples[0])}")  # pyright: ignore[reportUnknownArgumentType]
    return "; ".join(filter(None, notes))


def _string(schema: Any) -> str:
    told: Any = schema.get("$comment") or schema.get("format")
    words = f"string ({_SHAPES.get(told, told)})" if told else "string"
    if "pattern" in schema and not told:
        words += f" that matches {schema['pattern']}"
    low, high = schema.get("minLength", 0), schema.get("maxLength")
    if low or high is not None:
        words += f" of {_count(low, high)} characters"
    return words


def _number(kind: str, schema: Any) -> str:
    if "$comment" in schema:
        return str(schema["$comment"])
    bounds = {name: schema[name] for name in _BOUNDS if name in schema}
    words = [
        f"{_BOUNDS[name]} {value}"
        for name, value in bounds.items()
        if abs(Decimal(str(value))) < _GREATEST
    ]
    return f"{kind} {', '.join(words)}".strip()
