"""What is probably a mistake is said, and what only looks a little like one is not."""

import dataclasses
import re
import warnings
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel
from tokenizers import Tokenizer

import guideway as gw
from guideway import GuidewayWarning, SourceError
from guideway.json_schema.source import check_keywords
from guideway.models.fake import FakeModel
from guideway.sources.sources import Literal, source
from small_tokenizers import byte_level

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids={256})


class Person(BaseModel):
    name: str


@dataclasses.dataclass
class Point:
    x: int


class Colour(Enum):
    RED = "red"


LOOKING = [  # texts, and the source that they look like
    *((text, "Regex(") for text in (
        *(r"\d{4}", "[a-z]+", "[abc]+", "(yes|no)", "yes|no|maybe", "^abc$", "a.*b", "(?:a)"),
        *("(?i)yes", "(ab){2}", "[^,]*", "(?P<year>x)"))),
    ('{"type": "object"}', "JsonSchema("),
    ('root ::= "a" [0-9]+', "Gbnf("),
    ('start: "a"+\n', "Lark("),
]  # fmt: skip
LITERALS = [
    *("yes", "", "What?", "C++", "[INST]", "<|im_end|>", "a.b", "(sic)", "f(x)", "x^2", "{name}"),
    *("a|b c", "**bold**", "|a|", "[a", "(?", "\\", "x" * 5000 + "[a-z]+", "{}", "{3}"),
]


@pytest.mark.parametrize(("text", "call"), LOOKING)
def test_a_text_that_looks_like_another_source_is_told(text: str, call: str) -> None:
    with pytest.warns(GuidewayWarning, match=re.escape(f"guideway.{call}")) as told:
        assert source(text) == Literal(text)
    assert len(told) == 1
    assert told[0].filename == __file__


@pytest.mark.parametrize("text", LITERALS)
def test_a_text_that_is_meant_literally_is_not_told(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert source(text) == Literal(text)


def test_a_pattern_is_told_once_however_many_prompts_there_are() -> None:
    model = gw.Model(FakeModel.random(BYTES))
    with pytest.warns(GuidewayWarning) as told:
        model.generate(["a", "b", "c"], "[0-9]+")
    assert len(told) == 1


@pytest.mark.parametrize("compiled", [
    re.compile("[a-c]{2}"), re.compile("yes", re.IGNORECASE), re.compile(r"\w", re.ASCII),
    re.compile("a .b  # x", re.VERBOSE | re.DOTALL), re.compile("^a$", re.MULTILINE),
])  # fmt: skip
def test_a_compiled_pattern_is_a_source_with_its_flags(compiled: re.Pattern[str]) -> None:
    constraint = gw.compile(compiled, BYTES)
    for text in ("ab", "YES", "yes", "a\nb", "axb", "é", "w", "a", "A", "\na\n", "a\n"):
        assert constraint.matches(text) == bool(compiled.fullmatch(text)), text
    assert gw.compile("<" + gw.source(compiled), BYTES).example()[0] == "<"


MODEL = gw.Model(FakeModel.random(BYTES))
TOKENIZER = Tokenizer.from_buffer(byte_level())
MISPLACED = [
    (["yes", "no"], "Choice(['yes', 'no'])"),
    ([Person, int], "guideway.source(int) | "),
    (Person(name="a"), "pass the type: Person"),
    (Point(3), "pass the type: Point"),
    (Colour.RED, "typing.Literal[Colour.RED]"),
    (gw.compile("a", BYTES), "pass the source of this"),
    (BYTES, "guideway.compile(source, vocabulary)"),
    (TOKENIZER, "guideway.compile(source, vocabulary)"),
    (MODEL, "model.generate(prompt, source)"),
    (3, "write '3'"),
    (b"yes", "decode it"),
]


@pytest.mark.parametrize(("given", "call"), MISPLACED, ids=[call for _, call in MISPLACED])
def test_what_is_no_source_says_the_right_call(given: Any, call: str) -> None:
    for attempt in (lambda: gw.compile(given, BYTES), lambda: MODEL.generate("?", given)):
        with pytest.raises(SourceError, match=re.escape(call)):
            attempt()


PLACES = [
    (lambda: gw.compile({"type": "null"}, BYTES), "guideway.JsonSchema(...)"),
    (lambda: gw.compile(None, BYTES), "guideway.Text()"),
    (lambda: gw.compile(re.compile(b"a"), BYTES), "a pattern must be a str"),
    (lambda: gw.compile(Person, TOKENIZER), "Vocabulary.from_tokenizer_json(tokenizer.to_str"),
    (lambda: gw.compile(Person, MODEL), "model.vocabulary"),
    (lambda: gw.compile(Person, "tokenizer.json"), "Vocabulary.from_tokenizer_json(path)"),
    (lambda: gw.Matcher(Person), "guideway.Matcher(guideway.compile(source, vocabulary))"),
    (lambda: gw.JsonSchema(Person), "Person.model_json_schema()"),
    (lambda: gw.JsonSchema(Person(name="a")), "Person.model_json_schema()"),
    (lambda: gw.JsonSchema(int), "take the type int itself"),
    (lambda: gw.JsonSchema(gw.Regex("a")), "it is a source itself"),
    (lambda: gw.Regex(re.compile("a")), "use it as the source"),
    (lambda: gw.Choice(Colour), "use it as the source"),
    (lambda: MODEL.choose("?", "yes"), "choose(prompt, ['yes'])"),
    (lambda: MODEL.choose("?", gw.Choice(["a", "b"])), "choose(prompt, ['a', 'b'])"),
    (lambda: MODEL.choose("?", Colour), "choose(prompt, ['red'])"),
    (lambda: MODEL.choose("?", gw.Regex("a")), "a list of different, non-empty texts"),
]
VOCABULARIES = [
    (lambda: gw.Vocabulary(TOKENIZER), "from_tokenizer_json(tokenizer.to_str().encode())"),
    (lambda: gw.Vocabulary("tokenizer.json"), "from_tokenizer_json(path)"),
    (lambda: gw.Vocabulary(MODEL), "model.vocabulary"),
    (lambda: gw.Vocabulary.from_transformers("a"), "from_tokenizer_json(path)"),
    (lambda: gw.Vocabulary.from_transformers(TOKENIZER), "from_tokenizer_json(tokenizer.to_"),
    (lambda: gw.Vocabulary.from_tokenizer_json(TOKENIZER), "(tokenizer.to_str().encode())"),
]


@pytest.mark.parametrize(("attempt", "call"), [*PLACES, *VOCABULARIES])
def test_what_is_in_a_wrong_place_says_the_right_call(attempt: Any, call: str) -> None:
    error = gw.ModelError if (attempt, call) in VOCABULARIES else SourceError
    with pytest.raises(error, match=re.escape(call)):
        attempt()


DRAFT7, DRAFT4 = (f"http://json-schema.org/draft-0{n}/schema#" for n in (7, 4))


@pytest.mark.parametrize(("schema", "said"), [
    ({"name": {"type": "string"}}, '{"type": "object", "properties": {...}}'),
    ({"name": "x", "schema": {"type": "object"}}, "pass the schema inside it"),
    ({"tpye": "object"}, "did you mean 'type'"),
    ({"type": "object", "requred": ["a"]}, "'requred' has no effect"),
    ({"type": "object", "Properties": {}}, "did you mean 'properties'"),
    ({"properties": {"a": {"minLenght": 3}}}, "did you mean 'minLength'? (at /properties/a)"),
    ({"$defs": {"A": {"anyof": []}}, "$ref": "#/$defs/A"}, "(at /$defs/A)"),
    ({"type": "object", "reqired": [], "propertis": {}, "itmes": {}}, "; and 1 more"),
    ({"$schema": DRAFT4, "const": 3}, "'const' has no effect: the draft"),
    ({"items": {"format": "datetime"}},
     "'datetime' has no effect: it is unknown; did you mean 'date-time'? (at"),
    ({"$schema": DRAFT7, "definitions": {"A": {}}, "$ref": "#/definitions/A", "minimum": 1},
     "'minimum' has no effect"),
])  # fmt: skip
def test_what_says_nothing_in_a_schema_is_told_once(schema: dict[str, Any], said: str) -> None:
    with pytest.warns(GuidewayWarning, match=re.escape(said)) as told:
        gw.compile(gw.JsonSchema(schema), BYTES)
    assert len(told) == 1
    with pytest.warns(GuidewayWarning, match=re.escape(said)):
        check_keywords(schema)


@pytest.mark.parametrize("schema", [
    {},
    True,
    {"title": "A", "description": "b", "default": 1, "examples": [], "$comment": "c"},
    {"type": "object", "x-order": 3, "note": "n", "label": "l", "_format": "date", "ui": {}},
    {"properties": {"requred": {"type": "string"}, "tpye": {}}},
    {"type": "string", "nullable": True, "discriminator": {}, "example": "e"},
    {"enum": [{"requred": 1}], "default": {"tpye": 1}},
    {"items": [{"format": name} for name in ("int64", "double", "byte", "password", "url")]},
    {"properties": {"format": {"const": "datetime"}}, "enum": [{"format": "datetime"}]},
    {"$schema": DRAFT7, "definitions": {"A": {}}, "$ref": "#/definitions/A", "title": "t"},
    {"$ref": "#/$defs/A", "$defs": {"A": {}}, "minimum": 1},
])  # fmt: skip
def test_what_is_an_annotation_is_not_told(schema: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_keywords(schema)


def test_schemas_within_other_sources_are_told_of() -> None:
    schema = gw.JsonSchema({"type": "object", "requred": ["a"]})
    tool = {"name": "f", "parameters": {"type": "object", "requred": ["a"]}}
    for whole in ("<a>" + schema, gw.thinking(schema), gw.tools([tool]), gw.capture("a", schema)):
        with pytest.warns(GuidewayWarning, match="'requred' has no effect"):
            gw.compile(whole, BYTES)


def test_types_and_grammars_of_ours_are_not_told_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gw.compile(Person, BYTES)
        gw.compile(gw.tools([Person]), BYTES)
