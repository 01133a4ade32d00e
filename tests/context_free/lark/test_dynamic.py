"""Lark's Earley parser with its dynamic lexer is the oracle, text by text."""

import random
from itertools import product

import lark
import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source
from guideway.context_free.lark.lowering import lower_lark_dynamic
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark
from guideway.errors import UnsatisfiableError, UnsupportedError
from guideway.language.nodes import Expr
from lark_samples import accepted

TERMINALS = [
    '"a"', '"b"', '"ab"', '"c"', "/a+/", "/[ab]+/", "/a+?/", "/a(?!b)/", "/b(?=c)/", "/ab|a/",
    "/a|ab/", '"b"i', "/(?!ab)[ab]+/", "/c+$/", "/b*?c/",
]  # fmt: skip
IGNORED = ["", "", "%ignore /c+/", '%ignore "c"', "%ignore /b+(?!b)/", '%ignore "c"\n%ignore /bc?/']
HAND = [
    's: s s | "a"',
    's: s s | "a" |',
    's: s "a" | "b"',
    's: x s "a" | "b"\nx: "c"?',
    's: x "a" | "b"\nx: s "b" | y\ny: x | s "c" |',
    's: x\nx: y\ny: x |',
    's: x* "c"\nx: "a"? "b"?',
    's: A B | B\nA: /a+/\nB: /a?b/',
    's: (A | B)+\nA: /a+/\nB: "ab"',
    's: "a" s "b" | "a" s "c" |\n%ignore /c+/',
    's: A? \nA: "a"\n%ignore /b+/',
    's: s "b" | \n%ignore "a"',
    's: A s | A\nA: /a(?=b)|b(?!b)|a(?=$)/',
    's: A "c"\nA: /[ab]*?b/ | "ca"',
    's: A ~ 2..3 [B]\nA: /a|ab/\nB: "b"i',
    's: A B\nA: /[^a]/s\nB: /./s\n%ignore /a/',
    's: A B?\nA: /(a|b)c*?\\1/\nB: /(?P<q>[ab]).(?P=q)/',
    's: (A "b")* A\nA: /a|(?<!c)c/',
]  # fmt: skip


def drawn(draw: random.Random) -> str:
    """A grammar of three rules: whatever recursion comes out."""
    names = "sxy"

    def symbol() -> str:
        kind = draw.random()
        found = draw.choice(names) if kind < 0.4 else draw.choice("ABC")
        return found + draw.choice(["", "", "", "", "?", "*", "+"])

    def option() -> str:
        return " ".join(symbol() for _ in range(draw.choice([0, 1, 1, 2, 2, 3])))

    rules = [f"{name}: {option()} | {option()} | {draw.choice('ABC')}" for name in names]
    rules += [f"{name}: {draw.choice(TERMINALS)}" for name in "ABC"]
    return "\n".join([*rules, draw.choice(IGNORED)])


def check(grammar: str, size: int, letters: str = "abc") -> bool:
    """Whether the grammar is taken; if it is, it has to have the texts that it has for Lark."""
    try:
        oracle = lark.Lark(grammar, start="s", parser="earley", lexer="dynamic", ambiguity="forest")
    except lark.exceptions.GrammarError:
        return False
    expected = set[str]()
    for text in ("".join(word) for n in range(size + 1) for word in product(letters, repeat=n)):
        try:
            oracle.parse(text)
            expected.add(text)
        except lark.exceptions.UnexpectedInput:
            pass
        except RuntimeError as error:  # it has read the text in two ways, and knows of one only
            assert "multiple start symbol items" in str(error)  # noqa: PT017
            expected.add(text)
    try:
        expr = lower_lark_dynamic(read_lark(Lark(grammar, "s", "dynamic")))
        found = accepted(expr, letters, size)
    except UnsatisfiableError:
        found = set[str]()
    except UnsupportedError as error:
        assert error.feature == "lookbehind"  # noqa: PT017  it is one of several outcomes
        return False
    assert found == expected, (grammar, sorted(found ^ expected)[:5])
    return True


@pytest.mark.parametrize("grammar", HAND)
def test_a_grammar_has_the_texts_that_it_has_for_lark(grammar: str):
    assert check(grammar, 4) or "?<!" in grammar


@pytest.mark.untraced
def test_random_grammars_have_the_texts_that_they_have_for_lark():
    assert sum(check(drawn(random.Random(seed)), 3) for seed in range(25)) > 15


def lowered(grammar: str) -> Expr:
    return lower_lark_dynamic(read_lark(Lark(grammar, "s", "dynamic")))


def test_a_terminal_that_never_matches_leaves_its_alternative_out():
    expr = lowered('s: "a" A | "b" A? | "c"\nA: /a(?!a)(?=a)b/')
    assert accepted(expr, "abc", 3) == {"b", "c"}
    with pytest.raises(UnsatisfiableError, match="these rules leads to one of them: s"):
        lowered("s: A\nA: /(?!a)a/")


@pytest.mark.parametrize(
    ("grammar", "feature", "message"),
    [
        ('%declare A\ns: A "b"', "%declare", "the terminal A is only declared"),
        (
            "s: A\nA: /\\bif/",
            "lookbehind",
            "the terminal A: lookbehind beyond the beginning of a terminal",
        ),
        ("s: /a++/", "possessive quantifier", "the terminal /a\\+\\+/: possessive quantifiers"),
        ("s: /(?P<x>a)*(?P=x)/", "backreference", "a reference to a group"),
    ],
)
def test_what_is_not_regular_is_refused_by_the_name_of_its_terminal(
    grammar: str, feature: str, message: str
):
    with pytest.raises(UnsupportedError, match=message) as error:
        lowered(grammar)
    assert error.value.feature == feature


def spelled(grammar: str, size: int) -> set[str]:
    """The texts up to some length, token by token as the masks allow them."""
    tokens = ["a", "b", "c", "ab", "bc", "ca"]
    vocabulary = gw.Vocabulary([*(token.encode() for token in tokens), b"<eos>"], eos_ids={6})
    constraint = gw.compile(gw.Lark(grammar, start="s", lexer="dynamic"), vocabulary)
    found = set[str]()
    todo = [("", constraint.start())]
    while todo:
        text, state = todo.pop()
        if constraint.accepts(state):
            found.add(text)
        allowed = [t for t in unpack(constraint.mask(state)).tolist() if t < len(tokens)]
        longer = [(text + tokens[t], constraint.advance(state, t)) for t in allowed]
        todo += [(text, state) for text, state in longer if len(text) <= size]
    return found


@pytest.mark.parametrize("grammar", HAND[:-2])
def test_what_may_be_empty_may_be_repeated(grammar: str):
    try:
        texts = accepted(lowered(grammar), "abc", 4)
    except UnsatisfiableError:
        return
    twice = gw.repeat(Lark(grammar, "s", "dynamic"), 0, 2)
    pairs = {a + b for a, b in product({*texts, ""}, repeat=2)}
    assert accepted(lower_source(twice), "abc", 4) == {text for text in pairs if len(text) <= 4}


@pytest.mark.parametrize("grammar", [HAND[1], HAND[5], HAND[7], HAND[9], HAND[12], HAND[13]])
def test_masks_lead_to_the_texts_of_the_grammar(grammar: str):
    assert spelled(grammar, 4) == accepted(lowered(grammar), "abc", 4)


@pytest.mark.slow
def test_random_grammars_have_the_long_texts_that_they_have_for_lark():
    assert sum(check(drawn(random.Random(seed)), 7) for seed in range(1000, 1040)) > 30


def test_terminals_that_need_not_look_ahead_leave_nothing_to_look_for() -> None:
    assert lower_lark_dynamic(read_lark(Lark('start: "a" start?', lexer="dynamic"))).looks == 0
