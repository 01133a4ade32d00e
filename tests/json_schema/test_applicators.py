"""All applicators and assertions against two validators, on values and on texts drawn from them."""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guideway.errors import GuidewayError, LimitError, UnsupportedError
from guideway.language.fuel import metered
from json_applicators import Applicators
from json_schemas import draw, machine, matches, verdict, write
from shares import one_in

SEEDS = st.integers(0, 2**32)


@pytest.mark.untraced
@one_in(2)
@given(SEEDS)
def test_an_instance_is_accepted_exactly_if_both_validators_take_it(seed):
    drawn, chance = Applicators(seed), random.Random(seed)
    schema = drawn.document()
    engine = machine(schema)
    for _ in range(8):
        value = drawn.instance()
        expected = verdict(schema, value)
        if expected is not None:
            assert matches(engine, write(value, chance)) == expected, (schema, value)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(SEEDS, st.sampled_from(["any", "declared"]))
def test_whatever_is_generated_both_validators_take(seed, key_order):
    schema, chance = Applicators(seed).document(), random.Random(seed)
    engine = machine(schema, key_order=key_order)
    assume(engine.alive(engine.start()))
    for _ in range(3):
        text = draw(engine, chance)
        value = json.loads(text)
        assume("inf" not in repr(value))
        assert verdict(schema, value) is not False, (schema, text)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"not": {"type": "string"}}, [1, None, {}], ["", "a"]),
        ({"not": {"minimum": 3}}, [2, -1.5], [3, 10, "a"]),
        ({"not": {"const": {"a": 1}}}, [{}, {"a": 2}, {"a": 1, "b": 1}], [{"a": 1}, {"a": 1.0}]),
        ({"not": {"enum": [[1, 2], True]}}, [[1], [1, 2, 3], False], [[1, 2], True]),
        ({"not": {"uniqueItems": True}}, [[1, 1], [2, 1, 2]], [[], [1, 2], "a"]),
        ({"not": {"contains": {"const": 1}, "maxContains": 1}}, [[], [1, 1]], [[1], [1, 2]]),
        ({"not": {"patternProperties": {"^a": {"type": "null"}}}},
         [{"ab": 1}, {"a": 1, "b": 2}], [{}, {"a": None}, {"b": 1}]),
        ({"not": {"propertyNames": {"maxLength": 1}}}, [{"ab": 1}], [{}, {"a": 1}]),
        ({"not": {"items": {"type": "null"}}}, [[1], [None, 1]], [[], [None]]),
        ({"not": {"minItems": 1, "maxItems": 2}}, [[], [1, 2, 3]], [[1], [1, 2]]),
        ({"not": {"minProperties": 1}, "type": "object"}, [{}], [{"a": 1}]),
        ({"not": {"maxProperties": 1}}, [{"a": 1, "b": 1}], [{}, {"a": 1}]),
        ({"not": {"type": ["boolean", "null"]}}, [1], [None, True, False]),
        ({"type": "boolean", "not": {"const": True}}, [False], [True]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5], [2, 1.5]),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
         [{"a": 1, "b": 1}, {"c": 1}], [{"a": 1}, {}, {"b": 1}]),
        ({"if": {"const": 1}}, [1, 2], []),
        ({"then": False, "else": False}, [1], []),
        ({"dependentRequired": {"a": ["b", "c"]}}, [{}, {"b": 1}, {"a": 1, "b": 1, "c": 1}],
         [{"a": 1}, {"a": 1, "b": 1}]),
        ({"dependentSchemas": {"a": {"maxProperties": 1}}}, [{"a": 1}, {"b": 1, "c": 1}],
         [{"a": 1, "b": 1}]),
        ({"patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 3}},
          "additionalProperties": False}, [{"a": 1}, {"ab": 3}, {"b": "x"}],
         [{"a": "x"}, {"ab": 2}, {"c": 1}]),
        ({"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False,
          "properties": {"b": {}}}, [{"a1": 1, "b": None}], [{"a1": None}, {"c": 1}]),
        ({"propertyNames": {"enum": ["a", "b"]}, "minProperties": 2}, [{"a": 1, "b": 2}],
         [{"a": 1}, {"a": 1, "c": 2}]),
        ({"minProperties": 2, "maxProperties": 2}, [{"a": 1, "z": 2}], [{}, {"a": 1}]),
        ({"contains": {"const": 1}}, [[1], [2, 1]], [[], [2]]),
        ({"contains": {"const": 1}, "minContains": 2}, [[1, 2, 1]], [[1, 2]]),
        ({"contains": {"const": 1}, "minContains": 0, "maxContains": 1}, [[], [1]], [[1, 1]]),
        ({"contains": False, "minContains": 0}, [[], [1]], []),
        ({"uniqueItems": True}, [[1, True, "1", [1], {"a": 1}], []],
         [[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [[1], [1]], ["a", "\u0061"]]),
        ({"uniqueItems": True, "items": {"enum": ["a", "b"]}, "minItems": 2},
         [["a", "b"], ["b", "a"]], [["a"], ["a", "a"]]),
        ({"uniqueItems": True, "items": {"uniqueItems": True, "type": "array"}},
         [[[1], [2]], [[1, 2], [2, 1]]], [[[1, 1]], [[1], [1]]]),
        ({"properties": {"a": True}, "unevaluatedProperties": False}, [{}, {"a": 1}], [{"b": 1}]),
        ({"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]},
                    {"properties": {"b": {"const": 2}}, "required": ["b"]}],
          "unevaluatedProperties": False}, [{"a": 1}, {"a": 1, "b": 2}], [{"a": 1, "b": 3}, {}]),
        ({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
          "then": {"properties": {"b": True}}, "else": {"properties": {"c": True}},
          "unevaluatedProperties": False}, [{"a": 1, "b": 2}, {"c": 2}], [{"a": 1, "c": 2}]),
        ({"dependentSchemas": {"a": {"properties": {"b": True}}}, "properties": {"a": True},
          "unevaluatedProperties": False}, [{"a": 1, "b": 1}, {"a": 1}], [{"b": 1}]),
        ({"oneOf": [{"properties": {"a": True}, "required": ["a"]},
                    {"properties": {"b": True}, "required": ["b"]}],
          "unevaluatedProperties": {"type": "null"}}, [{"a": 1, "z": None}], [{"a": 1, "z": 1}]),
        ({"allOf": [{"patternProperties": {"^x": True}}], "unevaluatedProperties": False},
         [{"xa": 1}], [{"a": 1}]),
        ({"allOf": [{"additionalProperties": True}], "unevaluatedProperties": False},
         [{"xa": 1}], []),
        ({"prefixItems": [True], "unevaluatedItems": False}, [[1]], [[1, 2]]),
        ({"anyOf": [{"prefixItems": [{"const": 1}, True]}, {"type": "array"}],
          "unevaluatedItems": False}, [[], [1, 2]], [[2, 1], [1, 2, 3]]),
        ({"contains": {"const": 1}, "unevaluatedItems": {"const": 2}}, [[1, 2]], [[1, 3]]),
        ({"allOf": [{"items": True}], "unevaluatedItems": False}, [[1, 2]], []),
        ({"const": {"a": 1}, "unevaluatedProperties": False}, [], [{"a": 1}]),
        ({"type": "array", "prefixItems": [{"type": "null"}], "contains": {"type": "string"}},
         [[None, "a"]], [[None], ["a"]]),
        ({"type": "array", "not": {"uniqueItems": True}},
         [[[1, 2], [1, 2]], [{"a": [1]}, 0, {"a": [1.0]}]], [[[1], [2]], [[1, 2], [2, 1]]]),
        ({"type": "object", "oneOf": [
            {"properties": {"a": True}, "additionalProperties": False}, {"required": ["b"]}]},
         [{}, {"a": 1}, {"b": 1, "c": 1}], [{"c": 1}]),
        ({"type": "object", "oneOf": [
            {"allOf": [{"properties": {"a": True, "b": True}, "additionalProperties": False},
                       {"properties": {"b": True, "c": True}, "additionalProperties": False}]},
            {"required": ["a"]}]},
         [{}, {"b": 1}, {"a": 1, "c": 1}], [{"c": 1}]),
        ({"oneOf": [{"allOf": [{"$ref": "#/$defs/s"}, {"$ref": "#/$defs/s"}]}, {"minimum": 2}],
          "$defs": {"s": {"type": "integer"}}}, [1, 2.5], [2, 1.5]),
        ({"patternProperties": {"^a$": {"type": "null"}, "^b$": {"type": "integer"}}},
         [{"a": None, "b": 1, "c": ""}], [{"a": 1}, {"b": None}]),
    ],
)  # fmt: skip
def test_keywords_say_what_the_specification_says(schema: Any, good: list[Any], bad: list[Any]):
    engine = machine(schema)
    for value in good:
        assert matches(engine, json.dumps(value)), value
    for value in bad:
        assert not matches(engine, json.dumps(value)), value


def test_draft_4_to_7_have_dependencies_of_both_forms():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": False},
    }
    engine = machine(schema)
    for text in ("{}", '{"a":1,"b":1}', '{"c":1,"d":1}'):
        assert matches(engine, text)
    for text in ('{"a":1}', '{"c":1}', '{"e":1}'):
        assert not matches(engine, text)


def test_contains_of_2019_09_does_not_count_as_evaluated():
    schema = {"contains": {"const": 1}, "unevaluatedItems": False}
    assert matches(machine(schema), "[1]")
    older = {"$schema": "https://json-schema.org/draft/2019-09/schema", **schema}
    assert not matches(machine(older), "[1]")


@pytest.mark.parametrize("schema", [
    {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3},
    {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
    {"type": "object", "propertyNames": {"enum": ["a"]}, "minProperties": 2},
    {"type": "object", "minProperties": 2, "maxProperties": 1},
    {"type": "array", "contains": {"type": "string"}, "items": {"type": "null"}},
    {"type": "array", "contains": {"const": 1}, "minContains": 2, "maxItems": 1},
    {"not": {}}, {"oneOf": [True, True]}, {"anyOf": [False]},
    {"type": "object", "required": ["a"], "dependentSchemas": {"a": False}},
    {"type": "object", "required": ["a"], "unevaluatedProperties": False},
    {"const": [1, 2], "not": {"const": [1, 2]}},
    {"type": "array", "not": {"items": True}},
])  # fmt: skip
def test_what_has_no_instance_is_found_so(schema: Any):
    engine = machine(schema)
    assert not engine.alive(engine.start())


def test_alternatives_that_multiply_to_a_million_compile_at_once():
    parts = [
        {"anyOf": [
            {"properties": {f"a{n}": {"type": "integer"}}, "required": [f"a{n}"]},
            {"properties": {f"b{n}": {"type": "string"}}, "required": [f"b{n}"]},
        ]} for n in range(20)
    ]  # fmt: skip
    engine = machine({"allOf": parts, "type": "object"})
    value = {f"{'ab'[n % 2]}{n}": (1, "x")[n % 2] for n in range(20)}
    assert matches(engine, json.dumps(value))
    del value["b19"]
    assert not matches(engine, json.dumps(value))


def test_leaves_that_are_shared_16_million_times_are_read_once():
    levels = {f"n{n}": {"allOf": [{"$ref": f"#/$defs/n{n + 1}"}] * 2} for n in range(24)}
    schema = {"$ref": "#/$defs/n0", "$defs": {**levels, "n24": {"type": "null"}}}
    assert matches(machine(schema), "null")


def test_chains_of_conditions_on_one_member_are_told_apart_by_its_value():
    rules = [
        {"if": {"properties": {"kind": {"const": f"k{n}"}}, "required": ["kind"]},
         "then": {"required": [f"p{n}"]}} for n in range(40)
    ]  # fmt: skip
    engine = machine({"type": "object", "allOf": rules})
    assert matches(engine, '{"kind":"k7","p7":1}')
    assert matches(engine, '{"kind":"other"}')
    assert not matches(engine, '{"kind":"k7","p8":1}')


def test_too_many_branches_in_place_are_refused_by_name():
    branches = [{"properties": {f"p{n}": True}, "required": [f"p{n}"]} for n in range(12)]
    with pytest.raises(UnsupportedError, match="unevaluatedProperties") as caught:
        machine({"anyOf": branches, "unevaluatedProperties": False})
    assert caught.value.place == "/unevaluatedProperties"


def test_schemas_too_deep_in_place_are_refused_by_name():
    levels = {f"n{n}": {"$ref": f"#/$defs/n{n + 1}"} for n in range(300)}
    schema = {"$ref": "#/$defs/n0", "$defs": {**levels, "n300": True}, "unevaluatedItems": False}
    with pytest.raises(UnsupportedError, match="unevaluatedItems"):
        machine(schema)


def test_key_patterns_that_overlap_in_too_many_ways_are_refused():
    patterns = {f"{chr(97 + n)}": {"minimum": n} for n in range(15)}
    engine = machine({"type": "object", "patternProperties": patterns})
    with pytest.raises(LimitError, match="key patterns"):
        engine.step(engine.start(), ord("{"))


def test_alternatives_about_one_member_that_are_all_different_are_refused():
    parts = [
        {"anyOf": [{"properties": {"a": {"minimum": n}}, "required": [f"x{n}"]},
                   {"properties": {"a": {"maximum": n}}, "required": [f"y{n}"]}]}
        for n in range(12)
    ]  # fmt: skip
    with pytest.raises(GuidewayError, match="alternatives"), metered(lambda parts: None):
        matches(machine({"allOf": parts, "type": "object"}), '{"a":1}')


def test_declared_order_is_order_of_mention_and_others_come_last():
    schema = {"properties": {"b": True}, "required": ["z"], "minProperties": 2,
              "anyOf": [{"properties": {"a": True}}]}  # fmt: skip
    engine = machine(schema, key_order="declared")
    assert matches(engine, '{"b":1,"a":1,"z":1,"x":1}')
    for text in ('{"a":1,"b":1,"z":1}', '{"b":1,"z":1,"a":1}', '{"x":1,"z":1}'):
        assert not matches(engine, text)


def test_keys_of_a_class_come_once_however_they_are_spelled():
    schema = {"patternProperties": {"^x": {"type": "integer"}}, "minProperties": 2}
    engine = machine(schema)
    assert matches(engine, '{"xa":1,"xb":2}')
    assert not matches(engine, '{"xa":1,"\\u0078a":2}')
