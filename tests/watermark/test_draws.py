"""SynthID and Gumbel marks: on average over keys nothing changes, and detectors know the law."""

import math

import numpy as np
import pytest
import torch

from guideway.sampling.noise import categorical
from guideway.watermark.evidence import evidence
from guideway.watermark.scheme import Scheme, numbers, row_keys, tournament

FRUIT = torch.tensor([0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05])
EULER = 0.5772156649


def contexts(count: int) -> torch.Tensor:
    return torch.arange(count * 4).view(count, 4)


@pytest.mark.parametrize("depth", [1, 5, 30])
def test_a_tournament_changes_nothing_on_average_over_keys(depth: int) -> None:
    scheme = Scheme(3, "synthid", 4)
    row = FRUIT.log().expand(20_000, 7)
    each = numbers(scheme, contexts(20_000), None, 7)
    after = tournament(row, each, torch.zeros_like(row).bool(), depth).exp()
    assert torch.allclose(after.sum(1), torch.ones(20_000), atol=1e-4)
    spread = after.std(0) / math.sqrt(20_000)
    assert ((after.mean(0) - FRUIT).abs() < 4 * spread + 1e-6).all()


def test_the_bit_of_one_layer_is_1_with_half_and_a_quarter_of_the_collisions_missing() -> None:
    each = numbers(Scheme(5, "synthid", 4), contexts(40_000), None, 7)
    row = FRUIT.log().expand(40_000, 7)
    after = tournament(row, each, torch.zeros_like(row).bool(), 1).exp()
    found = float((after * (each & 1)).sum(1).mean())
    assert found == pytest.approx(0.5 + 0.25 * (1 - float((FRUIT**2).sum())), abs=0.006)


def test_a_tournament_keeps_ends_and_what_may_not_be_drawn() -> None:
    row = torch.randn(200, 9, generator=torch.Generator().manual_seed(1))
    row[:, 4] = -math.inf
    ends = torch.zeros(200, 9, dtype=torch.bool)
    ends[:, 8] = True
    each = numbers(Scheme(5, "synthid", 4), contexts(200), None, 9)
    after = tournament(row, each, ends, 30)
    assert not after.isnan().any()
    assert torch.equal(after[:, 4], row[:, 4])
    assert torch.allclose(after.softmax(1)[:, 8], row.softmax(1)[:, 8], rtol=1e-3)
    assert (after > -math.inf).any(1).all()
    only = row.masked_fill(~ends, -math.inf)
    assert torch.equal(tournament(only, each, ends, 30), only)


def test_gumbel_marks_draw_each_token_with_its_probability_over_keys() -> None:
    scheme = Scheme(7, "gumbel", 4)
    count = 50_000
    tokens = categorical(FRUIT.log().expand(count, 7), row_keys(scheme, contexts(count)))
    seen = torch.bincount(tokens, minlength=7)
    chi = float(((seen - count * FRUIT) ** 2 / (count * FRUIT)).sum())
    assert chi < 16.81  # 1 % of chi-square with 6 degrees of freedom


def test_the_score_of_a_gumbel_mark_has_the_mean_of_its_formula() -> None:
    scheme = Scheme(8, "gumbel", 1)
    count = 30_000
    tokens = categorical(
        FRUIT.log().expand(count, 7), row_keys(scheme, torch.arange(count)[:, None])
    )
    # A text in which each context stands before its token; the tokens themselves are passed over.
    text = torch.stack([torch.arange(count), tokens], 1).flatten().tolist()
    found = evidence(scheme, text, [n % 2 == 0 for n in range(len(text))], once=False)
    exact = float((FRUIT * (torch.digamma(1 + 1 / FRUIT) + EULER)).sum())
    entropy = -float((FRUIT * FRUIT.log()).sum())
    assert found.share == pytest.approx(exact, abs=0.03)
    assert exact >= 1 + (math.pi**2 / 6 - 1) * entropy


@pytest.mark.parametrize("kind", ["gumbel", "synthid"])
def test_without_a_mark_p_is_uniform(kind: str) -> None:
    noise = np.random.default_rng(2)
    ps = list[float]()
    for key in range(200):
        tokens = noise.integers(0, 5000, 60).tolist()
        ps.append(evidence(Scheme(key, kind, 4, depth=20), tokens, [False] * 60).p)
    ordered = np.sort(ps)
    steps = np.arange(1, 201) / 200
    assert np.abs(ordered - steps).max() < 1.63 / math.sqrt(200) + 0.025  # bits come in steps


def test_a_context_that_came_before_counts_once_for_marks_of_contexts() -> None:
    text = [1, 2, 3, 4, 5, 1, 2, 3, 4, 6, 1, 2, 3, 4, 5]
    found = evidence(Scheme(3, "gumbel", 4), text, [False] * len(text))
    assert found.places.tolist() == [4, 5, 6, 7, 8, 10, 11, 12, 13]
    assert found.repeated == 2
