"""Alternatives share their beginnings and keep their language."""

import gc
import time
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.language.expr import (
    EMPTY,
    EPSILON,
    all_of,
    alt,
    both,
    byte_set,
    complement,
    concat,
    either,
    literal,
    repeat,
)
from guideway.language.nodes import Alt, operands
from regex_samples import reader
from toys import ALPHABET, expressions, language

WORDS = st.lists(
    st.binary(max_size=5).map(lambda word: bytes(ALPHABET[byte % len(ALPHABET)] for byte in word)),
    max_size=8,
)


@given(WORDS)
def test_words_are_the_language_whatever_they_come_as(words: list[bytes]) -> None:
    found = either(words)
    assert found is either(map(literal, words))
    assert found is either(reversed([*words, *words]))
    assert language(found, 5) == frozenset(words)


@given(st.lists(expressions(), max_size=4))
def test_a_shared_beginning_does_not_change_the_language(options) -> None:
    assert language(either(options), 4) == language(alt(*options), 4)


@given(st.lists(st.tuples(expressions(), st.booleans()), min_size=1, max_size=4))
def test_what_meets_is_in_each_and_in_none_that_is_denied(parts) -> None:
    exprs = [complement(expr) if denied else expr for expr, denied in parts]
    assert language(all_of(exprs), 3) == language(reduce(both, exprs), 3)


def test_what_is_denied_is_one_part_however_much_it_is() -> None:
    text = repeat(byte_set(b"abcd"))
    words = [concat(text, literal(word), text) for word in ("ab", "ac", "bd")]
    (held, denied) = operands(all_of([both(text, complement(word)) for word in words]))
    assert {held, denied} == {text, complement(either(words))}


def test_any_part_of_a_sequence_is_a_letter_of_the_trie() -> None:
    digits = repeat(byte_set(b"0123456789"), 1)
    shared = either([concat(digits, literal("ab")), concat(digits, literal("ac")), b"x"])
    assert shared is alt(concat(digits, literal("a"), byte_set(b"bc")), literal("x"))


def test_nothing_is_the_empty_union() -> None:
    assert either([]) is EMPTY
    assert either([EMPTY]) is EMPTY
    assert either([b""]) is EPSILON


def test_each_step_of_many_words_has_few_options() -> None:
    words = [f"word{n:04}" for n in range(2000)]
    began = time.process_time()
    expr = either(word.encode() for word in words)
    assert time.process_time() - began < 8
    assert not isinstance(expr, Alt)
    accepts = reader(expr)
    assert all(map(accepts, words[::100]))
    assert not accepts("word")


def test_words_of_any_length_need_no_stack_of_pythons() -> None:
    assert not isinstance(either([b"a" * 5000, b"a" * 5001]), Alt)


@pytest.mark.parametrize("running", [True, False])
def test_the_collector_of_garbage_is_left_as_it_was(running: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if running else gc.disable)()
        assert reader(either(str(n).encode() for n in range(5000)))("4999")
        assert gc.isenabled() is running
    finally:
        (gc.enable if before else gc.disable)()
