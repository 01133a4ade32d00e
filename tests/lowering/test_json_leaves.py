"""Laws of parts that are lowered from their keywords: they allow what the whole way allows."""

from typing import Any

import pytest

import guideway as gw
from guideway.lowering.expr import EMPTY
from guideway.lowering.json_scalars import scalars
from guideway.lowering.json_schema import Lowering, lower_part
from guideway.lowering.json_text import json_style
from guideway.lowering.json_words import words_of
from guideway.lowering.nodes import Rule
from guideway.syntax.json_schema import LooseParts
from guideway.syntax.json_schema_keywords import LATEST, Draft
from guideway.syntax.json_schema_parts import read_scalars
from guideway.syntax.json_schema_tree import Document
from guideway.syntax.json_text import write_json

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


def test_bounds_of_draft_4_are_read_with_their_flags() -> None:
    source = gw.JsonSchema({})
    old = lower_part(source, '{"type":"number","minimum":3,"exclusiveMinimum":true}', 4)
    assert old is lower_part(source, '{"type":"number","exclusiveMinimum":3}', LATEST)


@pytest.mark.parametrize("text", ['{"pattern":"^a*$"}', '{"enum":[[1],"a"]}', '{"const":{"a":1}}'])
def test_parts_that_may_be_arrays_and_objects_are_no_rules_of_themselves(text: str) -> None:
    found, met = lower_part(gw.JsonSchema({}), text, LATEST), set[int]()
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
    found = lower_part(gw.JsonSchema({}), part, LATEST)
    assert isinstance(found, Rule)
    listed = words_of(found)
    assert listed is not None
    assert listed[0] == words


def test_no_string_of_an_enum_may_be_long_enough() -> None:
    for part in ('{"enum":["a","bc"],"minLength":3}', '{"enum":[1],"type":"string","maxLength":3}'):
        assert lower_part(gw.JsonSchema({}), part, LATEST) is EMPTY
