"""What is sure to have a text has one; and what most schemas say is sure."""

from typing import Any

import pytest

from fairlead.automata.derivative import Derivatives
from fairlead.automata.surely import Surely
from fairlead.lowering.expr import alt, both, complement, concat, literal, repeat
from fairlead.lowering.json_schema import Lowering, lower_json_schema
from fairlead.lowering.json_tame import is_tame
from fairlead.lowering.nodes import Expr, Rule
from fairlead.syntax.json_schema import parse_json_schema
from fairlead.syntax.json_schema_source import JsonSchema


def rule(name: str, body: Expr | None = None) -> Rule:
    made = Rule(name)
    if body is not None:
        made.define(body)
    return made


def test_rules_that_come_back_to_themselves_are_decided() -> None:
    loop = rule("loop")
    loop.define(concat(literal("a"), loop))
    assert not Surely().check(loop)
    ends = rule("ends")
    ends.define(alt(concat(literal("a"), ends), literal("b")))
    assert Surely().check(ends)
    assert Surely().check(repeat(ends, 2, 3))
    assert not Surely().check(repeat(loop, 2, 3))
    assert not Surely().check(concat(ends, loop))


def test_shared_parts_are_looked_at_once() -> None:
    part: Expr = rule("leaf", literal("a"))
    for level in range(2000):
        part = rule(f"{level}", concat(part, part))
    assert Surely().check(part)


def test_meets_and_opposites_are_left_to_the_search() -> None:
    met = both(repeat(literal("a"), 1), complement(literal("a")))
    assert not Surely().check(concat(literal("x"), met))
    assert Surely().check(concat(literal("x"), alt(met, literal(""))))
    assert Derivatives(met).alive(met)


LIST = {"$ref": "#/$defs/list"}
ENDLESS = {"type": "object", "properties": {"next": LIST}, "required": ["next"]}


@pytest.mark.parametrize(
    ("schema", "sure"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, True),
        ({"type": "array", "items": {"type": "object"}, "minItems": 2}, True),
        ({"type": "object", "properties": {"a": {"not": {}}}}, False),
        ({"type": "object", "propertyNames": {"maxLength": 3}}, False),
        ({**LIST, "$defs": {"list": ENDLESS}}, False),
    ],
)
def test_tame_schemas_are_known_to_have_instances(schema: Any, sure: bool) -> None:
    expr = lower_json_schema(JsonSchema(schema))
    assert Surely().check(expr) is sure
    anything = Derivatives(expr)
    assert anything.alive(expr) is (schema.get("$defs") is None)


def test_what_is_optional_is_not_made_to_know_it() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "number"}}}
    schema = {"type": "object", "properties": {"a": inner}}
    lowering = Lowering(JsonSchema(schema))
    expr = lowering.text()
    assert Derivatives(expr).alive(expr)
    assert [rule for rule in lowering.rules if rule.bodies] == []


@pytest.mark.parametrize(
    ("schema", "tame"),
    [
        ({"type": "string", "pattern": "^a+$"}, True),
        ({"type": "string", "pattern": "^(?=a)a+$"}, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1}, False),
        ({"anyOf": [{"const": value} for value in range(9)]}, False),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, False),
        ({"type": "integer", "multipleOf": 3}, False),
        ({"enum": [1, [2]]}, True),
        (True, True),
    ],
)
def test_only_what_cannot_be_refused_any_more_is_tame(schema: Any, tame: bool) -> None:
    assert is_tame(parse_json_schema(JsonSchema(schema))) is tame
