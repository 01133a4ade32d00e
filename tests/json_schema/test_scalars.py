"""Many strings are lowered by groups that begin alike, which changes nothing."""

import itertools
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import json_style, words_of, words_rule
from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES, concat, literal
from guideway.language.nodes import Rule
from json_schemas import machine, verdict
from plain_texts import behind, matches
from random_walks import BYTES

LISTED = [1, 6, 2.5, -35, 9007199254740991, 9007199254740993]
DENIED: list[dict[str, Any]] = [
    {"allOf": [{"multipleOf": 2}], "anyOf": [{"multipleOf": 3}], "minimum": 0},
    {"enum": [9007199254740992, 2.5]},
    {"type": "integer", "exclusiveMaximum": 6},
    {"anyOf": [{"not": {"minimum": 2}}, {"multipleOf": 4}]},
]


@pytest.mark.parametrize("denied", DENIED)
@pytest.mark.parametrize("plain", [False, True])
def test_listed_numbers_are_those_of_which_all_else_holds(denied: dict[str, Any], plain: bool):
    schema = {"allOf": [{"enum": [*LISTED, "a"]}, {"not": denied}]}
    engine = machine(schema, spelling="plain" if plain else "any")
    for value in (*LISTED, 3, 9007199254740992, "a"):
        assert matches(engine, json.dumps(value)) == verdict(schema, value), value
        if isinstance(value, int) and not plain:
            assert matches(engine, f"{value}.0") == verdict(schema, value), value


SEVERAL_DENIED: list[dict[str, Any]] = [
    {"type": "string", "not": {"anyOf": [{"pattern": "a"}, {"minLength": 3}, {"const": "c"}]}},
    {"anyOf": [{"pattern": "^a"}, {"pattern": "c$"}],
     "not": {"anyOf": [{"pattern": "ab"}, {"format": "date"}]}, "type": "string"},
    {"type": "string",
     "oneOf": [{"pattern": one} for one in ("a", "b", "^ab", *"cccdddeeefffggg")]},
]  # fmt: skip


@pytest.mark.parametrize("schema", SEVERAL_DENIED)
def test_of_several_denials_of_strings_none_holds(schema: dict[str, Any]):
    engine = machine(schema)
    for length in range(4):
        for letters in itertools.product("abc", repeat=length):
            text = "".join(letters)
            assert matches(engine, json.dumps(text)) == verdict(schema, text), text


DRAWN = ["".join(letters) for letters in itertools.product('ab"é', repeat=4)]


def nested(deep: int, within: dict[str, Any]) -> dict[str, Any]:
    for word in DRAWN[:deep]:
        within = {"anyOf": [{"const": word}, {"allOf": [within, {"minLength": 1}]}]}
    return within


BESIDE: list[dict[str, Any]] = [
    {"minLength": 2, "maxLength": 4, "not": {"const": DRAWN[7]}},
    {"not": {"enum": DRAWN[::2]}, "allOf": [{"not": {"const": DRAWN[1]}}]},
    {"oneOf": [{"const": word} for word in DRAWN[:70]]},
    {"anyOf": [{"const": DRAWN[0]}, {"enum": DRAWN[2:]}]},
    {"anyOf": [{"pattern": "^a"}, {"enum": DRAWN[2:]}]},
    nested(4, {"enum": DRAWN[2:]}), nested(2, {"enum": DRAWN[2:]}),
    {"maxLength": 3},  # none of the words
    {"not": {"enum": DRAWN[4:]}},  # few of them
    {"not": {"pattern": "^a"}},
]  # fmt: skip


@pytest.mark.parametrize("beside", BESIDE)
def test_listed_strings_are_words_beside_lengths_and_others(beside):
    schema = {"allOf": [{"enum": [*DRAWN, 1]}, beside], "type": ["string", "integer"]}
    engine = machine(schema)
    for value in [*DRAWN, "a", "abab\\", 1]:
        for ascii_ in (True, False):
            text = json.dumps(value, ensure_ascii=ascii_)
            assert matches(engine, text) == verdict(schema, value), text


# Formulas about lengths of strings and bounds of numbers, as sets of ranges.

RANGE_BOUNDS = (-3, -2.5, -1, -0.5, 0, 0.5, 1, 2, 2.25, 3, 10, 99.5)
INSTANCES: dict[str, list[Any]] = {
    "lengths": ["é" * length for length in range(16)],
    "bounds": [
        -100, -3, -2.75, -2.5, -2, -1.5, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2,
        2.125, 2.25, 2.5, 3, 3.5, 9, 9.5, 10, 11, 99, 99.5, 99.75, 100,
    ],
}  # fmt: skip


def lengths(rng: random.Random) -> dict[str, Any]:
    """A schema that says how long a string may be."""
    said: dict[str, Any] = {"type": "string"} if rng.random() < 0.5 else {}
    if rng.random() < 0.7:
        said["minLength"] = rng.randint(0, 9)
    if rng.random() < 0.7:
        said["maxLength"] = rng.randint(0, 12)
    return said


def bounds(rng: random.Random) -> dict[str, Any]:
    """A schema that says which numbers there are."""
    said: dict[str, Any] = {}
    if rng.random() < 0.6:
        said[rng.choice(("minimum", "exclusiveMinimum"))] = rng.choice(RANGE_BOUNDS)
    if rng.random() < 0.6:
        said[rng.choice(("maximum", "exclusiveMaximum"))] = rng.choice(RANGE_BOUNDS)
    if rng.random() < 0.3:
        said["type"] = rng.choice(("integer", "number", ["integer", "string"]))
    return said


def tangle(rng: random.Random, depth: int, plain: Callable[[random.Random], Any]) -> dict[str, Any]:
    """Branches within branches, so deep at most; `plain` makes what has none."""
    if depth == 0 or rng.random() < 0.2:
        return plain(rng)
    name = rng.choice(("oneOf", "oneOf", "anyOf", "allOf", "not", "if"))
    if name in ("not", "if"):
        said = {name: tangle(rng, depth - 1, plain)}
        return said if name == "not" else {**said, "then": plain(rng), "else": plain(rng)}
    return {name: [tangle(rng, depth - 1, plain) for _ in range(rng.randint(1, 5))], **plain(rng)}


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("plain", [lengths, bounds])
def test_ranges_allow_exactly_what_the_validator_takes(
    seed: int, spelling: Any, plain: Callable[[random.Random], Any]
) -> None:
    schema, instances = tangle(random.Random(seed), 3, plain), INSTANCES[plain.__name__]
    validator = Draft202012Validator(schema)
    try:
        constraint = gw.compile(gw.JsonSchema(schema, spelling=spelling), BYTES)
    except gw.UnsatisfiableError:
        assert not any(map(validator.is_valid, instances))
        return
    for value in instances:
        written = json.dumps(value, ensure_ascii=False)
        assert constraint.matches(written) == validator.is_valid(value), value


def test_exactly_one_of_many_lengths_makes_few_records() -> None:
    # 100 made 2.6 million records for one mask, and 120 had no room: their mask took minutes.
    branches = [{"type": "string", "minLength": n, "maxLength": 2 * n + 3} for n in range(150)]
    validator = Draft202012Validator({"oneOf": branches})

    gw.clear_cache()
    before = gw.cache_info().state_bytes  # of what others still hold
    constraint = gw.compile(gw.JsonSchema({"oneOf": branches}), BYTES, gw.Budget.untrusted())
    constraint.mask(constraint.advance(constraint.start(), ord('"')))
    assert gw.cache_info().state_bytes - before < 16 << 20  # of .5 GB
    for length in (0, 1, 2, 3, 4, 5, 149, 150, 200, 297, 298, 299, 300, 301, 302):
        text = "b" * length
        assert constraint.matches(f'"{text}"') == validator.is_valid(text), length


# Strings of an enum: what the rule lists is what it denotes, and when there is none.

ANY, PLAIN = (json_style(JsonSchema({}, spelling=spelling)) for spelling in ("any", "plain"))


FEW = ["a", "ab", "", 'say "x/y"', "gr\u00fcn"]
MANY = [*FEW, *(f"{first}{n}{last}" for first in "aez" for n in range(99) for last in ("", "/y"))]


@pytest.mark.parametrize("style", [ANY, PLAIN])
@pytest.mark.parametrize("words", [FEW, MANY], ids=["few", "many"])
def test_a_rule_of_words_denotes_the_words_that_it_lists(words, style) -> None:
    rule = words_rule(words, style)
    assert words_of(rule) == (tuple(words), style)
    machine = Derivatives(rule)
    assert all(matches(machine, json.dumps(word, ensure_ascii=False)) for word in words)
    assert not any(matches(machine, text) for text in ('"b"', '"a', "a", '"abc"'))
    assert matches(machine, r'"\u0061"') == (style is ANY)


@pytest.mark.parametrize(("spellable", "begun", "rest"), [
    (None, b'"e', b'0"'), (b'"ez123y/', b'"z', b'1"'), (b'"e4/y\\u0365', b'"\\u0065', b'0"'),
    (b'"e\\z', b'"e', b'\\""'), (b'"sa y', b'"', b'"'),
])  # fmt: skip
def test_the_shortest_rest_of_many_words_is_that_of_one_that_can_be_written(
    spellable, begun, rest
) -> None:
    rule = words_rule([*MANY, "", "e\n", 'e"'], ANY)
    machine = Derivatives(rule, ALL_BYTES if spellable is None else bits(spellable))
    assert machine.shortest(behind(machine, begun)) == rest


@pytest.mark.parametrize("spellable", [b'"', b"ez0123456789"])
def test_many_words_of_which_none_can_be_written_have_no_text(spellable: bytes) -> None:
    rule = words_rule([word for word in MANY if word], ANY)
    machine = Derivatives(Rule("whole", [concat(rule, literal("!"))]), bits(spellable))
    assert machine.step(rule, ord('"')) is None


def bits(letters: bytes) -> int:
    return sum(1 << byte for byte in {*letters})
