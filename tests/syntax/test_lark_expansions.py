"""What Lark would write out, counted before it does: Lark's own rules say what is right."""

import lark
import pytest

import fairlead as fl
from fairlead.errors import LimitError
from fairlead.syntax.lark_expansions import MOST
from fairlead.syntax.lark_reader import read_lark

LETTERS = "abcdefghijklmnopqrstuvwxyz"

EXACT = [
    'start: "a" "b" | "c"',
    'start: "a"? "b"? "c"? "d"',
    'start: ("a" | "b" "c")? ("d" | "e") | "f"',
    'start: ("a" | "b" "c")* "d"',
    'start: ("a" | "b"? "c")+ "d" -> x',
    'start: "a"~2..4 ("b" | "c")~3',
    'start: t{"a"} | t{"b"}\nt{x}: x? "c"? "d"?',
]
MORE = [
    'start: ["a" "b"] ["c"]',
    'start: ("a" | "b")~3..70',
    'start: "a"~50',
    'start: "a"* | "b" "a"*',
]


def paid(text):
    """What is paid for rules: two for each symbol and expansion."""
    found = []
    read_lark(fl.Lark(text), found.append)
    words = found.index(0)  # no terminal names another
    rules = text.count(":")
    return sum(found[words + 1 : words + 1 + rules]) // 2


def written(text):
    """The symbols that Lark writes out, and the expansions of rules that have a name."""
    rules = lark.Lark(text, parser="earley").rules
    named = [rule for rule in rules if not str(rule.origin.name).startswith("__")]
    return sum(len(rule.expansion) for rule in rules) + len(named)


@pytest.mark.parametrize("text", EXACT)
def test_what_lark_writes_out_is_counted(text):
    assert paid(text) == written(text)


@pytest.mark.parametrize("text", MORE)
def test_elsewhere_no_less_is_counted(text):
    assert written(text) <= paid(text)


@pytest.mark.parametrize(
    "text",
    [
        "start: " + " ".join(f'"{letter}"?' for letter in LETTERS),
        "start: " + " ".join(f'["{letter}"]' for letter in LETTERS),
        "start: " + " ".join(f'("{letter}" | "{letter.upper()}")' for letter in LETTERS),
        "start: " + "(" * 300 + '"a" | "b"' + ")~49" * 300,
    ],
)
def test_rules_that_come_to_too_much_are_refused_by_name(text):
    with pytest.raises(LimitError, match="the rule start comes to more") as caught:
        read_lark(fl.Lark(text))
    assert caught.value.given == MOST
    assert len(str(caught.value)) <= 500
