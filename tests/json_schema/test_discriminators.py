"""Branches that plainly exclude each other: what is told so has no value in common."""

import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

import guideway as gw
from guideway.json_schema import cases as json_cases
from guideway.json_schema import meaning as json_apart
from json_mixtures import Mixture
from json_schemas import check_texts, machine, verdict, write
from plain_texts import matches
from random_walks import BYTES

# Objects told apart by constants: the parts exclude each other and are the whole.

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
    mixture = Mixture(seed, 2020, 8)
    engine = machine(mixture.schema)
    for _ in range(6):
        value = mixture.value()
        text, expected = write(value, mixture.chance), mixture.verdict(value)
        assert expected is None or matches(engine, text) == expected, (mixture.schema, value)


# Values that are listed, together with other lists, with what is denied, and with other keywords.

OBJECTS: list[Any] = [{"id": n, "name": f"n{n}", "tags": [n % 7, n % 3]} for n in range(60)]
ARRAYS: list[Any] = [[n, {"a": n % 2 == 1}, "x", None] for n in range(40)]
OTHERS: list[Any] = [
    {}, [], {"id": 3}, {"id": 3, "name": "n3", "tags": [3, 0], "x": 1}, {"id": 3, "name": "n4"},
    {"id": 3, "name": "n3", "tags": [0, 3]}, {"id": True, "name": "n1", "tags": [1, 1]}, 3, "n3",
    [1, {"a": 1}, "x", None], [1, {"a": True}, "x"], [[1, {"a": True}, "x", None]], {"x": [5]},
    {"id": 3.0, "name": "n3", "tags": [3.0, 0]}, [1.0, {"a": True}, "x", None], [5, 5], None,
]  # fmt: skip
SOME: list[Any] = [
    {"oneOf": [{"enum": OBJECTS[:40]}, {"enum": OBJECTS[30:]}]},
    {"oneOf": [{"const": one} for one in [*OBJECTS, OBJECTS[3], *ARRAYS]]},
    {"allOf": [{"enum": OBJECTS[:40]}, {"enum": OBJECTS[10:]}, {"not": {"const": OBJECTS[12]}}]},
    {"allOf": [{"not": {"const": one}} for one in [*OBJECTS[:9], *ARRAYS[:9]]]},
    {"enum": [*OBJECTS, *ARRAYS], "not": {"enum": [*OBJECTS[5:9], *ARRAYS[3:20]]}},
    {"if": {"enum": OBJECTS[:40]}, "then": {"enum": OBJECTS[30:]}, "else": {"enum": ARRAYS}},
    {"oneOf": [{"enum": OBJECTS[:40]}, {"enum": OBJECTS[9:]}, {"required": ["x"]}, {"items": {}}]},
    {"oneOf": [{"enum": OBJECTS[:9]}, {"type": "object", "properties": {"id": {"minimum": 3}}}]},
    {"enum": OBJECTS, "properties": {"id": {"minimum": 9, "not": {"enum": [12, 13]}}}},
    {"enum": OBJECTS, "properties": {"name": {"maxLength": 2}, "tags": {"contains": {"const": 2}}}},
    {"enum": OBJECTS, "additionalProperties": {"type": ["string", "integer", "array"]}},
    {"enum": OBJECTS, "patternProperties": {"^n": {"not": {"format": "date"}}, "^x": False}},
    {"enum": OBJECTS, "propertyNames": {"enum": ["id", "name", "tags"]}, "maxProperties": 3},
    {"enum": OBJECTS, "properties": {"tags": {"uniqueItems": True, "contains": {"minimum": 4}}}},
    {"enum": ARRAYS, "contains": {"enum": [{"a": True}, 2, 4]}, "maxContains": 1, "maxItems": 9},
    {"enum": ARRAYS[:20], "not": {"contains": {"enum": [2, 3]}}, "maxItems": 4, "minItems": 4},
    {"enum": [[n, n % 5] for n in range(30)], "not": {"uniqueItems": True}},
    {"enum": OBJECTS, "not": {"patternProperties": {"^i": {"minimum": 4}}}, "minProperties": 3},
    {"enum": ARRAYS, "items": {"not": {"enum": [{"a": True}, [], {"b": 1}, {"c": 1}, {"d": 1}]}}},
    {"enum": ARRAYS[:5], "prefixItems": [{"enum": [0, 1]}, {"properties": {"a": {"const": True}}}]},
    {"items": {"oneOf": [{"enum": OBJECTS[:40]}, {"enum": OBJECTS[30:]}]}, "uniqueItems": True},
    {"type": "object", "not": {"enum": OBJECTS[2:4]}, "properties": {"id": {"type": "integer"}}},
    {"not": {"$ref": "#/$defs/e"}, "$defs": {"e": {"enum": [*OBJECTS, *ARRAYS[:9]]}}},
]  # fmt: skip


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("schema", SOME, ids=range(len(SOME)))
def test_what_is_listed_is_what_the_whole_schema_allows(schema: Any, order: Any) -> None:
    constraint = gw.compile(gw.JsonSchema(schema, key_order=order), BYTES)
    checker, rng = Draft202012Validator.FORMAT_CHECKER, random.Random(1)
    validator = Draft202012Validator(schema, format_checker=checker)
    others = OTHERS if order == "any" else []
    for value in [*OBJECTS[::3], *OBJECTS[:13], *ARRAYS[::4], *ARRAYS[:5], *others]:
        text, valid = json.dumps(value), validator.is_valid(value)
        assert constraint.matches(text) == valid, text
        if isinstance(value, dict) and order == "any":
            members = [*value.items()]
            rng.shuffle(members)
            assert constraint.matches(json.dumps(dict(members))) == valid, text
        elif isinstance(value, dict) and value in schema.get("enum", ()):
            assert not constraint.matches(json.dumps(dict(reversed(value.items())))), text


FORWARD: list[Any] = [{"a": n, "b": {"x": 1, "y": [n]}} for n in range(40)]
BACKWARD: list[Any] = [{"b": {"y": [n], "x": 1}, "a": n} for n in range(40)]


@pytest.mark.parametrize(("schema", "forward", "backward"), [
    ({"enum": FORWARD}, True, False),
    ({"enum": BACKWARD}, False, True),
    ({"enum": [*FORWARD, *BACKWARD]}, True, True),
    ({"allOf": [{"enum": FORWARD}, {"enum": BACKWARD}]}, True, False),
    ({"allOf": [{"enum": BACKWARD}, {"enum": FORWARD}]}, False, True),
    ({"enum": BACKWARD, "not": {"enum": FORWARD[:5]}}, False, True),
    ({"not": {"not": {"enum": BACKWARD}}}, False, True),
    ({"oneOf": [{"enum": BACKWARD}, {"enum": FORWARD[:5]}]}, False, True),
    ({"enum": BACKWARD[6:9], "properties": {"a": {"minimum": 5}}}, False, True),
])  # fmt: skip
def test_an_order_is_that_of_the_first_list(schema: Any, forward: bool, backward: bool) -> None:
    around = {"properties": {"p": {"enum": FORWARD}, "q": schema, "r": {"enum": BACKWARD}}}
    constraint = gw.compile(gw.JsonSchema(around, key_order="declared"), BYTES)
    assert constraint.matches(json.dumps({"q": FORWARD[7]})) is forward
    assert constraint.matches(json.dumps({"q": BACKWARD[7]})) is backward
    assert not constraint.matches(json.dumps({"q": {**BACKWARD[7], "b": {"x": 1, "y": [7]}}}))
    assert not constraint.matches(json.dumps({"q": {**FORWARD[7], "a": 8}}))


def test_members_that_are_listed_come_as_listed() -> None:
    backward = [{"z": value, "a": dict(reversed(value.items()))} for value in FORWARD]
    schema = {"enum": backward, "properties": {"z": {"not": {"const": FORWARD[1]}}}}
    wrong = [json.dumps({"z": FORWARD[7], "a": FORWARD[7]}), json.dumps(backward[1])]
    check_texts(schema, [json.dumps(backward[7])], wrong, key_order="declared")


LISTED: list[Any] = [{"id": n, "tags": [n % 7]} for n in range(1500)]


@pytest.mark.parametrize(("keyword", "right"), [("oneOf", [0, 1400]), ("anyOf", [0, 700, 1400])])
def test_lists_by_the_thousand_take_no_look_at_each_pair(keyword: str, right: list[int]) -> None:
    schema = {keyword: [{"enum": LISTED[:1000]}, {"enum": LISTED[500:]}]}
    constraint = gw.compile(gw.JsonSchema(schema), BYTES, gw.Budget.untrusted())
    assert [n for n in (0, 700, 1400) if constraint.matches(json.dumps(LISTED[n]))] == right


@pytest.mark.parametrize("schema", [
    {"allOf": [{"enum": LISTED[:1000]}, {"enum": LISTED[500:]}]},
    {"oneOf": [{"const": value} for value in LISTED[:900]]},
])  # fmt: skip
def test_lists_that_meet_are_refused_within_a_small_budget(schema: Any) -> None:
    with pytest.raises(gw.LimitError, match="parts of automata"):
        gw.compile(gw.JsonSchema(schema), BYTES, gw.Budget.untrusted())


# Very many branches of one value each, which are read as one list; `jsonschema` is the oracle.

# Older drafts do not have `const`, which a warning says.
pytestmark = pytest.mark.filterwarnings("ignore::guideway.errors.GuidewayWarning")

MANY: list[Any] = [{"const": n} for n in range(3, 73)]
LISTED_VALUES = [
    None, True, False, 0, 1, 3, 4, 5.0, 72, 73, 4.5, "", "a", "b", [], [3], {}, {"a": 3},
]  # fmt: skip
BESIDE: list[list[Any]] = [
    [], MANY, [{"const": 3.0, "title": "three"}, {"const": 3}],
    [{"const": True}, {"const": 1}, {"const": None}, {"const": False}],
    [{"type": "string", "const": "a"}, {"const": "b", "$comment": "said before"}],
    [{"type": "string", "const": 73}], [{"type": "integer", "const": 4.5}],
    [{"type": ["string", "null"], "const": "a"}], [{"const": [3]}, {"const": {"a": 3}}],
    [{"const": 73, "minimum": 74}, {"enum": ["a", None]}], [True], [False],
    [{"type": "string"}], [{"$ref": "#/$defs/a"}],
]  # fmt: skip
AROUND: list[Any] = [
    lambda said: said,
    lambda said: {"not": said},
    lambda said: {"type": ["string", "boolean", "integer"], "allOf": [said, {"not": {"const": 5}}]},
    lambda said: {"oneOf": [said, {"const": 4}, {"type": "string"}]},
    lambda said: said | {"unevaluatedProperties": False, "unevaluatedItems": False},
    lambda said: said | {"$schema": "http://json-schema.org/draft-04/schema#"},
]


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("beside", BESIDE)
def test_branches_of_one_value_each_mean_what_they_say(
    keyword: str, around: Any, beside: list[Any]
) -> None:
    schema = around({keyword: [*MANY, *beside]}) | {"$defs": {"a": {"maxLength": 0}}}
    judge = validator_for(schema)(schema)
    expected = [judge.is_valid(value) for value in LISTED_VALUES]
    if not any(expected):  # as where draft 4 knows no const, and each branch allows anything
        with pytest.raises(gw.UnsatisfiableError):
            gw.compile(gw.JsonSchema(schema), BYTES)
        return
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    assert [constraint.matches(json.dumps(value)) for value in LISTED_VALUES] == expected
