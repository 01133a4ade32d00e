"""Arguments of calls as Python literals or XML elements: as a source, and back to JSON."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from keyword import iskeyword
from typing import Final, TypeAlias

from guideway.chat.parts import parts_of
from guideway.errors import UnsupportedError
from guideway.json_schema.formulas import FALSE, TRUE, Flag, holds
from guideway.json_schema.lowering import part_of
from guideway.json_schema.meaning import Meaning
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import json_style
from guideway.json_schema.tree import KINDS, OF_KIND, Address, Kind, Schema
from guideway.python_types.source import type_source
from guideway.sources.regions import Special, Until
from guideway.sources.sources import (
    Both,
    Either,
    Literal,
    PythonType,
    Repetition,
    Sequence,
    Source,
    Text,
)

_TEXTS: Final[frozenset[Kind]] = frozenset(("string", "null"))


@dataclass(frozen=True)
class RawStrings(Source[str]):
    """The strings that a schema allows, without quotes and escapes."""

    schema: JsonSchema


class _Schemas:
    """The schemas of a tool's arguments."""

    def __init__(self, tool: str, arguments: PythonType | JsonSchema) -> None:
        self.source = type_source(arguments) if isinstance(arguments, PythonType) else arguments
        self.document, self.place = parse_json_schema(self.source), f"the tool {tool}"
        self._meaning = Meaning(self.document, json_style(self.source))

    def kinds(self, root: Address) -> list[Kind]:
        """The kinds of values that a schema may allow."""
        return [kind for kind in sorted(KINDS) if self._meaning.schema(root, kind) is not FALSE]

    def strings(self, root: Address) -> Source:
        """Source of the raw strings that a schema allows."""
        free = self._meaning.schema(root, "string") is TRUE
        return Text() if free else RawStrings(part_of(self.source, root))

    def allows(self, root: Address, value: bool) -> bool:
        formula = self._meaning.schema(root, "boolean")
        return holds(formula, lambda atom: isinstance(atom, Flag) and value in atom.values)


_DEEPEST: Final = 32
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_REFERENCES: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf", "type"))
_KEYWORDS: Final[dict[Kind, frozenset[str]]] = {
    "array": frozenset(("type", "items", "prefixItems", "minItems", "maxItems")),
    "object": frozenset(("type", "properties", "required", "additionalProperties")),
}


def is_name(text: str) -> bool:
    return _NAME.match(text) is not None and not iskeyword(text)


@dataclass(frozen=True, slots=True)
class Literals:
    """Notation of literals.

    Attributes:
        equals: between the name of an argument and its value.
        comma: between arguments, items and properties.
        colon: between the key of an object and its value.
        words: true, false and null.
        quote: around raw strings; None: strings are JSON.
        bare: keys of objects have no quotes.
        ordered: arguments are sorted by their names.
    """

    equals: str
    comma: Source
    colon: Source
    words: tuple[str, str, str]
    quote: Special | None = None
    bare: bool = False
    ordered: bool = False


def literals(tool: str, arguments: PythonType | JsonSchema, form: Literals) -> Source:
    return _Writer(_Schemas(tool, arguments), form).arguments()


class _Writer:
    def __init__(self, schemas: _Schemas, form: Literals) -> None:
        self._schemas, self._form = schemas, form

    def arguments(self) -> Source:
        found = self._plain(self._schemas.document.root, "object") or (Schema(""),)
        return _either([self._members(one, 0, self._form.equals, bare=True) for one in found])

    def _value(self, address: Address, depth: int) -> Source:
        if depth > _DEEPEST:
            raise self._refused("values within values more than 32 deep, or that hold themselves")
        possible = self._schemas.kinds(address)
        if len(possible) == len(KINDS):
            raise self._refused("a value of any type", "say which with `type`")
        options: list[Source] = []
        for kind in possible:
            options += self._typed(kind, address, depth, alone=len(possible) == 1)
        return _either(options)

    def _typed(self, kind: Kind, address: Address, depth: int, *, alone: bool) -> Iterator[Source]:
        yes, no, null = map(Literal, self._form.words)
        match kind:
            case "null":
                yield null
            case "boolean":
                words = ((True, yes), (False, no))
                yield from (word for v, word in words if self._schemas.allows(address, v))
            case "string" if self._form.quote is not None:
                quote = self._form.quote
                text = Both((self._schemas.strings(address), Until(quote, include=False)))
                yield Sequence((quote, text, quote))
            case "string" | "number":
                part = part_of(self._schemas.source, address)
                typed = JsonSchema({"type": kind}, whitespace="natural", spelling="plain")
                yield part if alone else Both((part, typed))
            case "array":
                yield from (self._array(one, depth) for one in self._plain(address, kind))
            case "object":
                for one in self._plain(address, kind):
                    inside = self._members(one, depth, self._form.colon, bare=self._form.bare)
                    yield Sequence((Literal("{"), inside, Literal("}")))

    def _array(self, schema: Schema, depth: int) -> Source:
        said, comma = schema.arrays, self._form.comma
        first = [self._value(one, depth + 1) for one in said.prefix]
        if first:
            ended = said.items is not None and not self._schemas.document.schemas[said.items].kinds
            if said.low != len(first) or not (ended or said.high == len(first)):
                raise self._refused("prefixItems of which some may be missing")
            separated = [part for one in first for part in (comma, one)]
            return Sequence((Literal("["), *separated[1:], Literal("]")))
        if said.high == 0:
            return Literal("[]")
        if said.items is None:
            raise self._refused("an array of items of any type", "say which with `items`")
        item = self._value(said.items, depth + 1)
        most = None if said.high is None else said.high - 1
        more = Repetition(Sequence((comma, item)), max(said.low - 1, 0), most)
        full = Sequence((Literal("["), item, more, Literal("]")))
        return full if said.low else Either((Literal("[]"), full))

    def _members(self, schema: Schema, depth: int, after: "str | Source", *, bare: bool) -> Source:
        """Members of an object, or arguments, separated by commas."""
        said, between = schema.objects, Literal(after) if isinstance(after, str) else after
        names = sorted(said.properties, key=str.casefold) if self._form.ordered else said.properties
        members: list[tuple[Source, bool]] = []
        for name in (*names, *(n for n in said.required if n not in said.properties)):
            if name not in said.properties or (bare and not self._is_name(name)):
                raise self._refused(
                    f"the name {name!r:.40}",
                    "it has no schema, or Python cannot have it as an argument",
                )
            key = name if bare else json.dumps(name, ensure_ascii=False)
            value = self._value(said.properties[name], depth + 1)
            members.append((Sequence((Literal(key), between, value)), name in said.required))
        return _optional_members(members, self._form.comma)

    def _is_name(self, name: str) -> bool:
        """Return True if a name needs no quotes."""
        return is_name(name) if self._form.quote is None else _NAME.match(name) is not None

    def _plain(self, address: Address, kind: Kind) -> tuple[Schema, ...]:
        """Schemas of arrays or objects at an address; other keywords are refused."""
        found: list[Schema] = []
        todo, seen = [address], set[Address]()
        while todo:
            address = todo.pop()
            schema = self._schemas.document.schemas[address]
            if address in seen or kind not in self._schemas.kinds(address):
                continue
            seen.add(address)
            below = (*schema.all_of, *(one for group in schema.any_of for one in group))
            below += tuple(one for group in schema.one_of for one in group)
            if not below:
                self._check(schema, _KEYWORDS[kind], kind)
                found.append(schema)
                continue
            self._check(schema, _REFERENCES, kind)
            groups = len(schema.all_of) + len(schema.any_of) + len(schema.one_of)
            held = [one for one in below if kind in self._schemas.kinds(one)]
            if groups > 1 or (schema.one_of and len(held) > 1):
                raise self._refused(f"several schemas of one {kind}")
            todo += reversed(below)
        return tuple(found)

    def _check(self, schema: Schema, known: frozenset[str], kind: Kind) -> None:
        others = _KEYWORDS["object" if kind == "array" else "array"]
        for keyword in schema.keywords:
            if keyword not in known | others | OF_KIND["string"] | OF_KIND["number"]:
                raise self._refused(f"{keyword} of an {kind}")

    def _refused(self, what: str, hint: str = "") -> UnsupportedError:
        advice = hint or "the format 'hermes' writes arguments as JSON"
        return UnsupportedError(
            f"{self._schemas.place}: {what} cannot be written as a literal; {advice}", feature=what
        )


def _optional_members(members: list[tuple[Source, bool]], comma: Source) -> Source:
    """The members in order; only required ones must be there."""
    after: list[Source] = []
    options: list[Source] = []
    for member, required in reversed(members):
        if required:
            options.clear()  # no list begins after a required member
        options.append(Sequence((member, *after)))
        more = Sequence((comma, member))
        after.insert(0, more if required else Repetition(more, 0, 1))
    if not any(required for _, required in members):
        options.insert(0, Literal(""))
    return _either(options)


def _either(options: list[Source]) -> Source:
    return options[0] if len(options) == 1 else Either(tuple(options))


def literals_as_json(text: str, form: Literals) -> str:
    """Translate literals to JSON; special tokens in the text are their names.

    >>> python = Literals("=", Literal(", "), Literal(": "), ("True", "False", "None"))
    >>> literals_as_json('a="True, ", b=[None]', python)
    '{"a":"True, ","b":[null]}'
    """
    words = dict(zip(form.words, ("true", "false", "null"), strict=True))

    def written(found: re.Match[str]) -> str:
        match found.lastgroup:
            case "quoted":
                return json.dumps(found["quoted"], ensure_ascii=False)
            case "key":
                return f'"{found["key"]}":'
            case "blank":
                return ""
            case _:
                return words.get(found[0], found[0])

    return "{" + _tokens(form).sub(written, text) + "}"


@lru_cache(maxsize=8)
def _tokens(form: Literals) -> re.Pattern[str]:
    quote = "" if form.quote is None else re.escape(str(form.quote.token))
    quoted = rf"{quote}(?P<quoted>.*?){quote}" if quote else r'"(?:[^"\\]|\\.)*"'
    key = rf"(?P<key>[A-Za-z_][A-Za-z0-9_]*){re.escape(form.equals)}"
    return re.compile(rf"{quoted}|{key}|(?P<blank> +)|[A-Za-z]+|[^\s]", re.DOTALL)


Parts: TypeAlias = tuple[Source, ...]

_PARAMETERS_NAME: Final = re.compile(r"[^<>\s\"]+\Z")
_REFERENCE: Final = frozenset(("$ref", "type"))


@dataclass(frozen=True, slots=True)
class Elements:
    """Notation of elements: begin, name, middle, value, end, after.

    Attributes:
        middle: between the name and the value, or only a string if `json` is set.
        end: after the value, which does not contain it.
        json: between the name and a value other than a string.
        none: text if there are no elements.
    """

    begin: Parts
    middle: Parts
    end: Source
    after: Parts = ()
    json: Parts | None = None
    none: str = ""


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
    schemas = _Schemas(tool, arguments)
    objects = _arguments(schemas).objects
    for name in (*objects.properties, *objects.required):
        if not _PARAMETERS_NAME.match(name) or name not in objects.properties:
            raise UnsupportedError(
                f"the argument {name!r:.40} of {schemas.place} cannot be the name of an element, "
                "or has no schema",
                feature="name of an argument",
            )
    found: list[Parameter] = []
    for name, address in objects.properties.items():
        kinds = {*schemas.kinds(address)}
        is_text = "string" in kinds and kinds <= _TEXTS
        made = schemas.strings(address) if is_text else part_of(schemas.source, address)
        required, null = name in objects.required, is_text and "null" in kinds
        found.append(Parameter(name, required, made, is_text, null))
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
    return Sequence((*form.begin, name, _either(written), form.end, *form.after))


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
    end = re.escape(spelled(form.end, *form.after))
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


def _arguments(schemas: _Schemas) -> Schema:
    """Schema of the arguments, references followed."""
    listed = schemas.document.schemas
    schema = listed[schemas.document.root]
    while "$ref" in schema.keywords and _REFERENCE.issuperset(schema.keywords):
        schema = listed[schema.all_of[0]]
    for keyword in schema.keywords:
        if keyword not in _KEYWORDS["object"]:
            raise UnsupportedError(
                f"{schemas.place}: {keyword} of arguments cannot be written as elements; the "
                "format 'hermes' writes arguments as JSON",
                feature=keyword,
            )
    if "object" not in schema.kinds:
        raise UnsupportedError(
            f"the arguments of {schemas.place} are not a JSON object",
            feature="tool whose arguments are no object",
        )
    return schema
