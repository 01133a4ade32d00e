"""Strings of an enum, and many options of a choice: masks equal those of the plain engine."""

import json
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.plain_masks import Rows
from guideway.automaton.token_tries import unpack
from guideway.json_schema import spelling as json_words

PARTS = [
    b'"a',
    b'b"',
    b'ab"',
    b'a"}',
    b'"]',
    b'",',
    b'","',
    b"\\u",
    b"0061",
    b'\\"',
    b"null",
    b"\xc3\xbc",
]
EVERY = [*(bytes((byte,)) for byte in range(256)), *PARTS, b"<end>"]
FEW = [bytes((byte,)) for byte in b'"abnul,[]{}:0123456789 '] + [b'"ab', b'b"', b"<end>"]
WORDS = ["a", "ab", "", 'a"b', "b/", "\u00fc", "a\n"]
SCHEMAS = [
    ({"enum": WORDS}, WORDS),
    ({"enum": [*WORDS, None, 10, "ab"]}, ["ab", None, 10]),
    ({"type": "string", "enum": ["a", None]}, ["a"]),
    ({"const": 'a"b'}, ['a"b']),
    ({"type": "array", "items": {"enum": ["a", "ab"]}}, [["a", "ab", "a"]]),
    ({"properties": {"a": {"enum": ["b", "ab"]}}, "additionalProperties": False}, [{"a": "ab"}]),
]


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("tokens", [EVERY, FEW])
@pytest.mark.parametrize(("schema", "values"), SCHEMAS)
def test_masks_of_strings_of_an_enum_are_those_of_the_plain_engine(
    schema, values, tokens, spelling
) -> None:
    vocabulary = gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})
    known = {token: number for number, token in enumerate(tokens)}
    try:
        source = gw.JsonSchema(schema, spelling=spelling, whitespace="compact")
        constraint = gw.compile(source, vocabulary)
    except gw.UnsatisfiableError:
        assert tokens is FEW
        return
    plain = Rows(constraint._machine, vocabulary, gw.Budget())
    for text in [json.dumps(value, ensure_ascii=escaped) for value in values for escaped in (0, 1)]:
        state = constraint.start()
        for byte in text.replace(" ", "").encode():
            row = constraint.mask(state)
            assert row.tolist() == plain.row(constraint._states.rest(state)).tolist()
            token = known.get(bytes((byte,)), len(tokens))
            if token >= 32 * len(row) or not int(row[token >> 5]) >> (token & 31) & 1:
                assert spelling == "plain" or tokens is FEW
                break
            state = constraint.advance(state, token)
        else:
            assert constraint.accepts(state)


BYTES = gw.Vocabulary([*EVERY[:256], b"<end>"], eos_ids={256})
LETTERS = ["", "a", "ab", 'a"b', "b\\", "\u00fc", "\u00e9", "\U0001f600", "\U0001f601a", "null"]
MANY = [one + other + end for one in LETTERS for other in LETTERS for end in ("", "0", "a0")]
ODD = [*EVERY[:-1], b"\xc3", b"\x98\x80a", b"0a", b'"ba0', b"\\b\\0", b"<end>"]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_words, "_MANY", 64)


@pytest.mark.parametrize("tokens", [ODD, FEW])
@pytest.mark.parametrize(
    "source",
    [
        gw.Choice(MANY),
        gw.Choice([word for word in MANY if word]) + gw.Regex("[ab0]{2}|x"),
        gw.Regex("a*") + gw.Choice(MANY) + gw.Choice(MANY),
        gw.repeat(gw.Choice(MANY) | gw.Regex("[a-c]{1,3}"), 0, 3),
        gw.Regex("x(?=a)|") + gw.Choice(MANY) + gw.Regex("b?"),
        gw.Choice(MANY) & gw.Regex("(?s)a.*"),
        gw.Regex("a(?!b).?0") | gw.Choice(MANY),
    ],
    ids=["alone", "ends", "twice", "repeated", "behind", "met", "beside"],
)
def test_masks_of_many_options_are_those_of_the_plain_engine(source: Any, tokens: Any) -> None:
    vocabulary = gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})
    constraint = gw.compile(source, vocabulary)
    plain = Rows(constraint._machine, vocabulary, gw.Budget())
    for text in ("ab", 'aa"ba0', "\u00fc\U0001f601aa0b", "b\\null0", "xab0"):
        state = constraint.start()
        for byte in text.encode():
            row = constraint.mask(state)
            assert row.tolist() == plain.row(constraint._states.rest(state)).tolist()
            token = tokens.index(bytes((byte,))) if bytes((byte,)) in tokens else -1
            if token < 0 or not int(row[token >> 5]) >> (token & 31) & 1:
                break
            state = constraint.advance(state, token)


@pytest.mark.parametrize("read", [b"", b"a", b"bx"])
def test_budgets_leave_room_for_the_end_of_one_of_many_options(read: bytes) -> None:
    options = [f"{first}{'x' * length}" for first in "abc" for length in range(3, 40)]
    constraint = gw.compile(gw.Choice(options), BYTES)
    state = constraint.start()
    for byte in read:
        state = constraint.advance(state, byte)
    for left in (constraint.distance(state) + more for more in (0, 1, 2, 50)):
        ends = {
            token: 0 if token == 256 else 1 + constraint.distance(constraint.advance(state, token))
            for token in unpack(constraint.mask(state)).tolist()
        }
        within = [token for token, tokens in ends.items() if tokens <= left]
        assert unpack(constraint.mask_within(state, left)).tolist() == within


def test_a_long_choice_is_not_written_out() -> None:
    constraint = gw.compile(gw.Choice([f"{n:05}" for n in range(20_000)]), BYTES)
    state = constraint.start()
    constraint.mask(state)
    assert constraint.distance(state) == 5
    assert constraint.example() == "00000"
    state = constraint.advance(constraint.advance(state, 0x31), 0x39)
    assert unpack(constraint.mask(state)).tolist() == [*range(0x30, 0x3A)]
    assert constraint._states._pda.arena.context.nodes.used < 2_000
