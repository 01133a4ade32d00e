"""Schemas that say the same are one; and nothing else is."""

import json

from guideway.json_schema.meaning import Alike
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.source import JsonSchema
from json_parts import PARTS


def test_what_is_written_twice_is_one_and_what_differs_is_not():
    schema = {"properties": {f"{n}": PARTS[n % len(PARTS)] for n in range(2 * len(PARTS))}}
    alike = Alike(parse_json_schema(JsonSchema(schema)))
    first = [alike.first(f"#/properties/{n}") for n in range(2 * len(PARTS))]
    assert first[: len(PARTS)] == first[len(PARTS) :]
    assert len(set(first)) == len({json.dumps(part) for part in PARTS})


def test_a_reference_is_what_it_refers_to():
    alike = Alike(
        parse_json_schema(
            JsonSchema(
                {
                    "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"type": "string"},
                                   "c": {"$ref": "#/$defs/x", "maxLength": 1}},
                    "$defs": {"x": {"type": "string"}},
                    "not": {"required": ["a"]},
                }
            )
        )
    )  # fmt: skip
    assert alike.first("#/properties/a") == alike.first("#/properties/b")
    assert alike.first("#/properties/c") == "#/properties/c"


def test_rings_that_say_the_same_are_one():
    ring = {"properties": {"next": {"$ref": "#/$defs/one"}}}
    other = {"properties": {"next": {"$ref": "#/$defs/two"}}}
    schema = {"anyOf": [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}],
              "$defs": {"one": ring, "two": other}}  # fmt: skip
    alike = Alike(parse_json_schema(JsonSchema(schema)))
    assert alike.first("#/$defs/one") == "#/$defs/one"
    assert alike.first("#/$defs/two") == "#/$defs/one"
    assert alike.first("#/anyOf/0") == "#/$defs/one"


def test_nesting_has_no_depth():
    schema = {"type": "string"}
    for _ in range(200):
        schema = {"items": schema}
    alike = Alike(parse_json_schema(JsonSchema({"anyOf": [schema, schema]})))
    assert alike.first("#/anyOf/1") == alike.first("#/anyOf/0")
