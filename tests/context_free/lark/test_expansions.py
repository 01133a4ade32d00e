"""What Lark would write out, counted before it does: Lark's own rules say what is right."""

import lark
import pytest
from lark.load_grammar import load_grammar

import guideway as gw
from guideway.context_free.lark.errors import Reading
from guideway.context_free.lark.reader import (
    MOST,
    check_expansions,
    check_templates,
    read_lark,
    size_of,
)
from guideway.errors import LimitError

NOTHING = Reading({})
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


def counted(text):
    """The same as is counted."""
    rules = load_grammar(text, "", [], False)[0].rule_defs
    uses = check_templates(rules, NOTHING)
    return sum(
        sum(size_of(tree)) * (uses[name] if params else 1) for name, params, tree, _ in rules
    )


def written(text):
    """The symbols that Lark writes out, and the expansions of rules that have a name."""
    rules = lark.Lark(text, parser="earley").rules
    named = [rule for rule in rules if not str(rule.origin.name).startswith("__")]
    return sum(len(rule.expansion) for rule in rules) + len(named)


@pytest.mark.parametrize("text", EXACT)
def test_what_lark_writes_out_is_counted(text):
    assert counted(text) == written(text)


@pytest.mark.parametrize("text", MORE)
def test_elsewhere_no_less_is_counted(text):
    assert written(text) <= counted(text)


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
        read_lark(gw.Lark(text))
    assert caught.value.given == MOST
    assert caught.value.place == "line 1, column 1"
    assert len(str(caught.value)) <= 500


def test_what_is_written_out_is_paid_for_beside_the_words_themselves():
    paid = []
    text = 'start: t{"a"} | t{"b"} | "c"\nx: "a"? "b"?\nt{y}: y "c" | "d"'
    rules = load_grammar(text, "", [], False)[0].rule_defs
    check_expansions(rules, check_templates(rules, NOTHING), paid.append, NOTHING)
    assert sorted(paid) == [0, 2 * (4 + 4 - 4), 2 * 2 * (2 + 3)]
