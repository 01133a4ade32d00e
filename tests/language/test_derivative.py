"""Derivatives against languages listed as sets, and the laws of `Recognizer`."""

import pytest
from hypothesis import given

from guideway.errors import GuidewayError
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ALL_BYTES,
    EPSILON,
    alt,
    byte_set,
    concat,
    literal,
    optional,
    repeat,
)
from guideway.language.nodes import Rule
from plain_texts import behind, matches
from toys import ALPHABET, distinct, expressions, is_distinct, language, strings

SIZE = 4


@pytest.mark.untraced
@given(expressions())
def test_a_text_is_accepted_exactly_if_it_is_in_the_language(expr):
    machine = Derivatives(expr, sum(1 << b for b in ALPHABET))
    expected = language(expr, SIZE)
    found = {text for text in strings(SIZE) if matches(machine, text)}
    assert found == expected


@given(expressions())
def test_a_step_exists_exactly_where_some_text_goes_on_so(expr):
    machine = Derivatives(expr, sum(1 << b for b in ALPHABET))
    for text in strings(2):
        state = behind(machine, text)
        if state is None or not machine.alive(state):
            # The language has no text with this beginning: none up to a size that covers the toys.
            assert not any(word.startswith(text) for word in language(expr, SIZE))
        else:
            assert matches(machine, text + machine.shortest(state))


@given(expressions())
def test_the_shortest_text_is_the_least_of_the_shortest(expr):
    machine = Derivatives(expr, sum(1 << b for b in ALPHABET))
    expected = sorted(language(expr, 6), key=lambda word: (len(word), word))
    if expected:
        assert machine.shortest(expr) == expected[0]
    elif machine.alive(expr):
        assert len(machine.shortest(expr)) > 6


@given(expressions())
def test_arcs_are_disjoint_and_agree_with_steps(expr):
    machine = Derivatives(expr, sum(1 << b for b in ALPHABET))
    check_arcs(machine, machine.start(), ALPHABET)


def check_arcs(machine, state, alphabet):
    seen = 0
    arcs = machine.arcs(machine.blurred(state))
    for members, target in arcs:
        assert members
        assert not seen & members
        seen |= members
        for byte in alphabet:
            if members >> byte & 1 and not machine.unsure(target):
                assert machine.blurred(machine.step(state, byte)) is target
    for byte in alphabet:
        if not seen >> byte & 1:
            assert machine.step(state, byte) is None


def test_captured_words_never_repeat():
    machine = Derivatives(distinct())
    texts = {b"[" + text + end for text in strings(6) for end in (b"]", b"")}
    assert {text for text in texts if matches(machine, text)} == set(filter(is_distinct, texts))


def test_every_state_of_a_capture_can_end_in_its_shortest_text():
    machine = Derivatives(distinct())
    for text in strings(6):
        state = behind(machine, b"[" + text)
        if state is not None:
            check_arcs(machine, state, ALPHABET + b"[]")
            assert is_distinct(b"[" + text + machine.shortest(state))


def test_bytes_that_are_not_spellable_do_not_exist():
    machine = Derivatives(alt(literal("ax"), literal("b")), ALL_BYTES & ~(1 << ord("x")))
    assert machine.step(machine.start(), ord("a")) is None
    assert machine.shortest(machine.start()) == b"b"


def test_a_rule_that_begins_with_itself_is_refused():
    rule = Rule("left")
    rule.define(concat(rule, literal("a")))
    with pytest.raises(GuidewayError, match="begins with itself"):
        Derivatives(rule).step(rule, ord("a"))


def test_long_chains_and_deep_nests_do_not_exhaust_the_stack():
    expr = EPSILON
    for _ in range(200):  # deeper than Python recurses
        expr = concat(optional(expr), byte_set(b"ab"))
    machine = Derivatives(repeat(expr))
    assert machine.shortest(concat(expr, literal(","))) == b"a,"
    assert machine.step(expr, ord("a")) is not None
