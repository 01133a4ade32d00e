"""Strings as they stand, whatever words the schema has for them: what is read back satisfies it."""

import json
from typing import Any

import pytest
from jsonschema.validators import validator_for
from referencing import Registry

import guideway as gw
from guideway.chat.tool_literals import as_json, elements, parameters
from guideway.json_schema.source import JsonSchema
from tool_samples import PLAIN, QWEN

STRING, NULL, NUMBER = {"type": "string"}, {"type": "null"}, {"type": "integer"}
TEXTS = ["", "a", "b", "ab", "abc", "null", "1", "true", "[]", '"a"', '{"a": "b"}', "é"]


def satisfies(whole: dict[str, Any], value: Any) -> bool:
    kind = validator_for(whole, default=validator_for({"$schema": LATEST}))
    return kind(whole, registry=Registry()).is_valid(value)


LATEST = "https://json-schema.org/draft/2020-12/schema"


def check(whole: dict[str, Any], *, is_text: bool) -> None:
    """Texts of the argument `a` are those that the schema allows, read back."""
    listed = parameters("f", JsonSchema(whole))
    one = next(each for each in listed if each.name == "a")
    assert one.is_text == is_text
    constraint = gw.compile(elements((one,), QWEN) + "", PLAIN)
    for text in TEXTS:
        written = f"<parameter=a>\n{text}\n</parameter>\n"
        try:
            read = json.loads(as_json((one,), written, QWEN))
        except ValueError:
            assert not constraint.matches(written)
            continue
        assert constraint.matches(written) == satisfies(whole, read), (text, read)


@pytest.mark.parametrize(
    "schema",
    [
        STRING,
        {"type": ["string", "null"]},
        {"type": ["string"]},
        {"allOf": [STRING]},
        {"allOf": [STRING, {"minLength": 2}, {"maxLength": 3}]},
        {"$ref": "#/$defs/s"},
        {"$ref": "#here"},
        {"$ref": "there"},
        {"$ref": "#/$defs/a~1b"},
        {"$ref": "#/$defs/a%20b"},
        {"$ref": "#/properties/b"},
        {"$ref": "#/$defs/s", "maxLength": 1},
        {"type": "string", "anyOf": [STRING, NULL]},
        {"anyOf": [STRING, {"type": "null", "not": {}}]},
        {"anyOf": [{"const": "a"}, {"const": "b"}, {"pattern": "^b", "type": "string"}]},
        {"oneOf": [{"const": "a"}, {"enum": ["a", "b"]}, NULL]},
        {"oneOf": [STRING, NULL, NULL]},
        {"oneOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 2}]},
        {"oneOf": [STRING, NULL, {"type": "string", "minLength": 2}]},
        {"oneOf": [NUMBER, {"type": "string", "minLength": 2}], "type": "string"},
        {"anyOf": [STRING, NULL], "oneOf": [{"const": "b"}, NULL]},
        {"not": {"type": ["number", "boolean", "array", "object"]}},
        {"type": "string", "not": {"const": "a"}},
        {"type": "string", "not": {"not": {"pattern": "a|c"}}},
        {"type": "string", "pattern": "(?i)^A(?=[BC])"},
        {"type": "string", "pattern": "(?x) B $ # ends so"},
        {"type": "string", "not": {"type": "string", "enum": []}},
        {"type": ["string", "null"], "not": {"type": "string", "minLength": 1}},
        {"type": "string", "minLength": 3, "maxLength": 1},
        {"enum": ["a", None]},
        {"enum": ["a", "null"]},
        {"enum": ["a", "abc", ""], "maxLength": 1},
        {"enum": ["a", "b"], "const": "b"},
        {"enum": ["a"], "const": "b", "type": ["string", "null"]},
        {"type": "string", "if": {"minLength": 2}, "then": {"pattern": "c"}},
        {"type": "string", "if": {"const": "a"}, "else": {"maxLength": 0}},
        {"type": ["string", "null"], "if": NULL, "then": False},
        {"type": ["string", "null"], "if": {"type": "string", "minLength": 1}, "then": STRING},
        {"type": "string", "minimum": 4, "format": "nobody knows this"},
        {"type": ["string", "null"], "if": {"minLength": 1}, "then": STRING, "else": STRING},
    ],
)
def test_strings_stand_as_they_are(schema: dict[str, Any]):
    definitions = {
        "s": STRING,
        "a/b": STRING,
        "a b": STRING,
        "n": {"$anchor": "here", "type": "string"},
        "i": {"$id": "there", "type": "string"},
    }
    check(
        {"type": "object", "properties": {"a": schema, "b": STRING}, "$defs": definitions},
        is_text=True,
    )


@pytest.mark.parametrize(
    "schema",
    [
        NULL,
        True,
        {"type": "integer", "const": "1"},
        {"type": "null", "anyOf": [STRING, NULL]},
        {"anyOf": [STRING, NUMBER]},
        {"anyOf": [STRING, {"type": "boolean", "const": True}]},
        {"type": ["string", "object"], "if": {"type": "object"}, "then": {"required": ["a"]}},
        {"enum": ["a", 1, True, [], {"a": "b"}]},
        {"$ref": "#/properties/b"},
        {"$ref": "#/$defs/n"},
        {"$ref": "#/$defs/a%20b"},
        {"$ref": "#"},
    ],
)
def test_all_else_is_json(schema: Any):
    definitions = {"n": NUMBER, "a b": {"$ref": "#/properties/b"}}
    check(
        {"type": "object", "properties": {"a": schema, "b": NUMBER}, "$defs": definitions},
        is_text=False,
    )


def test_a_string_may_have_a_format():
    dated = {"type": "null", "allOf": [{"format": "date"}]}
    check({"properties": {"a": {"anyOf": [{"const": "a"}, dated]}}}, is_text=True)
    for said, right in (({}, "2024-02-29"), ({"not": {"format": "date"}}, "2023-02-29")):
        dated = {"type": "string", **(said or {"format": "date"})}
        listed = parameters("f", JsonSchema({"properties": {"a": dated}, "required": ["a"]}))
        constraint = gw.compile(elements(listed, QWEN), PLAIN)
        for text in ("2024-02-29", "2023-02-29"):
            written = f"<parameter=a>\n{text}\n</parameter>\n"
            assert constraint.matches(written) == (text == right)


def test_many_conditions_of_a_string_are_read():
    alike: dict[str, Any] = {"type": "string"}
    for length in range(12):
        ways = [{"minLength": length, **alike}, {"maxLength": 90 - length, "allOf": [alike]}]
        alike = {"type": "string", "anyOf": ways}
    check({"properties": {"a": alike}}, is_text=True)
    deep: dict[str, Any] = {"type": "string"}
    for length in range(1, 60):
        deep = {"anyOf": [{"minLength": 200 - length}, {"not": deep}], "type": "string"}
    check({"properties": {"a": deep}}, is_text=True)
