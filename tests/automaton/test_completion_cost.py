"""What is said to suffice for an end does: the plain engine's shortest rest is never longer."""

import random
from typing import Any

import pytest

import guideway as gw
from guideway.automaton import completion_cost as cost_to_end
from guideway.automaton import lexer_dfa as spans
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import LimitError
from random_walks import BYTES

SCHEMAS: list[Any] = [
    True,
    {"enum": ["red", "green", 'a "quoted" word', "grün"]},
    {"enum": [f"{number} words" for number in range(12)]},
    {"type": "string", "minLength": 5, "maxLength": 400},
    {"type": "string", "format": "date-time"},
    {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": "^[a-z]{20}$"}},
    {"type": "array", "uniqueItems": True, "items": {"type": "string", "maxLength": 1}},
    {"type": "array", "items": {"type": "integer", "minimum": 10}, "minItems": 3},
    {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "bb", "ccc"]}, "minItems": 2},
    {
        "type": "object",
        "required": ["name", "größe", 'q"'],
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "größe": {"enum": ["klein", "groß"]},
            'q"': {"type": "object", "required": ["x"], "properties": {"x": {"const": 12345}}},
            "other": {"type": "boolean"},
        },
    },
    {
        "type": "object",
        "properties": {"a": {"type": "null"}, "ab": {"type": "string"}, "abc": {"const": "ab"}},
        "minProperties": 1,
        "additionalProperties": False,
    },
    {
        "type": "object",
        "patternProperties": {"^x-": {"type": "integer"}, "^y": {"const": "long enough"}},
        "properties": {"z": {"type": "array", "minItems": 1}},
        "additionalProperties": False,
        "required": ["z"],
    },
    {
        "type": "object",
        "oneOf": [
            {"required": ["kind", "radius"], "properties": {"kind": {"const": "circle"}}},
            {"required": ["kind", "side"], "properties": {"kind": {"const": "square"}}},
        ],
    },
    {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "required": ["label"],
                "properties": {
                    "label": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "additionalProperties": False,
            }
        },
    },
]
GRAMMARS = [
    gw.Regex(r"(abc|abd)+\d{3,8}(-[a-f]{2}){2,}"),
    gw.Regex("(a|b)*a(a|b){6}"),
    gw.Lark('start: "[" (start ("," start)*)? "]" | /[a-z]{2,4}/'),
    gw.Lark('start: s\ns: s s | "x" | "(" s ")"'),
    gw.Gbnf('root ::= many "z"\nmany ::= many many | "a"'),
    gw.Gbnf('root ::= "(" root ")" | root root | "a" | "()"'),
    gw.tagged("<call>", gw.JsonSchema({"type": "object", "required": ["f"]}), "</call>"),
]


def told(constraint: CompiledConstraint, chance: random.Random, most: int) -> tuple[int, int]:
    """How often it was told what suffices on the way of a random text, of how many times."""
    state, known, steps = constraint.start(), 0, 0
    states, machine = constraint._closing._states, constraint._closing._machine
    for _ in range(most):
        found = constraint._closing._completion_cost.at_most(state)
        if found is not None:
            assert machine.shortest_length(states.rest(state)) <= found
            known += 1
        steps += 1
        row = constraint.mask(state)
        tokens = [token for token in range(256) if int(row[token // 32]) >> token % 32 & 1]
        if not tokens:
            break
        seen = [token for token in tokens if chr(token) in '{}[]",:0123456789abcdefnrtuy\\- ']
        state = constraint.advance(state, chance.choice(seen or tokens))
    return known, steps


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_is_said_of_objects_and_arrays_suffices(schema, order):
    known = steps = 0
    for seed in range(8):
        source = gw.JsonSchema(schema, key_order=order)
        constraint = gw.compile(source, BYTES)
        found = told(constraint, random.Random(seed), 60)
        known, steps = known + found[0], steps + found[1]
    assert known > steps / 12  # keys with escapes and runs of spaces are unknown


@pytest.mark.parametrize("source", GRAMMARS)
def test_what_is_said_of_other_texts_suffices(source):
    constraint = gw.compile(source, BYTES)
    found = [told(constraint, random.Random(seed), 40) for seed in range(8)]
    assert sum(known for known, _ in found) > 0


@pytest.mark.parametrize(
    ("items", "begun"),
    [({"minLength": 30}, f'["{"a" * 31}",'), ({"maxLength": 1}, '["a","b","')],
)
def test_strings_that_differ_are_as_long_as_they_have_to_be(items, begun):
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "string", **items}}
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), BYTES)
    state = constraint.start()
    for byte in begun.encode():
        state = constraint.advance(state, byte)
        needed = constraint.distance(state)
        assert not constraint.fits(state, needed - 1)
        assert constraint.fits(state, needed)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_fits_is_a_distance(schema):
    constraint, chance = gw.compile(gw.JsonSchema(schema), BYTES), random.Random(1)
    state = constraint.start()
    for _ in range(40):
        needed = constraint.distance(state)
        told = [constraint.fits(state, needed + more) for more in (-1, 0, 1, 50)]
        assert told == [False, True, True, True]
        row = constraint.mask(state)
        tokens = [token for token in range(256) if int(row[token // 32]) >> token % 32 & 1]
        if not tokens:
            break
        state = constraint.advance(state, chance.choice(tokens))


def test_far_from_the_end_nobody_asks_what_may_follow(monkeypatch):
    constraint = gw.compile(gw.JsonSchema(SCHEMAS[9]), BYTES)
    asked: list[object] = []
    rest = type(constraint._closing._states).rest
    state = constraint.start()
    monkeypatch.setattr(
        type(constraint._closing._states),
        "rest",
        lambda states, state: asked.append(state) or rest(states, state),
    )
    for byte in '{"other":true,"größe":"klein","name":"ab'.encode():
        state = constraint.advance(state, byte)
        assert constraint.fits(state, 300)
    assert len(asked) < 2  # one where a value is lowered as it is entered


def far(name: str) -> Any:
    """A schema of which no other test has translated anything."""
    value = {"type": "array", "items": {"const": name}, "minItems": 2}
    return {"type": "object", "required": [name], "properties": {name: value}}


def test_what_takes_long_is_not_told(monkeypatch):
    sources = {
        (spans, "_SPANS_MET"): gw.Regex("(ab|cd)+e"),
        (cost_to_end, "_DEEPEST"): gw.Regex("abc|abd|y"),
        (cost_to_end, "_ENTERED"): gw.JsonSchema(far("one")),
    }
    for (module, name), source in sources.items():
        constraint = gw.compile(source, BYTES)
        with monkeypatch.context() as patch:
            patch.setattr(module, name, 0)
            assert constraint._closing._completion_cost.at_most(constraint.start()) is None
        assert constraint.fits(constraint.start(), 30)


def test_where_there_is_no_room_it_is_told_otherwise(monkeypatch):
    constraint = gw.compile(gw.JsonSchema(far("two")), BYTES)
    state = constraint.start()

    def full(*_: object) -> int:
        raise LimitError("no room", limit="states")

    monkeypatch.setattr(PushdownAutomaton, "run", full)
    assert constraint._closing._completion_cost.at_most(state) is None
    assert constraint.fits(state, 30)


def test_behind_an_end_id_nothing_is_told():
    constraint = gw.compile(gw.JsonSchema({"const": 1}), BYTES)
    state = constraint.advance(constraint.advance(constraint.start(), ord("1")), 256)
    assert constraint._closing._completion_cost.at_most(state) is None
    assert constraint.fits(state, 0)


def test_what_comes_to_nothing_is_looked_at_once(monkeypatch):
    """Each definition names the next one twice: 2^40 ways to what is too deep to be told."""
    twice = {
        f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(40)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**twice, "d40": {"type": "null"}}}
    looks = [0]
    look = cost_to_end.CostToEnd._look

    def counted(self, node, depth):
        looks[0] += 1
        return look(self, node, depth)

    monkeypatch.setattr(cost_to_end.CostToEnd, "_look", counted)
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    start = constraint.start()
    left = constraint.distance(start)
    assert unpack(constraint.mask_within(start, left)).tolist() == [ord("n")]
    assert looks[0] < 2000
