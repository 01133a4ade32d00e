"""Arrays read item by item: all of those that a schema allows, and no text that leads nowhere.

The judge is `jsonschema` on every array of up to four of a few values.
"""

import json
import random
from itertools import product
from typing import Any

import jsonschema
import pytest

import guideway as gw
from guideway.json_schema.lowering import lower_json_schema
from guideway.json_schema.objects import endless_options
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr
from json_schemas import check_texts, machine
from plain_texts import behind, matches

VALUES = ("a", "b", "c", None)
ARRAYS = [list(items) for size in range(5) for items in product(VALUES, repeat=size)]
TWICE = {"not": {"uniqueItems": True}}


def texts(engine: Derivatives) -> set[str]:
    """All texts there are; each state on the way leads to one."""
    found = set[str]()
    stack: list[tuple[bytes, Expr]] = [(b"", engine.start())] * engine.alive(engine.start())
    while stack:
        text, state = stack.pop()
        arcs = engine.arcs(engine.blurred(state))
        bytes_ = [b for members, _ in arcs for b in range(256) if members >> b & 1]
        ahead = [(b, engine.step(state, b)) for b in bytes_]
        living = [(text + bytes((b,)), to) for b, to in ahead if to is not None]
        if engine.accepts(state):
            found.add(text.decode())
        else:
            assert living, text
        nearest = engine.shortest(state)
        after = engine.step(state, nearest[0]) if nearest else None
        assert after is None or len(engine.shortest(after)) < len(nearest), text
        stack += living
    return found


def allowed(schema: Any) -> set[str]:
    judge = jsonschema.Draft202012Validator(schema)
    return {json.dumps(a, separators=(",", ":")) for a in ARRAYS if judge.is_valid(a)}


def check(schema: Any) -> None:
    engine = machine({**schema, "type": "array"}, whitespace="compact", spelling="plain")
    assert texts(engine) == allowed(schema), schema


def one_of(*values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


A, AB, BC, ABC, ANY = (
    one_of("a"), one_of("a", "b"), one_of("b", "c"), one_of(*"abc"), one_of(*VALUES),
)  # fmt: skip
LETTERS = {"enum": [*"abc"], "pattern": "^[abc]$"}
HAVE_AB = {"allOf": [{"contains": {"pattern": "^a$"}}, {"contains": {"pattern": "^b$"}}]}
THREE = {"minItems": 3, "maxItems": 3}
CLOSED = {"items": False, "minItems": 2, "uniqueItems": True}


@pytest.mark.parametrize(
    "schema",
    [
        {"prefixItems": [ABC, AB, A], **CLOSED, "minItems": 3},
        {"prefixItems": [ANY, AB, AB], **CLOSED, "minItems": 3},
        {"prefixItems": [AB, AB, AB], **CLOSED, "minItems": 3},
        {"items": ANY, "contains": A, "uniqueItems": True, "minItems": 3, "maxItems": 4},
        {"items": {"type": "string", "pattern": "^[ab]$"}, **HAVE_AB, **THREE, "uniqueItems": True},
        {"items": LETTERS, **HAVE_AB, **THREE, **TWICE},
        {"items": ANY, "allOf": [{"contains": AB}, {"contains": BC}], **THREE, "uniqueItems": True},
        {"prefixItems": [one_of("c", None, "b"), ABC, AB, BC], **THREE, "uniqueItems": True},
        {"prefixItems": [AB, one_of("c"), BC], "items": False, **TWICE},
        {"prefixItems": [AB, BC, A], "items": False, **TWICE, "minItems": 3},
        {"items": ANY, "maxItems": 3, "anyOf": [{"uniqueItems": True}, {"contains": A}]},
        {"items": ABC, "maxItems": 3, "if": {"uniqueItems": True}, "then": {"minItems": 3}},
        {"items": ABC, "maxItems": 2, "anyOf": [TWICE, {"minItems": 2, "prefixItems": [A]}]},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_values_are_dealt_out_so_that_none_or_some_come_twice(schema):
    check(schema)


@pytest.mark.untraced
@pytest.mark.parametrize("depth", [1, 40, pytest.param(120, marks=pytest.mark.slow)])
def test_equal_items_are_told_however_deep_they_nest(depth):
    one, other = ("[" * depth + inner + "]" * depth for inner in ("1", "2"))
    different = machine({"type": "array", "uniqueItems": True})
    assert matches(different, f"[{one},{other}]")
    assert not matches(different, f"[{one},{one}]")


def drawn(chance: random.Random) -> dict[str, Any]:
    """A schema of arrays whose items are of a few values each, all different or some alike."""

    def some() -> dict[str, Any]:
        return one_of(*chance.sample(VALUES, chance.randint(1, 4)))

    schema: dict[str, Any] = {"maxItems": chance.randint(1, 4), "minItems": chance.randint(0, 4)}
    if chance.random() < 0.8:
        schema["prefixItems"] = [some() for _ in range(chance.randint(1, 4))]
    schema["items"] = chance.choice([False, some(), some()])
    if chance.random() < 0.4:
        schema["contains"], schema["minContains"] = some(), chance.randint(0, 2)
    if chance.random() < 0.3:
        schema["maxContains"] = chance.randint(1, 3)
    unique: dict[str, Any] = {"uniqueItems": True}
    other: dict[str, Any] = {"contains": some()}
    forms = ({"not": unique}, {"anyOf": [unique, other]}, {"oneOf": [unique, other]})
    return schema | (unique if chance.random() < 0.6 else chance.choice(forms))


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 1060), marks=pytest.mark.slow)], ids=len
)
def test_what_is_drawn_agrees_with_all_arrays_one_by_one(seeds):
    for seed in seeds:
        check(drawn(random.Random(seed)))


ENDLESS: list[Any] = [
    *({"type": "integer"}, {"type": "number"}, {"type": ["null", "integer"]}, {"type": "string"}),
    *({"not": {"type": "string"}}, {"type": "integer", "multipleOf": 11}),
]
ENDED: list[Any] = [
    *({"const": 1}, {"enum": [1, 11, 111, "1"]}, {"type": "boolean"}, {"type": "null"}),
    *({"type": "integer", "minimum": 1, "maximum": 111}, {"type": "string", "maxLength": 1}),
    *({"const": [1]}, {"const": {}}, {"const": "1"}),
    {"type": "integer", "minimum": 111, "maximum": 111},
]  # fmt: skip


@pytest.mark.parametrize("value", ENDED)
def test_values_that_have_an_end_are_not_called_endless(value: Any) -> None:
    assert not endless_options(lower_json_schema(JsonSchema(value)))


# Of each there are endlessly many, if any: but "b" has no value, or leads back to the array.
NONE: list[Any] = [
    {"type": "object", "properties": {"a": {}, "c": {"type": "array", "minItems": 1}},
     "required": ["b", "c"],
     "additionalProperties": {"type": "object", "required": ["c"],
                              "propertyNames": {"minLength": 2}}},
    {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"a": {}}, "required": ["b"],
                                  "additionalProperties": {"$ref": "#"}}]},
]  # fmt: skip


@pytest.mark.parametrize("value", NONE)
def test_endless_values_of_which_there_are_none_fill_no_array(value: Any) -> None:
    engine = machine({"type": "array", "items": value, "uniqueItems": True, "minItems": 2})
    assert not engine.alive(engine.start())


@pytest.mark.parametrize("value", ENDLESS)
def test_of_endless_values_many_that_differ_take_no_search(value: Any) -> None:
    engine = machine({"items": value, "type": "array", "uniqueItems": True, "minItems": 500})
    assert engine.alive(engine.start())
    state = behind(engine, "[1,2,3," if value != {"type": "string"} else '["a","b",')
    assert (state is not None) == ("multipleOf" not in value)


def test_endless_values_leave_others_what_they_need() -> None:
    parts = [{"type": "integer"}, {"enum": [1, 2]}, {"const": 1}]
    schema = {"prefixItems": parts, "minItems": 4, "maxItems": 4, "uniqueItems": True}
    wrong = ["[2,2,1,0]", "[3,1,1,0]", "[1,2,1,0]", "[3,2,1,2]"]
    check_texts({"type": "array", **schema}, ["[3,2,1,0]"], wrong)


def test_where_ones_cannot_be_spelled_endless_values_are_searched() -> None:
    words = gw.Vocabulary([b"[", b"]", b",", b"0", b"2", b"<eos>"], {5})
    schema = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 3}
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), words)
    assert constraint.matches("[0,2,22]")
    assert not constraint.matches("[0,2,2]")
