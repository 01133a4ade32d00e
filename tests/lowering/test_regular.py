"""Regular expressions asked directly, against `re`."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import FairleadError
from fairlead.lowering import expr, regular
from fairlead.lowering.expr import EMPTY, UNSURE, alt, both, complement, concat, literal, repeat
from fairlead.lowering.regex import lower_regex
from fairlead.lowering.regular import contains, derivative, surely_empty
from fairlead.syntax.regex import parse_regex

PATTERNS = ("a*b", "(ab|a)(b|ba)*", "[ab]{2,3}", "", "(a?b?){2}", "b|aa")


@given(st.sampled_from(PATTERNS), st.text("ab", max_size=5))
def test_a_text_is_in_an_expression_exactly_if_re_matches_it(pattern, text):
    expr = lower_regex(parse_regex(pattern))
    assert contains(expr, text.encode()) == bool(re.fullmatch(pattern, text))
    assert contains(complement(expr), text.encode()) != bool(re.fullmatch(pattern, text))


def test_what_a_short_search_shows_empty_is_empty():
    a, b = repeat(literal("a"), 1), repeat(literal("b"), 1)
    assert surely_empty(both(a, b))
    assert surely_empty(EMPTY)
    assert surely_empty(both(a, complement(a)))
    assert not surely_empty(both(a, concat(a, a)))
    assert not surely_empty(both(repeat(alt(a, b)), complement(a)))


def test_a_search_that_gets_long_says_nothing():
    long = both(repeat(literal("ab"), 100, 100), repeat(literal("ba"), 1))
    assert surely_empty(long)
    assert not surely_empty(
        both(repeat(literal("a"), 99), concat(repeat(literal("a"), 98), literal("b")))
    )


def test_what_nests_is_not_asked():
    with pytest.raises(FairleadError):
        derivative(UNSURE, 0)


def test_remainders_may_be_forgotten() -> None:
    left = regular.Remainders()
    before = left(expr.literal("ab"), b"a")
    left.clear()
    assert (len(left), left(expr.literal("ab"), b"a") is before) == (0, True)
