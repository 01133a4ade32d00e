import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guideway.sampling.noise import MASK64, _mix, gumbel, keys, mix, signed, stream, streams

CPU = torch.device("cpu")


@given(st.integers(0, MASK64))
def test_tensors_are_mixed_as_integers_are(bits: int):
    assert _mix(torch.tensor([signed(bits)])).item() == signed(mix(bits))


def test_mixing_gives_the_published_numbers_of_splitmix64():
    # The first outputs of Vigna's splitmix64.c from the seed 1234567.
    weyl = 0x9E3779B97F4A7C15
    first = [mix(1234567 + n * weyl) for n in range(1, 4)]
    assert first == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_noise_is_gumbel():
    noise = np.sort(gumbel(torch.arange(20), 10_000).double().numpy().ravel())
    expected = np.exp(-np.exp(-noise))
    distance = np.abs(expected - np.arange(1, noise.size + 1) / noise.size).max()
    assert distance < 1.63 / math.sqrt(noise.size)  # Kolmogorov, 1 %


def test_noise_is_finite_and_that_of_a_token_does_not_depend_on_the_width():
    assert torch.isfinite(gumbel(torch.arange(200), 49_152)).all()
    key = torch.tensor([7])
    assert torch.equal(gumbel(key, 100)[:, :40], gumbel(key, 40))


@pytest.mark.parametrize("other", ["seed", "sample", "step", "token"])
def test_neighbours_in_every_counter_are_independent(other: str):
    width, count = 500, 400
    base = streams([(seed, 0) for seed in range(count)], CPU)
    here = gumbel(keys(base, torch.zeros(count, dtype=torch.int64)), width)
    match other:
        case "seed":
            there = here.roll(1, 0)
        case "sample":
            shifted = streams([(seed, 1) for seed in range(count)], CPU)
            there = gumbel(keys(shifted, torch.zeros(count, dtype=torch.int64)), width)
        case "step":
            there = gumbel(keys(base, torch.ones(count, dtype=torch.int64)), width)
        case _:
            there = here.roll(1, 1)
    correlation = np.corrcoef(here.numpy().ravel(), there.numpy().ravel())[0, 1]
    assert abs(correlation) < 4 / math.sqrt(width * count)
    # and not only linearly: both above their medians in a quarter of the cases
    both = ((here > here.median()) & (there > there.median())).double().mean().item()
    assert abs(both - 0.25) < 4 * math.sqrt(0.25 * 0.75 / (width * count))


def test_streams_of_neighbouring_pairs_do_not_meet():
    pairs = [(seed, sample) for seed in range(-40, 40) for sample in range(40)]
    assert len({stream(*pair) for pair in pairs}) == len(pairs)
