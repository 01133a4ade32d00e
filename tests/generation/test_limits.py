"""No text is cut in half: what does not fit is refused before, what fits is brought to its end."""

from typing import Any

import pytest

import guideway as gw
from guideway.constraint.longest_path import longest_path
from guideway.generation.row.request import Request
from guideway.models.fake import FakeModel
from json_schemas import MANY_MEGABYTES
from whole_batches import generate

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b'": ', b"true", b"<eos>"], eos_ids={258})


def test_greedy_text_closes_within_the_budget():
    constraint = gw.compile(gw.Regex(r'"a*"'), BYTES)
    wants_a = FakeModel(BYTES, lambda prefix: [float(token == ord("a")) for token in range(259)])
    done = generate(wants_a, [Request((0,), constraint, gw.Sampling(max_new_tokens=6))])[0]
    assert (done.text, done.finish_reason) == ('"aaaa"', "length")


@pytest.mark.parametrize("inner", MANY_MEGABYTES)
def test_a_part_of_many_megabytes_is_not_begun(inner: dict[str, Any]):
    schema = {"type": "object", "properties": {"a": inner}, "additionalProperties": False}
    source = gw.JsonSchema(schema, whitespace="compact")
    constraint = gw.compile(source, BYTES, gw.Budget.untrusted())
    eager = FakeModel(
        BYTES, lambda prefix: [float(chr(t) in '{"a') if t < 128 else 0 for t in range(259)]
    )
    done = generate(eager, [Request((0,), constraint, gw.Sampling(max_new_tokens=60))])[0]
    assert (done.text, done.finish_reason) == ("{}", "length")


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("least", [1, 2, 5, 9])
def test_a_minimum_is_met_where_a_text_is_that_long(least: int, temperature: float | int):
    # "no" is what the model wants and is too short; the others have 3 and 5 to 9 letters.
    constraint = gw.compile(gw.Regex("no|yes|maybe!{0,4}"), BYTES)
    wants_no = FakeModel(BYTES, lambda prefix: [4.0 * (t in {*b"no"}) for t in range(259)])
    sampling = gw.Sampling(min_new_tokens=least, temperature=temperature, seed=least)
    done = generate(wants_no, [Request((0,), constraint, sampling)])[0]
    assert len(done.tokens) >= least
    assert constraint.matches(done.text)


def test_a_minimum_beyond_the_longest_text_is_refused():
    constraint = gw.compile(gw.Regex("no|yes|maybe!{0,4}"), BYTES)
    with pytest.raises(gw.LimitError, match="has 9 tokens, and min_new_tokens requires 10") as e:
        generate(
            FakeModel.random(BYTES), [Request((0,), constraint, gw.Sampling(min_new_tokens=10))]
        )
    assert (e.value.limit, e.value.needed, e.value.given) == ("min_new_tokens", 9, 10)


def test_a_minimum_and_a_maximum_meet():
    constraint = gw.compile(gw.Regex("(ab)+"), BYTES)
    for least, most in [(3, 4), (4, 4), (5, 7)]:
        sampling = gw.Sampling(min_new_tokens=least, max_new_tokens=most, seed=1)
        done = generate(FakeModel.random(BYTES), [Request((0,), constraint, sampling)])[0]
        assert least <= len(done.tokens) <= most
        assert constraint.matches(done.text)


def test_where_no_text_has_a_length_between_the_limits_a_whole_text_goes_first():
    constraint = gw.compile(gw.Regex("(ab)+"), BYTES)
    sampling = gw.Sampling(min_new_tokens=5, max_new_tokens=5, seed=1)
    done = generate(FakeModel.random(BYTES), [Request((0,), constraint, sampling)])[0]
    assert done.text == "abab"


@pytest.mark.parametrize(
    ("pattern", "enough", "longest"),
    [("abc", 9, 3), ("a?b?c?", 9, 3), ("a*", 9, 9), ("x|a{4}|b{2}", 9, 4), ("(a|bb|ccc){2}", 9, 6)],
)
def test_the_longest_path(pattern: str, enough: int, longest: int):
    constraint = gw.compile(gw.Regex(pattern), BYTES)
    assert longest_path(constraint, constraint.start(), enough) == longest


def test_a_search_for_the_longest_path_gives_up():
    constraint = gw.compile(gw.Regex("[a-z]{50}"), BYTES)
    assert longest_path(constraint, constraint.start(), 60, fuel=20) is None


def test_a_constraint_of_another_vocabulary_is_refused():
    constraint = gw.compile(gw.Regex("a"), gw.Vocabulary([b"a", b"<eos>"], eos_ids={1}))
    with pytest.raises(gw.ModelError, match="another vocabulary"):
        generate(FakeModel.random(BYTES), [Request((0,), constraint)])


def test_the_context_limits_the_text_and_is_full_at_last():
    model = FakeModel(BYTES, lambda prefix: [float(token == 97) for token in range(259)], context=5)
    done = generate(model, [Request((0, 1))])[0]
    assert (done.text, done.finish_reason) == ("aaa", "length")
    with pytest.raises(gw.LimitError, match="takes 5 tokens, and the model's context is 5") as e:
        generate(model, [Request((0, 1, 2, 3, 4))])
    assert e.value.limit == "context"
    constraint = gw.compile(gw.Regex("a{4}"), BYTES)
    with pytest.raises(gw.LimitError, match="needs 4 tokens, and max_new_tokens allows 3"):
        generate(model, [Request((0, 1), constraint)])


def test_special_tokens_count_among_what_can_follow():
    vocabulary = gw.Vocabulary([b"a", None, b"<eos>"], {2}, special={"<b>": 1})
    constraint = gw.compile(gw.repeat(gw.special("<b>"), 0, 3), vocabulary)
    assert longest_path(constraint, constraint.start(), 9) == 3
