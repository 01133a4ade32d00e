"""The cursor against replaying from the start."""

import multiprocessing
import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint import batch
from guideway.errors import GuidewayError, LimitError, SourceError, UnsupportedError

TOKENS = [b"a", b"b", b"ab", b"c", b"<eos>"]
VOCABULARY = gw.Vocabulary(TOKENS, {4}, width=40)
CONSTRAINTS = [gw.compile(gw.Regex(p), VOCABULARY) for p in ("(ab)*b?", "a+c", "[abc]*", "c")]
OTHER = gw.compile(gw.Regex("a{2}b+|b(ab)*"), VOCABULARY)
UNENDED = gw.compile(gw.Regex("(ab)*b?|aab"), gw.Vocabulary(TOKENS[:3], width=40))
TOKENS_GIVEN = st.lists(st.sampled_from([0, 1, 2, 3, 4, 4, -1, 39, 40, 10**9]), max_size=6)


@pytest.mark.parametrize("bitmask", [
    np.zeros((2, 2), np.int32),
    np.zeros((2, 2), np.uint32),
    torch.zeros((2, 2), dtype=torch.int32),
])  # fmt: skip
def test_the_mask_is_written_into_one_row(bitmask):
    gw.Matcher(CONSTRAINTS[0]).fill_next_token_bitmask(bitmask, 1)
    assert not bitmask[0].any()
    assert unpack(np.asarray(bitmask[1]).view(np.uint32)).tolist() == [0, 1, 2, 4]


@st.composite
def cursors(draw):
    """A cursor after some tokens, of a constraint with or without end ids."""
    matcher = gw.Matcher(draw(st.sampled_from([CONSTRAINTS[0], OTHER, UNENDED])))
    for token in draw(TOKENS_GIVEN):
        matcher.accept_token(token)
    return matcher


def taken_one_by_one(matcher, tokens):
    """How many tokens a copy takes, and the copy."""
    other = matcher.fork()
    count = next((n for n, token in enumerate(tokens) if not other.accept_token(token)), None)
    return len(tokens) if count is None else count, other


def nothing_can_follow(matcher):
    return not any(matcher.fork().accept_token(token) for token in range(5))


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
    matcher = gw.Matcher(CONSTRAINTS[0])
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


# A batch is filled like one row after another, however many threads help.


def matcher_after(number: int, tokens: Sequence[int]) -> gw.Matcher:
    """A cursor of a constraint, after those of the tokens that it takes."""
    matcher = gw.Matcher(CONSTRAINTS[number])
    for token in tokens:
        matcher.accept_token(token)
    return matcher


def one_by_one(matchers: Sequence[gw.Matcher | None]) -> np.ndarray:
    expected = np.full((len(matchers), 2), -1, np.int32)
    for row, matcher in enumerate(matchers):
        if matcher is not None:
            matcher.fill_next_token_bitmask(expected, row)
    return expected


TEXTS = st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 4), max_size=4)), max_size=9)


@given(TEXTS, st.sampled_from([0.0, 10.0]), st.sampled_from([None, 1, 3]), st.booleans(), st.data())
def test_a_batch_is_its_rows(texts, alone: float, threads: int | None, late: bool, data) -> None:
    made = [*(matcher_after(*each) for each in texts), None]
    matchers: list[gw.Matcher | None] = data.draw(st.permutations(made))
    for constraint in CONSTRAINTS[: data.draw(st.integers(0, 4))]:
        constraint.forget()
    for bitmask in (
        np.zeros((len(matchers), 2), np.int32),
        np.zeros((len(matchers), 2), np.uint32),
        torch.zeros((len(matchers), 2), dtype=torch.int32),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch, "ALONE", alone)
            assert gw.fill_bitmask(matchers, bitmask, threads, 60 if late else None) == []
        assert (np.asarray(bitmask).view(np.int32) == one_by_one(matchers)).all()


def test_rows_behind_the_last_matcher_stay_as_they_are() -> None:
    bitmask = np.full((3, 2), 7, np.int32)
    gw.fill_bitmask([gw.Matcher(CONSTRAINTS[3])], bitmask)
    assert bitmask.tolist() == [[8, 0], [7, 7], [7, 7]]


class Made:
    """A constraint of one state, whose mask a function makes."""

    vocabulary = VOCABULARY

    def __init__(self, mask: Callable[[], np.ndarray]) -> None:
        self._mask = mask

    def start(self) -> int:
        return 0

    def mask(self, state: int) -> np.ndarray:
        return self._mask()


def test_constraints_that_take_long_are_served_at_the_same_time(monkeypatch) -> None:
    monkeypatch.setattr(batch, "ALONE", 0.0)
    monkeypatch.setattr(batch, "_cores", lambda: 3)
    monkeypatch.setattr(batch, "_pools", {})
    meeting = threading.Barrier(2)

    def mask() -> np.ndarray:
        meeting.wait(timeout=10)
        return np.array([1, 0], np.uint32)

    first = gw.Matcher(CONSTRAINTS[3])  # done by the caller's thread before it calls for help
    bitmask = np.zeros((3, 2), np.int32)
    gw.fill_bitmask([first, gw.Matcher(Made(mask)), gw.Matcher(Made(mask))], bitmask)
    assert bitmask.tolist() == [[8, 0], [1, 0], [1, 0]]


def test_what_fails_in_another_thread_is_raised_here(monkeypatch) -> None:
    monkeypatch.setattr(batch, "ALONE", 0.0)
    monkeypatch.setattr(batch, "_cores", lambda: 2)
    meeting = threading.Barrier(2)

    def mask() -> np.ndarray:
        meeting.wait(timeout=10)
        if threading.current_thread() is not threading.main_thread():
            raise GuidewayError("no mask")
        return np.array([1, 0], np.uint32)

    matchers = [gw.Matcher(each) for each in (CONSTRAINTS[3], Made(mask), Made(mask))]
    with pytest.raises(GuidewayError, match="no mask"):
        gw.fill_bitmask(matchers, np.zeros((3, 2), np.int32))


class Held(Made):
    """A constraint whose masks wait until they are released."""

    def __init__(self) -> None:
        super().__init__(lambda: np.array([6, 0], np.uint32))
        self.released, self.times = threading.Event(), 0

    def mask(self, state: int) -> np.ndarray:
        self.times += 1
        assert self.released.wait(timeout=10)
        return super().mask(state)


@pytest.mark.parametrize("threads", [None, 1])
def test_late_rows_are_reported_and_others_are_not_held_up(monkeypatch, threads) -> None:
    monkeypatch.setattr(batch, "_pools", {})
    held = [Held(), Held()]
    slow = [gw.Matcher(one) for one in held]
    matchers = [slow[0], slow[0].fork(), slow[1], matcher_after(0, []), matcher_after(1, [0])]
    expected = one_by_one([None, None, None, *matchers[3:]])[3:]
    bitmask = np.full((5, 2), -1, np.int32)
    CONSTRAINTS[1].forget()
    while gw.fill_bitmask(matchers, bitmask, threads, 0.01) != [0, 1, 2]:
        pass
    assert not bitmask[:3].any()  # no token is allowed
    assert (bitmask[3:] == expected).all()
    assert gw.fill_bitmask(matchers, bitmask, threads, 0) == [0, 1, 2]
    held[0].released.set()
    assert gw.fill_bitmask(matchers[:2], bitmask, threads) == []
    assert bitmask[:2].tolist() == [[6, 0], [6, 0]]
    assert gw.fill_bitmask(matchers, bitmask, threads, 0)[-1] == 2
    held[1].released.set()
    slow[1].fill_next_token_bitmask(bitmask, 2)  # waits
    assert bitmask[2].tolist() == [6, 0]
    assert held[1].times == 2  # beside the loop once, and here


def test_a_slow_row_holds_up_new_states_of_its_own_constraint_only(monkeypatch) -> None:
    """Known masks and transitions need no lock, and other constraints have their own."""
    monkeypatch.setattr(batch, "_pools", {})
    constraint = gw.compile(gw.Regex("(ab)*c?"), VOCABULARY)
    known, new, other = gw.Matcher(constraint), gw.Matcher(constraint), gw.Matcher(CONSTRAINTS[1])
    assert new.accept_token(0)
    one_by_one([known])
    CONSTRAINTS[1].forget()
    held, released = threading.Event(), threading.Event()

    def slow() -> None:  # a mask that takes long
        with constraint._states.lock:
            held.set()
            assert released.wait(timeout=10)

    thread = threading.Thread(target=slow)
    thread.start()
    assert held.wait(timeout=10)
    bitmask = np.zeros((3, 2), np.int32)
    try:
        while 2 in (late := gw.fill_bitmask([known, new, other], bitmask, deadline=0.01)):
            pass
        moved = known.accept_token(0)  # a known transition
    finally:
        released.set()
        thread.join()
    assert late == [1]
    assert moved
    known.rollback(1)
    assert gw.fill_bitmask([known, new, other], bitmask) == []
    assert (bitmask == one_by_one([known, new, other])).all()


def test_a_row_that_fails_after_the_deadline_is_raised_when_it_is_asked_for(monkeypatch) -> None:
    released = threading.Event()

    def mask() -> np.ndarray:
        assert released.wait(timeout=10)
        raise GuidewayError("no mask")

    matchers, bitmask = [gw.Matcher(Made(mask))], np.zeros((1, 2), np.int32)
    assert gw.fill_bitmask(matchers, bitmask, deadline=0.0) == [0]
    released.set()
    with pytest.raises(GuidewayError, match="no mask"):
        gw.fill_bitmask(matchers, bitmask)


MATCHERS = [gw.Matcher(CONSTRAINTS[0])]
ROW = np.zeros((1, 2), np.int32)


@pytest.mark.parametrize(("matchers", "bitmask", "options", "error", "said"), [
    ([], ROW, {"threads": 0}, SourceError, "must be"),
    ([], ROW, {"threads": 1.5}, SourceError, "must be"),
    ([], ROW, {"deadline": -1.0}, SourceError, "must be"),
    *(([], wrong, {}, UnsupportedError, r"a bitmask must be int32\[batch, words\], not")
      for wrong in (ROW.astype(np.int64), ROW.astype(np.float32), ROW[0])),
    (MATCHERS, np.zeros((1, 3), np.int32), {}, UnsupportedError,
     "has 3 words; for a vocabulary of width 40 it must have 2"),
    ([], torch.zeros((1, 2), dtype=torch.int32, device="meta"), {}, UnsupportedError, "meta"),
    ([None, None], ROW, {}, LimitError, "1 rows is too small for 2 matchers"),
])  # fmt: skip
def test_wrong_arguments_are_refused(matchers, bitmask, options, error, said) -> None:
    with pytest.raises(error, match=said) as caught:
        gw.fill_bitmask(matchers, bitmask, **options)
    if error is LimitError:
        assert (caught.value.given, caught.value.needed) == (1, 2)


def _in_a_child(answers) -> None:
    bitmask = np.zeros((2, 2), np.int32)
    gw.fill_bitmask([gw.Matcher(each) for each in CONSTRAINTS[:2]], bitmask)
    answers.put(bitmask.tolist())


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(monkeypatch) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        return
    monkeypatch.setattr(batch, "ALONE", 0.0)
    here = np.zeros((2, 2), np.int32)
    matchers = [gw.Matcher(each) for each in CONSTRAINTS[:2]]
    gw.fill_bitmask(matchers, here)  # the parent has threads now
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_in_a_child, args=(answers,))
    child.start()
    child.join(20)
    assert not child.is_alive()
    assert answers.get() == here.tolist()
