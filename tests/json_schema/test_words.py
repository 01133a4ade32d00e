"""Strings of an enum: what the rule lists is what it denotes, and when there is none."""

import json

import pytest

from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import QUOTE, WordsTemplate, json_style, words_of, words_rule
from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES, EMPTY, concat, literal
from guideway.language.nodes import Rule

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

    def matches(text: bytes) -> bool:
        rest = rule
        for byte in text:
            rest = None if rest is None else machine.step(rest, byte)
        return rest is not None and machine.accepts(rest)

    assert all(matches(json.dumps(word, ensure_ascii=False).encode()) for word in words)
    assert not any(matches(text) for text in (b'"b"', b'"a', b"a", b'"abc"'))
    assert matches(b'"\\u0061"') == (style is ANY)


def test_what_cannot_be_written_or_takes_too_large_a_table_is_no_rule() -> None:
    for words in ([], ["\ud800"], ["a" * 4_200_000]):
        assert words_rule(words, ANY) is None
    assert words_of(Rule("other")) is None
    assert words_rule(["a" * 2_400_000], ANY) is not None  # as 200,000 of twelve letters


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
        machine, after = Derivatives(rule, spellable), rule
        for byte in begun:
            after = machine.step(after, byte)
            assert after is not None
        assert machine.shortest(after) == rest


def test_many_words_of_which_none_can_be_written_have_no_text() -> None:
    for spellable in (bits(b'"'), bits(b"ez0123456789")):
        rule = words_rule([word for word in MANY if word], ANY)
        assert rule is not None
        machine = Derivatives(Rule("whole", [concat(rule, literal("!"))]), spellable)
        assert machine.step(rule, ord('"')) is None


def test_words_are_not_remembered_and_refuse_nothing() -> None:
    template, begun = (
        WordsTemplate(MANY, ANY.spelling.text, ANY.spelling.choose, QUOTE),
        (0, len(MANY), 0),
    )
    living = Derivatives(template.rest(begun)).living
    assert template.resume(begun, b"") is EMPTY
    assert template.lives_after(begun, living, lambda: b"") is False
    assert template.least_after(begun, lambda part: b"") is None
    assert template.least_begun(begun, lambda part: b"", b"") is None
    assert template.parts(begun) == ()


def bits(letters: bytes) -> int:
    return sum(1 << byte for byte in {*letters})
