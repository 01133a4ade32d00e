"""Strings of an enum: what the rule lists is what it denotes, and when there is none."""

import json

import pytest

from fairlead.automata.derivative import Derivatives
from fairlead.lowering.json_text import json_style
from fairlead.lowering.json_words import words_of, words_rule
from fairlead.lowering.nodes import Rule
from fairlead.syntax.json_schema_source import JsonSchema

ANY, PLAIN = (json_style(JsonSchema({}, spelling=spelling)) for spelling in ("any", "plain"))


@pytest.mark.parametrize("style", [ANY, PLAIN])
def test_a_rule_of_words_denotes_the_words_that_it_lists(style) -> None:
    words = ["a", "ab", "", 'say "x/y"', "gr\u00fcn"]
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
    for words in ([], ["\ud800"], ["a" * 70_000]):
        assert words_rule(words, ANY) is None
    assert words_of(Rule("other")) is None
