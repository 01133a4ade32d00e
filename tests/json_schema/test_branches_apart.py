"""Objects told apart by constants: the parts exclude each other and are the whole."""

import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guideway.json_schema import cases as json_cases
from guideway.json_schema import meaning as json_apart
from guideway.json_schema.formulas import (
    Among,
    Holds,
    Named,
    Required,
    all_of,
    any_of,
    exact,
    leaf,
)
from guideway.json_schema.lowering import Lowering, lower_json_schema
from guideway.json_schema.meaning import Apart, Meaning
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import json_style
from guideway.language.derivative import Derivatives
from json_applicators import Applicators
from json_schemas import machine, matches, verdict, write

VALUES = ("a", "b", "c", "ab", 1, 1.5, 2, None, True, [], {}, {"a": 1})


def branch(kind: Any, name: str, value: Any) -> dict[str, Any]:
    return {"if": {"properties": {"kind": kind}}, "then": {"properties": {name: value}}}


def conditions(*kinds: Any) -> dict[str, Any]:
    """Each kind makes other demands on the same members."""
    return {
        "type": "object",
        "allOf": [
            branch(kind, name, {"minimum": number})
            for number, kind in enumerate(kinds)
            for name in ("x", "y")
        ],
    }


KINDS = (
    {"const": "a"}, {"enum": ["b", "c"]}, {"enum": [1, "a"]}, {"const": None}, {"const": True},
    {"type": "string"}, {"pattern": "^a", "enum": ["a", "ab"]}, {"maxLength": 1}, {"minimum": 2},
    {"type": "integer", "enum": [1, 1.5, 2]}, {"const": {"a": 1}}, {"not": {"const": "b"}},
    {"anyOf": [{"const": "a"}, {"pattern": "b"}]}, {"enum": ["a", "ab"], "maxLength": 1},
    {"enum": ["b", "c"], "oneOf": [{"pattern": "b"}, {"maxLength": 0}]},
    {"enum": [1, 2, "a"], "multipleOf": 2},
)  # fmt: skip


@pytest.mark.parametrize("kinds", [KINDS[:5], KINDS[5:10], KINDS[10:], KINDS[1:3] + KINDS[14:]])
def test_instances_are_the_same_whether_told_apart_or_not(kinds):
    schema = conditions(*kinds)
    engine = machine(schema, whitespace="compact")
    for kind, x in itertools.product(("?", *VALUES), (0, 1, 3, 5)):
        value = {"x": x} if kind == "?" else {"x": x, "kind": kind}
        expected = verdict(schema, value)
        assert matches(engine, json.dumps(value, separators=(",", ":"))) == expected, value


@pytest.mark.untraced
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
          deadline=None, max_examples=30)  # fmt: skip
@given(st.integers(0, 2**32))
def test_any_schema_may_be_told_apart(monkeypatch, seed):
    monkeypatch.setattr(json_apart, "_FEWEST_TESTS", 1)
    monkeypatch.setattr(json_cases, "MOST", 0)
    drawn, chance = Applicators(seed), random.Random(seed)
    schema = drawn.document()
    engine = Derivatives(lower_json_schema(JsonSchema(schema, whitespace="any")))
    for _ in range(6):
        value = drawn.instance()
        expected = verdict(schema, value)
        if expected is not None:
            assert matches(engine, write(value, chance)) == expected, (schema, value)


def parts(schema: dict[str, Any]) -> int:
    document = parse_json_schema(JsonSchema(schema))
    meaning = Meaning(document, json_style(JsonSchema(schema)))
    return len(Apart(meaning).parts(meaning.of(leaf(Holds(document.root)), "object")))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([{"const": letter} for letter in "abcd"], 6),  # each, another, none
        ([{"const": "a"}], 1),  # too few to matter
        ([{"pattern": letter} for letter in "abcd"], 1),  # no constants
        ([{"const": f"{number}"} for number in range(65)], 1),  # too many
        ([{"const": {"a": number}} for number in range(4)], 1),  # no scalars
        ([{"enum": ["a", "b"]}, {"enum": ["c", "d"]}, {"const": "e"}], 5),  # alike ones together
    ],
)
def test_there_is_a_part_for_each_constant_that_is_told_from_others(kinds, expected):
    assert parts(conditions(*kinds)) == expected


@pytest.mark.untraced
def test_thirty_conditions_on_one_member_are_thirty_two_plain_objects():
    kinds = [{"const": f"{number}"} for number in range(30)]
    lowering = Lowering(JsonSchema(conditions(*kinds), whitespace="compact"))
    engine = Derivatives(lowering.text())
    assert matches(engine, '{"x":8,"kind":"7","y":7}')
    assert not matches(engine, '{"x":6,"kind":"7"}')
    assert matches(engine, '{"y":0,"kind":"30"}')


def test_only_values_are_compared_with_constants():
    document = parse_json_schema(JsonSchema(True))
    meaning = Meaning(document, json_style(JsonSchema(True)))
    with pytest.raises(TypeError, match="says nothing about a value"):
        Apart(meaning).parts(leaf(Named("a", leaf(Required("b")))))


def test_values_that_are_excluded_by_name_are_constants_too():
    among = [
        leaf(Among(frozenset((exact(value),)), sign)) for value in "abc" for sign in (True, False)
    ]
    said = any_of(
        *(all_of(leaf(Named("k", one)), leaf(Required(f"{n}"))) for n, one in enumerate(among))
    )
    document = parse_json_schema(JsonSchema(True))
    meaning = Meaning(document, json_style(JsonSchema(True)))
    found = Apart(meaning).parts(said)
    assert len(found) == 5  # each, another, none
    assert said not in found
