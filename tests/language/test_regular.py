"""Regular expressions asked directly, against `re`."""

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ALL_BYTES,
    EMPTY,
    EPSILON,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
)
from guideway.language.nodes import Expr, Rule
from guideway.language.regular import (
    apart_by_bytes,
    arcs,
    contains,
    derivative,
    soon_endless,
    surely_apart,
    surely_ended,
    surely_endless,
    surely_open,
)
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from plain_texts import short_strings
from toys import ALPHABET, expressions, strings

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


# What is told apart by its bytes has no string in common; formats and patterns among it.


def drawn(dice: random.Random, depth: int = 3) -> Expr:
    if not depth or dice.random() < 0.2:
        letters = bytes(dice.sample(b"abcd", dice.choice([1, 1, 2])))
        return dice.choice([byte_set(letters)] * 6 + [EPSILON, EMPTY])
    one, other = drawn(dice, depth - 1), drawn(dice, depth - 1)
    made = [concat(one, other)] * 4 + [alt(one, other), repeat(one, dice.choice([0, 1, 2]))]
    return dice.choice([*made, both(one, other), complement(one)])


def test_what_is_told_apart_has_no_string_in_common() -> None:
    dice, told = random.Random(3), [0, 0]
    for _ in range(1500):
        first, second = drawn(dice), drawn(dice)
        meet = both(first, second)
        found = apart_by_bytes(first, second)
        told[found] += 1
        assert not (found and Derivatives(meet).alive(meet)), (first, second)
    assert min(told) > 300


# What bytes leave of a regular expression, all at once: as one after the other leaves it.


def named(body: Expr) -> Expr:
    if body.nullable or body.yields:  # which a rule's body is not
        return body
    rule = Rule("named", regular=True)
    rule.define(body)
    return rule


@given(st.recursive(
    expressions() | expressions().map(named),
    lambda inner: st.one_of(st.builds(make, inner, inner) for make in (concat, alt, both)),
    max_leaves=3,
))  # fmt: skip
def test_arcs_lead_where_each_byte_does(root: Expr):
    found = arcs(root)
    assert sum(members.bit_count() for members, _ in found) == (
        sum(members for members, _ in found).bit_count()
    )
    for byte in (*ALPHABET, 0, 255):
        left = [left for members, left in found if members >> byte & 1] or [EMPTY]
        after = derivative(root, byte)
        assert all(contains(left[0], text) == contains(after, text) for text in strings(3))
    assert all(members & ALL_BYTES == members for members, _ in found)


# What is told to have no end, or an end, without a search: what counting the strings says too.

WORDS = repeat(byte_set(b"ab"))
ENDLESS_TEXTS = [text.encode() for text in short_strings("ab", 7)]


def regular() -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from([EMPTY, EPSILON, literal("a"), byte_set(b"ab"), literal("ba"), WORDS])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(concat, inner, inner),
            st.builds(alt, inner, inner),
            st.builds(both, inner, inner),
            st.builds(lambda item: both(WORDS, complement(item)), inner),
            st.builds(lambda item: repeat(item, 1, 2), inner),
            st.builds(repeat, inner),
        ),
        max_leaves=5,
    )


@settings(max_examples=300)
@given(regular())
def test_what_is_told_agrees_with_counting_strings(expr: Expr) -> None:
    # The smallest automata here have fewer than seven states, so what has no end has long strings.
    long = any(contains(expr, text) for text in ENDLESS_TEXTS if len(text) == 7)
    if surely_endless(expr):
        assert any(contains(expr, text) for text in ENDLESS_TEXTS)
        assert not surely_ended(expr)
    if soon_endless(expr):
        longer = both(expr, concat(repeat(byte_set(b"ab"), 30, 30), WORDS))
        assert Derivatives(longer).alive(longer)
    else:
        assert not surely_endless(expr)
    if surely_ended(expr) and long:
        assert not surely_endless(expr)


@settings(max_examples=300)
@given(regular())
def test_where_every_beginning_is_told_to_go_on_it_has_long_strings(expr: Expr) -> None:
    if surely_open(expr):
        machine = Derivatives(expr)
        for begun in {
            text[:length] for text in ENDLESS_TEXTS if contains(expr, text) for length in (0, 2)
        }:
            states = {expr}
            for allowed in (*(bytes((byte,)) for byte in begun), *[b"ab"] * 24):
                after = (machine.step(state, byte) for state in states for byte in allowed)
                states = {state for state in after if state is not None}
            assert states
