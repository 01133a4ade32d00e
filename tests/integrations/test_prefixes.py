"""`Prefixes`: states by tokens, whatever order they are asked in and whatever is forgotten."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.errors import LimitError
from guideway.integrations.transformers_texts import Outside, Prefixes

LETTERS = gw.Vocabulary([b"a", b"b", b"ab", b"<eos>", b"<end>"], eos_ids={3, 4})
CONSTRAINT = gw.compile(gw.Regex("(ab?){1,3}"), LETTERS)
TEXTS = st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=20)


@given(TEXTS, st.integers(1, 5))
def test_what_is_forgotten_is_found_again_in_any_order(texts: list[list[int]], most: int) -> None:
    prefixes = Prefixes(CONSTRAINT, most=most)
    for text in [*texts, *texts[::-1]]:
        standing = prefixes.after(np.array(text, np.int64))
        state, place = CONSTRAINT.start(), None
        for at, token in enumerate(text):
            if state.ended:
                break
            if token not in unpack(CONSTRAINT.mask(state)):
                place = at
                break
            state = CONSTRAINT.advance(state, token)
        if place is None:
            assert standing is state
        else:
            assert isinstance(standing, Outside)
            assert (standing.place, standing.error.token) == (place, text[place])
            assert standing.error.__traceback__ is None


def test_rows_leave_out_what_would_not_fit_however_often_they_are_asked_for() -> None:
    prefixes = Prefixes(CONSTRAINT)
    for tokens in product(range(3), repeat=2):
        state = prefixes.after(np.array(tokens, np.int64))
        if isinstance(state, Outside):
            continue
        for left in (9, 8, 3, 2, 1, 2, 3, 9):
            expected = CONSTRAINT.mask_within(state, left)
            assert prefixes.row(state, left).tolist() == expected.tolist()
    with pytest.raises(LimitError, match="needs 1 more tokens"):
        prefixes.row(CONSTRAINT.start(), 0)


@pytest.mark.parametrize("left", [1, 2, 3, 4, None])
def test_sequences_of_tokens_are_counted_up_to_what_is_enough(left: int | None) -> None:
    def whole(tokens: tuple[int, ...]) -> bool:
        spelled = b"".join(LETTERS.tokens[token] or b"" for token in tokens)
        return CONSTRAINT.matches(spelled)

    longest = 6 if left is None else left
    texts = [
        (size, tokens)
        for size in range(1, longest + 1)
        for tokens in product(range(3), repeat=size)
        if whole(tokens)
    ]
    # A text that is cut off needs no end; one that is not may have either of the two.
    expected = sum(1 if size == left else 2 for size, _ in texts)
    prefixes = Prefixes(CONSTRAINT)
    assert prefixes.count(10_000, left) == expected
    assert prefixes.count(3, left) == min(3, expected)
    assert prefixes.count(10_000, left, {3}) == len(texts)
