"""What schemas say together: cases, merged keywords, proofs of emptiness."""

from decimal import Decimal
from typing import Any

import pytest

from fairlead.errors import LimitError
from fairlead.lowering.json_meets import booleans, expand, surely_empty
from fairlead.syntax.json_schema import parse_json_schema
from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.json_schema_tree import Bound


def cases(schema: Any):
    document = parse_json_schema(JsonSchema(schema))
    return list(expand(document, (document.root,)))


def meets(*schemas: Any) -> bool:
    """Whether the schemas are shown to exclude each other."""
    document = parse_json_schema(JsonSchema({"prefixItems": list(schemas)}))
    return surely_empty(document, document.schemas[document.root].arrays.prefix)


def test_references_and_groups_are_resolved_into_cases():
    schema = {
        "$ref": "#/$defs/a",
        "anyOf": [{"minimum": 1}, {"allOf": [{"type": "string"}, {"type": "number"}]}, True],
        "$defs": {"a": {"type": ["number", "null"]}},
    }
    assert [case.meet for case in cases(schema)] == [
        ("#/$defs/a", "#/anyOf/0"),
        ("#/$defs/a",),
    ]


def test_a_schema_reached_twice_counts_once():
    schema = {
        "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}],
        "$defs": {"a": {"minimum": 1}},
    }
    assert [case.meet for case in cases(schema)] == [("#/$defs/a",)]


def test_cases_that_multiply_are_a_limit():
    many = {"allOf": [{"anyOf": [{"minimum": n}, {"maximum": n}]} for n in range(20)]}
    with pytest.raises(LimitError) as caught:
        cases(many)
    assert caught.value.limit == "cases"


def test_bounds_tighten_and_values_intersect():
    (case,) = cases({"allOf": [
        {"minimum": 1, "maximum": 9, "minLength": 1},
        {"exclusiveMinimum": 1, "maximum": 7, "type": "integer", "maxLength": 5},
        {"exclusiveMaximum": 7, "maxLength": 3},
    ]})  # fmt: skip
    numbers = case.numbers()
    assert numbers.lower == (Bound(Decimal(1), exclusive=True),)
    assert numbers.upper == (Bound(Decimal(7), exclusive=True),)
    assert numbers.integer
    (case,) = cases({"enum": [0.5, 1, 2, 3, "a", "abcd"], "allOf": [
        {"enum": [0.5, 1, 3, "a", "abcd", True]}, {"type": ["integer", "string"]},
        {"maximum": 2, "maxLength": 3, "minLength": 1},
    ]})  # fmt: skip
    assert case.numbers().values == {1}
    assert case.strings()[0].values == {"a"}


def test_items_and_properties_meet_by_position_and_name():
    (case,) = cases({"allOf": [
        {"prefixItems": [{"title": "a"}], "items": {"title": "b"}, "minItems": 1},
        {"items": {"title": "c"}, "maxItems": 4},
        {"properties": {"x": True}, "additionalProperties": {"title": "d"}, "required": ["z"]},
        {"properties": {"y": True}, "propertyNames": {"title": "e"}},
    ]})  # fmt: skip
    assert case.prefix_length() == 1
    assert case.item(0) == ("#/allOf/0/prefixItems/0", "#/allOf/1/items")
    assert case.item(1) == ("#/allOf/0/items", "#/allOf/1/items")
    assert (case.arrays().low, case.arrays().high) == (1, 4)
    assert case.names() == ("x", "y", "z")
    assert case.property("x") == ("#/allOf/2/properties/x",)
    assert case.property("y") == ("#/allOf/2/additionalProperties", "#/allOf/3/properties/y")
    assert case.additional() == case.property("z") == ("#/allOf/2/additionalProperties",)
    assert case.property_names() == ("#/allOf/3/propertyNames",)


def test_booleans_intersect():
    (case,) = cases({"allOf": [{"enum": [True, False]}, {"enum": [True, 1]}], "type": "boolean"})
    assert booleans(case) == {True}


KIND = {"properties": {"kind": {"const": "a"}}, "required": ["kind"], "type": "object"}


@pytest.mark.parametrize(
    ("one", "other", "excluded"),
    [
        ({"type": "string"}, {"type": ["number", "null"]}, True),
        ({"type": "null"}, {"type": "null"}, False),
        ({"const": True}, {"const": False}, True),
        ({"const": True}, {"type": "boolean"}, False),
        ({"const": 1}, {"enum": [2, 3]}, True),
        ({"const": 1}, {"const": 1.0}, False),
        ({"type": "number", "maximum": 3}, {"exclusiveMinimum": 3}, True),
        ({"type": "number", "maximum": 3}, {"minimum": 3}, False),
        ({"type": "number", "maximum": 3}, {"minimum": 4}, True),
        ({"type": "number", "maximum": 3}, {"type": "number"}, False),
        ({"type": "string", "maxLength": 3}, {"minLength": 4}, True),
        ({"type": "string", "maxLength": 3}, {"minLength": 3}, False),
        ({"enum": ["a", "bc"]}, {"enum": ["d", "a"], "minLength": 2}, True),
        ({"enum": ["a"]}, {"type": "string"}, False),
        (KIND, {**KIND, "properties": {"kind": {"enum": ["b", "c"]}}}, True),
        (KIND, {**KIND, "properties": {"kind": {"type": "string"}}}, False),
        (KIND, {"properties": {"kind": {"const": "b"}}, "type": "object"}, True),
        ({"properties": {"x": {"const": 1}}}, {"properties": {"x": {"const": 2}}}, False),
        (KIND, {"type": "object", "additionalProperties": False}, True),
        ({"type": "array", "minItems": 1, "items": {"const": 1}}, {"items": {"const": 2}}, True),
        ({"type": "array", "items": {"const": 1}}, {"items": {"const": 2}}, False),
        ({"type": "array", "minItems": 3}, {"maxItems": 2}, True),
        ({"const": [1, {"a": 2}]}, {"const": [1, {"a": 3}]}, True),
        ({"const": {"a": 1}}, {"const": {"b": 1}}, True),
    ],
)
def test_schemas_exclude_each_other_where_keywords_show_it(one, other, excluded):
    assert meets(one, other) is excluded
    assert meets(other, one) is excluded


def test_a_proof_looks_only_so_deep():
    one: Any = {"const": 1}
    other: Any = {"const": 2}
    for _ in range(5):
        one, other = (
            {"properties": {"a": s}, "required": ["a"], "type": "object"} for s in (one, other)
        )
    assert meets(one, other)
    for _ in range(5):
        one, other = (
            {"properties": {"a": s}, "required": ["a"], "type": "object"} for s in (one, other)
        )
    assert not meets(one, other)
