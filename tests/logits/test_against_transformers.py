"""The whole chain beside transformers' own processors: 10,000 rows, equal to the last bit.

They may differ where a set has its rim at a tie: a tie is where transformers itself gives another
set once its parameters are moved by a few millionths, up or down, or computes in float64.
"""

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers.generation import logits_process as theirs

from guideway.generation.draw import Penalties
from guideway.logits.warp import Warps, warp
from guideway.sampling.history import History, Rules
from guideway.sampling.settings import Sampling
from guideway.vocabulary.vocabulary import Vocabulary

pytestmark = pytest.mark.usefixtures("form")

CPU = torch.device("cpu")
WIDTH = 400
LETTERS = Vocabulary([*(f"<{n}>".encode() for n in range(WIDTH - 1)), b"<end>"], {WIDTH - 1})


# A processor, its greatest argument (None: of whole steps, and not at a rim), and what is drawn.
FILTERS: dict[str, tuple[Callable[[Any], Any], float | None, Callable[[random.Random], float]]] = {
    "temperature": (theirs.TemperatureLogitsWarper, None, lambda draw: draw.uniform(0.3, 2.0)),
    "top_h": (theirs.TopHLogitsWarper, 1.0, lambda draw: draw.uniform(0.1, 0.95)),
    "top_k": (theirs.TopKLogitsWarper, None, lambda draw: draw.randint(1, 80)),
    "top_p": (theirs.TopPLogitsWarper, 1.0, lambda draw: draw.uniform(0.1, 0.99)),
    "min_p": (theirs.MinPLogitsWarper, 1.0, lambda draw: draw.uniform(0.001, 0.4)),
    "typical_p": (theirs.TypicalLogitsWarper, 0.9999, lambda draw: draw.uniform(0.1, 0.97)),
    "epsilon_cutoff": (theirs.EpsilonLogitsWarper, 1.0, lambda draw: draw.uniform(1e-4, 0.05)),
    "eta_cutoff": (theirs.EtaLogitsWarper, 1.0, lambda draw: draw.uniform(1e-4, 0.05)),
}


def filters(on: dict[str, float], nudge: float) -> theirs.LogitsProcessorList:
    """What transformers puts together for these stages, in its order."""
    made = theirs.LogitsProcessorList()
    for name, (make, most, _) in FILTERS.items():
        if name in on:
            value = on[name]
            made.append(make(value if most is None else min(most, value * (1 + nudge))))
    return made


def some_settings(chance: random.Random) -> dict[str, float]:
    names = chance.sample(list(FILTERS), chance.choice([1, 1, 2, 3, 8]))
    return {name: FILTERS[name][2](chance) for name in names}


def some_penalties(chance: random.Random) -> dict[str, object]:
    token = lambda: chance.randrange(12)  # noqa: E731
    bias = {
        tuple(token() for _ in range(chance.randint(1, 3))): chance.uniform(-3, 3) for _ in range(9)
    }
    words = [[token() for _ in range(chance.randint(1, 3))] for _ in range(4)]
    every: dict[str, object] = {
        "sequence_bias": bias,
        "repetition_penalty": chance.uniform(0.8, 1.5),
        "no_repeat_ngram_size": chance.randint(1, 4),
        "bad_words_ids": words,
    }
    names = chance.sample(list(every), chance.randint(0, 4))
    return {name: every[name] for name in names}


def processors(settings: dict[str, Any]) -> theirs.LogitsProcessorList:
    makers: dict[str, Callable[[Any], Any]] = {
        "sequence_bias": theirs.SequenceBiasLogitsProcessor,
        "repetition_penalty": theirs.RepetitionPenaltyLogitsProcessor,
        "no_repeat_ngram_size": theirs.NoRepeatNGramLogitsProcessor,
        "bad_words_ids": lambda words: theirs.NoBadWordsLogitsProcessor(words, WIDTH - 1),
    }
    given = [make(settings[name]) for name, make in makers.items() if name in settings]
    return theirs.LogitsProcessorList(given)


def summed(settings: dict[str, object], prompt: torch.Tensor) -> torch.Tensor:
    """Where three or more biases are added up: of two, the sum has one value in any order."""
    counts = torch.zeros(len(prompt), WIDTH)
    biases: Any = settings.get("sequence_bias", {})
    for sequence in biases:
        *before, last = sequence
        start = prompt.shape[1] - len(before)
        counts[:, last] += (prompt[:, start:] == torch.tensor(before, dtype=torch.int64)).all(1)
    return counts >= 3


def same_but_for_sums(ours: torch.Tensor, exact: torch.Tensor, summed: torch.Tensor) -> None:
    """Equal to the last bit, but for the order in which biases are added up.

    transformers 5.17 has another order than 5.23.
    """
    assert torch.equal(ours[~summed], exact[~summed])
    # Nine biases of at most 3, a penalty of at most 1.5: each sum is rounded to 2⁻²⁴ of it.
    torch.testing.assert_close(ours[summed], exact[summed], rtol=2**-22, atol=9 * 27 * 1.5 * 2**-24)


@pytest.mark.parametrize("seed", range(10))
def test_the_chain_is_that_of_transformers_to_the_last_bit_outside_ties(seed: int):
    chance = random.Random(seed)
    noise = torch.Generator().manual_seed(seed)
    rows, ties = 50, 0
    for _ in range(20):
        on, before = some_settings(chance), some_penalties(chance)
        prompt = torch.tensor([[chance.randrange(12) for _ in range(9)] for _ in range(rows)])
        row = torch.randn(rows, WIDTH, generator=noise) * chance.choice([0.5, 2.0, 4.0])
        row[::3, 40:] = -math.inf  # a constraint has been there
        rules = Rules.of(Sampling.of(before), LETTERS)
        histories = [History.begin(rules, each) for each in prompt.tolist()]
        penalised = Penalties.of([rules] * rows, CPU).apply(row, histories)
        expected = processors(before)(prompt, row.clone())
        same_but_for_sums(penalised, expected, summed(before, prompt))
        settings = Sampling.of(on)
        ours = warp(expected, Warps.of([(settings.stages, settings.warps)] * rows, CPU)).row
        exact = filters(on, 0.0)(prompt, expected)
        others = [filters(on, nudge)(prompt, expected.double()) for nudge in (-4e-6, 0.0, 4e-6)]
        clear = torch.stack([((o > -math.inf) == (exact > -math.inf)).all(1) for o in others]).all(
            0
        )
        ties += int((~clear).sum())
        assert torch.equal(ours[clear], exact[clear]), on
    assert ties < 20 * rows * 0.02
