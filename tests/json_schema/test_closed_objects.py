"""Closed schemas: what they allow the schema allows, and no names that it does not list."""

import json
from typing import Any

import jsonschema
import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel
from referencing import Registry

import guideway as gw
from guideway.json_schema.closed_objects import close_objects
from json_mixtures import Mixture
from random_walks import BYTES

DRAFTS = ("draft-04/schema#", "draft-07/schema#", "draft/2019-09/schema", "draft/2020-12/schema")
A, B = {"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "integer"}}}
TAGGED = [
    {"type": "object", "properties": {"k": {"const": k}, k: A}, "required": ["k"]} for k in "xy"
]


def closed(schema: Any) -> Any:
    return json.loads(close_objects(json.dumps(schema)))


def constraint(schema: Any) -> Any:
    return gw.compile(gw.JsonSchema(schema, undeclared="forbid"), BYTES)


CASES: list[tuple[Any, list[Any], list[Any]]] = [
    (A, [{}, {"a": 1}, 3], [{"a": 1, "z": 1}, {"z": 1}]),
    ({"type": "object"}, [{"z": 1}], []),
    ({**A, "patternProperties": {"^x": {}}}, [{"xy": 1}, {"z": 1}], []),
    ({**A, "additionalProperties": {"type": "null"}}, [{"z": None}], [{"z": 1}]),
    ({**A, "propertyNames": {"maxLength": 1}}, [{"z": 1}], [{"zz": 1}]),
    ({**A, "required": ["r"]}, [{"r": 1}, {"a": 1, "r": 2}], [{"a": 1}, {"r": 1, "z": 1}]),
    ({"properties": {"o": A, "l": {"items": A}}}, [{"o": {"a": 1}}, {"l": [{}]}],
     [{"o": {"z": 1}}, {"l": [{"z": 1}]}]),
    ({"allOf": [A, B]}, [{"a": 1, "b": 2}, {"b": 1}], [{"z": 1}, {"a": 1, "b": 2, "z": 3}]),
    ({"allOf": [A], **B}, [{"a": 1, "b": 2}], [{"a": 1, "z": 3}]),
    ({"allOf": [{"$ref": "#/$defs/a"}, B], "$defs": {"a": A}}, [{"a": 1, "b": 2}], [{"z": 3}]),
    ({"anyOf": [A, {"type": "null"}]}, [{"a": 1}, None], [{"z": 1}]),
    ({"properties": {"p": {"$ref": "#/$defs/a"}}, "$defs": {"a": {**A, "title": "A"}}},
     [{"p": {"a": 1}}, {"p": {}}], [{"p": {"z": 1}}, {"z": 1}]),
    ({"properties": {"n": {"$ref": "#"}, "v": {}}}, [{"n": {"n": {"v": 1}}}],
     [{"n": {"n": {"z": 1}}}]),
    ({"oneOf": TAGGED}, [{"k": "x", "x": {"a": 1}}],
     [{"k": "x", "y": {}}, {"k": "x", "x": {"z": 1}}, {"k": "x", "z": 1}]),
    ({**A, "anyOf": [{"required": ["a"]}, {"required": ["c"]}]}, [{"a": 1}, {"c": 1}],
     [{"a": 1, "z": 2}]),
    ({**A, "not": {"required": ["a"]}}, [{}], [{"a": 1}, {"z": 1}]),
    ({"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"work": B, "both": B}}],
      "$defs": {"base": {"type": "object", "properties": {"home": B, "both": A}}}},
     [{"home": {"b": 1}, "work": {"b": 1}, "both": {"a": 1, "b": 1}}],
     [{"home": {"z": 1}}, {"work": {"z": 1}}, {"z": 1}]),
    ({"properties": {"p": {"$ref": "#/definitions/a"}, "q": {"allOf": [
        {"$ref": "#/definitions/a"}, B]}}, "definitions": {"a": A}},
     [{"p": {"a": 1}, "q": {"a": 1, "b": 1}}], [{"p": {"b": 1}}, {"q": {"z": 1}}]),
]  # fmt: skip


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize(("schema", "right", "wrong"), CASES)
def test_listed_members_are_allowed_and_no_others(
    schema: Any, right: list[Any], wrong: list[Any], draft: str
) -> None:
    if draft.startswith("draft-04") and ("const" in str(schema) or "propertyNames" in str(schema)):
        return
    schema = {"$schema": f"http{'s' * ('20' in draft)}://json-schema.org/{draft}", **schema}
    made = constraint(schema)
    for value, allowed in (*((each, True) for each in right), *((each, False) for each in wrong)):
        assert made.matches(json.dumps(value)) == allowed, (value, closed(schema))
        if allowed:
            jsonschema.validate(value, schema)


def test_what_a_branch_lists_is_allowed_where_it_applies() -> None:
    kinds = {"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": A, "else": B}
    made = constraint({"properties": {"k": True}, **kinds})
    texts = ['{"k": 1, "a": 2}', '{"k": 2, "b": 2}', '{"k": 1, "b": 2}', '{"k": 1, "z": 2}']
    assert [made.matches(text) for text in texts] == [True, True, False, False]


@pytest.mark.parametrize("denied", [
    {"not": {"$ref": "#A"}}, {"oneOf": [{"$ref": "#A"}, {"required": ["z"]}]},
    {"contains": {"$ref": "#A"}, "maxContains": 1},
])  # fmt: skip
def test_a_schema_is_not_closed_where_it_is_denied_by_another_name(denied: Any) -> None:
    """Else `not` would allow more than before."""
    a = {"$anchor": "A", "type": "object", **A}
    schema = {"properties": {"p": {"$ref": "#/$defs/a"}, "q": denied}, "$defs": {"a": a}}
    with pytest.warns(gw.GuidewayWarning, match="#A"):
        assert closed(schema) == schema


@pytest.mark.filterwarnings("ignore::guideway.errors.GuidewayWarning")
def test_what_a_closed_schema_allows_the_schema_allows() -> None:
    tried = 0
    for seed in range(400):
        mixture = Mixture(seed, 2020, 14)
        made, checker = closed(mixture.schema), Draft202012Validator.FORMAT_CHECKER
        own = Draft202012Validator(made, format_checker=checker, registry=Registry())
        for value in (mixture.value() for _ in range(6)):
            if own.is_valid(value):
                tried += isinstance(value, dict)
                assert mixture.verdict(value) is not False, (mixture.schema, value)
    assert tried > 150


def test_text_is_kept_but_for_what_is_added() -> None:
    text = '{"properties":{"a":{"minimum":1.50,"maximum":1E+400,"title":"\\ue000"}}}'
    made = close_objects(text)
    assert made == text[:-1] + ',"additionalProperties":false}'
    assert close_objects("{") == "{"
    assert close_objects('{"$schema": 3}') == '{"$schema": 3}'
    assert gw.JsonSchema(A).text == json.dumps(A, separators=(",", ":"))


def test_generate_invents_no_members() -> None:
    class Person(BaseModel):
        name: str
        age: int

    from guideway.api.prompts import read_source

    made = gw.compile(read_source(Person.model_json_schema()), BYTES)
    assert made.matches('{"name": "a", "age": 3}')
    assert not made.matches('{"name": "a", "age": 3, "location": "x"}')
    with pytest.raises(gw.SourceError, match="undeclared"):
        gw.JsonSchema(A, undeclared="close")
