"""So many tokens as are said to suffice wherever the next one leads do so behind each."""

import random
import string
from itertools import product
from typing import Any

import pytest

import guideway as gw
from guideway.automaton import completion_cost as cost_after_token
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.token_tries import unpack
from guideway.constraint.closing import Closing
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.errors import LimitError

LONGER = [
    "[[[[", "]]]", '{"a":[{"a":[', '{"', '":', '","', '"}', '"],', "},", '":{"', "{}", "true", "1,",
    '"name":"', '"kind"', "((((", "))", "<b><b>", "</b>", '":0,"', '{"size":{"', "\\u00", "    ",
    "aaaa", "12", ":1", "-0", "}}", '"}}', '"children":[{"', "\n ",
]  # fmt: skip
TOKENS = [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in LONGER)]
VOCABULARY = gw.Vocabulary([*TOKENS, b"<eos>"], {len(TOKENS)})

NODE = {
    "type": "object",
    "required": ["label"],
    "properties": {"label": {"type": "string"}, "children": {"type": "array"}},
    "additionalProperties": False,
}
NODE["properties"]["children"]["items"] = {"$ref": "#/$defs/node"}
DEEP: Any = {"required": [f"another name {n}" for n in range(4)]}
SOURCES = {
    "anything": gw.JsonSchema(True),
    "string": gw.JsonSchema({"type": "string"}),
    "counted": gw.JsonSchema({"type": "string", "minLength": 5, "maxLength": 400}),
    "pattern": gw.JsonSchema({"type": "string", "pattern": "^[a-z]+(-[a-z]{3})*$"}),
    "bounded": gw.JsonSchema({"type": "string", "pattern": "^[a-z-]*$", "minLength": 3}),
    "bounded above": gw.JsonSchema(
        {"type": "array", "items": {"type": "string", "pattern": "^(ab|c)*$", "maxLength": 70}}
    ),
    "words": gw.JsonSchema({"enum": [f'a "{number}" b' for number in range(12)]}),
    "date": gw.JsonSchema({"type": "string", "format": "date"}),
    "items": gw.JsonSchema({"type": "array", "items": {"type": "integer"}, "minItems": 3}),
    "different": gw.JsonSchema(
        {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b"]}}
    ),
    "object": gw.JsonSchema(
        {
            "type": "object",
            "required": ["name", "größe", "size"],
            "properties": {
                "name": {"type": "string", "minLength": 2},
                "größe": {"enum": ["klein", "groß"]},
                "size": {"type": "object", "required": ["x"], "properties": {"x": {"const": 123}}},
                "kind": {"type": "boolean"},
                "never": False,
            },
        }
    ),
    "declared": gw.JsonSchema(
        {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "null"}}},
        key_order="declared",
    ),
    "tree": gw.JsonSchema({"$ref": "#/$defs/node", "$defs": {"node": NODE}}),
    "deep": gw.JsonSchema(
        {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", **DEEP, "properties": {
            "name": {"$ref": "#/$defs/node"}}}}}
    ),
    "brackets": gw.Gbnf('root ::= "(" root ")" | "[" root root "]" | "x"'),
    "tags": gw.Gbnf('root ::= "<b>" root "</b>" | [a-z]*'),
    "alternatives": gw.Gbnf('root ::= "(" root ")" | root root | "a" | "()"'),
}  # fmt: skip
UNKNOWN = {
    "by formula": gw.JsonSchema({"type": "object", "minProperties": 2}),
    "classes": gw.JsonSchema({"type": "object", "patternProperties": {"^x": {"type": "null"}},
                              "additionalProperties": False}),
    "captures": gw.JsonSchema({"type": "array", "uniqueItems": True}),
    "different strings": gw.JsonSchema(
        {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
    ),
    "costly": gw.Gbnf('root ::= "a" root "' + 400 * "b" + '" | "x"'),
    "looks ahead": gw.Lark('start: NAME+\nNAME: /[ab](?!c)/'),
}  # fmt: skip


def enough(constraint: CompiledConstraint, state: DecodeState) -> int | None:
    return constraint._closing._completion_cost.enough(state)


def _walk(constraint: CompiledConstraint, dice: random.Random, steps: int) -> list[DecodeState]:
    states = [constraint.start()]
    while len(states) < steps and not states[-1].ended:
        allowed = unpack(constraint.mask(states[-1])).tolist()
        longer = [token for token in allowed if token >= 256]
        seen = [token for token in allowed if chr(min(token, 255)) in '{}[]",:019abcexyz<(\\u ']
        token = dice.choice((longer if longer and dice.random() < 0.4 else seen) or allowed)
        states.append(constraint.advance(states[-1], token))
    return states


@pytest.mark.parametrize("walks", [3, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SOURCES)
def test_behind_each_token_so_many_suffice(name: str, walks: int) -> None:
    constraint, dice = gw.compile(SOURCES[name], VOCABULARY), random.Random(name)
    known = steps = 0
    for _ in range(walks):
        for state in _walk(constraint, dice, 30):
            if state.ended:
                continue
            told = [enough(constraint, state) for _ in range(4)][-1]
            steps += 1
            if told is None:
                continue
            known += 1
            row = constraint.mask(state)
            assert constraint.mask_within(state, told + 1).tolist() == row.tolist()
            for token in unpack(row).tolist():
                if token < len(TOKENS):
                    assert constraint.distance(constraint.advance(state, token)) <= told
    assert known > steps / 2


@pytest.mark.parametrize("name", SOURCES)
def test_near_the_end_a_mask_has_each_token_after_which_the_rest_fits(name: str) -> None:
    constraint, dice = gw.compile(SOURCES[name], VOCABULARY), random.Random(name)
    narrower = 0
    for _ in range(3):
        for state in _walk(constraint, dice, 20):
            needed = constraint.distance(state)
            tokens = unpack(constraint.mask(state)).tolist()
            after = {t: constraint.advance(state, t) for t in tokens if t < len(TOKENS)}
            for left in {needed, needed + 1, needed + dice.randrange(2, 12)} - {0}:
                within = {*unpack(constraint.mask_within(state, left)).tolist()} - {len(TOKENS)}
                if within != {*after}:
                    narrower += 1
                assert within == {t for t, one in after.items() if constraint.distance(one) < left}
    assert narrower > 5


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_not_said(name: str) -> None:
    constraint, dice = gw.compile(UNKNOWN[name], VOCABULARY), random.Random(name)
    for state in _walk(constraint, dice, 12):
        if state.ended:
            continue
        told = enough(constraint, state)
        for token in unpack(constraint.mask(state)).tolist():
            if told is not None and token < len(TOKENS):
                assert constraint.distance(constraint.advance(state, token)) <= told
    assert enough(constraint, constraint.start()) is None


@pytest.mark.parametrize(("name", "most"), [("string", 13), ("anything", 30), ("object", 115)])
def test_it_is_near(name: str, most: int) -> None:
    constraint = gw.compile(SOURCES[name], VOCABULARY)
    told = enough(constraint, constraint.start())
    assert told is not None
    assert told <= most


def fresh(name: str) -> CompiledConstraint:
    """A constraint of which nobody has asked anything."""
    value = {"type": "object", "required": ["x"], "properties": {"x": {"const": 123}, name: {}}}
    schema = {"type": "object", "required": [name], "properties": {name: value, "a": {}, "b": {}}}
    return gw.compile(gw.JsonSchema(schema), VOCABULARY)


def test_much_is_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = enough(first := fresh("one"), first.start())
    monkeypatch.setattr(cost_after_token, "_EACH", 3)
    constraint = fresh("two")
    told = [enough(constraint, constraint.start()) for _ in range(40)]
    assert told[0] is None
    assert told[-1] == expected


@pytest.mark.parametrize(("limit", "most"), [("_MOST", 1), ("_NAMES", 2), ("_ROUNDS", 0)])
def test_too_much_is_not_looked_at(monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    enough(first := fresh("another"), first.start())
    constraint = fresh(f"with {limit}")
    monkeypatch.setattr(cost_after_token, limit, most)
    assert [enough(constraint, constraint.start()) for _ in range(3)] == [None] * 3
    assert constraint.mask_within(constraint.start(), 60).any()


@pytest.mark.parametrize("calls", range(2))
def test_where_there_is_no_room_it_is_told_later(
    monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    expected = enough(first := fresh("p"), first.start())
    constraint, run, count = fresh("qr"[calls]), PushdownAutomaton.run, 0
    state = constraint.start()

    def full(pda: PushdownAutomaton, *what: Any) -> int:
        nonlocal count
        count += 1
        if count > calls:
            raise LimitError("no room", limit="states")
        return run(pda, *what)

    with monkeypatch.context() as patch:
        patch.setattr(PushdownAutomaton, "run", full)
        assert enough(constraint, state) is None
    assert expected is not None
    assert enough(constraint, state) == expected


def test_behind_an_end_id_nothing_is_told() -> None:
    constraint = gw.compile(gw.JsonSchema({"const": 1}), VOCABULARY)
    state = constraint.advance(constraint.advance(constraint.start(), ord("1")), len(TOKENS))
    assert enough(constraint, state) is None
    assert constraint._closing._completion_cost.staying(state) == []
    assert constraint.mask_within(state, 0).tolist() == constraint.mask(state).tolist()


WORDS = ["".join(three) for three in product(string.ascii_lowercase, repeat=3)]
WIDE = gw.Vocabulary([*TOKENS, *(word.encode() for word in WORDS), b"<eos>"], {len(TOKENS + WORDS)})


@pytest.mark.parametrize(
    ("schema", "begun"),
    [
        ({"type": "string"}, '"ab'),
        ({"type": "object", "required": ["abcdef"]}, '{"ab'),
        ({"type": "object", "required": ["abcdef"]}, '{"x":'),
        ({"type": "object", "required": ["ab"], "properties": {"ab": {"enum": ["abcxyz"]}}}, '{"'),
        ({"type": "array", "items": {"type": "string", "minLength": 30, "maxLength": 60}}, '["ab'),
        (
            {
                "anyOf": [
                    {"type": "array", "items": {"type": "string"}, "minItems": 3},
                    {"type": "array", "items": {"type": "string"}, "maxItems": 1},
                ]
            },
            '["ab',
        ),
    ],
)
def test_many_tokens_stay_within_what_is_being_read(schema: Any, begun: str) -> None:
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), WIDE)
    state, dice = constraint.start(), random.Random(begun)
    for byte in begun.encode():
        state = constraint.advance(state, byte)
    end, needed = len(TOKENS + WORDS), constraint.distance(state)
    allowed = {*unpack(constraint.mask(state)).tolist()} - {end}
    some = [token for token in allowed if token < 256 or dice.random() < 0.02]
    after = {token: constraint.distance(constraint.advance(state, token)) for token in some}
    for left in [*range(needed, needed + 20), needed + 40, needed + 80]:
        within = {*unpack(constraint.mask_within(state, left)).tolist()}
        assert within & {*some} == {token for token, more in after.items() if more < left}
    assert allowed <= {*unpack(constraint.mask_within(state, needed + 100)).tolist()}


def test_where_nothing_leads_back_to_itself_nothing_is_taken_off() -> None:
    letters = gw.Vocabulary([b"a", b"b", b"c", b"d", b"<eos>"], {4})
    constraint = gw.compile(gw.Regex("(abc|c)*d{3}"), letters)
    assert enough(constraint, constraint.start()) == len("bcddd")


def test_where_no_token_seems_to_fit_what_is_nearest_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    constraint = gw.compile(gw.Regex("abc|bcde|c{9}"), VOCABULARY)
    monkeypatch.setattr(Closing, "_fits", lambda *_: False)
    assert unpack(constraint.mask_within(constraint.start(), 4)).tolist() == [ord("a")]


def test_a_state_of_an_older_pda_is_told_by_the_plain_engine() -> None:
    constraint = fresh("older")
    state = constraint.start()
    for byte in b'{"older":{"x":':
        state = constraint.advance(state, byte)
    tokens = [token for token in unpack(constraint.mask(state)).tolist() if token < len(TOKENS)]
    after = {token: constraint.distance(constraint.advance(state, token)) for token in tokens}
    constraint.forget()
    assert enough(constraint, state) is None
    for left in range(constraint.distance(state), max(after.values()) + 2):
        within = unpack(constraint.mask_within(state, left)).tolist()
        assert within == [token for token in tokens if after[token] < left]
