"""Meets and differences of what nests: recognisers in plain Python are the oracle."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ANYTHING,
    EMPTY,
    alt,
    both,
    concat,
    literal,
    optional,
    repeat,
    stop,
)
from guideway.language.finite_languages import Decisions
from guideway.language.nodes import Expr, Rule
from guideway.language.set_algebra import looking, solid
from guideway.sources.sources import Source

WORDS = ["".join(w) for n in range(7) for w in product("(x)", repeat=n)]
BALANCED = gw.Gbnf('root ::= ("(" root ")" | "x" root)?')
NEST = gw.Gbnf('root ::= "(" root ")" | "x" | root root')
LIST = gw.Choice(["x", "xx", "(x)", "((x)", ""])


def balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1, "x": 0}[character]
        if depth < 0:
            return False
    return depth == 0


def nests(text: str) -> bool:
    return bool(text) and balanced(text) and "()" not in text


def once(text: str) -> bool:
    """`BALANCED`: after a closing bracket nothing follows but another one."""
    return balanced(text) and ")x" not in text and ")(" not in text


def cut(text: str, first: Callable[[str], bool], second: Callable[[str], bool]) -> bool:
    """Whether `text` is one of the first and then one of the second."""
    return any(first(text[:n]) and second(text[n:]) for n in range(len(text) + 1))


def boxed(text: str) -> bool:
    return nests(text) and text.startswith("(") and text.endswith("x)") and text != "(x)"


def opened(text: str) -> bool:
    return once(text) and text[:1] != "x"


def in_line(text: str) -> bool:
    return once(text) and re.fullmatch(r"x*\(*x?\)*", text) is not None


def begun(text: str) -> bool:
    return text[-1:] == "x" and nests(text[:-1]) and text[0] == "x" and len(text) % 2 == 0


FRAMED = NEST & gw.Regex(r"\(.*") & gw.Regex(r".*x\)") - gw.Choice(["(x)"])
TWICE = gw.repeat(BALANCED & gw.Regex(r"\(.*|"), 2, 2)
MEETS: list[tuple[Source, Callable[[str], bool]]] = [
    (NEST & gw.Regex(r"[^x]*x[^x]*"), lambda t: nests(t) and t.count("x") == 1),
    (NEST - gw.Regex("x*"), lambda t: nests(t) and "(" in t),
    (FRAMED, boxed),
    (BALANCED & gw.Regex("(?s:.{0,3})"), lambda t: once(t) and len(t) < 4),
    (BALANCED - "", lambda t: once(t) and bool(t)),
    (BALANCED - ~gw.Regex(r"x*\(*x?\)*"), in_line),
    # Meets inside meets, in sequences and repetitions: each looks at its own text only.
    (
        (NEST & gw.Regex("x*")) + (NEST - gw.Regex("x*")),
        lambda t: cut(t, lambda u: set(u) == {"x"}, lambda u: nests(u) and "(" in u),
    ),
    (TWICE, lambda t: cut(t, opened, opened)),
    (((NEST & gw.Regex("x.*")) + "x") & gw.Regex("(..)*"), begun),
    # A short list is tried text by text.
    (LIST & NEST & BALANCED, lambda t: t in LIST.options and nests(t) and once(t)),
    (LIST - NEST, lambda t: t in LIST.options and not nests(t)),
    (BALANCED & gw.Regex(".{0,2}") & NEST, lambda t: len(t) < 3 and once(t) and nests(t)),
    (NEST & gw.Text() - gw.Regex(".*[(].*|x{3,}") & BALANCED, lambda t: t in ("x", "xx")),
]


@pytest.mark.parametrize(("source", "belongs"), MEETS)
def test_what_meets_is_what_a_plain_recogniser_says(
    source: Source, belongs: Callable[[str], bool]
) -> None:
    decisions = Decisions()
    expr = lower_source(source, decisions)
    for word in WORDS:
        assert decisions.contains(expr, word.encode()) == belongs(word), word


BYTES = gw.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})
TOKENS = gw.Vocabulary([b"(", b"x", b")", b"((", b"x)", b"))", b"xx", b"(x)", b"<eos>"], {8})


@pytest.mark.parametrize("source", [MEETS[0][0], MEETS[2][0], MEETS[7][0]])
def test_masks_allow_what_can_go_on_and_nothing_else(source: Source) -> None:
    constraint = gw.compile(source, TOKENS)
    texts = {w for w in WORDS if constraint.matches(w)}
    assert constraint.example() == min(texts, key=lambda w: (len(w), w))

    def walk(state: Any, text: str) -> None:
        if len(text) > 4:
            return
        allowed = set(unpack(constraint.mask(state)).tolist())
        assert (8 in allowed) == (text in texts)
        for token, spelling in enumerate(TOKENS.tokens[:8]):
            longer = text + (spelling or b"").decode()
            if len(longer) <= 4 and any(w.startswith(longer) for w in texts):
                assert token in allowed
            if token in allowed:
                state_after = constraint.advance(state, token)
                assert constraint.distance(state_after) >= 0
                walk(state_after, longer)

    walk(constraint.start(), "")


@pytest.mark.parametrize(
    ("source", "feature"),
    [
        (NEST & BALANCED, "& of Gbnf"),
        (gw.Regex("[x()]*") - NEST, "- or ~ of Gbnf"),
        (~NEST, "- or ~ of Gbnf"),
        (NEST & gw.JsonSchema({"type": "array"}), "& of Gbnf"),
    ],
)
def test_what_cannot_be_decided_is_refused_by_name(source: Source, feature: str) -> None:
    with pytest.raises(gw.UnsupportedError, match=r"nests? without end") as error:
        gw.compile(source, BYTES)
    assert error.value.feature.startswith(feature)
    with pytest.raises(gw.UnsupportedError):
        lower_source(source)


def listed(most: int, low: int) -> gw.JsonSchema:
    """Arrays of whole numbers, and what is in them; nested, so that they are not regular."""
    number = {"type": "integer", "minimum": low}
    inner = {"type": "array", "items": {"anyOf": [number, {"$ref": "#"}]}, "maxItems": most}
    return gw.JsonSchema(inner, whitespace="compact")


PIPE, ONE, TWO, FIVE = (
    gw.Gbnf('root ::= "[" root "]" | "|"'),
    listed(1, 0),
    listed(9, 5),
    listed(9, 0),
)


@pytest.mark.parametrize(
    ("source", "pairs"),
    [
        ((ONE | gw.Regex(r"\[[0-9]\]")) & TWO, [(ONE, TWO), (gw.Regex(r"\[[0-9]\]"), TWO)]),
        (
            (ONE & TWO | gw.Choice(["[[5]]", "[[4]]"])) & FIVE,
            [(ONE, TWO), (gw.Choice(["[[5]]", "[[4]]"]), FIVE)],
        ),
        ((ONE | TWO) & (FIVE | gw.Choice(["[]"])), [(ONE, FIVE), (TWO, FIVE)]),
        (
            gw.Choice(["[5]", "[|]", "[[|]]", "[4,5]"]) - (PIPE | TWO),
            [(gw.Choice(["[4,5]"]), FIVE)],
        ),
        (
            gw.Choice(["[5]", "[4]", "[5,5]", "|"]) - (ONE & TWO),
            [(gw.Choice(["[4]", "[5,5]"]), FIVE), (gw.Choice(["|"]), PIPE)],
        ),
    ],
)
def test_alternatives_that_nest_meet_one_by_one(source, pairs):
    found = Derivatives(lower_source(source, Decisions()))
    each = [[Derivatives(lower_source(one, Decisions())) for one in pair] for pair in pairs]

    def holds(machine: Derivatives, text: str) -> bool:
        state: Expr | None = machine.start()
        for byte in text.encode():
            state = None if state is None else machine.step(state, byte)
        return state is not None and machine.accepts(state)

    accepted = 0
    for text in ("".join(w) for n in range(6) for w in product("[]45,|", repeat=n)):
        expected = any(all(holds(one, text) for one in pair) for pair in each)
        assert holds(found, text) == expected, text
        accepted += expected
    assert accepted


def test_alternatives_are_refused_where_one_is_and_where_they_are_too_many():
    with pytest.raises(gw.UnsupportedError, match=r"Gbnf.*& Gbnf"):
        lower_source((NEST | ONE) & BALANCED, Decisions())
    many = NEST | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h"
    with pytest.raises(gw.UnsupportedError, match=r"\| 'h'.*nest without end"):
        lower_source(many & (BALANCED | many), Decisions())
    assert lower_source((ONE | TWO) & gw.JsonSchema({"type": "object"}), Decisions()) is EMPTY


def test_without_a_search_what_nests_still_meets_what_is_regular():
    expr = lower_source(NEST & gw.Regex("x+"))
    machine = Derivatives(expr)
    assert machine.shortest(expr) == b"x"
    assert lower_source(~~gw.Regex("x")) is lower_source(gw.Regex("x"))
    assert lower_source(gw.Text() & NEST) is not lower_source(NEST)


def test_a_mark_alone_is_nothing_but_the_empty_text():
    assert solid(stop(0)) is EMPTY
    assert solid(A) is A
    assert looking(A, ANYTHING) is A


def rule() -> Expr:
    found = Rule("a+")
    found.define(alt(literal("a"), concat(literal("a"), found)))
    return found


A = rule()


@pytest.mark.parametrize(
    "expr",
    [
        A,
        optional(A),
        concat(optional(A), optional(concat(literal("b"), A))),
        repeat(optional(A), 0, 2),
        repeat(concat(A, literal("b"))),
        concat(repeat(literal("b")), optional(A)),
        alt(repeat(concat(A, literal("b"))), both(literal("ab"), repeat(literal("ab")))),
    ],
)
def test_all_but_the_empty_text_is_all_but_the_empty_text(expr: Expr) -> None:
    decisions, without = Decisions(), solid(expr)
    assert not without.nullable
    for word in ("".join(w) for n in range(5) for w in product("ab", repeat=n)):
        expected = bool(word) and decisions.contains(expr, word.encode())
        assert decisions.contains(without, word.encode()) == expected, word


def test_what_is_taken_from_far_counts_is_no_search() -> None:
    source = gw.Regex("(?s:.){8000,}") - gw.Regex("abc|d|é{8001}")
    made = gw.compile(source, BYTES, gw.Budget.untrusted())
    assert [made.matches(text) for text in ("d", "é" * 8000, "é" * 8001)] == [False, True, False]


def test_what_is_taken_from_special_tokens_leaves_texts() -> None:
    vocabulary = gw.Vocabulary([b"a", b"b", b"<s>"], special={"<s>": 2})
    made = gw.compile((gw.special("<s>") | "a") - gw.Regex("b"), vocabulary)
    assert made.mask(made.start()).tolist() == [1]
