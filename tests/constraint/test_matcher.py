"""The cursor against replaying from the start."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import guideway as gw
from guideway.automaton.token_tries import has, unpack
from guideway.errors import LimitError, UnsupportedError

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


TOKENS_GIVEN = st.lists(TOKEN, max_size=6)
UNENDED = gw.compile(gw.Regex("(ab)*b?|aab"), gw.Vocabulary(TOKENS[:3], width=40))


@st.composite
def cursors(draw):
    """A cursor after some tokens, of a constraint with or without end ids."""
    matcher = gw.Matcher(draw(st.sampled_from([CONSTRAINT, OTHER, UNENDED])))
    for token in draw(TOKENS_GIVEN):
        matcher.accept_token(token)
    return matcher


def taken_one_by_one(matcher, tokens):
    """How many tokens a copy takes, and the copy."""
    other = matcher.fork()
    count = next((n for n, token in enumerate(tokens) if not other.accept_token(token)), None)
    return len(tokens) if count is None else count, other


def nothing_can_follow(matcher):
    return not any(matcher.fork().accept_token(token) for token in range(4))


@given(cursors(), TOKENS_GIVEN)
def test_several_tokens_are_accepted_all_or_none(matcher, tokens):
    before = matcher.state
    count, other = taken_one_by_one(matcher, tokens)
    assert matcher.validate_tokens(tokens) == matcher.validate_tokens(iter(tokens)) == count
    assert matcher.state is before
    assert matcher.accept_tokens(tokens) == (count == len(tokens))
    assert matcher.state is (other.state if count == len(tokens) else before)
    assert matcher.is_terminated() == nothing_can_follow(matcher)


@given(cursors(), TOKENS_GIVEN, st.integers(0, 2))
def test_rows_of_a_draft_are_the_masks_after_its_tokens(matcher, draft, row):
    before, other = matcher.state, matcher.fork()
    expected = np.full((len(draft) + 3, 2), 7, np.int32)
    bitmask, left = expected.copy(), False
    for place in range(len(draft) + 1):
        other.fill_next_token_bitmask(expected, row + place)
        left = left or place == len(draft) or not other.accept_token(draft[place])
    assert matcher.fill_draft_bitmask(bitmask, row, draft) == matcher.validate_tokens(draft)
    assert matcher.state is before
    assert (bitmask == expected).all()


@given(cursors(), TOKENS_GIVEN)
def test_rollback_undoes_what_was_accepted(matcher, tokens):
    states = [matcher.state]
    states += [matcher.state for token in tokens if matcher.accept_token(token)]
    for back in range(len(states)):
        other = matcher.fork()
        other.rollback(back)
        assert other.state is states[-1 - back]
        assert other.is_terminated() == nothing_can_follow(other)


def test_a_draft_needs_a_row_for_each_token_and_one_more():
    bitmask = np.zeros((3, 2), np.int32)
    matcher = gw.Matcher(CONSTRAINT)
    matcher.fill_draft_bitmask(bitmask, -3, [0, 1])
    with pytest.raises(LimitError, match="3 rows has no row 1 with 2 more rows for a draft"):
        matcher.fill_draft_bitmask(bitmask, 1, [0, 1])


def test_forced_tokens_and_text_are_those_of_the_state():
    letters = [bytes([byte]) for byte in range(256)]
    vocabulary = gw.Vocabulary([*letters, b"<eos>"], {256})
    matcher = gw.Matcher(gw.compile(gw.Choice(["naïve", "naïf", "né"]), vocabulary))
    assert (matcher.forced_text(), matcher.forced_tokens()) == ("n", (ord("n"),))
    assert matcher.accept_tokens(b"na")
    assert matcher.forced_text() == "ï"
    assert bytes(matcher.forced_tokens()) == "ï".encode()
    matcher.accept_token("ï".encode()[0])
    assert matcher.forced_text() == ""  # within a character
    assert matcher.accept_tokens(["ï".encode()[1], ord("f")])
    assert (matcher.forced_text(), matcher.forced_tokens()) == ("", (256,))
    assert not matcher.is_terminated()
    assert matcher.accept_tokens([256])
    assert matcher.is_terminated()
    assert (matcher.forced_text(), matcher.forced_tokens()) == ("", ())


def test_thoughts_are_free_up_to_the_id_that_ends_them():
    vocabulary = gw.Vocabulary([b"a", b"b", b"", b"<eos>"], {3}, special={"<end>": 2})
    source = gw.thinking(gw.Regex("ab"), begin=None, end=2)
    matcher = gw.Matcher(gw.compile(source, vocabulary))
    assert matcher.accept_tokens([1, 1, 0, 2, 0, 1, 3])
    matcher.rollback(4)
    assert matcher.validate_tokens([3]) == 0  # the text does not end within the thoughts
    assert matcher.accept_tokens([0, 0, 2])
    assert matcher.validate_tokens([1]) == 0
