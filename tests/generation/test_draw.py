"""Every combination of settings on ties, −∞ and extremes: what is drawn may be drawn."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from guideway.automaton.token_tries import pack
from guideway.errors import DeadEndError, ModelError
from guideway.generation.draw import Drawn, Plan, draw
from guideway.generation.row.request import Request
from guideway.logits.mask import unpack, upload
from guideway.logits.rows import Rows
from guideway.sampling.history import History, Rules
from guideway.sampling.settings import Sampling
from guideway.vocabulary.vocabulary import Vocabulary

WIDTH = 300
END = WIDTH - 1
WORDS = Vocabulary([*(f"<{n}>".encode() for n in range(END)), b"<end>"], eos_ids={END})
ROWS = 8
CPU = torch.device("cpu")

HEATS = [{"temperature": 0}, {"temperature": 0.7}, {"temperature": 1e5}, {"temperature": 1e-30}]
FILTERS = [
    {}, {"top_k": 5}, {"top_p": 0.5}, {"min_p": 0.2}, {"typical_p": 0.3}, {"epsilon_cutoff": 0.01},
    {"eta_cutoff": 0.1}, {"top_h": 0.4}, {"top_n_sigma": 1.0}, {"mirostat_mode": 1},
    {"mirostat_mode": 2, "mirostat_tau": 1.0}, {"xtc_probability": 1.0, "xtc_threshold": 0.01},
    {"xtc_probability": 1.0, "xtc_threshold": 0},
    {"top_k": 9, "top_p": 0.9, "min_p": 0.01, "typical_p": 0.9, "top_n_sigma": 3.0,
     "xtc_probability": 0.5, "mirostat_mode": 2},
]  # fmt: skip
PAST = [
    {},
    {"repetition_penalty": 50.0, "presence_penalty": 2, "frequency_penalty": -1e30},
    {
        "flat_penalty": 1e38,
        "dry_multiplier": 1e6,
        "dry_allowed_length": 1,
        "logit_bias": {3: -1e38},
    },
    {"no_repeat_ngram_size": 1, "bad_words_ids": [[4, 5], "<6"]},
]


def some_logits() -> torch.Tensor:
    noise = torch.Generator().manual_seed(2)
    logits = torch.randn(ROWS, WIDTH, generator=noise) * 4
    logits[1] = logits[1].round()  # ties
    logits[2] = 0.0
    logits[3, 50:] = -math.inf
    logits[4] = -3e38
    logits[4, 7] = 3e38
    logits[5, 1:] -= 200
    logits[6] *= 1e6
    return logits


def some_masks() -> list[np.ndarray]:
    chance = np.random.default_rng(3)
    masks = [
        sorted(chance.choice(50, size, replace=False)) for size in (1, 2, 9, 30, 50, 50, 5, 50)
    ]
    return [pack([int(token) for token in mask], WIDTH) for mask in masks]


def drawn(
    settings: dict[str, object], logits: torch.Tensor, masks: list[np.ndarray], step: int = 0
) -> tuple[Drawn, dict[str, torch.Tensor]]:
    sampling = Sampling.of(settings)
    rules = Rules.of(sampling, WORDS)
    histories = [History.begin(rules, [1, 2, 3, 1, 2, row]) for row in range(len(masks))]
    histories = [history.after(2) for history in histories]
    requests = [Request((0,), None, sampling, sample=row) for row in range(len(masks))]
    plan = Plan.of(requests, histories, CPU)
    seen: dict[str, torch.Tensor] = {}
    steps = [step] * len(masks)
    allowed = unpack(upload(masks, WIDTH, CPU), WIDTH)
    rows = Rows.whole(logits)
    return draw(rows, allowed, plan, histories, steps, seen.__setitem__), seen


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("heat", HEATS, ids=str)
def test_no_combination_draws_what_is_masked_or_impossible(
    heat: dict[str, object], kind: torch.dtype
):
    logits, masks = some_logits().to(kind), some_masks()
    for step, (settings, past) in enumerate(product(FILTERS, PAST)):
        given = {**settings, **heat, **past, "seed": 5}
        done, seen = drawn(given, logits, masks, step)
        for row, token in enumerate(done.tokens):
            assert masks[row][token >> 5] >> (token & 31) & 1, given
            assert logits[row, token] > -math.inf, given
        for name, rows in seen.items():
            assert not rows.isnan().any(), (given, name)
            assert (rows > -math.inf).any(1).all(), (given, name)


@pytest.mark.parametrize("settings", FILTERS, ids=str)
def test_extremes_are_drawn_where_they_must_be(settings: dict[str, object]):
    everything, xtc_off = [pack(list(range(WIDTH)), WIDTH)] * ROWS, {"xtc_probability": 0}
    for heat, best in ((1e-20, 1e19), (0.7, 3e38)):  # where a temperature overflows
        logits = torch.zeros(ROWS, WIDTH)
        logits[:, 3], logits[:, 8] = best * 0.9, best
        given = {**settings, **xtc_off, "temperature": heat, "seed": 5}
        assert drawn(given, logits, everything)[0].tokens == [8] * ROWS
    logits = torch.full((ROWS, WIDTH), 3e38)  # all but impossible, and nothing else is allowed
    logits[:, 8] = -3e38
    done, _ = drawn({**settings, "temperature": 5, "seed": 5}, logits, [pack([8], WIDTH)] * ROWS)
    assert done.tokens == [8] * ROWS
    assert all(map(math.isfinite, (*done.logprobs, *done.log_allowed)))


def test_where_a_temperature_overflows_ties_are_drawn_alike():
    logits = torch.zeros(400, WIDTH)
    logits[:, [3, 8]] = 3e38
    done, _ = drawn({"temperature": 0.7, "seed": 5}, logits, [pack([3, 4, 8], WIDTH)] * 400)
    assert 150 < done.tokens.count(3) < 250
    assert set(done.tokens) == {3, 8}


@pytest.mark.parametrize("settings", FILTERS, ids=str)
def test_a_row_without_numbers_or_without_probability_is_an_error(settings: dict[str, object]):
    logits, masks = some_logits(), some_masks()
    masks[3] = pack([60, 70], WIDTH)
    for bad in (math.nan, math.inf):
        logits[2, 9] = bad
        done, _ = drawn({**settings, "seed": 1}, logits, masks)
        assert [*done.errors] == [2, 3]
        assert isinstance(done.errors[2], ModelError)
        assert "infinite logits at step 0" in str(done.errors[2])
        assert isinstance(done.errors[3], DeadEndError)
        assert "no token is left at step 0: the model gives" in str(done.errors[3])


def test_each_stage_is_seen_in_its_order_and_nothing_that_is_off():
    given: dict[str, object] = {"logit_bias": {1: 1}, "repetition_penalty": 2, "flat_penalty": 1}
    given |= {"frequency_penalty": 1, "dry_multiplier": 1, "bad_words_ids": [[9]]}
    given |= {"no_repeat_ngram_size": 3, "temperature": 2, "top_k": 50, "top_p": 0.9}
    given |= {"mirostat_mode": 2, "order": ["top_p", "temperature", "top_k", "mirostat"]}
    _, seen = drawn(given, some_logits(), some_masks())
    assert list(seen) == [
        "constraint", "logit_bias", "repetition_penalty", "presence_frequency", "flat_penalty",
        "dry",
        "bad_words_ids", "no_repeat_ngram_size", "top_p", "temperature", "top_k", "mirostat",
    ]  # fmt: skip
    assert all(rows.shape == (ROWS, WIDTH) for rows in seen.values())
    _, seen = drawn({"seed": 1}, some_logits(), some_masks())
    assert list(seen) == ["constraint"]


def test_mirostat_learns_nothing_from_a_token_without_a_choice():
    done, _ = drawn({"mirostat_mode": 2, "seed": 1}, some_logits(), some_masks())
    assert done.surprises[0] is None
    assert all(bits is not None and bits >= 0 for bits in done.surprises[1:] if bits)
    done, _ = drawn({"seed": 1}, some_logits(), some_masks())
    assert done.surprises == [None] * ROWS
