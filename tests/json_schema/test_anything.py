"""Values of any kind, which all schemas have in common."""

import json
from typing import Any

import pytest

from guideway.json_schema.lowering import anything, every, lower_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import json_style
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Alt, Rule
from json_schemas import matches

VALUES = [None, True, -1.5e3, 'a"', [], [1, [None, {"": []}]], {}, {"a": {"b": [{}]}, "": 1}]
NONE = ["", "[", "[1,]", "{1:2}", '{"a":1,"a":2}', "nul", "01", '"\n"', '{"a":[}']


@pytest.mark.parametrize("whitespace", ["any", "compact"])
@pytest.mark.parametrize("order", ["any", "declared"])
def test_anything_is_what_json_reads(whitespace: Any, order: Any) -> None:
    source = JsonSchema({}, whitespace=whitespace, key_order=order)
    engine = Derivatives(anything(json_style(source)))
    for value in VALUES:
        assert matches(engine, json.dumps(value, separators=(",", ":")))
    assert matches(engine, '[1, {"a": 2}]') == (whitespace == "any")
    assert not any(matches(engine, text) for text in NONE)


def test_what_a_schema_says_nothing_about_is_the_same_in_all() -> None:
    compact = json_style(JsonSchema({}, whitespace="compact"))
    for schema in ({"not": {"type": "string"}}, {"properties": {"a": {"not": {"const": 1}}}}):
        lowered = lower_json_schema(JsonSchema(schema, whitespace="compact"))
        while isinstance(lowered, Rule):
            lowered = lowered.body
        assert isinstance(lowered, Alt)
        assert every("array", compact) in lowered.options
    assert lower_json_schema(JsonSchema({}, whitespace="compact")) is anything(compact)
