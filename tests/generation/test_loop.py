"""The loop: ends, stop strings, probabilities, batches, and limits that cut no text in half."""

import math
from typing import Any

import pytest

import guideway as gw
from guideway.constraint.longest_path import longest_path
from guideway.errors import GuidewayError, ModelError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.loop import Decoding
from guideway.generation.row.request import Request
from guideway.generation.row.result import Result
from guideway.models.fake import FakeModel
from json_schemas import MANY_MEGABYTES
from whole_batches import generate

LETTERS = gw.Vocabulary([b"a", b"b", b"c", b"ab", b".", b"<eos>", b"<end>"], eos_ids={5, 6})
PARTS = gw.Vocabulary([b"a", b"b", b"c", b"\xc3", b"\xa9", b"<eos>", None], eos_ids={5}, width=8)
BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b'": ', b"true", b"<eos>"], eos_ids={258})


def spelling(*tokens: int) -> FakeModel:
    """A model that wants exactly these tokens, one after another, whatever the prompt."""

    def logits(prefix: tuple[int, ...]) -> list[float]:
        row = [0.0] * 8
        row[tokens[min(len(prefix) - 1, len(tokens) - 1)]] = 9.0
        return row

    return FakeModel(PARTS, logits)


def wants(likes: bytes) -> FakeModel:
    """A model of bytes that likes some of them."""
    return FakeModel(BYTES, lambda prefix: [4.0 * (token in {*likes}) for token in range(259)])


def one(model: FakeModel, pattern: Any = None, **settings: object) -> Result:
    source = gw.Regex(pattern) if isinstance(pattern, str) else pattern
    constraint = None if source is None else gw.compile(source, model.vocabulary)
    return generate(model, [Request((0,), constraint, gw.Sampling.of(settings))])[0]


def run(pattern: str | None, row: list[float], **settings: object) -> tuple[str, str, int]:
    """Text, finish reason, and how often the model was asked."""
    calls = list[int]()

    def logits(prefix: tuple[int, ...]) -> list[float]:
        calls.append(1)
        return row

    done = one(FakeModel(LETTERS, logits), pattern, **settings)
    return done.text, done.finish_reason, len(calls)


def test_greedy_text_ends_at_an_end_id_and_leaves_it_out():
    done = one(spelling(0, 1, 5))
    assert (done.text, done.tokens, done.finish_reason) == ("ab", (0, 1), "stop")
    assert len(done.logprobs) == 2
    assert done.log_allowed == (0.0, 0.0, 0.0)
    assert done.seed is None


def test_a_character_is_told_whole_and_the_beginning_of_a_stop_string_never():
    model, sampling = spelling(0, 3, 4, 1, 2, 0, 5), gw.Sampling(stop="bc")
    decoding = Decoding(Ensemble.of(model), [Request((0,), sampling=sampling)])
    assert [event.text for event in decoding] == ["a", "", "é", "", ""]
    done = decoding.completions[0]
    assert (done.text, done.finish_reason) == ("aé", "stop")


ZERO, LIKES = [0.0] * 7, [3.0, 2.0, 1.0, 0.0, 2.5, -9.0, -9.0]  # a, then ".", then b
TO_END = [1.0, 0, 0, 0, 0, 9.0, 9.0]


@pytest.mark.parametrize(
    ("pattern", "row", "settings", "expected"),
    [
        ("abc", ZERO, {}, ("abc", "stop", 3)),  # it can only end, and asks nobody
        ("a+", [*ZERO[1:], 5.0], {}, ("a", "stop", 2)),  # any end id
        ("a+", [5.0, *ZERO[1:]], {"max_new_tokens": 4}, ("aaaa", "length", 4)),
        (r"a\.b", LIKES, {"stop": "."}, ("a.b", "stop", 3)),  # what is before it is no whole text
        (r"a(\.b)?", LIKES, {"stop": "."}, ("a", "stop", 2)),
        (None, LIKES, {"stop": "a", "min_new_tokens": 2}, ("a", "stop", 2)),  # the first is text
        (None, LIKES, {"stop": "aa", "min_new_tokens": 4}, ("aa", "stop", 4)),
        (None, TO_END, {}, ("", "stop", 1)),
        (None, TO_END, {"min_new_tokens": 3}, ("aaa", "stop", 4)),
        ("a*", TO_END, {"min_new_tokens": 3}, ("aaa", "stop", 4)),
    ],
)
def test_ends_stop_strings_and_limits(
    pattern: str | None, row: list[float], settings: dict[str, Any], expected: tuple[str, str, int]
):
    assert run(pattern, row, **settings) == expected


def test_without_end_ids_a_text_ends_where_nothing_can_follow():
    vocabulary = gw.Vocabulary([b"a", b"b"])
    for seed in range(5):
        done = one(FakeModel.random(vocabulary, seed), "a[ab]{2}b", seed=seed)
        assert gw.compile(gw.Regex("a[ab]{2}b"), vocabulary).matches(done.text)
        assert done.finish_reason == "stop"
    model = gw.Model(FakeModel.random(vocabulary))
    empty, whole = model.generate(["a", "b"], ["", "ab"], max_new_tokens=3)
    assert (empty.text, empty.value, empty.finish_reason) == ("", "", "stop")
    assert whole.text == "ab"
    (part,) = model.stream("a", "")
    assert part.result == empty


def test_probabilities_are_the_models_own_whatever_the_penalties_and_the_mass_that_was_left():
    row = [math.log(p) for p in (0.1, 0.2, 0.3, 0.05, 0.05, 0.2, 0.1)]
    model, penalties = FakeModel(LETTERS, lambda _: row), {"repetition_penalty": 3.0}
    done = one(model, "[ab]c", **penalties, logit_bias={0: 9.0})
    assert done.text == "ac"
    assert done.logprobs == pytest.approx([math.log(0.1), math.log(0.3)], abs=1e-5)
    assert done.log_allowed == pytest.approx([math.log(0.3), math.log(0.3)], abs=1e-5)
    assert done.log_z == pytest.approx(2 * math.log(0.3), abs=1e-5)
    assert done.stats.mass_removed == pytest.approx(0.7, abs=1e-5)


def test_a_row_that_fails_leaves_the_others_as_they_are():
    def logits(prefix: tuple[int, ...]) -> list[float]:
        return [math.nan if prefix[:2] == (1, 0) else 1.0] + [0.0] * 7

    requests = [Request((n,), sampling=gw.Sampling(max_new_tokens=4)) for n in range(3)]
    model, failed = FakeModel(PARTS, logits), dict[int, GuidewayError]()
    decoding = Decoding(Ensemble.of(model), requests, failed.__setitem__)
    events = list(decoding)
    first, second, third = decoding.completions
    assert [first, third] == [generate(model, [requests[n]])[0] for n in (0, 2)]
    assert (second.text, second.finish_reason, second.error) == ("a", "error", failed[1])
    assert [event.finish_reason for event in events if event.row == 1] == [None, "error"]
    with pytest.raises(ModelError, match=r"^row 1: the model gave NaN .* at step 1"):
        generate(model, requests)


def test_a_model_that_gives_what_is_allowed_no_probability_is_told_with_step_and_row():
    row = [0.0, -math.inf] + [0.0] * 5
    two = [Request((0,), gw.compile(gw.Regex(each), LETTERS)) for each in ("a", "aab")]
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
    decoding = Decoding(Ensemble.of(FakeModel.random(LETTERS)), requests)
    events = list(decoding)
    for row, done in enumerate(decoding.completions):
        mine = [event for event in events if event.row == row]
        assert tuple(e.token for e in mine if e.token is not None) == done.tokens
        assert "".join(event.text for event in mine) == done.text
        assert [event.finish_reason for event in mine][-1] == "stop"
        assert {event.finish_reason for event in mine[:-1]} <= {None}
    stopped = Decoding(Ensemble.of(FakeModel.random(LETTERS)), requests[:1])
    next(iter(stopped))  # what is there stays
    assert stopped.completions[0].finish_reason in {"interrupted", "stop"}


def test_a_sample_has_statistics_and_notes_the_seed_that_repeats_it():
    model = FakeModel.random(LETTERS)
    request = Request((0,), None, gw.Sampling(temperature=1.0, max_new_tokens=12))
    (first,) = generate(model, list(request.samples()))
    assert one(model, temperature=1.0, max_new_tokens=12, seed=first.seed).tokens == first.tokens
    stats = first.stats
    assert stats.time_to_first_token > 0
    assert stats.peak_memory > 1_000_000
    assert (stats.mask_time, stats.mass_removed) == (0, 0)


@pytest.mark.parametrize("inner", MANY_MEGABYTES)
def test_a_part_of_many_megabytes_is_not_begun(inner: dict[str, Any]):
    schema = {"type": "object", "properties": {"a": inner}, "additionalProperties": False}
    source = gw.JsonSchema(schema, whitespace="compact")
    constraint = gw.compile(source, BYTES, gw.Budget.untrusted())
    request = Request((0,), constraint, gw.Sampling(max_new_tokens=60))
    done = generate(wants(b'{"a'), [request])[0]
    assert (done.text, done.finish_reason) == ("{}", "length")


LONGER = "no|yes|maybe!{0,4}"


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("least", [1, 2, 5, 9])
def test_a_minimum_is_met_where_a_text_is_that_long(least: int, temperature: float | int):
    # "no" is what the model wants and is too short; the others have 3 and 5 to 9 letters.
    settings = {"min_new_tokens": least, "temperature": temperature, "seed": least}
    done = one(wants(b"no"), LONGER, **settings)
    assert len(done.tokens) >= least
    assert gw.compile(gw.Regex(LONGER), BYTES).matches(done.text)


def test_a_minimum_and_a_maximum_meet():
    for least, most in [(3, 4), (4, 4), (5, 7)]:
        settings = {"min_new_tokens": least, "max_new_tokens": most, "seed": 1}
        done = one(FakeModel.random(BYTES), "(ab)+", **settings)
        assert least <= len(done.tokens) <= most
        assert done.text == "ab" * (len(done.text) // 2)
    # No text has this length: a whole one goes first.
    done = one(FakeModel.random(BYTES), "(ab)+", min_new_tokens=5, max_new_tokens=5, seed=1)
    assert done.text == "abab"
    with pytest.raises(gw.LimitError, match="has 9 tokens, and min_new_tokens requires 10") as e:
        one(FakeModel.random(BYTES), LONGER, min_new_tokens=10)
    assert (e.value.limit, e.value.needed, e.value.given) == ("min_new_tokens", 9, 10)


@pytest.mark.parametrize(
    ("pattern", "enough", "longest"),
    [("abc", 9, 3), ("a?b?c?", 9, 3), ("a*", 9, 9), ("x|a{4}|b{2}", 9, 4), ("(a|bb|ccc){2}", 9, 6)],
)
def test_the_longest_path(pattern: str, enough: int, longest: int):
    constraint = gw.compile(gw.Regex(pattern), BYTES)
    assert longest_path(constraint, constraint.start(), enough) == longest


def test_a_search_for_the_longest_path_gives_up_and_counts_special_tokens():
    constraint = gw.compile(gw.Regex("[a-z]{50}"), BYTES)
    assert longest_path(constraint, constraint.start(), 60, fuel=20) is None
    vocabulary = gw.Vocabulary([b"a", None, b"<eos>"], {2}, special={"<b>": 1})
    constraint = gw.compile(gw.repeat(gw.special("<b>"), 0, 3), vocabulary)
    assert longest_path(constraint, constraint.start(), 9) == 3


def test_the_context_limits_the_text_and_is_full_at_last():
    model = FakeModel(BYTES, lambda prefix: [float(token == 97) for token in range(259)], context=5)
    done = generate(model, [Request((0, 1))])[0]
    assert (done.text, done.finish_reason) == ("aaa", "length")
    with pytest.raises(gw.LimitError, match="takes 5 tokens, and the model's context is 5") as e:
        generate(model, [Request((0, 1, 2, 3, 4))])
    assert e.value.limit == "context"
    with pytest.raises(gw.LimitError, match="needs 4 tokens, and max_new_tokens allows 3"):
        generate(model, [Request((0, 1), gw.compile(gw.Regex("a{4}"), BYTES))])
    other = gw.compile(gw.Regex("a"), gw.Vocabulary([b"a", b"<eos>"], eos_ids={1}))
    with pytest.raises(gw.ModelError, match="another vocabulary"):
        generate(model, [Request((0,), other)])
