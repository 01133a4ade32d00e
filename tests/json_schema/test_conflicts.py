"""Schemas without any instance are told which keywords exclude each other, and where."""

from typing import Any

import pytest

import guideway as gw
from guideway.json_schema.lowering import explain_conflict, lower_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr


def is_empty(expr: Expr) -> bool:
    return not Derivatives(expr).alive(expr)


@pytest.mark.parametrize(
    ("schema", "place", "conflict"),
    [
        ({"type": "integer", "minimum": 5, "maximum": 3}, "", ("minimum", "maximum")),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2, "title": "t"}, "",
         ("exclusiveMinimum", "exclusiveMaximum")),
        ({"type": "string", "enum": [1, 2]}, "", ("type", "enum")),
        ({"enum": []}, "", ("enum",)),
        ({"type": "number", "enum": [1, 2], "minimum": 4}, "", ("enum", "minimum")),
        ({"type": "string", "pattern": "^ab$", "minLength": 3}, "", ("pattern", "minLength")),
        ({"type": "string", "format": "date", "pattern": "x"}, "", ("format", "pattern")),
        ({"enum": ["a", "b"], "pattern": "c"}, "", ("enum", "pattern")),
        ({"type": "array", "minItems": 2, "maxItems": 1}, "", ("minItems", "maxItems")),
        ({"enum": [1, 2, 3], "minimum": 2, "maximum": 2, "exclusiveMaximum": 2, "title": "t"}, "",
         ("enum", "minimum", "exclusiveMaximum")),
        (False, "", ("false",)),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "",
         ("/allOf/0/type", "/allOf/1/type")),
        ({"anyOf": [{"type": "null", "enum": [1]}, False]}, "",
         ("/anyOf/0/type", "/anyOf/0/enum", "/anyOf/1/false")),
        ({"type": "object", "properties": {"a": {"type": "string", "minLength": 4, "maxLength": 2}},
          "required": ["a"]}, "/properties/a", ("minLength", "maxLength", 'required "a"')),
        ({"type": "object", "required": ["b"],
          "properties": {"a": True, "b": {"type": "string", "minLength": 4, "maxLength": 2}}},
         "/properties/b", ("minLength", "maxLength", 'required "b"')),
        ({"type": "object", "required": ["b"], "additionalProperties": False},
         "/additionalProperties", ("false", 'required "b"')),
        ({"type": "array", "minItems": 2, "prefixItems": [True, {"enum": []}]}, "/prefixItems/1",
         ("enum", "minItems, item 1")),
        ({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]},
         "/properties/x", ('required "x"',)),
        ({"const": [1], "maxItems": 0}, "", ("/const", "/maxItems")),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null", "const": 1}}}, "",
         ("/$defs/a/type", "/$defs/a/const")),
        ({"const": {"a": 1}, "properties": {"a": {"const": 2}}, "type": "object"},
         "/properties/a", ("/properties/a/const", "/const/a", 'required "a"')),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 3,
          "exclusiveMinimum": True, "maximum": 3}, "", ("minimum", "exclusiveMinimum", "maximum")),
        ({"type": "integer", "minimum": 1, "maximum": 9, "enum": [0, 10]}, "",
         ("minimum", "maximum", "enum")),
    ],
)  # fmt: skip
def test_the_conflict_is_named(schema, place, conflict):
    source = JsonSchema(schema)
    assert is_empty(lower_json_schema(source))
    error = explain_conflict(source, is_empty)
    assert error.conflict == conflict
    assert error.place == place


def test_a_conflict_in_a_resource_names_all_keywords():
    resources = {"http://x/s": {"type": "string", "minLength": 2, "maxLength": 1}}
    source = JsonSchema({"$ref": "http://x/s"}, resources=resources)
    error = explain_conflict(source, is_empty)
    assert error.conflict == ("/type", "/minLength", "/maxLength")


@pytest.mark.parametrize("depth", [500, 3000])
def test_a_conflict_in_a_deep_schema_is_told(depth):
    text = '{"anyOf":[' * depth + '{"type":"null","enum":[1]}' + "]}" * depth
    error = explain_conflict(JsonSchema(text), is_empty)
    assert len(str(error)) <= 500
    shallow = explain_conflict(JsonSchema(f'{{"type":"null","const":1,"$defs":{text}}}'), is_empty)
    assert set(shallow.conflict) == {"type", "const"}


@pytest.mark.parametrize("denied", [{"enum": [[n] for n in range(9)]}, {"minItems": 3}])
def test_what_must_not_come_may_be_arrays(denied: dict[str, Any]) -> None:
    schema = {"type": "array", "not": denied, "minItems": 2, "maxItems": 1}
    with pytest.raises(gw.UnsatisfiableError, match="minItems"):
        gw.compile(gw.JsonSchema(schema), gw.Vocabulary([bytes([byte]) for byte in range(256)]))
