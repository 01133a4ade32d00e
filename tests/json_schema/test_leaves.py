"""Laws of parts that are lowered from their keywords: they allow what the whole way allows."""

from typing import Any

import pytest

import guideway as gw
from guideway.json_schema.lowering import Lowering, lower_json_schema
from guideway.json_schema.parser import LooseParts
from guideway.json_schema.resources import Draft
from guideway.json_schema.scalars import scalars
from guideway.json_schema.spelling import json_style, words_of
from guideway.json_schema.text import write_json
from guideway.json_schema.tree import Document, read_scalars
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Rule

WHITESPACES = ("any", "compact")
PARTS: list[dict[str, Any]] = [
    {"type": "string", "pattern": "^a+$", "minLength": 2, "maxLength": 3},
    {"type": "string", "format": "date", "pattern": "1$"},
    {"type": "string", "format": "nobody knows it"},
    {"type": ["string", "null"], "maxLength": 7},
    {"type": ["null", "boolean", "integer"], "minimum": 2.5},
    {"type": "integer"},
    {"type": ["integer", "number"], "maximum": 4, "minimum": -4},
    {"type": "number", "multipleOf": 0.5, "maximum": 7},
    {"type": "number", "enum": [1, 2.5, 1e3, "a", True], "maximum": 100},
    {"type": ["boolean", "string"], "const": True, "minLength": 3},
    {"enum": ["a", "bc", None, False, 3], "minLength": 2, "maximum": 2},
    {"const": "a"},
    {"type": "null", "pattern": "a", "minimum": 3},
    {"type": "string", "enum": [1]},
]


@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.parametrize("draft", [4, 2020])
@pytest.mark.parametrize("whitespace", WHITESPACES)
def test_what_is_lowered_from_keywords_is_what_all_ways_make_of_it(
    part: dict[str, Any], draft: Draft, whitespace: Any
) -> None:
    raw = gw.JsonSchema(part, whitespace=whitespace).value
    assert isinstance(raw, dict)
    if draft == 4 and "const" in raw:
        return
    source = gw.JsonSchema({}, whitespace=whitespace)
    style, parts = json_style(source), LooseParts(raw, draft, strict=False)
    lowering = Lowering(source, Document(parts.root, parts))
    schema = read_scalars(raw, draft)
    assert schema is not None
    assert scalars(schema, style.spelling) is lowering.whole(lowering.meaning.said(parts.root))


def compact(text: str) -> gw.JsonSchema:
    """The schema without white space, so that a text of it is a value."""
    return gw.JsonSchema(text, whitespace="compact")


@pytest.mark.parametrize("text", ['{"pattern":"^a*$"}', '{"enum":[[1],"a"]}', '{"const":{"a":1}}'])
def test_parts_that_may_be_arrays_and_objects_are_no_rules_of_themselves(text: str) -> None:
    found, met = lower_json_schema(compact(text)), set[int]()
    while isinstance(found, Rule):
        assert id(found) not in met
        met.add(id(found))
        found = found.body


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({}, ("a", "bc", "def")),
        ({"minLength": 2}, ("bc", "def")),
        ({"maxLength": 2}, ("a", "bc")),
        ({"minLength": 2, "maxLength": 2, "type": "string"}, ("bc",)),
    ],
)
def test_strings_of_an_enum_are_words_beside_lengths_too(
    bounds: dict[str, Any], words: tuple[str, ...]
) -> None:
    part = write_json({"enum": ["a", "bc", "def"], **bounds})
    found = lower_json_schema(compact(part))
    while isinstance(found, Rule) and words_of(found) is None:
        found = found.body
    assert isinstance(found, Rule)
    listed = words_of(found)
    assert listed is not None
    assert listed[0] == words


def test_no_string_of_an_enum_may_be_long_enough() -> None:
    for part in ('{"enum":["a","bc"],"minLength":3}', '{"enum":[1],"type":"string","maxLength":3}'):
        found = lower_json_schema(compact(part))
        assert not Derivatives(found).has_text(found)
