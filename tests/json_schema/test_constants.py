"""What an `enum` of arrays and objects lists, where it is denied."""

import json
from typing import Any

import pytest

import guideway as gw
from guideway.json_schema.formulas import Constants, exact
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.text import Json
from guideway.language.fuel import metered

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})
OBJECTS: list[Json] = [{"id": n, "name": f"n{n}", "tags": [n % 7, None]} for n in range(60)]
ARRAYS: list[Json] = [[n, {"a": [True]}, "x", None, False] for n in range(9)]


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        ({"enum": [*OBJECTS, *ARRAYS, 1]}, 60),
        ({"enum": OBJECTS, "type": "object"}, 60),
        ({"enum": OBJECTS, "type": "array"}, 0),
        ({"enum": OBJECTS[:4]}, 0),
        ({"enum": OBJECTS, "minProperties": 1}, 0),
        ({"anyOf": [{"const": one} for one in OBJECTS]}, 0),
        ({"enum": OBJECTS, "const": 1}, 0),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"enum": OBJECTS}},
            },
            60,
        ),
    ],
)
def test_many_are_told_if_nothing_else_is_said(schema: Any, count: int) -> None:
    document = parse_json_schema(gw.JsonSchema(schema))
    found = Constants(document).many(document.root, "object")
    assert found == frozenset(map(exact, OBJECTS[:count]))


def test_arrays_are_told_with_all_that_is_in_them() -> None:
    document = parse_json_schema(gw.JsonSchema({"enum": [*ARRAYS, {}]}))
    found = Constants(document).many(document.root, "array")
    assert found == frozenset(map(exact, ARRAYS))


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"enum": [*OBJECTS, *ARRAYS]}},
        {"not": {"$ref": "#/$defs/e"}, "$defs": {"e": {"enum": [*OBJECTS, *ARRAYS]}}},
        {
            "properties": {"id": {"type": "integer"}},
            "minItems": 1,
            "not": {"enum": [*OBJECTS, *ARRAYS]},
        },
    ],
)
def test_what_is_denied_is_anything_else(schema: Any) -> None:
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    for value in (*OBJECTS[::20], *ARRAYS[::4]):
        assert not constraint.matches(json.dumps(value))
    assert not constraint.matches('{"tags": [3, null], "name": "n3", "id": 30e-1}')
    for text in (
        '{"id": 3, "name": "n3"}',
        '{"id": 3, "name": "n3", "tags": [3, null], "x": 1}',
        '{"id": 3, "name": "n4", "tags": [3, null]}',
        '[1, {"a": [true]}, "x", null, true]',
        '[1, {"a": [true]}, "x", null]',
        "[9]",
        "3",
    ):
        assert constraint.matches(text), text


@pytest.mark.parametrize(
    ("branches", "differ"),
    [
        ([{"const": one} for one in [*OBJECTS, *ARRAYS, 1, True, "1", None]], True),
        ([{"$ref": "#/$defs/a"}, {"const": [1]}], True),
        ([{"$ref": "#/$defs/a"}, {"const": [0.0]}], False),
        ([{"const": 1}, {"const": 1.0}], False),
        ([{"const": 1}, {"type": "null"}], False),
    ],
)
def test_constants_are_told_to_differ(branches: list[Any], differ: bool) -> None:
    source = gw.JsonSchema({"oneOf": branches, "$defs": {"a": {"const": [0]}}})
    document = parse_json_schema(source)
    (group,) = document.schemas[document.root].one_of
    assert Constants(document).differ(group) is differ


def test_one_of_many_constants_takes_no_look_at_each_pair() -> None:
    source = gw.JsonSchema({"oneOf": [{"const": {"id": n}} for n in range(900)]})
    constraint = gw.compile(source, BYTES, gw.Budget.untrusted())
    assert constraint.matches('{"id": 7}')
    assert not constraint.matches('{"id": 900}')


def test_pairs_of_branches_are_paid_for() -> None:
    branches = [{"minLength": n} for n in range(700)]
    with pytest.raises(gw.LimitError, match="parts of automata"):
        gw.compile(gw.JsonSchema({"oneOf": branches}), BYTES, gw.Budget.untrusted())


def test_levels_of_constants_are_paid_for() -> None:
    def paid(levels: int) -> int:
        constant, ticks = 1, list[int]()
        for _ in range(levels):
            constant = [constant]
        with metered(ticks.append):
            Constants(document := parse_json_schema(gw.JsonSchema({"const": constant}))).value(
                document.schemas[document.root].any_of[0][0]
            )
        return sum(ticks)

    assert paid(100) - paid(50) >= 7 * 50
