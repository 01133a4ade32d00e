"""Many strings are lowered by groups that begin alike, which changes nothing."""

import itertools
import json
import random
from decimal import Decimal
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.json_schema import scalars as json_scalars
from guideway.json_schema.formulas import Amount, all_of, leaf
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import json_style, words_of, words_rule
from guideway.json_schema.tree import Bound, Numbers
from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES, concat, literal
from guideway.language.nodes import Rule
from guideway.language.regular import contains
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from json_branches import tangle
from json_schemas import machine, verdict
from plain_texts import behind, matches

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


def test_where_spelling_counts_or_a_number_is_far_listed_numbers_meet_what_is_denied():
    digits = {"$schema": "http://json-schema.org/draft-04/schema#", "enum": [1, 2, 1.5]}
    engine = machine({**digits, "not": {"type": "integer", "maximum": 1}})
    assert [matches(engine, text) for text in ("1", "1.0", "2", "1.5")] == [False, True, True, True]
    far = Amount(Numbers(values=frozenset((Decimal("1e-5000"), Decimal(3)))))
    said = all_of(leaf(far), Amount(Numbers(upper=(Bound(Decimal(5)),), integer=True)).opposite())
    found = json_scalars.number(said, plain=False)
    assert [contains(found, text) for text in (b"1e-5000", b"3")] == [True, False]


SEVERAL_DENIED: list[dict[str, Any]] = [
    {"type": "string", "allOf": [{"not": {"pattern": "a"}}, {"not": {"pattern": "b.*b"}}]},
    {"type": "string", "not": {"anyOf": [{"pattern": "a"}, {"minLength": 3}, {"const": "c"}]}},
    {"minLength": 2, "type": "string", "not": {"anyOf": [{"pattern": "ab"}, {"pattern": "^b"}]}},
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


BESIDE: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"not": {"enum": DRAWN[::3]}}, True),
    ({"minLength": 2, "maxLength": 4, "not": {"const": DRAWN[7]}}, True),
    ({"not": {"enum": DRAWN[::2]}, "allOf": [{"not": {"const": DRAWN[1]}}]}, True),
    ({"oneOf": [{"const": word} for word in DRAWN[:70]]}, True),
    ({"anyOf": [{"const": DRAWN[0]}, {"enum": DRAWN[2:]}]}, True),
    ({"anyOf": [{"pattern": "^a"}, {"enum": DRAWN[2:]}]}, False),
    (nested(4, {"enum": DRAWN[2:]}), False),
    (nested(2, {"enum": DRAWN[2:]}), True),
    ({"maxLength": 3}, False),  # none of the words
    ({"not": {"enum": DRAWN[4:]}}, True),  # few of them
    ({"pattern": "^a"}, False),
    ({"not": {"pattern": "^a"}}, False),
]


@pytest.mark.parametrize(("beside", "listed"), BESIDE)
def test_listed_strings_are_words_beside_lengths_and_others(monkeypatch, beside, listed):
    schema = {"allOf": [{"enum": [*DRAWN, 1]}, beside], "type": ["string", "integer"]}
    made: list[bool] = []
    words_rule = json_scalars.words_rule

    def counted(values, style):
        rule = words_rule(values, style)
        made.append(rule is not None)
        return rule

    monkeypatch.setattr(json_scalars, "words_rule", counted)
    engine = machine(schema)
    for word in [*DRAWN, "a", "abab\\"]:
        assert matches(engine, json.dumps(word)) == verdict(schema, word), word
        assert matches(engine, json.dumps(word, ensure_ascii=False)) == verdict(schema, word), word
    assert matches(engine, "1") == verdict(schema, 1)
    assert any(made) == listed


# Formulas about strings that are told by lengths, as sets of ranges; the oracle is jsonschema.

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})
A = lower_regex(parse_regex("a"))


def lengths(rng: random.Random) -> dict[str, Any]:
    """A schema that says how long a string may be."""
    said: dict[str, Any] = {"type": "string"} if rng.random() < 0.5 else {}
    if rng.random() < 0.7:
        said["minLength"] = rng.randint(0, 9)
    if rng.random() < 0.7:
        said["maxLength"] = rng.randint(0, 12)
    return said


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("seed", range(30))
def test_a_string_is_allowed_exactly_if_the_validator_takes_it(seed: int, spelling: Any) -> None:
    schema = tangle(random.Random(seed), 3, lengths)
    validator = Draft202012Validator(schema)
    texts = ["é" * length for length in range(16)]
    try:
        constraint = gw.compile(gw.JsonSchema(schema, spelling=spelling), BYTES)
    except gw.UnsatisfiableError:
        assert not any(map(validator.is_valid, texts))
        return
    for text in texts:
        written = json.dumps(text, ensure_ascii=False)
        assert constraint.matches(written) == validator.is_valid(text), text


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
    assert rule is not None
    assert words_of(rule) == (tuple(words), style)
    machine = Derivatives(rule)
    assert all(matches(machine, json.dumps(word, ensure_ascii=False)) for word in words)
    assert not any(matches(machine, text) for text in ('"b"', '"a', "a", '"abc"'))
    assert matches(machine, r'"\u0061"') == (style is ANY)


def test_the_shortest_rest_of_many_words_is_that_of_one_that_can_be_written() -> None:
    words = [*MANY, "", "e\n", 'e"']
    for spellable, begun, rest in (
        (ALL_BYTES, b'"', b'"'),
        (ALL_BYTES, b'"e', b'0"'),
        (bits(b'"ez0123456789'), b'"e', b'0"'),
        (bits(b'"ez123y/'), b'"z', b'1"'),
        (bits(b'"e4/y\\u0365'), b'"\\u0065', b'0"'),
        (bits(b'"e\\z'), b'"e', b'\\""'),
        (bits(b'"sa y'), b'"', b'"'),
    ):
        rule = words_rule(words, ANY)
        assert rule is not None
        machine = Derivatives(rule, spellable)
        after = behind(machine, begun)
        assert after is not None
        assert machine.shortest(after) == rest


def test_many_words_of_which_none_can_be_written_have_no_text() -> None:
    for spellable in (bits(b'"'), bits(b"ez0123456789")):
        rule = words_rule([word for word in MANY if word], ANY)
        assert rule is not None
        machine = Derivatives(Rule("whole", [concat(rule, literal("!"))]), spellable)
        assert machine.step(rule, ord('"')) is None


def bits(letters: bytes) -> int:
    return sum(1 << byte for byte in {*letters})
