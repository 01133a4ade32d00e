"""A result never hides a cut: "stop" means that a larger budget gives the same text.

The oracle is the same generation with a budget that no text needs.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

import pytest
import torch

import guideway as gw
from guideway.models.fake import FakeModel

VOCABULARY: Final = gw.Vocabulary(
    [bytes([b]) for b in b'0123456789"abc:{},.'] + [b"<eos>"], eos_ids={19}
)
RECORD: Final = gw.Regex(r'\{"a":"[abc]*"(,"b":[0-9]+(\.[0-9]{2})?)?\}')
SOURCES: Final = {"record": RECORD, "open": RECORD | gw.Regex("[0-9]{2,}"), "free": None}
AMPLE: Final = 60
TIGHT: Final = (9, 11, 15)
SEEDS: Final = range(6)
DRAWS: Final[dict[str, dict[str, Any]]] = {
    "greedy": {},
    "drawn": {"temperature": 1.0},
    "filtered": {"temperature": 1.5, "top_k": 4, "top_p": 0.9},
    "contrastive": {"penalty_alpha": 0.4},
    "stochastic beams": {"num_beams": 3, "stochastic_beams": True},
    "asap": {"exactness": "asap"},
}
"""Where the choice at each step is one token, or noise decides it: the law is exact."""
SEARCHES: Final[dict[str, dict[str, Any]]] = {
    "beams": {"num_beams": 3, "length_penalty": 0.0},
    "beams of long texts": {"num_beams": 3, "length_penalty": 1.0},
    "beams of longer texts": {"num_beams": 3, "length_penalty": 2.0, "early_stopping": True},
    "beams of short texts": {"num_beams": 3, "length_penalty": -1.0},
    "drawn beams": {"num_beams": 3, "temperature": 1.0},
    "best of three": {"best_of": 3, "temperature": 1.0},
    "smc": {"exactness": "smc", "particles": 4},
}


def states(prefix: tuple[int, ...]) -> torch.Tensor:
    return torch.sin(torch.arange(1.0, 9.0) * (1 + sum(prefix[-3:])))


def model(seed: int) -> gw.Model:
    function = FakeModel.random(VOCABULARY, seed, scale=2.0)._functions[0]
    return gw.Model(FakeModel(VOCABULARY, function, states=states))


def texts(seed: int, source: Any, how: dict[str, Any], most: int) -> gw.Result:
    drawn = how.keys() & {"temperature", "stochastic_beams", "exactness"}
    seeded = {"seed": seed} if drawn else {}
    return model(seed).generate("0", source, max_new_tokens=most, **how, **seeded)


def common(one: Sequence[int], other: Sequence[int]) -> int:
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))])


@pytest.mark.parametrize(
    ("name", "kind"), [*((name, "record") for name in DRAWS), ("drawn", "open"), ("drawn", "free")]
)
def test_a_text_is_shortened_exactly_where_a_larger_budget_gives_another(name: str, kind: str):
    seen = set[bool]()
    for seed in SEEDS:
        ample = texts(seed, SOURCES[kind], DRAWS[name], AMPLE)
        for most in TIGHT:
            tight = texts(seed, SOURCES[kind], DRAWS[name], most)
            same = common(tight.tokens, ample.tokens)
            whole = tight.finish_reason == "stop"
            if kind != "free":
                assert tight.shortened is not whole
                assert gw.compile(SOURCES[kind], VOCABULARY).matches(tight.text)
            seen.add(whole)
            if whole:
                assert tight.tokens == ample.tokens
            elif kind == "free":
                assert same == len(tight.tokens) == most
            elif len(tight.tokens) < most or tight.text.endswith("}"):
                assert same < len(tight.tokens)
    assert False in seen or kind == "open"


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_says_where_the_budget_changed_what_it_found(name: str):
    seen = set[bool]()
    for seed in SEEDS:
        ample = texts(seed, RECORD, SEARCHES[name], AMPLE)
        seen.add(ample.shortened)
        for most in TIGHT:
            tight = texts(seed, RECORD, SEARCHES[name], most)
            seen.add(tight.shortened)
            assert gw.compile(RECORD, VOCABULARY).matches(tight.text)
            assert (tight.value, tight.shortened) == (tight.text, tight.finish_reason == "length")
            if not tight.shortened:
                assert tight.tokens == ample.tokens
    assert seen == {True, False}


def test_rejection_says_from_which_text_on_the_budget_refused_one():
    free = FakeModel(VOCABULARY, lambda _: [0.0] * 20)
    how = {"exactness": "rejection", "num_return_sequences": 12, "max_attempts": 10_000}
    for seed in SEEDS:
        tight, ample = (
            gw.Model(free).generate(
                "0", gw.Regex("a(b|bb)c"), max_new_tokens=most, seed=seed, **how
            )
            for most in (3, 4)
        )
        assert {result.text for result in tight} == {"abc"}
        begin = [result.shortened for result in tight].index(True)
        assert all(result.shortened for result in tight[begin:])
        assert [r.tokens for r in tight[:begin]] == [r.tokens for r in ample[:begin]]
        assert not any(result.shortened for result in ample)


def written(text: str) -> gw.Model:
    """A model that wants this text after the prompt "0", and then the end."""
    wanted = [VOCABULARY.tokens.index(bytes([b])) for b in text.encode()] + [19]

    def logits(prefix: tuple[int, ...]) -> list[float]:
        row = [0.0] * VOCABULARY.width
        row[wanted[min(len(prefix) - 1, len(wanted) - 1)]] = 9.0
        row[VOCABULARY.tokens.index(b"}")] += 1.0
        return row

    return gw.Model(FakeModel(VOCABULARY, logits))


@pytest.mark.parametrize(
    ("wanted", "source", "most", "text", "reason"),
    [
        ("34", gw.Regex("3|34"), 1, "3", "length"),  # it could go on
        ("34", gw.Regex("3"), 1, "3", "stop"),
        ('{"a":"","b":34}', RECORD, 13, None, "length"),  # too short for anything
        ('{"a":"","b":34}', RECORD, 14, '{"a":"","b":3}', "length"),
        ('{"a":"","b":34}', RECORD, 15, '{"a":"","b":34}', "stop"),
        ('{"a":"","b":34}', RECORD, 16, '{"a":"","b":34}', "stop"),
    ],
)
def test_the_age_of_34_is_not_3(wanted: str, source: Any, most: int, text: str | None, reason: str):
    tight, ample = (
        written(wanted).generate("0", source, max_new_tokens=count) for count in (most, 40)
    )
    assert tight.finish_reason == reason
    if text is not None:
        assert tight.text == text
        same = common(tight.tokens, ample.tokens)  # the budget changes no probability
        assert tight.logprobs[:same] == pytest.approx(ample.logprobs[:same])


def test_where_the_context_leaves_less_room_it_is_a_cut_as_well():
    full = FakeModel.random(VOCABULARY, 0, scale=2.0)._functions[0]
    small = gw.Model(FakeModel(VOCABULARY, full, context=10))
    wide = gw.Model(FakeModel(VOCABULARY, full))
    assert small.generate("0", RECORD) == wide.generate("0", RECORD, max_new_tokens=9)
    *_, last = wide.stream("0", RECORD, max_new_tokens=9)
    assert last.result == small.generate("0", RECORD)
    assert small.generate("0", RECORD).shortened
