"""What prompts are told about a type."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field, WithJsonSchema

import guideway as gw
from guideway.api.describe import describe
from guideway.context_free.lark.source import Lark
from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.source import JsonSchema
from guideway.sources.regions import Others, substring
from guideway.sources.sources import Choice, Gbnf, Regex, Source, Text, repeat, source
from type_samples import TYPES, Point


class Stop(BaseModel):
    city: str
    nights: Annotated[int, Field(ge=0, lt=31)] = 1


class Trip(BaseModel):
    """A trip  with
    stops."""

    name: str = Field(description="what friends call it", examples=["Grand Tour"])
    kind: Literal["fun", "work"] = "fun"
    start: dt.datetime
    price: Annotated[Decimal, Field(ge=0, decimal_places=2)] | None = None
    stops: Annotated[list[Stop], Field(min_length=1, max_length=9)]
    home: Stop
    notes: dict[str, str] = {}


TRIP = """\
// A trip with stops.
{
  "name": string,  // what friends call it; for example "Grand Tour"
  "kind"?: "fun" | "work",  // default "fun"
  "start": string (date and time YYYY-MM-DDTHH:MM:SS),
  "price"?: string (decimal of at least 0, with at most 2 decimal places) | null,
  "stops": [Stop, ...] (1 to 9 items),
  "home": Stop,
  "notes"?: { [key: string]: string }
}
Stop = {
  "city": string,
  "nights"?: integer at least 0, below 31  // default 1
}"""


class Node(BaseModel):
    """Of a tree."""

    value: int
    left: Optional["Node"] = None


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        (Trip, TRIP),
        (Node, 'Node\nNode = { "value": integer, "left"?: Node | null }  // Of a tree.'),
        (int, "integer"),
        (float, "number"),
        (Any, "any"),
        (type(None), "null"),
        (Annotated[int, Field(gt=2)], "integer above 2"),
        (Annotated[float, Field(ge=0.5)], "number at least 0.5"),
        (Annotated[float, Field(gt=0, lt=1)], "number above 0, below 1"),
        (Annotated[str, Field(min_length=2)], "string of 2 or more characters"),
        (Annotated[str, Field(max_length=2)], "string of 0 to 2 characters"),
        (Annotated[str, Field(min_length=2, max_length=2)], "string of 2 characters"),
        (Annotated[str, Field(pattern="^a+$")], "string that matches ^a+$"),
        (Annotated[str, Field(pattern=r"^\d$")], r"string (pattern ^\d$)"),
        (dt.date, "string (date YYYY-MM-DD)"),
        (Literal["é", 1, True, None], '"é" | true | null | 1'),
        (list[list[bool]], "[[boolean, ...], ...]"),
        (Annotated[list[bool], Field(min_length=2)], "[boolean, ...] (2 or more items)"),
        (Point, "[integer, string?]"),
        (tuple[bool, int], "[boolean, integer]"),
        (dict[int, list[bool]], "{ [key: string (integer)]: [boolean, ...] }"),
        (dict[Literal["a"], bool], '{ "a"?: boolean }'),
        (TYPES["open model"], '{ "Size": integer, [key: string]: integer }'),
    ],
)
def test_a_type_is_told_in_few_words(type_: Any, words: str) -> None:
    assert describe(type_) == words


@pytest.mark.parametrize(("schema", "words"), [
    (True, "any"),
    (False, "nothing"),
    ({}, "any"),
    ({"type": ["string", "null"], "maxLength": 3}, "string of 0 to 3 characters | null"),
    ({"oneOf": [{"const": 1}, {"type": "boolean"}]}, "1 | boolean"),
    ({"properties": {"a": True}}, '{ "a"?: any }'),
    ({"properties": {}, "additionalProperties": False}, "{}"),
    ({"pattern": "a"}, "string that matches a"),
    ({"format": "email"}, "string (email)"),
    ({"prefixItems": [{"type": "null"}]}, "[null?, any, ...]"),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [True, False]},
     "[any?, nothing?, any, ...]"),
    ({"minimum": 1, "type": "number"}, "number at least 1"),
    ({"$ref": "#/$defs/a", "$defs": {"a": True}}, "a\na = any"),
    ({"$ref": "#/$defs/a/b", "$defs": {"a": True}}, "b"),
    ({"items": {"$ref": "#"}}, "[the whole, ...]"),
    ({"$ref": "other"}, "other"),
    ({"description": " a \n b ", "examples": [], "type": "null"}, "// a b\nnull"),
])  # fmt: skip
def test_a_json_schema_is_told_like_a_type(schema: Any, words: str) -> None:
    assert describe(JsonSchema(schema)) == words


A, B = {"a": {"type": "null"}}, {"a": {"type": "boolean"}}


@pytest.mark.parametrize(("schema", "words"), [
    ([{"$id": "http://x/y", "$ref": "#/$defs/a", "$defs": A}, {"$ref": "#/$defs/a"}],
     "[a?, a2?]\na = null\na2 = boolean"),
    ([{"$id": "http://x/y", "items": {"$ref": "#"}}, {"$ref": "http://x/y"}],
     "[[y, ...]?, y?]\ny = [y, ...]"),
    ([{"$ref": "#in"}, {"$ref": "http://x/r#/$defs/a"}, {"$anchor": "in", "type": "null"}],
     "[in?, a?, null?]\nin = null\na = boolean"),
    ([{"$ref": "#/$defs/integer"}, {"$ref": "r"}], "[integer?, the whole?]\ninteger = string"),
    ([{"$ref": "other"}, {"$ref": "s"}], "[other?, s?]\ns = null"),
])  # fmt: skip
def test_references_lead_where_the_resource_around_them_says(schema: Any, words: str) -> None:
    definitions = {**B, "integer": {"type": "string"}}
    whole = {"$id": "http://x/r", "prefixItems": schema, "items": False, "$defs": definitions}
    assert describe(JsonSchema(whole, resources={"http://x/s": {"type": "null"}})) == words


def test_what_two_types_call_alike_is_told_of_each() -> None:
    def told(schema: Any) -> Any:
        return WithJsonSchema({"$ref": "#/$defs/a", "$defs": {"a": schema}})

    made = tuple[
        Annotated[int, told({"type": "integer", "minimum": 3})],
        Annotated[str, told({"type": "string"})],
    ]
    assert describe(made) == "[a, a2]\na = integer at least 3\na2 = string"


@pytest.mark.parametrize(("asked", "words"), [
    (substring("to be"), 'a part of this text, word for word: "to be"'),
    (Choice(["yes", "no"]), 'one of: "yes" | "no"'),
    (source("literal"), '"literal"'),
    (Text(), "any text"),
    (Regex("a+"), "text that matches the regular expression a+"),
    (Regex("a") | Choice(["b"]), 'text that matches the regular expression a\nor one of: "b"'),
    (Text() & Regex("a"), "any text\nand text that matches the regular expression a"),
    (Text() + "a", 'any text\nthen "a"'),
    (~source("a"), 'any text but "a"'),
    (repeat("a", 1, 3), '1 to 3 times "a"'),
    (Source(), "Source"),
    (Gbnf('root ::= "a"'), 'a text of root in this grammar:\nroot ::= "a"'),
    (Lark("x: A", "x"), "a text of x in this Lark grammar:\nx: A"),
    (gw.special("<a>"), "the token <a>"),
    (Others(("<a>", 7), 0), "any text and special tokens, but no <a>, but no 7"),
    (gw.until("x"), 'any text up to "x"'),
    (gw.until("x", include=False), 'any text without "x"'),
    (gw.capture("x", int), "integer"),
    (gw.tag("(", int, ")"), '"("\nthen integer\nthen ")"'),
    (gw.tagged("(", int), 'any text, in which may stand\n"("\nthen integer\nthen ""'),
    (gw.thinking(int), "the token <think>, thoughts, the token </think>, then\ninteger"),
])  # fmt: skip
def test_other_sources_are_told_in_words(asked: Source, words: str) -> None:
    assert describe(asked) == words


def test_what_cannot_be_compiled_cannot_be_described() -> None:
    with pytest.raises(SourceError, match="is not a source"):
        describe(3)
    with pytest.raises(UnsupportedError, match="callable has no JSON"):
        describe(Callable)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_described_in_few_words(name: str) -> None:
    assert 1 < len(describe(TYPES[name])) < 1000


def test_what_is_nested_deeply_is_told_as_far_as_anybody_reads():
    assert describe(JsonSchema('{"items":' * 5000 + "{}" + "}" * 5000)).count("[") == 50


def test_tools_are_told_in_words():
    def add(a: int) -> None:
        """Add."""

    said = [describe(gw.tools([add], "mistral", choice)) for choice in ("auto", "add", "none")]
    call = 'a call of a function, as\n[TOOL_CALLS][{"name": "NAME", "arguments": ARGUMENTS}]\n'
    assert said[0].startswith(f"any text, or {call}")
    assert said[1].startswith(call)
    assert said[2].startswith("any text\nwhere the functions are")
    assert '"properties": {"a": {"type": "integer"}}' in said[0]
    assert "<|end|>" not in describe(gw.tools([add], "harmony"))
