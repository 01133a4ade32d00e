"""Repeated sequences, by comparing all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.sampling.history import LARGEST, Repeats, completing

texts = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([False] * 9 + [True])), min_size=1)


def lengths(text: list[tuple[int, bool]]) -> list[int]:
    """How much of what is before each place is the end of the text as well, breaks apart."""
    found = list[int]()
    for place in range(len(text)):
        size = 0
        while size < place:
            here, last = text[place - 1 - size], text[len(text) - 1 - size]
            if here[0] != last[0] or here[1] or last[1]:
                break
            size += 1
        found.append(size)
    return found


@given(texts, texts)
def test_lengths_are_those_of_all_pairs_of_places(text, more):
    ids = np.array([token for token, _ in text])
    repeats = Repeats.of(ids, [broken for _, broken in text])
    assert repeats.lengths.tolist() == lengths(text)
    for token, broken in more[:6]:
        repeats = repeats.after(ids, token, breaks=broken)
        ids = np.append(ids, token)
        text = [*text, (token, broken)]
        assert repeats.lengths.tolist() == lengths(text)
        assert repeats.breaks.tolist() == [broken for _, broken in text]


def test_a_match_of_four_costs_2_45():
    text = np.array([1, 2, 3, 4, 5, 6, 1, 2, 3, 4])
    tokens, penalties = Repeats.of(text, [False] * 10).penalties(
        text, multiplier=0.8, base=1.75, allowed=2
    )
    assert tokens.tolist() == [5]
    assert penalties.tolist() == pytest.approx([2.45])


def test_the_longest_sequence_counts_and_short_ones_are_free():
    text = np.array([3, 9, 1, 3, 8, 2, 1, 3, 7, 1, 3])
    repeats = Repeats.of(text, [False] * 11)
    tokens, penalties = repeats.penalties(text, multiplier=1.0, base=2.0, allowed=2)
    assert (tokens.tolist(), penalties.tolist()) == ([7, 8], [1.0, 1.0])
    tokens, penalties = repeats.penalties(text, multiplier=1.0, base=2.0, allowed=1)
    assert (tokens.tolist(), penalties.tolist()) == ([7, 8, 9], [2.0, 2.0, 1.0])
    assert len(repeats.penalties(text, multiplier=1.0, base=2.0, allowed=3)[0]) == 0


def test_no_sequence_goes_over_a_breaker_and_breakers_are_not_penalised():
    text = [1, 2, 3, 4, 0, 1, 2, 3]
    broken = [token == 2 for token in text]
    repeats = Repeats.of(np.array(text), broken)
    assert repeats.lengths.tolist() == [0, 0, 0, 1, 0, 0, 0, 0]
    last = [1, 2, 0, 1]
    repeats = Repeats.of(np.array(last), [token == 2 for token in last])
    assert len(repeats.penalties(np.array(last), multiplier=1.0, base=2.0, allowed=1)[0]) == 0


def test_a_penalty_is_finite_however_long_the_sequence():
    text = np.zeros(3000, np.int64)
    repeats = Repeats.of(text, [False] * 3000)
    _, penalties = repeats.penalties(text, multiplier=0.8, base=1.75, allowed=2)
    assert penalties.tolist() == [LARGEST]


@pytest.mark.parametrize(("text", "size", "expected"), [
    ([1, 2, 1], 2, [2]),
    ([1, 2, 3, 1, 2, 4, 1, 2], 3, [3, 4]),
    ([1, 2, 3], 1, [1, 2, 3]),
    ([1, 1, 1], 2, [1]),
    ([1, 2], 3, []),
    ([1, 2], 9, []),
])  # fmt: skip
def test_ngrams_are_completed_by_what_came_after_their_beginning(
    text: list[int], size: int, expected: list[int]
):
    assert completing(np.array(text), size).tolist() == expected


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(1, 4))
def test_a_token_completes_an_ngram_exactly_if_it_is_there_already(text: list[int], size: int):
    def grams(tokens: list[int]) -> list[tuple[int, ...]]:
        return [tuple(tokens[n : n + size]) for n in range(len(tokens) - size + 1)]

    expected = [t for t in range(3) if len(text) >= size and grams([*text, t])[-1] in grams(text)]
    assert completing(np.array(text), size).tolist() == expected
