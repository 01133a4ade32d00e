"""`formats="annotation"`: the schema means the same as without any `format`."""

import json

import jsonschema
import pytest

import guideway as gw
from guideway.api.linting.enforcement import enforcement
from guideway.json_schema.source import JsonSchema
from json_schemas import machine, matches

DATE = {"type": "string", "format": "date"}
TEXTS = ("2024-02-29", "no date", "10h")
SCHEMAS = [
    DATE,
    {"format": "date"},
    {"items": DATE, "type": "array"},
    {"properties": {"format": DATE, "a": DATE}, "type": "object"},
    {"$ref": "#/components/schemas/Day", "components": {"schemas": {"Day": DATE}}},
    {"$ref": "#/components/const", "components": {"const": DATE}},
    {"const": {"format": "date"}},
    {"enum": [{"format": "date"}, {"format": 3}]},
    {"type": "string", "format": "duration", "pattern": "^([0-9]+[smh])+$"},
    {"anyOf": [{"type": "integer"}, DATE]},
    {"oneOf": [{"format": "date", "type": "string"}, {"type": "null"}]},
    {"not": {"format": "date", "type": "string"}},
    {"if": {"format": "date"}, "then": {"maxLength": 3}},
    {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string", "format": "no-name"},
    {"$id": "http://a/b", "items": {"$ref": "http://a/b#/x"}, "x": DATE},
    {"$defs": {"a": {"$anchor": "here", **DATE}}, "$ref": "#here"},
    {"patternProperties": {"^f": DATE}, "required": ["format"]},
    {"unevaluatedProperties": DATE},
]
INSTANCES = [*TEXTS, 3, None]
INSTANCES += [[text] for text in TEXTS]
INSTANCES += [{"format": "date"}, {"format": 3}, {"format": "x"}, {"a": "x"}, {"a": "2024-02-29"}]


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
@pytest.mark.parametrize("style", [{}, {"key_order": "declared", "whitespace": "natural"}])
def test_formats_say_nothing(schema, style):
    engine = machine(schema, formats="annotation", **style)
    judge = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)
    for instance in INSTANCES:
        assert matches(engine, json.dumps(instance)) == judge.is_valid(instance), instance


def test_formats_of_resources_say_nothing():
    engine = machine({"$ref": "a"}, resources={"a": DATE}, formats="annotation")
    assert matches(engine, '"no date"')


def test_masks_agree():
    vocabulary = gw.Vocabulary([bytes([byte]) for byte in range(256)])
    for schema in SCHEMAS:
        constraint = gw.compile(JsonSchema(schema, formats="annotation"), vocabulary)
        engine = machine(schema, formats="annotation")
        for instance in INSTANCES:
            text = json.dumps(instance)
            assert constraint.matches(text) == matches(engine, text), (schema, instance)


def test_the_text_keeps_them_and_explain_says_what_they_are():
    source = JsonSchema({**DATE, "maxLength": 9}, formats="annotation")
    assert source.text == json.dumps({**DATE, "maxLength": 9}, separators=(",", ":"))
    told = {row.place: (row.standing, row.how) for row in enforcement(source)}
    assert told["/format"] == ("annotation", 'formats="annotation"')
    assert told["/maxLength"] == ("exact", "characters are counted")
    assert JsonSchema(DATE, formats="annotations").formats == "annotation"
