"""Words as linked pieces against plain bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.language.derivative import Derivatives
from guideway.language.expr import literal, repeat
from guideway.language.shortest_string import NOTHING, Word

words = st.recursive(
    st.binary(max_size=3).map(Word.of),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0].then(pair[1])),
        st.tuples(inner, st.integers(0, 3)).map(lambda pair: pair[0].repeated(pair[1])),
    ),
    max_leaves=6,
)


@given(words, words, st.integers(0, 3))
def test_words_are_what_their_bytes_are(first, second, times):
    assert first.length == len(first.text)
    assert first.then(second).text == first.text + second.text
    assert first.repeated(times).text == first.text * times
    shorter = (first.length, first.text) < (second.length, second.text)
    assert first.less(second) == shorter
    assert first.less(None)
    assert not first.less(first)
    assert NOTHING.then(first) is first


@pytest.mark.untraced
def test_a_long_text_takes_memory_once():
    text = b"abcdefghij" * 3_000
    machine = Derivatives(literal(text))
    assert machine.shortest(machine.start()) == text
    following = machine.step(machine.start(), ord("a"))
    assert following is not None
    assert machine.shortest_length(following) == len(text) - 1


def test_a_text_that_is_too_long_to_write_is_measured_all_the_same():
    machine = Derivatives(repeat(literal("ab"), 10**9))
    assert machine.shortest_length(machine.start()) == 2 * 10**9
    with pytest.raises(LimitError, match="2000000000 bytes") as error:
        machine.shortest(machine.start())
    assert error.value.needed == 2 * 10**9
