"""The laws of samplers, on both, and what each promises beyond them."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from guideway.sampling.noise import categorical, greedy

Sampler = Callable[..., torch.Tensor]
SAMPLERS: list[Sampler] = [lambda row, key, ids=None: greedy(row, ids), categorical]


def some_rows(count: int) -> torch.Tensor:
    row = torch.randn(count, 60, generator=torch.Generator().manual_seed(1)) * 4
    row[torch.rand(count, 60, generator=torch.Generator().manual_seed(2)) < 0.6] = -math.inf
    row[:, 0] = -30.0
    return row


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_what_is_drawn_may_be_drawn(sampler: Sampler):
    row = some_rows(500)
    drawn = sampler(row, torch.arange(500))
    assert (row.gather(1, drawn[:, None]) > -math.inf).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_draw_depends_on_its_row_and_key_alone(sampler: Sampler):
    row, key = some_rows(20), torch.arange(20)
    together = sampler(row, key)
    assert torch.equal(sampler(row, key), together)
    order = torch.tensor([3, 19, 0])
    assert torch.equal(sampler(row[order], key[order]), together[order])


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_draw_from_some_tokens_is_that_from_the_whole_row(sampler: Sampler):
    row, key = some_rows(200), torch.arange(200)
    ids = row.topk(40).indices.sort(1).values
    some = sampler(row.gather(1, ids), key, ids)
    assert torch.equal(
        some, sampler(row.masked_fill(row < row.topk(40).values[:, -1:], -math.inf), key)
    )


def test_greedy_takes_the_largest():
    assert torch.equal(greedy(some_rows(9)), some_rows(9).argmax(1))


@pytest.mark.parametrize("far", [0.0, 1e6, -1e6])
def test_frequencies_are_the_probabilities(far: float):
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0, -math.inf, 0.5, -6.0]) + far
    count = 200_000
    drawn = categorical(logits.expand(count, 7), torch.arange(count) * 977)
    found = np.bincount(drawn.numpy(), minlength=7)
    expected = logits.softmax(0).double().numpy() * count
    assert found[4] == 0
    there = expected > 0
    chi_squared = ((found - expected)[there] ** 2 / expected[there]).sum()
    assert chi_squared < 20.5  # 5 degrees of freedom, 0.1 %


def test_a_token_drawn_from_a_set_is_drawn_from_a_smaller_one_that_holds_it():
    row, key = some_rows(300), torch.arange(300)
    drawn = categorical(row, key)
    smaller = row.clone()
    smaller[:, 30:] = -math.inf
    kept = drawn < 30
    assert torch.equal(categorical(smaller, key)[kept], drawn[kept])
