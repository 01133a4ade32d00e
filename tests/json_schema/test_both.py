"""JSON Schemas that hold together; `jsonschema` and `jsonschema-rs` on each are the oracle."""

import json
from typing import Any

import jsonschema
import jsonschema_rs
import pytest

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.json_schema.lowering import apart
from guideway.language.finite_languages import Decisions
from guideway.sources.json_style import Whitespace

VALUES: list[Any] = [
    *(
        None,
        True,
        0,
        1,
        2.5,
        7,
        -3,
        "",
        "a",
        "abc",
        [],
        [1],
        [1, 2, 3],
        ["a", 1],
        [[]],
        [[1], [[]]],
    ),
    *({}, {"a": 1}, {"a": "x"}, {"b": 2}, {"a": 1, "b": 2}, {"b": "x", "a": 1}, {"c": []}),
    *(
        {"a": 1, "c": {}},
        {"a": {"a": {"a": 1}}},
        {"a": {"b": 2}},
        {"a": 1, "b": 2, "c": 3},
        {"x-y": 1},
    ),
]
DRAFT4, DRAFT7 = (f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 7))
PAIRS: list[tuple[Any, Any]] = [
    ({"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "integer"}}}),
    ({"properties": {"a": True}, "additionalProperties": False}, {"minProperties": 1}),
    ({"type": "array", "items": {"$ref": "#"}}, {"maxItems": 2, "items": {"minItems": 1}}),
    ({"type": ["number", "string"]}, {"minimum": 1, "maxLength": 2}),
    ({"type": "integer"}, {"multipleOf": 2.5}),
    # What is read by itself: an identifier, anchors and definitions of one name, and a draft.
    (
        {"$id": "http://x/s", "$defs": {"d": {"type": "integer"}}, "items": {"$ref": "#/$defs/d"}},
        {"$id": "http://x/s", "$defs": {"d": {"minimum": 2}}, "items": {"$ref": "#/$defs/d"}},
    ),
    (
        {"$schema": DRAFT4, "minimum": 1, "exclusiveMinimum": True, "maximum": 9},
        {"$schema": DRAFT7, "exclusiveMaximum": 7},
    ),
    (
        {"$schema": DRAFT7, "items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
        {"prefixItems": [{"type": "string"}], "minItems": 1},
    ),
    (
        {
            "$schema": DRAFT7,
            "$ref": "#/definitions/d",
            "maxItems": 0,
            "definitions": {"d": {"minItems": 1}},
        },
        {"maxItems": 3},
    ),
    ({"unevaluatedProperties": False, "properties": {"a": True}}, {"properties": {"b": True}}),
    (
        {"$dynamicAnchor": "n", "additionalProperties": {"$dynamicRef": "#n"}, "type": "object"},
        {"required": ["a"]},
    ),
    ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"not": {"required": ["c"]}}),
    ({"enum": [1, "a", [1], {"a": 1}]}, {"const": {"a": 1}}),
    ({"patternProperties": {"-": {"type": "integer"}}}, {"propertyNames": {"minLength": 2}}),
    (True, {"type": "object", "maxProperties": 1}),
    ({"type": "object"}, False),
]


def allows(schema: Any, value: Any) -> bool:
    found = jsonschema.validators.validator_for(schema)(schema).is_valid(value)
    assert found == jsonschema_rs.is_valid(schema, value), (schema, value)
    return found


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_what_both_allow_and_what_one_alone_allows(left: Any, right: Any) -> None:
    decisions = Decisions()
    one, other = gw.JsonSchema(left), gw.JsonSchema(right)
    both = lower_source(one & other, decisions)
    only = lower_source(one - other, decisions)
    for value in VALUES:
        here, there = allows(left, value), allows(right, value)
        for text in (json.dumps(value), json.dumps(value, indent=1)):
            assert decisions.contains(both, text.encode()) == (here and there), text
            assert decisions.contains(only, text.encode()) == (here and not there), text


def test_three_hold_together_and_types_are_schemas_too():
    decisions = Decisions()
    whole = lower_source(
        gw.source(dict[str, int])
        & gw.JsonSchema({"minProperties": 2})
        & gw.JsonSchema({"maxProperties": 2})
        - gw.JsonSchema({"required": ["b"]})
        - gw.JsonSchema({"required": ["c"]}),
        decisions,
    )
    for value in VALUES:
        expected = (
            isinstance(value, dict)
            and all(isinstance(each, int) for each in value.values())
            and len(value) == 2
            and not {"b", "c"} & value.keys()
        )
        assert decisions.contains(whole, json.dumps(value).encode()) == expected
    assert decisions.contains(whole, b'{"a": 1, "x": 2}')


def test_schemas_of_resources_and_beside_regular_sources():
    decisions = Decisions()
    one = gw.JsonSchema({"items": {"$ref": "x:a"}}, resources={"x:a": {"type": "integer"}})
    other = gw.JsonSchema({"items": {"$ref": "x:a"}}, resources={"x:a": {"minimum": 2}})
    whole = lower_source(one & gw.Regex(r"\[.*\]") & other, decisions)
    found = [
        text
        for text in ("[1]", "[2]", '["a"]', "[2, 3]", "7")
        if decisions.contains(whole, text.encode())
    ]
    assert found == ["[2]", "[2, 3]"]


@pytest.mark.parametrize(
    ("one", "other", "text", "belongs"),
    [
        ("any", "compact", "[1]", True),
        ("any", "compact", "[ 1]", False),
        ("natural", Whitespace(spaces=2, newline=False), "[ 1]", True),
        ("natural", Whitespace(spaces=2, newline=False), "[  1]", False),
        ("natural", Whitespace(spaces=2, newline=False), "[\n1]", False),
        (Whitespace(indent=2), Whitespace(spaces=0, indent=1), "[\n 1]", True),
        (Whitespace(indent=2), Whitespace(spaces=0, indent=1), "[\n  1]", False),
        ("any", "any", " [ 1 ] ", True),
    ],
)
def test_whitespace_is_the_narrower_of_both(one: Any, other: Any, text: str, belongs: bool) -> None:
    nested = {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}}
    decisions = Decisions()
    first, second = gw.JsonSchema(nested, whitespace=one), gw.JsonSchema(nested, whitespace=other)
    for whole in (first & second, second & first):
        assert decisions.contains(lower_source(whole, decisions), text.encode()) == belongs
        each = [decisions.contains(lower_source(s), text.encode()) for s in (first, second)]
        assert all(each) == belongs


NEST = {"type": "array", "items": {"$ref": "#"}}


@pytest.mark.parametrize(
    ("one", "other", "denied", "option"),
    [
        ({"key_order": "declared"}, {}, False, "key_order='any'"),
        ({}, {"spelling": "plain"}, False, "the same spelling"),
        ({}, {"whitespace": "compact"}, True, "whitespace that the first one has, too,"),
        ({"whitespace": "compact"}, {"whitespace": "natural"}, True, ""),
    ],
)
def test_options_that_do_not_go_together_are_refused_by_name(
    one: Any, other: Any, denied: bool, option: str
) -> None:
    first, second = gw.JsonSchema(NEST, **one), gw.JsonSchema(NEST, **other)
    assert apart([first], [second]) == option if denied else apart([first, second], []) == option
    whole = first - second if denied else first & second
    if not option:
        assert not Decisions().machine.alive(lower_source(whole, Decisions()))
        return
    with pytest.raises(gw.UnsupportedError, match=r"nests? without end") as error:
        lower_source(whole, Decisions())
    assert f"with {option} they could be read as one schema" in str(error.value)
    # What nests only so deep is exact whatever the options.
    flat = {"type": "object", "properties": {"b": {}, "a": {}}, "additionalProperties": False}
    flat["properties"] = {"b": {"type": "integer"}, "a": {"type": "integer"}}
    decisions = Decisions()
    first, second = gw.JsonSchema(flat, **one), gw.JsonSchema(flat, **other)
    expr = lower_source(first - second if denied else first & second, decisions)
    for text in (b'{"a":1,"b":2}', b'{"b":1,"a":2}', b'{ "b":1}', b"{}", b'{"b":1.0}'):
        each = [decisions.contains(lower_source(s), text) for s in (first, second)]
        assert decisions.contains(expr, text) == (each[0] and each[1] != denied), text
