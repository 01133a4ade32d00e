"""Laws of schemas that wait: they have an instance, and allow what their formulas allow."""

import json
from typing import Any

import pytest
from hypothesis import given

import guideway as gw
from guideway.automata.derivative import Derivatives
from guideway.lowering.json_atoms import Holds
from guideway.lowering.json_formulas import leaf
from guideway.lowering.json_schema import Lowering
from guideway.syntax.json_schema_keywords import JSON_TEXT
from json_schemas import matches, schemas
from random_walks import BYTES

VALUES = [
    *(None, True, 0, 1, -2.5, "", "a", "ab", "é", [], [0], ["a", 1], [[]], {}, {"a": 1}),
    *({"b": "a"}, {"a": {}, "b": []}, {"c": None}),
]
TEXTS = [json.dumps(value, ensure_ascii=False) for value in VALUES]


@given(schemas())
def test_what_waits_has_an_instance_and_means_what_formulas_say(schema: Any) -> None:
    lowering = Lowering(gw.JsonSchema(schema))
    for address in lowering._waiting.sure:
        said = lowering.whole(leaf(Holds(address)))
        waited, whole = Derivatives(lowering._waited(address)), Derivatives(said)
        assert whole.has_text(said)
        assert [matches(waited, text) for text in TEXTS] == [matches(whole, text) for text in TEXTS]


@pytest.mark.parametrize(
    ("part", "waits"),
    [
        ({"oneOf": [{"type": "null"}, {"type": "array"}]}, True),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, False),
        ({"patternProperties": {"^x-": {}}, "properties": {"a": {}}}, True),
        ({"patternProperties": {"^x-": {"type": "null"}}, "properties": {"a": {}}}, False),
        ({"patternProperties": {"^(?!x)": {}}}, False),
        ({"items": {"$ref": "#/properties/a"}, "minItems": 1, "type": "array"}, False),
        ({"items": {"$ref": "#/properties/a"}}, True),
        ({"type": "string", "pattern": "^a$"}, True),
        ({"type": "string", "pattern": "^a$", "minLength": 2}, False),
        ({"enum": ["a", 1]}, True),
        ({"type": "number", "minimum": 1, "maximum": 0}, False),
        ({"not": {}}, False),
    ],
)
def test_only_what_says_plainly_what_there_is_waits(part: dict[str, Any], waits: bool) -> None:
    found = Lowering(gw.JsonSchema({"properties": {"a": part}}))._waiting
    assert ("#/properties/a" in found.sure) is waits
    assert ("#/properties/a" in found.decided) <= (not waits)


def test_what_is_refused_far_below_is_refused_when_compiling() -> None:
    inner = {"allOf": [{"type": "string", JSON_TEXT: {}}, {"pattern": "a"}]}
    schema = {"properties": {"a": {"items": {"properties": {"b": inner}}}}}
    with pytest.raises(gw.UnsupportedError):
        gw.compile(gw.JsonSchema(schema), BYTES)
