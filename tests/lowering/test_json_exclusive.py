"""Branches that plainly exclude each other: what is told so has no value in common."""

import json
from itertools import combinations, product
from typing import Any

import pytest

from guideway.lowering import json_exclusive
from guideway.lowering.json_atoms import Among, Holds
from guideway.lowering.json_exclusive import Outlines, exactly_one
from guideway.lowering.json_formulas import all_of, holds, leaf
from guideway.lowering.json_members_least import size
from guideway.lowering.json_values import exact
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_source import JsonSchema
from json_schemas import machine, matches, verdict

TYPES = {"t": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}}
REFS = [{"$ref": f"#/$defs/{name}"} for name in TYPES]
STRING, INTEGER = (leaf(Holds(f"#/$defs/{name}")) for name in "tn")
TEXTS = leaf(Among(frozenset((exact("a"), exact("b")))))
ONE = leaf(Among(frozenset((exact(1),))))


def outlines() -> Outlines:
    return Outlines(parse_json_schema(JsonSchema({"anyOf": REFS, "$defs": TYPES})))


def told(judge: Outlines) -> list[bool]:
    values = ((STRING, INTEGER), (STRING, TEXTS), (STRING, ONE), (TEXTS, ONE), (INTEGER, ONE))
    return [judge.impossible(all_of(*parts)) for parts in values * 2]


def test_what_lists_scalars_tells_them():
    schemas = {"l": {"enum": [3, "a", True, None]}, "p": {"enum": [[1]]}, "t": {"type": "string"}}
    document = parse_json_schema(
        JsonSchema({"anyOf": [{"$ref": f"#/$defs/{n}"} for n in "lpt"], "$defs": schemas})
    )
    judge = Outlines(document)
    listed, part, text = (leaf(Holds(f"#/$defs/{name}")) for name in "lpt")
    assert set(judge.listed(listed)) == {exact(3), exact("a"), exact(True), exact(None)}
    for value in (part, text, ONE, all_of(listed, text), leaf(Holds("#/$defs/l", False))):
        assert judge.listed(value) == []


def test_two_types_exclude_each_other_in_all_types():
    judge, (text, number, thing) = outlines(), (f"#/$defs/{name}" for name in TYPES)
    assert judge.exclude(text, number, "string")
    assert judge.exclude(text, number, "object")
    assert not judge.exclude(thing, thing, "object")


def test_values_of_two_types_or_of_other_constants_are_impossible():
    assert told(outlines()) == [True, False, True, True, False] * 2


def test_what_stands_for_one_of_some_branches_has_no_other_type_than_theirs():
    judge = outlines()
    assert judge.of("#").kinds == {"string", "number", "object"}
    apart = [{"type": "object", "properties": {"a": {"oneOf": [TYPES["n"], {"type": "null"}]}}}]
    schema = {"oneOf": [{**part, "required": ["a"]} for part in (*apart, {"minLength": 1})]}
    engine = machine(schema)
    for value in ({"a": 1}, {"a": None}, {"a": "b"}, {}, "", "a", 1):
        assert matches(engine, json.dumps(value)) == verdict(schema, value), value


def test_of_three_branches_that_overlap_exactly_one_holds():
    branches = [{"minimum": 0}, {"maximum": 10}, {"multipleOf": 2}]
    one = machine({"type": "integer", "oneOf": branches})
    for number in range(-5, 16):
        holds = [number >= 0, number <= 10, number % 2 == 0]
        assert matches(one, str(number)) == (sum(holds) == 1), number


def test_of_many_branches_that_overlap_exactly_one_holds():
    branches = [leaf(Holds(f"#/{place}")) for place in range(20)]
    halves = exactly_one(branches, lambda first, second: False, halved=True)
    pairs = exactly_one(branches, lambda first, second: False)
    assert size(halves) < size(pairs) / 2
    for chosen in [(), *combinations(range(20), 1), *combinations(range(20), 2), range(20)]:
        held = {f"#/{place}" for place in chosen}

        def judge(atom: Any, held: set[str] = held) -> bool:
            return (atom.schema in held) == atom.sign

        assert holds(halves, judge) == holds(pairs, judge) == (len(chosen) == 1)


def test_many_branches_of_which_few_overlap_are_told_pair_by_pair():
    branches = [leaf(Holds(f"#/{place}")) for place in range(20)]
    apart = [
        exactly_one(branches, lambda first, second: second - first > 1, halved=halved)
        for halved in (False, True)
    ]
    assert apart[0] is apart[1]


def test_what_was_told_may_be_forgotten(monkeypatch):
    monkeypatch.setattr(json_exclusive, "_MOST_KNOWN", 0)
    assert told(outlines()) == [True, False, True, True, False] * 2


def one_of(count: int) -> dict[str, Any]:
    """At most one of some members, as schemas of Prometheus have it."""
    names = [f"k{number}" for number in range(count)]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "allOf": [
            {
                "if": {"properties": {name: {"type": "null"}}},
                "else": {"properties": {o: {"type": "null"} for o in names if o != name}},
            }
            for name in names
        ],
    }  # fmt: skip


SCHEMAS: tuple[dict[str, Any], ...] = (
    one_of(6),
    {"oneOf": [
        {"properties": {"a": {"type": "string"}, "b": {"type": "object"}}, "required": ["a"]},
        {"properties": {"b": {"properties": {"a": {"const": 1}}}}, "required": ["b"]},
    ]},
    {"oneOf": [
        {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
        {"properties": {"b": {}, "c": {}}, "additionalProperties": False},
        {"properties": {"c": {}, "a": {}}, "required": ["a"], "additionalProperties": False},
    ]},
)  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_instances_are_those_of_the_validators(schema):
    engine = machine(schema, whitespace="compact")
    names = sorted({"a", "b", "c", *schema.get("properties", ())})[:4]
    for values in product(("none", "x", None, {}, {"a": 1}, {"a": 2}), repeat=len(names)):
        value = {n: one for n, one in zip(names, values, strict=True) if one != "none"}
        assert matches(engine, json.dumps(value, separators=(",", ":"))) == verdict(
            schema, value
        ), value


def test_the_order_of_names_is_kept_where_it_matters():
    schema = {
        "properties": {"c": {"type": "string"}, "a": {}},
        "oneOf": [{"required": ["a"]}, {"properties": {"c": {"type": "null"}}, "required": ["b"]}],
    }
    for text in ('{"c":"","a":0}', '{"a":0,"c":""}'):
        inside = machine(schema, whitespace="compact", key_order="declared")
        assert matches(inside, text) == (list(json.loads(text)) == ["c", "a"])


def test_ten_conditions_that_evaluate_members_are_read():
    schema = {
        "type": "object",
        "unevaluatedProperties": False,
        "allOf": [
            {
                "if": {"properties": {f"a{n}": {"const": 1}}, "required": [f"a{n}"]},
                "then": {"properties": {f"b{n}": {}}},
            }
            for n in range(10)
        ],
    }
    engine = machine(schema, whitespace="compact")
    for value in (
        {}, {"a0": 1}, {"a0": 2}, {"b0": 1}, {"a0": 1, "b0": 2}, {"a0": 1, "b1": 2}, {"c": 1},
        {"a9": 1, "b9": 2, "a3": 1}, {"a9": 1, "b9": 2, "a3": 2}, {"b3": 0, "a3": 1, "b9": 0},
    ):  # fmt: skip
        text = json.dumps(value, separators=(",", ":"))
        assert matches(engine, text) == verdict(schema, value), text
