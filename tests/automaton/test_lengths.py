"""Whether a text has a length in between is what listing all texts says."""

import re
from itertools import product

import pytest

from guideway.automaton.kernels.record_layout import FARTHEST
from guideway.automaton.lexer_dfa import Lengths, LexerDfa
from guideway.language.expr import ALL_BYTES, byte_set, concat, literal, repeat
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex

LONGEST = 9
TEXTS = ["".join(text) for n in range(LONGEST + 1) for text in product("ab", repeat=n)]


@pytest.mark.parametrize("pattern", ["(ab)*", "a{2,3}|b{5}", "(aaa|bbbbb)*", "(bb)*a", "", "a+b?"])
def test_lengths_with_gaps_are_found(pattern: str) -> None:
    dfa = LexerDfa(ALL_BYTES)
    between = dfa.state(repeat(byte_set(b"ab")))
    text = lower_regex(parse_regex(pattern, "ecma"))
    state = dfa.state(concat(text, literal("!")))
    lengths = Lengths(dfa, between)
    possible = {len(text) for text in TEXTS if re.fullmatch(pattern, text)}
    for low, high in product(range(LONGEST - 1), range(LONGEST + 1)):
        expected = any(low <= length <= high for length in possible)
        assert lengths.alive(state, between, low, high) == expected, (low, high)
    for low in range(LONGEST - 1):
        assert lengths.alive(state, between, low, -1) == any(low <= n for n in possible)


def test_of_many_states_the_options_are_tried_as_they_are_few() -> None:
    dfa = LexerDfa(ALL_BYTES)
    between = dfa.state(repeat(byte_set(b"ab")))
    pattern = "((a|bb)*a[ab]{12}b(a|bb)*)"
    state = dfa.state(concat(lower_regex(parse_regex(pattern, "ecma")), literal("!")))
    lengths = Lengths(dfa, between)
    assert not lengths.alive(state, between, 0, 13)
    for length in (14, 15, 40):
        assert lengths.alive(state, between, length, length)
    assert len(dfa) < 200  # all sets would be 2^13


def test_where_more_are_needed_what_becomes_longest_is_tried_first() -> None:
    dfa = LexerDfa(ALL_BYTES)
    between = dfa.state(repeat(concat(byte_set(b"abc"), literal("x"))))
    pattern = "(?:(?:[ab]x){0,9}ax(?:[ab]x){6}){1,2}|(?:[bc]x){45}"
    state = dfa.state(concat(lower_regex(parse_regex(pattern, "ecma")), literal("!")))
    lengths = Lengths(dfa, between)
    assert lengths.alive(state, between, 40, 50)
    assert len(lengths._known) < 50  # in the other order 200, all of the first


def test_where_any_number_is_possible_no_bound_is_too_far() -> None:
    dfa = LexerDfa(ALL_BYTES)
    between = dfa.state(repeat(byte_set(b"ab")))
    state = dfa.state(concat(repeat(literal("ab")), literal("!")))
    for low in (FARTHEST - 1, FARTHEST, FARTHEST + 1):
        assert list(Lengths(dfa, between)._following((state, low, -1)))


@pytest.mark.parametrize(("pattern", "possible"), [("é{3}|ab", {2, 3}), ("(?:éa|💩b)*", {0, 2, 4})])
def test_characters_of_several_bytes_count_once(pattern: str, possible: set[int]) -> None:
    dfa = LexerDfa(ALL_BYTES)
    item = lower_regex(parse_regex("[^!]", "ecma"))
    between = dfa.state(repeat(item))
    text = lower_regex(parse_regex(pattern, "ecma"))
    state = dfa.state(concat(text, literal("!")))
    lengths = Lengths(dfa, between)
    found = {n for n in range(6) if lengths.alive(state, between, n, n)}
    assert found == possible


def test_within_a_character_the_next_one_counts() -> None:
    dfa = LexerDfa(ALL_BYTES)
    item = literal("xy")
    between = dfa.state(repeat(item))
    state = dfa.state(concat(literal("y"), repeat(item, 2, 2), literal("!")))
    inside = dfa.state(concat(literal("y"), repeat(item)))
    lengths = Lengths(dfa, between)
    assert [lengths.alive(state, inside, n, n) for n in range(4)] == [False, False, True, False]
