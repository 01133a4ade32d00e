"""Values that are listed, together with other lists, with what is denied, and with other keywords.

The oracle is jsonschema.
"""

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.json_schema.discriminators import (
    Like,
    Unlike,
    alternatives,
    any_like,
    exactly,
    like,
    merged,
)
from guideway.json_schema.formulas import FALSE, Formula, all_of, exact, leaf, opposite

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})
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
    {"oneOf": [{"enum": OBJECTS[:40], "type": "object"}, {"enum": ARRAYS}, {"enum": [3]}]},
    {"anyOf": [{"enum": OBJECTS[:40]}, {"enum": OBJECTS[30:]}, {"enum": ARRAYS[:2]}]},
    {"allOf": [{"enum": OBJECTS[:40]}, {"enum": OBJECTS[10:]}, {"not": {"const": OBJECTS[12]}}]},
    {"allOf": [{"not": {"const": one}} for one in [*OBJECTS[:9], *ARRAYS[:9]]]},
    {"not": {"allOf": [{"not": {"const": one}} for one in [*OBJECTS[:9], *ARRAYS[:9]]]}},
    {"enum": [*OBJECTS, *ARRAYS], "not": {"enum": [*OBJECTS[5:9], *ARRAYS[3:20]]}},
    {"if": {"enum": OBJECTS[:40]}, "then": {"enum": OBJECTS[30:]}, "else": {"enum": ARRAYS}},
    {"oneOf": [{"enum": OBJECTS[:40]}, {"enum": OBJECTS[9:]}, {"required": ["x"]}, {"items": {}}]},
    {"oneOf": [{"enum": OBJECTS[:9]}, {"type": "object", "properties": {"id": {"minimum": 3}}}]},
    {"oneOf": [{"enum": OBJECTS}, {"const": OBJECTS[1]}, {"maxProperties": 1}, {"required": []}]},
    {"enum": OBJECTS, "properties": {"id": {"minimum": 9, "not": {"enum": [12, 13]}}}},
    {"enum": OBJECTS, "properties": {"name": {"pattern": "7"}}, "required": ["id", "name"]},
    {"enum": OBJECTS, "properties": {"name": {"maxLength": 2}, "tags": {"contains": {"const": 2}}}},
    {"enum": OBJECTS, "additionalProperties": {"type": ["string", "integer", "array"]}},
    {"enum": OBJECTS, "patternProperties": {"^n": {"not": {"format": "date"}}, "^x": False}},
    {"enum": OBJECTS, "propertyNames": {"enum": ["id", "name", "tags"]}, "maxProperties": 3},
    {"enum": OBJECTS, "not": {"additionalProperties": {"minimum": 9}}},
    {"enum": OBJECTS, "properties": {"tags": {"uniqueItems": True, "contains": {"minimum": 4}}}},
    {"enum": OBJECTS, "properties": {"tags": {"not": {"items": {"maximum": 4}}, "minItems": 2}}},
    {"enum": ARRAYS, "contains": {"enum": [{"a": True}, 2, 4]}, "maxContains": 1, "maxItems": 9},
    {"enum": ARRAYS, "prefixItems": [{"not": {"multipleOf": 2}}, {"enum": [{"a": True}]}]},
    {"enum": ARRAYS[:20], "not": {"contains": {"enum": [2, 3]}}, "maxItems": 4, "minItems": 4},
    {"enum": [[[n]] for n in range(9)], "items": {"enum": [[3], [4]]}},
    {"enum": [[n, n % 5] for n in range(30)], "not": {"uniqueItems": True}},
    {"enum": OBJECTS[:30], "not": {"enum": OBJECTS[20:50]}, "properties": {"id": {"minimum": 4}}},
    {"enum": OBJECTS, "not": {"patternProperties": {"^i": {"minimum": 4}}}, "minProperties": 3},
    {"enum": [[n, n % 2 == 0] for n in range(30)], "items": {"enum": [True, 1, 2, 3]}},
    {"enum": ARRAYS, "items": {"not": {"enum": [{"a": True}, [], {"b": 1}, {"c": 1}, {"d": 1}]}}},
    {"enum": ARRAYS[:5], "prefixItems": [{"enum": [0, 1]}, {"properties": {"a": {"const": True}}}]},
    {"items": {"oneOf": [{"enum": OBJECTS[:40]}, {"enum": OBJECTS[30:]}]}, "uniqueItems": True},
    {"type": "object", "not": {"enum": OBJECTS[2:4]}, "properties": {"id": {"type": "integer"}}},
]  # fmt: skip


@pytest.mark.parametrize("schema", SOME, ids=range(len(SOME)))
def test_what_is_listed_is_what_the_whole_schema_allows(schema: Any) -> None:
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    checker, rng = Draft202012Validator.FORMAT_CHECKER, random.Random(1)
    validator = Draft202012Validator(schema, format_checker=checker)
    for value in [*OBJECTS[::3], *OBJECTS[:13], *ARRAYS[::4], *ARRAYS[:5], *OTHERS]:
        text = json.dumps(value)
        assert constraint.matches(text) == validator.is_valid(value), text
        if isinstance(value, dict):
            members = [*value.items()]
            rng.shuffle(members)
            assert constraint.matches(json.dumps(dict(members))) == validator.is_valid(value), text


@pytest.mark.parametrize("schema", SOME[:-1], ids=range(len(SOME) - 1))
def test_in_declared_order_what_is_listed_comes_as_listed(schema: Any) -> None:
    constraint = gw.compile(gw.JsonSchema(schema, key_order="declared"), BYTES)
    checker = Draft202012Validator.FORMAT_CHECKER
    validator = Draft202012Validator(schema, format_checker=checker)
    for value in [*OBJECTS[::3], *OBJECTS[:13], *ARRAYS[::4], *ARRAYS[:5]]:
        text = json.dumps(value)
        assert constraint.matches(text) == validator.is_valid(value), text
        if isinstance(value, dict) and value in schema.get("enum", ()):
            assert not constraint.matches(json.dumps(dict(reversed(value.items())))), text


FORWARD: list[Any] = [{"a": n, "b": {"x": 1, "y": [n]}} for n in range(40)]
BACKWARD: list[Any] = [{"b": {"y": [n], "x": 1}, "a": n} for n in range(40)]


@pytest.mark.parametrize(
    ("schema", "forward", "backward"),
    [
        ({"enum": FORWARD}, True, False),
        ({"enum": BACKWARD}, False, True),
        ({"enum": [*FORWARD, *BACKWARD]}, True, True),
        ({"allOf": [{"enum": FORWARD}, {"enum": BACKWARD}]}, True, False),
        ({"allOf": [{"enum": BACKWARD}, {"enum": FORWARD}]}, False, True),
        ({"enum": BACKWARD, "properties": {"a": {"minimum": 5}, "b": {}}}, False, True),
        ({"enum": BACKWARD, "not": {"enum": FORWARD[:5]}}, False, True),
        ({"not": {"not": {"enum": BACKWARD}}}, False, True),
        ({"allOf": [{"not": {"not": {"enum": BACKWARD}}}, {"required": ["a"]}]}, False, True),
        ({"oneOf": [{"enum": BACKWARD}, {"enum": FORWARD[:5]}]}, False, True),
        ({"oneOf": [{"enum": BACKWARD}, {"enum": BACKWARD[:1]}, {"type": "null"}]}, False, True),
        ({"enum": BACKWARD[6:9], "properties": {"a": {"minimum": 5}}}, False, True),
        ({"enum": [*BACKWARD[6:9], *FORWARD[6:9]], "required": ["a"]}, True, True),
    ],
)
def test_an_order_is_that_of_the_first_list(schema: Any, forward: bool, backward: bool) -> None:
    around = {"properties": {"p": {"enum": FORWARD}, "q": schema, "r": {"enum": BACKWARD}}}
    constraint = gw.compile(gw.JsonSchema(around, key_order="declared"), BYTES)
    assert constraint.matches(json.dumps({"q": FORWARD[7]})) is forward
    assert constraint.matches(json.dumps({"q": BACKWARD[7]})) is backward
    assert not constraint.matches(json.dumps({"q": {**BACKWARD[7], "b": {"x": 1, "y": [7]}}}))
    assert not constraint.matches(json.dumps({"q": {**FORWARD[7], "a": 8}}))


@pytest.mark.parametrize("listed", [FORWARD[:9], FORWARD])
def test_members_that_are_listed_come_as_listed(listed: list[Any]) -> None:
    backward = [{"z": value, "a": dict(reversed(value.items()))} for value in listed]
    schema = {"enum": backward, "properties": {"z": {"not": {"const": listed[1]}}}}
    constraint = gw.compile(gw.JsonSchema(schema, key_order="declared"), BYTES)
    assert constraint.matches(json.dumps(backward[7]))
    assert not constraint.matches(json.dumps({"z": listed[7], "a": listed[7]}))
    assert not constraint.matches(json.dumps(backward[1]))


@pytest.mark.parametrize("order", ["any", "declared"])
def test_what_is_not_plainly_satisfied_is_told_part_by_part(order: Any) -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"a": deep}
    recursive = {
        "properties": {"a": {"$ref": "#/$defs/s"}},
        "not": {"required": ["z"], "type": "object"},
    }
    some = {"enum": [deep, {"b": 1}, {"z": 1}]}
    schema = {**some, "allOf": [{"$ref": "#/$defs/s"}], "$defs": {"s": recursive}}
    constraint = gw.compile(gw.JsonSchema(schema, key_order=order), BYTES)
    assert constraint.matches(json.dumps(deep))
    assert constraint.matches('{"b": 1}')
    assert not constraint.matches('{"z": 1}')
    assert not constraint.matches(json.dumps(deep["a"]))


def test_what_nests_deeply_is_told_part_by_part() -> None:
    texts = ["[" * 120 + str(n) + "]" * 120 for n in range(30)]
    schema = f'{{"oneOf": [{{"enum": [{",".join(texts)}]}}, {{"type": "null"}}]}}'
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    assert constraint.matches(texts[7])
    assert not constraint.matches(texts[7][1:-1])


def test_in_declared_order_what_is_not_denied_is_told_part_by_part() -> None:
    schema = {"not": {"not": {"enum": [[n] for n in range(6)]}}}
    constraint = gw.compile(gw.JsonSchema(schema, key_order="declared"), BYTES)
    assert constraint.matches("[5]")
    assert not constraint.matches("[6]")


def test_a_number_of_which_the_digits_count_is_read_as_it_is_written() -> None:
    draft = {"$schema": "http://json-schema.org/draft-04/schema#"}
    said = {"properties": {"a": {"type": "integer"}, "b": {}}}
    constraint = gw.compile(gw.JsonSchema({**draft, "enum": [{"a": 1}, {"b": 2}], **said}), BYTES)
    assert constraint.matches('{"a": 1}')
    assert not constraint.matches('{"a": 1.0}')


@pytest.mark.parametrize("draft", ["oneOf", "anyOf", "allOf"])
def test_lists_by_the_thousand_take_no_look_at_each_pair(draft: str) -> None:
    listed: list[Any] = [{"id": n, "tags": [n % 7]} for n in range(1500)]
    schema = {draft: [{"enum": listed[:1000]}, {"enum": listed[500:]}]}
    constraint = gw.compile(gw.JsonSchema(schema), BYTES, gw.Budget.untrusted())
    for place in (0, 700, 1400):
        expected = {"oneOf": place != 700, "anyOf": True, "allOf": place == 700}[draft]
        assert constraint.matches(json.dumps(listed[place])) is expected


LISTED = [frozenset(exact([n]) for n in range(low, low + 4)) for low in range(3)]


def test_lists_are_joined() -> None:
    first, second, third = map(like, LISTED)
    assert any_like([first, second, FALSE]) is like(LISTED[0] | LISTED[1])
    assert opposite(opposite(third)) is third
    assert like(frozenset()) is FALSE
    denied = all_of(opposite(first), opposite(second))
    assert merged(denied) is leaf(Unlike(LISTED[0] | LISTED[1]))
    assert merged(all_of(first, second)) is like(LISTED[0] & LISTED[1])
    assert merged(all_of(first, opposite(second))) is like(LISTED[0] - LISTED[1])
    assert merged(first) is first


def spelled(listed: Like) -> list[Formula]:
    return [exactly(value) for value in listed.values]


def test_each_listed_value_is_an_alternative() -> None:
    first, second, _ = map(like, LISTED)
    denied = leaf(Unlike(LISTED[0] | LISTED[1]))
    assert alternatives(denied, spelled) == [denied]
    both = alternatives(all_of(first, second), spelled)
    assert set(both) == set(map(exactly, LISTED[0] & LISTED[1]))


def test_a_list_is_one_atom() -> None:
    assert like(LISTED[0]) is leaf(Like(LISTED[0]))


def test_what_nests_so_deep_that_it_takes_long_is_refused() -> None:
    texts = ["[" * 600 + str(n) + "]" * 600 for n in range(30)]
    source = gw.JsonSchema(f'{{"enum": [{",".join(texts)}]}}')
    with pytest.raises(gw.LimitError, match="parts of automata"):
        gw.compile(source, BYTES, gw.Budget.untrusted())
    few = gw.JsonSchema(f'{{"enum": [{",".join(texts[:2])}]}}')
    assert gw.compile(few, BYTES, gw.Budget.untrusted()).matches(texts[1])
