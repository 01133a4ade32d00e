"""Objects that several parts of `allOf` describe: as one part they allow the same."""

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guideway.automata.derivative import Derivatives
from guideway.lowering.json_schema import Lowering, lower_json_schema
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_merged import merge_objects
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tame import read_tame
from json_schemas import matches, verdict

PARTS: tuple[Any, ...] = (
    True, {}, {"type": "string"}, {"type": "integer"}, {"description": "nothing"}, {"enum": [1]},
    {"$ref": "#/$defs/a"}, {"allOf": [{"required": ["a"]}, {"type": "object"}]},
)  # fmt: skip


def parts() -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "c"])
    plain = st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "object", "string"]),
            "properties": st.dictionaries(names, st.sampled_from(PARTS), max_size=2),
            "required": st.lists(names, max_size=2, unique=True),
            "additionalProperties": st.sampled_from([True, {"type": "integer"}]),
            "title": st.just("any"),
        },
    )
    reference = st.sampled_from(["#/$defs/a", "#/$defs/b"]).map(lambda to: {"$ref": to})
    return st.one_of(plain, plain, reference, st.just(True))


def lists() -> st.SearchStrategy[Any]:
    flat = st.lists(parts(), min_size=1, max_size=3)
    return st.one_of(flat, st.builds(lambda one, more: [{"allOf": one}, *more], flat, flat))


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda one, two, whole, more: {**more, "allOf": whole, "$defs": {"a": one, "b": two}},
        parts().filter(lambda part: part is True or "$ref" not in part),
        parts().filter(lambda part: part is True or part.get("$ref") != "#/$defs/b"),
        lists(),
        st.sampled_from([{}, {"type": "object"}, {"properties": {"c": {"type": "string"}}}]),
    )


VALUES = [
    *(
        {name: value for name, value in zip("abc", values, strict=True) if value != "none"}
        for values in product(("none", "x", 1, {}, {"a": "x"}), repeat=3)
    ),
    "x", 1, {"d": 1}, {"d": "x", "a": 1},
]  # fmt: skip


def loops(schema: dict[str, Any]) -> bool:
    return '"#/$defs/a"' in json.dumps(schema["$defs"]["a"])


@given(schemas(), st.sampled_from(["any", "declared"]))
@settings(max_examples=40, deadline=None)
def test_as_one_part_they_allow_the_same(schema, order):
    if loops(schema):
        return
    source = JsonSchema(schema, whitespace="compact", key_order=order)
    merged = Derivatives(lower_json_schema(source))
    whole = Derivatives(Lowering(source, parse_json_schema(source)).text())
    for value in VALUES[:: 1 if order == "any" else 3]:
        text = json.dumps(value, separators=(",", ":"))
        found = matches(merged, text)
        assert found == matches(whole, text), text
        if order == "any":
            assert found == verdict(schema, value), text
    for text in ('{"c":1,"a":1}', '{"b":"x","a":"x"}', '{"c":"x","b":1,"a":1}'):
        assert matches(merged, text) == matches(whole, text), text


def merged(schema: Any) -> Any:
    tame = read_tame(schema, strict=False)
    assert tame is not None
    return merge_objects(schema, tame)


def test_members_of_all_are_members_of_one():
    named, size = {"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"type": "integer"}
    schema = {
        "allOf": [{"$ref": "#/$defs/n"}, {"allOf": [{"properties": {"b": size, "a": {}}}]}],
        "required": ["b"],
        "$defs": {"n": named},
    }
    assert merged(schema) == {
        "properties": {"a": {"type": "null"}, "b": size},
        "required": ["b", "a"],
    }
    assert merged({"allOf": [{"type": "object"}, True, {"properties": {"a": True}}]}) == {
        "type": "object", "required": [], "properties": {"a": True},
    }  # fmt: skip


@pytest.mark.parametrize("schema", [
    {"allOf": [{"type": "string"}]},
    {"allOf": [False]},
    {"allOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"a": {"type": "null"}}}]},
    {"allOf": [{"additionalProperties": False}]},
    {"allOf": [{"properties": {"a": 3}}, {"required": ["a"]}]},
    {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"minProperties": 1}}},
    {"allOf": [{"allOf": [{"$ref": "#/$defs/a", "required": []}]}], "$defs": {"a": {}}},
    {"allOf": [{"required": [str(number)]} for number in range(80)]},
])  # fmt: skip
def test_what_says_more_is_no_such_part(schema):
    tame = read_tame(schema, strict=False)
    assert tame is None or merge_objects(schema, tame) is None
