"""The cursor against replaying from the start."""

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import guideway as gw
from guideway.errors import LimitError, UnsupportedError
from guideway.masks.forest import has, unpack

TOKENS = [b"a", b"b", b"ab", b"<eos>"]
VOCABULARY = gw.Vocabulary(TOKENS, {3}, width=40)
CONSTRAINT = gw.compile(gw.Regex("(ab)*b?"), VOCABULARY)

OTHER = gw.compile(gw.Regex("a{2}b+|b(ab)*"), VOCABULARY)
TOKEN = st.sampled_from([0, 1, 2, 3, 3, -1, 4, 39, 40, 10**9])


def replayed(constraint, tokens):
    state = constraint.start()
    for token in tokens:
        assert not state.ended
        state = constraint.advance(state, token)
    return state


class Cursors(RuleBasedStateMachine):
    """Several cursors, as a server or a beam search has them, beside lists of what each took."""

    def __init__(self):
        super().__init__()
        self.cursors = [gw.Matcher(CONSTRAINT), gw.Matcher(OTHER)]
        self.taken = [[], []]

    @rule(which=st.integers(0, 9), token=TOKEN)
    def accept(self, which, token):
        matcher, tokens = (
            self.cursors[which % len(self.cursors)],
            self.taken[which % len(self.cursors)],
        )
        allowed = not matcher.state.ended and has(matcher.constraint.mask(matcher.state), token)
        assert matcher.accept_token(token) == allowed
        if allowed:
            tokens.append(token)

    @rule(which=st.integers(0, 9), tokens=st.integers(-1, 5))
    def rollback(self, which, tokens):
        matcher, kept = (
            self.cursors[which % len(self.cursors)],
            self.taken[which % len(self.cursors)],
        )
        if 0 <= tokens <= len(kept):
            matcher.rollback(tokens)
            del kept[len(kept) - tokens :]
        else:
            with pytest.raises(LimitError, match="the matcher has accepted"):
                matcher.rollback(tokens)

    @rule(which=st.integers(0, 9))
    def fork(self, which):
        if len(self.cursors) < 6:
            self.cursors.append(self.cursors[which % len(self.cursors)].fork())
            self.taken.append([*self.taken[which % len(self.taken)]])

    @rule(which=st.integers(0, 9))
    def reset(self, which):
        self.cursors[which % len(self.cursors)].reset()
        self.taken[which % len(self.taken)].clear()

    @rule(parents=st.lists(st.integers(0, 9), min_size=1, max_size=6))
    def reorder(self, parents):
        """What a beam search does between steps."""
        count = len(self.cursors)
        self.cursors = [self.cursors[parent % count].fork() for parent in parents]
        self.taken = [[*self.taken[parent % count]] for parent in parents]

    @invariant()
    def each_is_a_replay_of_what_it_took(self):
        for matcher, tokens in zip(self.cursors, self.taken, strict=True):
            state = replayed(matcher.constraint, tokens)
            assert matcher.state == state
            assert matcher.is_terminated() == state.ended

    @invariant()
    def masks_are_those_of_the_replays(self):
        rows = [m.constraint.mask(replayed(m.constraint, t)) for m, t in self.both()]
        bitmask = np.zeros((len(rows), 2), np.int32)
        gw.fill_bitmask(self.cursors, bitmask)
        assert (bitmask.view(np.uint32) == rows).all()

    def both(self):
        return zip(self.cursors, self.taken, strict=True)


TestCursors = Cursors.TestCase


def test_a_rejected_token_changes_nothing():
    matcher = gw.Matcher(CONSTRAINT)
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
    matcher = gw.Matcher(CONSTRAINT)
    matcher.fill_next_token_bitmask(bitmask, 1)
    assert not bitmask[0].any()
    assert unpack(np.asarray(bitmask[1]).view(np.uint32)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "bitmask",
    [np.zeros((1, 3), np.int32), np.zeros((1, 2), np.int64), np.zeros((1, 2), np.float32)],
)
def test_a_bitmask_of_another_shape_or_type_is_refused(bitmask):
    with pytest.raises(UnsupportedError, match=r"must be int32\[2\]"):
        gw.Matcher(CONSTRAINT).fill_next_token_bitmask(bitmask)


@pytest.mark.parametrize("row", [2, -3])
def test_a_row_that_the_bitmask_does_not_have_is_refused(row):
    with pytest.raises(LimitError, match=rf"a bitmask of 2 rows has no row {row}"):
        gw.Matcher(CONSTRAINT).fill_next_token_bitmask(np.zeros((2, 2), np.int32), row)


def test_a_bitmask_on_another_device_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="meta"):
        gw.Matcher(CONSTRAINT).fill_next_token_bitmask(
            torch.zeros((1, 2), dtype=torch.int32, device="meta")
        )


def test_without_end_ids_a_text_that_cannot_go_on_is_terminated():
    matcher = gw.Matcher(gw.compile(gw.Choice(["ab"]), gw.Vocabulary([b"a", b"b"])))
    assert matcher.accept_token(0)
    assert not matcher.is_terminated()
    assert matcher.accept_token(1)
    assert matcher.is_terminated()
    assert not matcher.accept_token(0)
