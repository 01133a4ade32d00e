"""The cursor against replaying from the start."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import fairlead as fl
from fairlead.errors import LimitError, UnsupportedError
from fairlead.masks.bits import unpack

TOKENS = [b"a", b"b", b"ab", b"<eos>"]
VOCABULARY = fl.Vocabulary(TOKENS, {3}, width=40)
CONSTRAINT = fl.compile(fl.Regex("(ab)*b?"), VOCABULARY)

operations = st.lists(
    st.one_of(
        st.tuples(st.just("accept"), st.sampled_from([0, 1, 2, 3, 3, -1, 4, 39, 40, 10**9])),
        st.tuples(st.just("rollback"), st.integers(-1, 5)),
        st.tuples(st.just("fork"), st.just(0)),
        st.tuples(st.just("reset"), st.just(0)),
    ),
    max_size=30,
)


@given(operations)
def test_any_sequence_of_operations_is_a_replay_of_what_remains(sequence):
    matcher, kept = fl.Matcher(CONSTRAINT), []
    for name, number in sequence:
        if name == "accept":
            if matcher.accept_token(number):
                kept.append(number)
        elif name == "rollback" and not 0 <= number <= len(kept):
            with pytest.raises(LimitError, match="taken back"):
                matcher.rollback(number)
        elif name == "rollback":
            matcher.rollback(number)
            kept = kept[: len(kept) - number]
        elif name == "fork":
            other = matcher.fork()
            other.reset()
            matcher = matcher.fork()
        else:
            matcher.reset()
            kept = []
        state = CONSTRAINT.start()
        for token in kept:
            assert not state.ended
            state = CONSTRAINT.advance(state, token)
        assert matcher.state == state
        assert matcher.is_terminated() == state.ended


def test_a_rejected_token_changes_nothing():
    matcher = fl.Matcher(CONSTRAINT)
    matcher.accept_token(0)
    before = matcher.state
    assert not matcher.accept_token(0)
    assert not matcher.accept_token(3)
    assert matcher.state is before


@pytest.mark.parametrize(
    "bitmask",
    [
        np.zeros((2, 2), np.int32),
        np.zeros((2, 2), np.uint32),
        torch.zeros((2, 2), dtype=torch.int32),
    ],
)
def test_the_mask_is_written_into_one_row(bitmask):
    matcher = fl.Matcher(CONSTRAINT)
    matcher.fill_next_token_bitmask(bitmask, 1)
    assert not bitmask[0].any()
    assert unpack(np.asarray(bitmask[1]).view(np.uint32)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "bitmask",
    [np.zeros((1, 3), np.int32), np.zeros((1, 2), np.int64), np.zeros((1, 2), np.float32)],
)
def test_a_bitmask_of_another_shape_or_type_is_refused(bitmask):
    with pytest.raises(UnsupportedError, match=r"must be int32\[2\]"):
        fl.Matcher(CONSTRAINT).fill_next_token_bitmask(bitmask)


@pytest.mark.parametrize("row", [2, -3])
def test_a_row_that_the_bitmask_does_not_have_is_refused(row):
    with pytest.raises(LimitError, match=rf"a bitmask of 2 rows has no row {row}"):
        fl.Matcher(CONSTRAINT).fill_next_token_bitmask(np.zeros((2, 2), np.int32), row)


def test_a_bitmask_on_another_device_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="meta"):
        fl.Matcher(CONSTRAINT).fill_next_token_bitmask(
            torch.zeros((1, 2), dtype=torch.int32, device="meta")
        )


def test_without_end_ids_a_text_that_cannot_go_on_is_terminated():
    matcher = fl.Matcher(fl.compile(fl.Choice(["ab"]), fl.Vocabulary([b"a", b"b"])))
    assert matcher.accept_token(0)
    assert not matcher.is_terminated()
    assert matcher.accept_token(1)
    assert matcher.is_terminated()
    assert not matcher.accept_token(0)
