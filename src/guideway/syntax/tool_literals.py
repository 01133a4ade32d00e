"""Arguments of tools as literals, in Python's or Gemma's notation.

    city="Oslo", days=[1, 2], sure=True            Python
    city:<escape>Oslo<escape>,days:[1,2],sure:true   FunctionGemma

The schema must give each argument types: strings, numbers, booleans, null, arrays of items, objects
with properties, or a union of these. Other keywords of arrays and objects are refused.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from keyword import iskeyword
from typing import Final, final

from guideway.errors import UnsupportedError
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_part import part_of
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import Address, Document, Kind, Schema
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
from guideway.syntax.tool_texts import has_boolean, kinds_of, strings_of

_DEEPEST: Final = 32
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_REFERENCES: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf", "type"))
_KEYWORDS: Final[dict[Kind, frozenset[str]]] = {
    "array": frozenset(("type", "items", "prefixItems", "minItems", "maxItems")),
    "object": frozenset(("type", "properties", "required", "additionalProperties")),
}


def is_name(text: str) -> bool:
    return _NAME.match(text) is not None and not iskeyword(text)


@final
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
    source = type_source(arguments) if isinstance(arguments, PythonType) else arguments
    document = parse_json_schema(source)
    return _Writer(source, document, form, tool).arguments()


@final
class _Writer:
    def __init__(self, source: JsonSchema, document: Document, form: Literals, tool: str) -> None:
        self._source, self._document, self._form = source, document, form
        self._place = f"the tool {tool}"

    def arguments(self) -> Source:
        [schema] = self._plain(self._document.root, "object") or (Schema(""),)
        return self._members(schema, 0, self._form.equals, bare=True)

    def _value(self, address: Address, depth: int) -> Source:
        if depth > _DEEPEST:
            raise self._refused("values within values more than 32 deep, or that hold themselves")
        kinds = kinds_of(self._document, address)
        possible: list[Kind] = [kind for kind in kinds if kinds[kind]]
        if len(possible) == len(kinds):
            raise self._refused("a value of any type", "say which with `type`")
        options: list[Source] = []
        for kind in possible:
            options += self._of(kind, address, depth, alone=len(possible) == 1)
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _of(self, kind: Kind, address: Address, depth: int, *, alone: bool) -> Iterator[Source]:
        yes, no, null = map(Literal, self._form.words)
        match kind:
            case "null":
                yield null
            case "boolean":
                words = ((True, yes), (False, no))
                yield from (w for v, w in words if has_boolean(self._document, address, v))
            case "string" if self._form.quote is not None:
                quote = self._form.quote
                text = strings_of(self._source, self._document, address)
                yield Sequence((quote, Both((text, Until(quote, include=False))), quote))
            case "string" | "number":
                part = part_of(self._source, address)
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
            ended = said.items is not None and not self._document.schemas[said.items].kinds
            if said.low != len(first) or not (ended or said.high == len(first)):
                raise self._refused("prefixItems of which some may be missing")
            return Sequence((Literal("["), *_joined(first, comma), Literal("]")))
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
        return _some(members, self._form.comma)

    def _is_name(self, name: str) -> bool:
        """Return True if a name needs no quotes."""
        return is_name(name) if self._form.quote is None else _NAME.match(name) is not None

    def _plain(self, address: Address, kind: Kind) -> tuple[Schema, ...]:
        """Schemas of arrays or objects at an address; other keywords are refused."""
        found: list[Schema] = []
        todo, seen = [address], set[Address]()
        while todo:
            address = todo.pop()
            schema = self._document.schemas[address]
            if address in seen or not kinds_of(self._document, address)[kind]:
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
            held = [one for one in below if kinds_of(self._document, one)[kind]]
            if groups > 1 or (schema.one_of and len(held) > 1):
                raise self._refused(f"several schemas of one {kind}")
            todo += reversed(below)
        return tuple(found)

    def _check(self, schema: Schema, known: frozenset[str], kind: Kind) -> None:
        others = _KEYWORDS["object" if kind == "array" else "array"]
        for keyword in schema.keywords:
            if keyword not in known | others | _OF_SCALARS:
                raise self._refused(f"{keyword} of an {kind}")

    def _refused(self, what: str, hint: str = "") -> UnsupportedError:
        advice = hint or "the format 'hermes' writes arguments as JSON"
        return UnsupportedError(
            f"{self._place}: {what} cannot be written as a literal; {advice}", feature=what
        )


_OF_SCALARS: Final = frozenset(
    (
        *("minLength", "maxLength", "pattern", "format", "minimum", "maximum", "multipleOf"),
        *("exclusiveMinimum", "exclusiveMaximum"),
    )
)


def _joined(parts: Iterable[Source], comma: Source) -> list[Source]:
    found: list[Source] = []
    for part in parts:
        found += [comma, part] if found else [part]
    return found


def _some(members: list[tuple[Source, bool]], comma: Source) -> Source:
    """The members in order; only required ones must be there."""
    behind: list[Source] = []
    options: list[Source] = []
    for member, required in reversed(members):
        if required:
            options.clear()  # no list begins after a required member
        options.append(Sequence((member, *behind)))
        more = Sequence((comma, member))
        behind.insert(0, more if required else Repetition(more, 0, 1))
    if not any(required for _, required in members):
        options.insert(0, Literal(""))
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
