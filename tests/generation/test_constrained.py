"""The loop with constraints: ends, stop strings, probabilities, batches."""

import math

import pytest
import torch

import guideway as gw
from guideway.constraint.compiled import CompiledConstraint
from guideway.generation.loop import Decoding
from guideway.generation.row.request import Request
from guideway.models.fake import FakeModel
from whole_batches import generate

LETTERS = gw.Vocabulary([b"a", b"b", b"c", b"ab", b".", b"<eos>", b"<end>"], eos_ids={5, 6})


def run(
    pattern: str | None, row: list[float] | None = None, *, seed: int = 0, **settings: object
) -> "tuple[str, str, int]":
    """Text, finish reason, and how often the model was asked."""
    calls = 0

    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if row is not None:
            return torch.tensor(row)
        return torch.randn(7, generator=torch.Generator().manual_seed(seed * 1000 + len(prefix)))

    constraint = gw.compile(gw.Regex(pattern), LETTERS) if pattern else None
    request = Request((0,), constraint, gw.Sampling.of(settings))
    done = generate(FakeModel(LETTERS, logits), [request])[0]
    return done.text, done.finish_reason, calls


def test_a_text_that_can_only_end_ends_without_asking_the_model_again():
    assert run("abc", [0.0] * 7) == ("abc", "stop", 3)


def test_a_text_that_could_go_on_ends_by_any_end_id():
    assert run("a+", [0.0, 0, 0, 0, 0, 0, 5.0]) == ("a", "stop", 2)


def test_at_exactly_the_maximum_a_text_that_could_go_on_is_cut():
    assert run("a+", [5.0] + [0.0] * 6, max_new_tokens=4) == ("aaaa", "length", 4)


@pytest.mark.parametrize("seed", range(5))
def test_without_end_ids_a_text_ends_where_nothing_can_follow(seed: int):
    vocabulary = gw.Vocabulary([b"a", b"b"])
    constraint = gw.compile(gw.Regex("a[ab]{2}b"), vocabulary)
    request = Request((0,), constraint, gw.Sampling(seed=seed))
    done = generate(FakeModel.random(vocabulary, seed), [request])[0]
    assert constraint.matches(done.text)
    assert done.finish_reason == "stop"


def test_stop_strings_act_where_what_is_before_them_is_whole():
    likes = [3.0, 2.0, 1.0, 0.0, 2.5, -9.0, -9.0]  # a, then ".", then b
    # "." may stand inside, and before it there is no whole text: it does not act.
    assert run(r"a\.b", likes, stop=".")[:2] == ("a.b", "stop")
    # Before this one there is: "a" is of the language.
    assert run(r"a(\.b)?", likes, stop=".")[:2] == ("a", "stop")


def test_a_stop_string_before_the_minimum_is_text():
    likes = [3.0, 0, 0, 0, 0, 0, 0]
    assert run(None, likes, stop="a", min_new_tokens=2, max_new_tokens=5)[:2] == ("a", "stop")
    assert run(None, likes, stop="aa", min_new_tokens=4, max_new_tokens=9)[0] == "aa"


def test_end_ids_are_not_drawn_before_the_minimum():
    wants_to_end = [1.0, 0, 0, 0, 0, 9.0, 9.0]
    assert run(None, wants_to_end)[:2] == ("", "stop")
    assert run(None, wants_to_end, min_new_tokens=3)[:2] == ("aaa", "stop")
    assert run("a*", wants_to_end, min_new_tokens=3)[:2] == ("aaa", "stop")


def test_probabilities_are_the_models_own_and_the_mass_that_was_left():
    row = [math.log(p) for p in (0.1, 0.2, 0.3, 0.05, 0.05, 0.2, 0.1)]
    constraint = gw.compile(gw.Regex("[ab]c"), LETTERS)
    done = generate(FakeModel(LETTERS, lambda _: row), [Request((0,), constraint)])[0]
    assert done.text == "bc"
    assert done.logprobs == pytest.approx([math.log(0.2), math.log(0.3)], abs=1e-5)
    assert done.log_allowed == pytest.approx([math.log(0.3), math.log(0.3)], abs=1e-5)
    assert done.log_z == pytest.approx(2 * math.log(0.3), abs=1e-5)
    assert done.stats.mass_removed == pytest.approx(0.7, abs=1e-5)


def test_each_row_has_its_own_constraint_settings_and_end():
    def only(pattern: str | None) -> CompiledConstraint | None:
        return None if pattern is None else gw.compile(gw.Regex(pattern), LETTERS)

    patterns = ["a+", None, "(ab)*c", "[abc]{3,9}", None, "b"]
    requests = [
        Request(
            (n % 3, 1)[: 1 + n % 2],
            only(pattern),
            gw.Sampling(seed=n, temperature=1 + n / 9, top_k=n, max_new_tokens=7 + n),
        )
        for n, pattern in enumerate(patterns)
    ]
    model = FakeModel.random(LETTERS, seed=5)
    together = generate(model, requests)
    assert together == [generate(model, [request])[0] for request in requests]
    for request, done in zip(requests, together, strict=True):
        assert request.constraint is None or request.constraint.matches(done.text)


def test_a_model_that_gives_what_is_allowed_no_probability_is_told_with_step_and_row():
    row = [0.0, -math.inf] + [0.0] * 5
    aab, a = gw.compile(gw.Regex("aab"), LETTERS), gw.compile(gw.Regex("a"), LETTERS)
    two = [Request((0,), a), Request((0,), aab)]
    with pytest.raises(gw.DeadEndError, match="row 1: no token is left at step 2"):
        generate(FakeModel(LETTERS, lambda _: row), two)


def test_a_joint_is_spelled_first_and_is_no_part_of_the_text():
    vocabulary = gw.Vocabulary([b" ", b" a", b"a", b"b", b"<eos>"], eos_ids={4}, lead=b" ")
    constraint = gw.compile(gw.Regex("a+b"), vocabulary)
    for joint, first in [(b" ", {0, 1}), (b"", {2})]:
        request = Request((3,), constraint, gw.Sampling(seed=1), joint=joint)
        done = generate(FakeModel.random(vocabulary, 3), [request])[0]
        assert done.tokens[0] in first
        assert constraint.matches(done.text)


def test_events_tell_each_token_once_and_the_whole_text():
    constraint = gw.compile(gw.Regex("(ab|c){4}"), LETTERS)
    requests = [Request((n,), constraint, gw.Sampling(seed=n)) for n in range(3)]
    decoding = Decoding(FakeModel.random(LETTERS), requests)
    events = list(decoding)
    for row, done in enumerate(decoding.completions):
        mine = [event for event in events if event.row == row]
        assert tuple(e.token for e in mine if e.token is not None) == done.tokens
        assert "".join(event.text for event in mine) == done.text
        assert [event.finish_reason for event in mine][-1] == "stop"
        assert {event.finish_reason for event in mine[:-1]} <= {None}


def test_stopping_to_iterate_leaves_what_is_there():
    decoding = Decoding(FakeModel.random(LETTERS), [Request((0,), None, gw.Sampling(seed=2))])
    next(iter(decoding))
    assert decoding.completions[0].finish_reason in {"interrupted", "stop"}


def test_no_requests_are_no_texts():
    assert generate(FakeModel.random(LETTERS), []) == []


def test_statistics_are_times_and_bytes():
    done = generate(FakeModel.random(LETTERS), [Request((0,), None, gw.Sampling(max_new_tokens=9))])
    stats = done[0].stats
    assert stats.time_to_first_token > 0
    assert stats.peak_memory > 1_000_000
    assert stats.mask_time == 0
    assert stats.mass_removed == 0


def test_an_unseeded_sample_notes_the_seed_that_repeats_it():
    model = FakeModel.random(LETTERS)
    request = Request((0,), None, gw.Sampling(temperature=1.0, max_new_tokens=12))
    (first,) = generate(model, list(request.samples()))
    again = gw.Sampling(temperature=1.0, max_new_tokens=12, seed=first.seed)
    assert generate(model, [Request((0,), None, again)])[0].tokens == first.tokens


def test_without_end_ids_a_text_that_can_only_be_empty_ends_at_once():
    vocabulary = gw.Vocabulary([b"a", b"b"])
    model = gw.Model(FakeModel.random(vocabulary))
    empty, whole = model.generate(["a", "b"], ["", "ab"], max_new_tokens=3)
    assert (empty.text, empty.value, empty.finish_reason) == ("", "", "stop")
    assert whole.text == "ab"
    (part,) = model.stream("a", "")
    assert part.result == empty
