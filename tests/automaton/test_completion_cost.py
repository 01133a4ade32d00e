"""What is said to suffice for an end does: the plain engine's shortest rest is never longer."""

import random
import string
from itertools import product
from typing import Any

import pytest

import guideway as gw
from budget_law import check_within
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from random_walks import read

LONGER = [
    "[[[[", "]]]", '{"a":[{"a":[', '{"', '":', '","', '"}', '"],', "},", '":{"', "{}", "true", "1,",
    '"name":"', '"kind"', "((((", "))", "<b><b>", "</b>", '":0,"', '{"size":{"', "\\u00", "    ",
    "aaaa", "12", ":1", "-0", "}}", '"}}', '"children":[{"', "\n ",
]  # fmt: skip
TOKENS = [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in LONGER)]
VOCABULARY = gw.Vocabulary([*TOKENS, b"<eos>"], {len(TOKENS)})
NODE = {"$ref": "#/$defs/node"}
TREE = {
    "type": "object", "required": ["label"], "additionalProperties": False,
    "properties": {"label": {"type": "string"}, "children": {"type": "array", "items": NODE}},
}  # fmt: skip
NAMES = [f"another name {n}" for n in range(4)]
DEEP = {"type": "object", "required": NAMES, "properties": {"name": NODE}}
STRINGS: dict[str, dict[str, Any]] = {
    "string": {},
    "counted": {"minLength": 5, "maxLength": 400},
    "date": {"format": "date-time"},
    "pattern": {"pattern": "^[a-z]+(-[a-z]{3})*$"},
    "bounded": {"pattern": "^[a-z-]*$", "minLength": 3},
    "many at least": {"pattern": "^(?:[a-z]-?)*$", "minLength": 30},
    "many at most": {"pattern": "^[a-z]+(-[a-z]{3})*$", "maxLength": 40},
    "from one on": {"pattern": "^(ab|c)*$", "minLength": 1, "maxLength": 35},
    "exactly so many": {"pattern": "^(?:a{4}){9}$|^ü{36}$", "maxLength": 36},
    "of two bytes": {"pattern": "^(?:ä|xx)+$", "minLength": 20, "maxLength": 40},
    "words": {"pattern": "^\\S+( \\S+){0,3}$", "maxLength": 50},
    "fives": {"pattern": "^(?:a{5})*$", "minLength": 32, "maxLength": 48},
}
SCHEMAS: dict[str, Any] = {
    "anything": True,
    **{name: {"type": "string", **keywords} for name, keywords in STRINGS.items()},
    "names": {"enum": ["red", "green", 'a "quoted" word', "grün"]},
    "many names": {"enum": [f'a "{number}" b' for number in range(12)]},
    "bounded items": {
        "type": "array", "items": {"type": "string", "pattern": "^(ab|c)*$", "maxLength": 70}},
    "items": {"type": "array", "items": {"type": "integer", "minimum": 10}, "minItems": 3},
    "different": {
        "type": "array", "uniqueItems": True, "items": {"enum": ["a", "bb", "ccc"]}, "minItems": 2},
    "object": {
        "type": "object",
        "required": ["name", "größe", 'q"'],
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "größe": {"enum": ["klein", "groß"]},
            'q"': {"type": "object", "required": ["x"], "properties": {"x": {"const": 12345}}},
            "other": {"type": "boolean"},
            "never": False,
        },
    },
    "one of two": {
        "type": "object",
        "oneOf": [
            {"required": ["kind", "radius"], "properties": {"kind": {"const": "circle"}}},
            {"required": ["kind", "side"], "properties": {"kind": {"const": "square"}}}]},
    "two members": {
        "type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "null"}}},
    "tree": {**NODE, "$defs": {"node": TREE}},
    "deep": {**NODE, "$defs": {"node": DEEP}},
}  # fmt: skip
SOURCES: dict[str, Any] = {
    **{name: gw.JsonSchema(schema) for name, schema in SCHEMAS.items()},
    "declared": gw.JsonSchema(SCHEMAS["two members"], key_order="declared"),
    "an object that is declared": gw.JsonSchema(SCHEMAS["object"], key_order="declared"),
    "parts": gw.Regex(r"(abc|abd)+\d{3,8}(-[a-f]{2}){2,}"),
    "many states": gw.Regex("(a|b)*a(a|b){6}"),
    "a choice": gw.Regex("(?:[a-z]+@)?x{5}|y*"),
    "up to a letter": gw.Regex("[^a]*b"),
    "the longer": gw.Regex("a{9}|b"),
    "lists": gw.Lark('start: "[" (start ("," start)*)? "]" | /[a-z]{2,4}/'),
    "brackets": gw.Gbnf('root ::= "(" root ")" | "[" root root "]" | "x"'),
    "tags": gw.Gbnf('root ::= "<b>" root "</b>" | [a-z]*'),
    "alternatives": gw.Gbnf('root ::= "(" root ")" | root root | "a" | "()"'),
    "many": gw.Gbnf('root ::= many "z"\nmany ::= many many | "a"'),
    "tagged": gw.tagged("<call>", gw.JsonSchema({"type": "object", "required": ["f"]}), "</call>"),
}
SELDOM = {"date", "many at least", "of two bytes", "fives", "different", "lists", "tagged"}
STRING = {"type": "string"}
UNKNOWN: dict[str, Any] = {
    "by formula": gw.JsonSchema({"type": "object", "minProperties": 2}),
    "few by formula": gw.JsonSchema({
        "type": "object", "minProperties": 1, "additionalProperties": False,
        "properties": {"a": {"type": "null"}, "ab": STRING, "abc": {"const": "ab"}}}),
    "classes": gw.JsonSchema({"type": "object", "patternProperties": {"^x": {"type": "null"}},
                              "additionalProperties": False}),
    "two classes": gw.JsonSchema({
        "type": "object", "additionalProperties": False, "required": ["z"],
        "patternProperties": {"^x-": {"type": "integer"}, "^y": {"const": "long enough"}},
        "properties": {"z": {"type": "array", "minItems": 1}}}),
    "captures": gw.JsonSchema({"type": "array", "uniqueItems": True}),
    "different strings": gw.JsonSchema({"type": "array", "uniqueItems": True, "items": STRING}),
    "different letters": gw.JsonSchema(
        {"type": "array", "uniqueItems": True, "items": {"type": "string", "maxLength": 1}}),
    "different words": gw.JsonSchema({
        "type": "array", "uniqueItems": True,
        "items": {"type": "string", "pattern": "^[a-z]{20}$"}}),
    "costly": gw.Gbnf('root ::= "a" root "' + 400 * "b" + '" | "x"'),
    "looks ahead": gw.Lark('start: NAME+\nNAME: /[ab](?!c)/'),
    "letters": gw.Lark('start: s\ns: s s | "x" | "(" s ")"'),
}  # fmt: skip


def walk(constraint: CompiledConstraint, dice: random.Random, steps: int) -> list[DecodeState]:
    """States of a random text, of which a token leads to the next one."""
    states = [constraint.start()]
    while len(states) < steps:
        allowed = unpack(constraint.mask(states[-1])).tolist()
        allowed = [token for token in allowed if token < len(TOKENS)]
        if not allowed:
            break
        longer = [token for token in allowed if token >= 256]
        seen = [token for token in allowed if chr(min(token, 255)) in '{}[]",:019abcexyz<(\\u -']
        token = dice.choice((longer if longer and dice.random() < 0.4 else seen) or allowed)
        states.append(constraint.advance(states[-1], token))
    return states


@pytest.mark.parametrize("name", {**SOURCES, **UNKNOWN})
def test_so_many_bytes_as_are_told_suffice(name: str) -> None:
    constraint = gw.compile({**SOURCES, **UNKNOWN}[name], VOCABULARY)
    closing, known, steps = constraint._closing, 0, 0
    for seed in range(6):
        for state in walk(constraint, random.Random(seed), 50):
            told = closing._completion_cost.at_most(state)
            shortest = closing._machine.shortest_length(closing._states.rest(state))
            assert told is None or shortest <= told
            known, steps = known + (told is not None), steps + 1
    # Keys with escapes and runs of spaces are unknown.
    assert known > steps / 12 or name in UNKNOWN or name in SELDOM


@pytest.mark.parametrize("walks", [3, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SOURCES)
def test_near_the_end_a_mask_has_each_token_after_which_the_rest_fits(
    name: str, walks: int
) -> None:
    """So it is where as many are left as are said to suffice behind each token."""
    constraint, dice = gw.compile(SOURCES[name], VOCABULARY), random.Random(name)
    known = steps = narrower = 0
    for _ in range(walks):
        for state in walk(constraint, dice, 22):
            told = [constraint._closing._completion_cost.enough(state) for _ in range(4)][-1]
            known, steps = known + (told is not None), steps + 1
            needed = constraint.distance(state)
            lefts = {needed - 1, needed, needed + 1, needed + dice.randrange(2, 12)} - {0}
            narrower += check_within(constraint, state, lefts | {1 + (told or needed)})
            if told is not None:
                assert constraint.mask_within(state, told + 1) is constraint.mask(state)
    assert known > steps / 2 or name in SELDOM
    assert narrower > 2


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_not_said(name: str) -> None:
    constraint, dice = gw.compile(UNKNOWN[name], VOCABULARY), random.Random(name)
    enough = constraint._closing._completion_cost.enough
    for state in walk(constraint, dice, 12):
        told, needed = enough(state), constraint.distance(state)
        assert [constraint.fits(state, needed + n) for n in (-1, 0, 50)] == [False, True, True]
        if told is None:
            continue
        for token in unpack(constraint.mask(state)).tolist():
            after = constraint.advance(state, token)
            assert after.ended or constraint.distance(after) <= told
    assert enough(constraint.start()) is None


WORDS = ["".join(three) for three in product(string.ascii_lowercase, repeat=3)]
WIDE = gw.Vocabulary([*TOKENS, *(word.encode() for word in WORDS), b"<eos>"], {len(TOKENS + WORDS)})


@pytest.mark.parametrize(("schema", "begun"), [
    (STRING, '"ab'),
    ({"type": "object", "required": ["abcdef"]}, '{"ab'),
    ({"type": "object", "required": ["abcdef"]}, '{"x":'),
    ({"type": "object", "required": ["ab"], "properties": {"ab": {"enum": ["abcxyz"]}}}, '{"'),
    ({"type": "array", "items": {"type": "string", "minLength": 30, "maxLength": 60}}, '["ab'),
    ({"anyOf": [{"type": "array", "items": STRING, "minItems": 3},
                {"type": "array", "items": STRING, "maxItems": 1}]}, '["ab'),
])  # fmt: skip
def test_many_tokens_stay_within_what_is_being_read(schema: Any, begun: str) -> None:
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), WIDE)
    state, dice = read(constraint, begun.encode()), random.Random(begun)
    needed, row = constraint.distance(state), constraint.mask(state)
    some = [t for t in unpack(row).tolist() if t < 256 or dice.random() < 0.02]
    check_within(constraint, state, [needed + n for n in (*range(20), 40, 80)], among=some)
    assert constraint.mask_within(state, needed + 100).tolist() == row.tolist()
