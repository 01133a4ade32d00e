"""What is said to suffice for an end does: the plain engine's shortest rest is never longer."""

import random
import string
from itertools import product
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.kernels import layout as at
from guideway.automaton.lexer_dfa import Spans
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint, DecodeState
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
    {"type": "object", "required": ["name", "größe", 'q"'],
     "properties": {"name": {"type": "string", "minLength": 2},
                    "größe": {"enum": ["klein", "groß"]},
                    'q"': {"type": "object", "required": ["x"],
                           "properties": {"x": {"const": 12345}}},
                    "other": {"type": "boolean"}}},
    {"type": "object",
     "properties": {"a": {"type": "null"}, "ab": {"type": "string"}, "abc": {"const": "ab"}},
     "minProperties": 1, "additionalProperties": False},
    {"type": "object",
     "patternProperties": {"^x-": {"type": "integer"}, "^y": {"const": "long enough"}},
     "properties": {"z": {"type": "array", "minItems": 1}}, "additionalProperties": False,
     "required": ["z"]},
    {"type": "object",
     "oneOf": [{"required": ["kind", "radius"], "properties": {"kind": {"const": "circle"}}},
               {"required": ["kind", "side"], "properties": {"kind": {"const": "square"}}}]},
    {"$ref": "#/$defs/node",
     "$defs": {"node": {"type": "object", "required": ["label"],
                        "properties": {"label": {"type": "string"},
                                       "children": {"type": "array",
                                                    "items": {"$ref": "#/$defs/node"}}},
                        "additionalProperties": False}}},
]  # fmt: skip
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


# So many tokens as are said to suffice wherever the next one leads do so behind each.

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


WORDS = ["".join(three) for three in product(string.ascii_lowercase, repeat=3)]
WIDE = gw.Vocabulary([*TOKENS, *(word.encode() for word in WORDS), b"<eos>"], {len(TOKENS + WORDS)})


@pytest.mark.parametrize(("schema", "begun"), [
    ({"type": "string"}, '"ab'),
    ({"type": "object", "required": ["abcdef"]}, '{"ab'),
    ({"type": "object", "required": ["abcdef"]}, '{"x":'),
    ({"type": "object", "required": ["ab"], "properties": {"ab": {"enum": ["abcxyz"]}}}, '{"'),
    ({"type": "array", "items": {"type": "string", "minLength": 30, "maxLength": 60}}, '["ab'),
    ({"anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 3},
                {"type": "array", "items": {"type": "string"}, "maxItems": 1}]},
     '["ab'),
])  # fmt: skip
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


# How far lexical states are from their end, told as going through all of them tells it.

PATTERNS = [
    "(abc|abd)+\\d{3,8}(-[a-f]{2}){2,}", "(a|b)*a(a|b){6}", "(?:[a-z]+@)?x{5}|y*", "[^a]*b",
    "a{9}|b",
]  # fmt: skip
BOUNDED: list[Any] = [
    {"pattern": "^(?:[a-z]-?)*$", "minLength": 30},
    {"pattern": "^[a-z]+(-[a-z]{3})*$", "maxLength": 40},
    {"pattern": "^(ab|c)*$", "minLength": 1, "maxLength": 35},
    {"pattern": "^(?:a{4}){9}$|^ü{36}$", "maxLength": 36},
    {"pattern": "^(?:ä|xx)+$", "minLength": 20, "maxLength": 40},
    {"pattern": "^\\S+( \\S+){0,3}$", "maxLength": 50},
    {"pattern": "^(?:a{5})*$", "minLength": 32, "maxLength": 48},
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nearest_and_farthest_are_those_of_all_states(pattern: str) -> None:
    constraint = gw.compile(gw.Regex(pattern), BYTES)
    dfa = constraint._states.pda.dfa
    start = dfa.state(constraint._expr)
    needed, todo = dict[int, int](), [(start, constraint.start())]
    for state, place in todo:  # which grows
        needed[state] = constraint.distance(place)
        dfa.expand(state)
        for token in unpack(constraint.mask(place)).tolist():
            after = int(dfa.rows[state][token]) if token < 256 else None
            if after is not None and after not in needed:
                needed[after] = 0
                todo.append((after, constraint.advance(place, token)))
    first, then = Spans(), Spans()
    assert {one: first.least(dfa, one) for one in needed} == needed
    assert then.farthest(dfa, start) == max(needed.values())
    assert {one: then.least(dfa, one) for one in needed} == needed
    assert {then.farthest(dfa, one) for one in needed} == {max(needed.values())}


def bounded(constraint: CompiledConstraint, state: DecodeState) -> list[int]:
    """The node of counted characters that is being read; none may be on the stack."""
    arena = state.pda.arena
    places = [] if state.ended else arena.configurations(state.macro)
    records = [arena.record(node) for node, stack in places if not stack]
    return records[0] if len(places) == len(records) == 1 else [at.NIL]


@pytest.mark.parametrize("most", [200, pytest.param(900, marks=pytest.mark.slow)])
@pytest.mark.parametrize("keywords", BOUNDED)
def test_of_counted_characters_no_less_is_said_than_suffices(keywords: Any, most: int) -> None:
    source = gw.JsonSchema({"type": "string", **keywords}, whitespace="compact")
    constraint = gw.compile(source, BYTES)
    dfa, known = constraint._states.pda.dfa, Spans()
    met = [constraint.advance(constraint.start(), ord('"'))]
    for one in met:  # which grows
        for token in unpack(constraint.mask(one)).tolist():
            after = constraint.advance(one, token)
            if bounded(constraint, after)[0] == at.BOUNDED and after not in met and len(met) < most:
                met.append(after)
    assert bounded(constraint, met[0])[0] == at.BOUNDED
    far = known.farthest_bounded(dfa, bounded(constraint, met[0]))
    told = 0
    for one in met:
        least = known.least_bounded(dfa, bounded(constraint, one))
        needed = constraint.distance(one)
        assert far is None or needed <= far
        assert least is None or needed <= least
        told += least is not None
    assert told > len(met) / 8 or "minLength" in keywords
