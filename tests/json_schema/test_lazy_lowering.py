"""Lowered part by part, a schema allows the texts it allows when it is lowered as a whole."""

import json
from typing import Any

import pytest

from guideway.json_schema import scalars as json_leaves
from guideway.json_schema.lowering import Lowering, lower_json_schema
from guideway.json_schema.objects import ObjectTemplate
from guideway.json_schema.satisfiability.lazy_parts import read_tame
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Call, Expr, Rule
from guideway.language.regular import parts_of
from json_schemas import machine, matches, verdict

TEXT, WORDS = {"type": "string"}, {"enum": ["a", "b"]}
AGAIN = {"$ref": "#/$defs/a"}
NODE = {
    "type": "object",
    "properties": {"value": {"type": ["integer", "null"], "minimum": 3}, "next": {"$ref": "#"}},
    "required": ["value", "other"],
    "additionalProperties": WORDS,
}
SCHEMAS: list[Any] = [
    NODE,
    {**NODE, "type": ["object", "array", "string"], "items": TEXT, "maxLength": 1},
    {"properties": {"a": TEXT, "b": False}, "minItems": 1, "maxItems": 2},
    {"type": "array", "prefixItems": [TEXT, WORDS], "items": {"type": "array"}, "minItems": 1},
    {"type": "array", "items": False},
    {"anyOf": [AGAIN, {"anyOf": [AGAIN, True, False]}], "$defs": {"a": NODE}},
    {"anyOf": [AGAIN, AGAIN], "$defs": {"a": {"anyOf": [TEXT, WORDS]}}},
    {"oneOf": [TEXT, {"type": "object", "required": ["a"]}]},
    {"type": "object", "additionalProperties": {"items": {"type": "number", "maximum": 2}}},
    {"enum": [[1], {"a": "b"}, "a"]},
    {"type": "object"},
    {"minLength": 1},
    {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": TEXT},
    {"propertyNames": {}, "properties": {"a": TEXT}, "required": ["b"]},
    {"type": ["object", "array"], "propertyNames": {"type": "string"}, "minItems": 1},
]  # fmt: skip
LATE: list[Any] = [
    {"uniqueItems": True, "items": WORDS},
    {"type": "array", "uniqueItems": True, "minItems": 1},
    {"patternProperties": {"^[a-x]$": {"items": {"type": "integer"}}}},
    {"type": "object", "patternProperties": {".": WORDS}, "additionalProperties": False},
    {"patternProperties": {"^o": WORDS, "^v": {"minimum": 3}}, "properties": {"a": TEXT}},
    {**NODE, "anyOf": [{"required": ["x"]}, {"required": ["next"]}]},
    {"minProperties": 1, "properties": {"a": TEXT, "b": False}, "additionalProperties": False},
    {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["value"]}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": WORDS}},
    {"not": {"required": ["a"]}},
    {"not": {"required": ["value", "next"]}, "required": ["value"]},
    {"dependentRequired": {"value": ["next"]}, "properties": {"a": TEXT}},
    {"minProperties": 1, "maxProperties": 2, "properties": {"a": TEXT}},
    {"properties": {"x": {"uniqueItems": True, "items": {"not": {"required": ["a"]}}}}},
    {"items": {"uniqueItems": True, "items": {"patternProperties": {"^a": WORDS}}}},
    {"allOf": [{"properties": {"a": WORDS}}, {"properties": {"value": {"minimum": 3}}}]},
    {"allOf": [AGAIN, {"required": ["other"]}], "$defs": {"a": {"properties": {"a": TEXT}}}},
    {"type": "object", "properties": {"x": {"items": {"type": "integer"}}}, "required": ["value"],
     "allOf": [{"allOf": [AGAIN, AGAIN]}, {"required": ["other"]}],
     "$defs": {"a": {"properties": {"value": {"type": ["integer", "null"]}}}}},
]  # fmt: skip
EITHER = {"oneOf": [
    {"required": ["value"], "properties": {"other": {"oneOf": [WORDS, {"type": "null"}]}}},
    {"properties": {"x": {"type": "array", "items": {"type": "integer"}}, "a": TEXT}},
]}  # fmt: skip
LATE += [EITHER, {"type": "object", **EITHER}, {"items": EITHER, "properties": {"next": EITHER}}]
SCHEMAS += [
    {**NODE, "minProperties": 3},
    {"oneOf": [{"const": "a"}, {"enum": [1, None]}, {"type": "object", "required": ["a"]}]},
    {"items": {"multipleOf": 3}, "properties": {"value": {"type": "integer", "multipleOf": 0.5}}},
    {"oneOf": [{"type": "object", "properties": {"a": WORDS}, "required": ["a"]},
               {"type": "object", "properties": {"value": {}}, "additionalProperties": False}]},
    {"oneOf": [{"type": "object", "properties": {"value": {}, "next": {}, "other": {"const": word}},
                "required": ["other"]} for word in "abc"]},
]  # fmt: skip
TEXTS_ONLY = {"type": "object", "oneOf": [TEXT, {"$ref": "#/$defs/word"}], "minProperties": 0}
SCHEMAS += [  # parts without an instance, as their types exclude each other
    {"properties": {"a": TEXTS_ONLY, "value": {}}, "$defs": {"word": WORDS | TEXT}},
    {"required": ["a"], "properties": {"a": TEXTS_ONLY}, "$defs": {"word": {"type": "string"}}},
    {"anyOf": [TEXTS_ONLY, {"items": TEXTS_ONLY}], "$defs": {"word": {"type": ["null"]}}},
    {"items": {"type": "integer", "anyOf": [{"type": "number"}, False]}, "additionalProperties":
     {"type": ["number", "null"], "anyOf": [{"type": "string"}, {"type": ["array", "object"]}]}},
    {"items": {"type": "number", "anyOf": [{"type": "integer"}], "minLength": 1}},
]  # fmt: skip
NOT_B = {
    "not": {"const": "b"},
    "type": ["string", "integer"],
    "unevaluatedItems": True,
}  # which is wild
MIXED: list[Any] = [
    {"properties": {"a": NOT_B, "value": {"minimum": 3}}, "additionalProperties": WORDS},
    {"minItems": 1, "prefixItems": [NOT_B, {"anyOf": [NOT_B, WORDS]}], "maxItems": 2},
    {"items": {"$ref": "#/$defs/a", "maxLength": 1}, "$defs": {"a": {"anyOf": [TEXT, NODE]}}},
    {"oneOf": [NODE, {"required": ["a"]}, {"type": "array", "items": NOT_B}]},
    {"type": "object", "required": ["a"], "properties": {"a": {"allOf": [WORDS, NOT_B]}}},
    {"patternProperties": {"^[a-x]$": {"items": {"type": "integer"}}}, "properties": {"a": TEXT}},
    {"patternProperties": {"^a": NOT_B}, "uniqueItems": True},
    {"uniqueItems": True, "items": NOT_B},
    {"allOf": [{"properties": {"a": {"not": {}}}}, {"items": TEXT}]},
]
INSTANCES: list[Any] = [
    None, 1, 3, "", "a", "ab", [], ["a"], ["a", "b"], ["a", "c"], ["a", "b", []], ["a", "b", 1],
    [1], {}, {"a": "b"}, {"a": 1}, {"b": 1}, {"value": 3, "other": "a"}, {"value": 2, "other": "a"},
    {"value": None, "next": {"value": 4, "other": "a", "x": "b"}, "other": "b"},
    {"value": 3, "next": {"value": 3}, "other": "a"}, {"value": 3, "other": "c"}, {"x": [1, 2]},
    {"x": [3]},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_both_ways_allow_what_the_validators_allow(schema: Any, order: Any) -> None:
    source = JsonSchema(schema, key_order=order)
    assert read_tame(json.loads(source.text), strict=False) is not None
    apart, whole = Derivatives(lower_json_schema(source)), Derivatives(Lowering(source).text())
    for instance in INSTANCES:
        text = json.dumps(instance)
        assert matches(apart, text) is matches(whole, text) is verdict(schema, instance), text


@pytest.mark.untraced
@pytest.mark.parametrize("schema", LATE)
def test_late_parts_allow_what_the_validators_allow(schema: Any) -> None:
    source, ordered = JsonSchema(schema), JsonSchema(schema, key_order="declared")
    found = read_tame(json.loads(source.text), strict=False)
    assert found is not None
    assert found.late
    assert not found.wild
    apart, whole = Derivatives(lower_json_schema(source)), Derivatives(Lowering(source).text())
    declared = Derivatives(lower_json_schema(ordered)), Derivatives(Lowering(ordered).text())
    for instance in INSTANCES:
        text = json.dumps(instance)
        assert matches(apart, text) is matches(whole, text) is verdict(schema, instance), text
        assert matches(declared[0], text) is matches(declared[1], text)


def test_late_parts_are_lowered_when_they_are_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    late = {"uniqueItems": True, "items": {"type": "array", "uniqueItems": True}}
    root = lower_json_schema(JsonSchema({"properties": {"a": late, "b": {"items": late}}}))
    engine, entered = Derivatives(root), list[Any]()
    whole = Lowering.whole

    def noted(lowering: Lowering, said: Any) -> Expr:
        entered.extend(["late"] if "#/properties" in repr(said) else [])
        return whole(lowering, said)

    monkeypatch.setattr(Lowering, "whole", noted)
    assert engine.alive(root)
    engine.settle()
    assert not entered
    assert matches(engine, '{"a": [[1], [2]], "b": [[]]}')
    assert entered
    assert not matches(engine, '{"a": [[1, 1]]}')


def test_what_is_denied_of_a_member_is_lowered_when_it_is_entered() -> None:
    expr = lower_json_schema(JsonSchema({"type": "object", **EITHER}))
    engine, seen = Derivatives(expr), set[Expr]()
    todo, denied = [expr], list[Rule]()
    while todo:
        node = todo.pop()
        if node in seen or node.regular:
            continue
        seen.add(node)
        if isinstance(node, Rule) and node.name == "denied":
            denied.append(node)
        elif isinstance(node, Rule):
            todo.append(node.body)
        elif isinstance(node, Call):
            todo += node.template.parts(node.argument)
        else:
            todo += parts_of(node)
    assert denied
    assert all(engine.alive(rule) and not rule.bodies for rule in denied)
    assert all(Derivatives(rule.body).alive(rule.body) for rule in denied)


@pytest.mark.parametrize("schema", MIXED)
def test_wild_parts_among_tame_ones_allow_what_the_validators_allow(schema: Any) -> None:
    source = JsonSchema(schema)
    found = read_tame(json.loads(source.text), strict=False)
    assert found is not None
    assert found.wild or found.late
    apart, whole = Derivatives(lower_json_schema(source)), Derivatives(Lowering(source).text())
    for engine in (apart, whole):
        assert engine.alive(engine.start())
        engine.settle()
    for instance in INSTANCES:
        text = json.dumps(instance)
        assert matches(apart, text) is matches(whole, text) is verdict(schema, instance), text


def test_of_a_schema_with_wild_parts_the_tame_ones_are_not_entered() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string", "maxLength": 3}}}
    schema = {"type": "object", "properties": {"a": inner, "c": {"minProperties": 1}}}
    expr = lower_json_schema(JsonSchema(schema, whitespace="compact"))
    engine = Derivatives(expr)
    engine.settle()
    assert isinstance(expr, Rule)
    assert isinstance(expr.body, Call)
    template = expr.body.template
    assert isinstance(template, ObjectTemplate)
    tame, _ = template.members.values
    assert isinstance(tame, Rule)
    assert tame.bodies == []


def test_lists_of_items_are_prefixes_before_2020() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [WORDS],
        "prefixItems": [{"type": "null"}],
    }
    engine = Derivatives(lower_json_schema(JsonSchema(schema)))
    assert [matches(engine, text) for text in ('["a",1]', "[null]", "[]")] == [True, False, True]


def test_what_is_not_entered_is_not_lowered() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}
    schema = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
    expr = lower_json_schema(JsonSchema(schema, whitespace="compact"))
    assert isinstance(expr, Rule)
    assert Derivatives(expr).alive(expr)
    assert expr.bodies == []


def test_values_are_remembered_by_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_leaves, "_leaves", json_leaves.Leaves(most=1))

    def value(schema: Any) -> Expr:
        expr = lower_json_schema(JsonSchema(schema, whitespace="compact"))
        return expr.body if isinstance(expr, Rule) else expr

    first = value({"type": "string", "maxLength": 7, "title": "A"})
    assert value({"maxLength": 7, "type": "string"}) is first
    assert value({"enum": [1]}) is not value({"enum": [True]})


@pytest.mark.parametrize("valued", [{"enum": [[1, 1]]}, {"const": [1, 1.0]}])
def test_values_whose_items_are_equal_are_none_where_they_have_to_differ(valued):
    different = machine({**valued, "uniqueItems": True})
    assert not different.alive(different.start())
    assert matches(machine({**valued, "uniqueItems": False}), "[1,1]")


@pytest.mark.parametrize("kind", ["array", "boolean", "null", "number", "object", "string", None])
def test_what_means_the_same_in_each_draft_is_the_same_expression(kind: str | None) -> None:
    part = {} if kind is None else {"type": kind}
    drafts = ("http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#")
    old, new = (lower_json_schema(JsonSchema({"$schema": draft, **part})) for draft in drafts)
    assert old is new


def test_an_object_surely_has_an_instance_if_what_it_requires_has() -> None:
    sure = {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}
    never = {**sure, "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}}}
    for schema, known in ((sure, True), (never, False)):
        rule = lower_json_schema(JsonSchema(schema, whitespace="compact"))
        assert isinstance(rule, Rule)
        assert rule.inhabited == rule.body.inhabited == known
