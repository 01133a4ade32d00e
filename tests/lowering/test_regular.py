"""Regular expressions asked directly, against `re`."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import GuidewayError
from guideway.lowering import expr, regular
from guideway.lowering.expr import EMPTY, UNSURE, alt, complement, concat, literal, repeat
from guideway.lowering.nodes import Rule
from guideway.lowering.regex import lower_regex
from guideway.lowering.regular import contains, derivative, surely_apart
from guideway.syntax.regex import parse_regex

PATTERNS = ("a*b", "(ab|a)(b|ba)*", "[ab]{2,3}", "", "(a?b?){2}", "b|aa")


@given(st.sampled_from(PATTERNS), st.text("ab", max_size=5))
def test_a_text_is_in_an_expression_exactly_if_re_matches_it(pattern, text):
    expr = lower_regex(parse_regex(pattern))
    assert contains(expr, text.encode()) == bool(re.fullmatch(pattern, text))
    assert contains(complement(expr), text.encode()) != bool(re.fullmatch(pattern, text))


def test_what_a_short_search_shows_apart_is_apart():
    a, b = repeat(literal("a"), 1), repeat(literal("b"), 1)
    assert surely_apart(a, b)
    assert surely_apart(EMPTY, a)
    assert surely_apart(a, complement(a))
    assert not surely_apart(a, concat(a, a))
    assert not surely_apart(repeat(alt(a, b)), complement(a))


@given(st.sampled_from(PATTERNS), st.sampled_from(PATTERNS))
def test_so_it_is_for_re(one, other):
    first, second = (lower_regex(parse_regex(pattern)) for pattern in (one, other))
    texts = ["".join(letters) for n in range(7) for letters in product("ab", repeat=n)]
    met = any(re.fullmatch(one, text) and re.fullmatch(other, text) for text in texts)
    assert surely_apart(first, second) is not met


def test_a_search_that_gets_long_says_nothing():
    assert surely_apart(repeat(literal("ab"), 100, 100), repeat(literal("ba"), 1))
    ends = concat(repeat(literal("a"), 98), literal("b"))
    assert not surely_apart(repeat(literal("a"), 99), ends)


def test_what_nests_is_not_asked():
    with pytest.raises(GuidewayError):
        derivative(UNSURE, 0)


def test_remainders_may_be_forgotten() -> None:
    left = regular.Remainders()
    before = left(expr.literal("ab"), b"a")
    left.clear()
    assert (len(left), left(expr.literal("ab"), b"a") is before) == (0, True)


@pytest.mark.parametrize("pattern", ["a|[^a-c]*x", "(?!ab)[a-d]+", "(?=.b)[abc]{1,3}|e", "~?[^~]"])
def test_strings_hold_no_byte_but_those_that_are_said(pattern: str) -> None:
    members = regular.bytes_in(lower_regex(parse_regex(pattern)))
    for letters in product("abcdex~", repeat=3):
        text = "".join(letters)
        for end in range(4):
            if re.fullmatch(pattern, text[:end]):
                assert all(members >> byte & 1 for byte in text[:end].encode()), text[:end]


def test_the_bytes_of_each_kind_of_expression() -> None:
    some, more = expr.byte_set(b"ab"), expr.byte_set(b"bc")
    rule = Rule("r", regular=True)
    rule.define(concat(literal("x"), some))
    said = {
        expr.EPSILON: b"",
        repeat(some, 1, 3): b"ab",
        alt(concat(some, literal("d")), literal("e")): b"abde",
        expr.both(repeat(some), repeat(more)): b"b",
        concat(rule, more): b"abcx",
    }
    for node, letters in said.items():
        assert regular.bytes_in(node) == sum(1 << byte for byte in letters)
    assert regular.bytes_in(complement(some)) == expr.ALL_BYTES
