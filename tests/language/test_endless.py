"""What is told to have no end, or an end, without a search: what counting the strings says too."""

from weakref import WeakKeyDictionary

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guideway.language import regular as endless
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
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
    contains,
    soon_endless,
    surely_ended,
    surely_endless,
    surely_open,
)

WORDS = repeat(byte_set(b"ab"))
TEXTS = [b""]
for length in range(7):
    TEXTS += [text + letter for text in TEXTS if len(text) == length for letter in (b"a", b"b")]


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
    long = any(contains(expr, text) for text in TEXTS if len(text) == 7)
    if surely_endless(expr):
        assert any(contains(expr, text) for text in TEXTS)
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
        for begun in {text[:length] for text in TEXTS if contains(expr, text) for length in (0, 2)}:
            states = {expr}
            for allowed in (*(bytes((byte,)) for byte in begun), *[b"ab"] * 24):
                after = (machine.step(state, byte) for state in states for byte in allowed)
                states = {state for state in after if state is not None}
            assert states


def test_beginnings_of_what_is_open() -> None:
    some = complement(alt(literal("cat"), literal("a")))
    assert surely_open(some)
    assert surely_open(both(WORDS, some))
    assert surely_open(both(some, alt(WORDS, concat(literal("c"), WORDS))))
    assert not surely_open(both(concat(WORDS, literal("c")), some))
    assert not surely_open(complement(WORDS))


def test_opposites_of_what_has_an_end_have_none() -> None:
    some = alt(literal("cat"), repeat(literal("dog"), 0, 3))
    assert surely_ended(some)
    assert surely_endless(complement(some))
    assert surely_endless(both(WORDS, both(complement(some), complement(literal("a")))))
    assert surely_endless(both(complement(some), WORDS))
    assert not surely_endless(both(WORDS, complement(repeat(literal("a")))))
    assert not surely_ended(complement(some))
    assert surely_ended(both(WORDS, some))
    assert surely_ended(both(some, WORDS))


def test_a_part_without_strings_leaves_none() -> None:
    none = both(literal("a"), literal("b"))
    assert not surely_endless(concat(WORDS, none))
    assert not surely_endless(repeat(none))
    assert surely_endless(concat(literal("x"), WORDS, literal("y")))
    assert surely_endless(repeat(WORDS, 1, 2))
    assert not surely_ended(repeat(literal("a"), 1))


@pytest.mark.untraced
def test_nesting_has_no_depth() -> None:
    expr: Expr = literal("a")
    for level in range(5000):
        expr = alt(concat(literal("b"), expr), literal(f"c{level}"))
    assert surely_ended(expr)
    assert surely_endless(alt(expr, concat(expr, WORDS)))


def test_of_few_bytes_only_what_they_spell_is_endless() -> None:
    only_a = 1 << ord("a")
    mixed = concat(alt(literal("a"), literal("b")), alt(EPSILON, concat(literal("c"), WORDS)))
    assert surely_endless(mixed)
    assert not surely_endless(mixed, only_a)
    assert surely_endless(both(WORDS, complement(literal("b"))), only_a)
    assert surely_endless(alt(concat(literal("b"), WORDS), concat(literal("a"), WORDS)), only_a)
    assert not surely_endless(complement(literal("b")), 0)
    assert not surely_endless(concat(literal("a"), Rule("unknown")), only_a)
    assert not surely_endless(concat(WORDS, literal("b")), only_a)


class _Counted(WeakKeyDictionary[Expr, bool]):
    asked = 0

    def get(self, key, default=None):  # pyright: ignore[reportIncompatibleMethodOverride]
        self.asked += 1
        return super().get(key, default)


def test_of_many_options_each_is_asked_a_few_times(monkeypatch):
    monkeypatch.setattr(endless, "_ended", asked := _Counted())
    words = alt(*(repeat(literal(f"{n:x}"), 2, 3) for n in range(1000)))
    assert surely_ended(words)
    assert asked.asked < 10_000
    monkeypatch.setattr(endless, "_endless", asked := _Counted())
    assert not surely_endless(words)
    assert asked.asked < 10_000
    monkeypatch.setattr(endless, "_open", asked := _Counted())
    assert surely_open(alt(*(concat(literal(f"{n:x}"), WORDS) for n in range(1000))))
    assert asked.asked < 10_000
