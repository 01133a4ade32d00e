"""Regular expressions asked directly, against `re`."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import GuidewayError
from guideway.language import expr, regular
from guideway.language.expr import EMPTY, UNSURE, alt, complement, concat, literal, repeat
from guideway.language.regular import contains, derivative, surely_apart
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex

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
