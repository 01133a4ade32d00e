"""The laws of a random draw."""

import math

import numpy as np
import pytest
import torch

from guideway.sampling.noise import categorical


def some_rows(count: int) -> torch.Tensor:
    row = torch.randn(count, 60, generator=torch.Generator().manual_seed(1)) * 4
    row[torch.rand(count, 60, generator=torch.Generator().manual_seed(2)) < 0.6] = -math.inf
    row[:, 0] = -30.0
    return row


def test_what_is_drawn_may_be_drawn():
    row = some_rows(500)
    drawn = categorical(row, torch.arange(500))
    assert (row.gather(1, drawn[:, None]) > -math.inf).all()


def test_a_draw_depends_on_its_row_and_key_alone():
    row, key = some_rows(20), torch.arange(20)
    together = categorical(row, key)
    assert torch.equal(categorical(row, key), together)
    order = torch.tensor([3, 19, 0])
    assert torch.equal(categorical(row[order], key[order]), together[order])


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
