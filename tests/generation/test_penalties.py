"""Settings that depend on what was drawn before, in whole generations."""

import math
from typing import Any

import pytest

from guideway.constraint.compile import compile as compile_source
from guideway.errors import DeadEndError, LimitError
from guideway.generation.row.request import Request
from guideway.generation.row.result import Result
from guideway.models.fake import FakeModel
from guideway.sampling.settings import Sampling
from guideway.sources.sources import Regex
from guideway.vocabulary.vocabulary import Vocabulary
from whole_batches import generate

LETTERS = Vocabulary([b"a", b"b", b"c", b"d", b"\n", b"<end>"], eos_ids={5})
A, B, C, D, LINE, END = range(6)


def always(*logits: float) -> FakeModel:
    """A model that says the same whatever was before."""
    return FakeModel(LETTERS, lambda prefix: logits)


def text(model: FakeModel, prompt: tuple[int, ...] = (D,), **settings: object) -> str:
    return one(model, prompt, **settings).text


def one(
    model: FakeModel, prompt: tuple[int, ...] = (D,), pattern: str | None = None, **settings: object
) -> Result:
    constraint = None if pattern is None else compile_source(Regex(pattern), model.vocabulary)
    given = {"max_new_tokens": 8, **settings}
    return generate(model, [Request(prompt, constraint, Sampling.of(given))])[0]


SLOPE = always(4, 3, 2, 1, 0, -9)


@pytest.mark.parametrize(
    ("prompt", "pattern", "settings", "expected"),
    [
        ((A,), None, {"repetition_penalty": 4.0}, "bc"),  # it counts the prompt
        ((A,), None, {"presence_penalty": 1.5}, "aba"),  # and this does not
        ((A,), None, {"flat_penalty": 1.5}, "baa"),
        ((D,), None, {"frequency_penalty": 0.4}, "aaababab"),  # it grows with each time
        ((D,), None, {"logit_bias": {B: 2}}, "bb"),
        ((D,), None, {"sequence_bias": {(A, C): 9.0}}, "acac"),
        ((D,), None, {"logit_bias": {"ad": 9}}, "adad"),
        ((D,), None, {"logit_bias": lambda said: {len(said) % 4: 9}}, "abcdabcd"),
        ((D,), "(ab){4}", {"no_repeat_ngram_size": 1}, "abababab"),  # the constraint asks for it
        ((D,), "(a|b){3}c", {"no_repeat_ngram_size": 1}, "abac"),
        ((D,), None, {"no_repeat_ngram_size": 2}, "aabacadbbcbd"),
    ],
)
def test_what_was_drawn_before_counts(
    prompt: tuple[int, ...], pattern: str | None, settings: dict[str, Any], expected: str
):
    assert text(SLOPE, prompt, pattern=pattern, max_new_tokens=len(expected), **settings) == (
        expected
    )


def test_bad_words_never_come_whatever_the_tokens():
    syllables = Vocabulary([b"a", b"b", b"ab", b"ba", b"c", b"<end>"], eos_ids={5})
    model = FakeModel.random(syllables, 4)
    for seed in range(30):
        request = Request((0,), None, Sampling(seed=seed, bad_words_ids=["ab", [4, 4]]))
        done = generate(model, [request])[0]
        assert "ab" not in done.text
        assert "cc" not in done.text


def test_where_only_a_bad_word_is_left_that_is_a_dead_end_that_names_it():
    with pytest.raises(DeadEndError, match="step 1: bad_words_ids forbid the rest: 'ab'"):
        text(SLOPE, pattern="ab", bad_words_ids=["ab"])
    # What is forbidden for good comes before what is only avoided.
    said = text(SLOPE, (C,), pattern="(a|b|c){2}", bad_words_ids=[[A], [B]], no_repeat_ngram_size=1)
    assert said == "cc"
    with pytest.raises(LimitError, match="has the end id 5"):
        text(SLOPE, bad_words_ids=[[END]])
    many = [[A], [B], [0, 1, 2], "x", "y", "z"]
    with pytest.raises(DeadEndError, match=r"the rest: \[0\], \[1\], \[0, 1, 2\], 'x', 'y', …$"):
        text(SLOPE, pattern="[ab]", bad_words_ids=many)


def test_dry_breaks_a_loop_and_counts_the_prompt():
    def loop(prefix: tuple[int, ...]) -> list[float]:
        row = [0.0, 0.0, 0.0, -1.0, -2.0, -20.0]
        row[(prefix[-1] + 1) % 3] = 4.0
        return row

    model = FakeModel(LETTERS, loop)
    assert text(model, (A, B, C, A, B)) == "cabcabca"
    held = text(model, (A, B, C, A, B), dry_multiplier=5.0)
    assert not held.startswith("c")
    # What continues no sequence of two tokens is free.
    assert text(model, (A, B, C), dry_multiplier=5.0, max_new_tokens=2) == "ab"


def test_xtc_leaves_ends_of_texts_and_lines():
    settings = {"xtc_probability": 1.0, "xtc_threshold": 0.1}
    model = always(4, 3.5, 3, -9, 3.2, 3.4)
    said = {text(model, max_new_tokens=1, seed=seed, **settings) for seed in range(60)}
    assert said == {"c", "\n", ""}


def test_xtc_acts_as_often_as_it_is_asked_to():
    model = always(2, 1.9, -9, -9, -9, -9)
    draws = "".join(
        text(model, xtc_probability=0.3, xtc_threshold=0.1, seed=seed, max_new_tokens=20)
        for seed in range(30)
    )
    share = math.exp(2) / (math.exp(2) + math.exp(1.9))
    assert draws.count("a") / len(draws) == pytest.approx(0.7 * share, abs=0.06)


def test_mirostat_holds_the_surprise_of_a_generation():
    wide = Vocabulary([*(f"<{n}>".encode() for n in range(200)), b"<end>"], eos_ids={200})
    logits = [-1.3 * math.log(rank) for rank in range(1, 201)] + [-30.0]
    model = FakeModel(wide, lambda prefix: logits)
    for mode in (1, 2):
        settings = Sampling(mirostat_mode=mode, mirostat_tau=3.0, seed=2, max_new_tokens=300)
        done = generate(model, [Request((0,), None, settings)])[0]
        bits = [-logprob / math.log(2) for logprob in done.logprobs]
        assert sum(bits) / len(bits) == pytest.approx(3.0, abs=0.2)


def test_each_row_has_its_own_constraint_settings_and_past():
    model = FakeModel.random(LETTERS, 9, scale=2.0)
    each: list[dict[str, object]] = [
        {},
        {"repetition_penalty": 1.3, "seed": 1},
        {"presence_penalty": 1.0, "frequency_penalty": 0.5},
        {"dry_multiplier": 1.0, "temperature": 0.8, "seed": 2},
        {"no_repeat_ngram_size": 2, "flat_penalty": 0.3},
        {"logit_bias": {"b": 1.0}, "bad_words_ids": ["aa"], "top_p": 0.9, "seed": 3},
        {"mirostat_mode": 1, "seed": 4, "mirostat_tau": 1.0},
        {"mirostat_mode": 2, "seed": 4, "mirostat_tau": 1.0, "order": "llama.cpp"},
        {"xtc_probability": 0.5, "seed": 5, "order": ["xtc", "top_k"], "top_k": 4},
    ]
    patterns = [None, "[a-d]{3,9}", "a+", "(ab)*c"]
    constraints = [None if p is None else compile_source(Regex(p), LETTERS) for p in patterns]
    requests = [
        Request(
            (n % 4, A, B)[: 3 - n % 2],
            constraints[n % 4],
            Sampling.of({"max_new_tokens": 6 + n, **settings}),
        )
        for n, settings in enumerate(each)
    ]
    together = generate(model, requests)
    assert together == [generate(model, [request])[0] for request in requests]
    assert generate(model, []) == []
