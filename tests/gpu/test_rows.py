"""Rows of logits on a GPU: what may be drawn is the same set as on the CPU, and numbers differ by
rounding alone; noise, made of integers, is the same to the last bit."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from elsewhere import noise, same
from guideway.logits import filters
from guideway.logits.mask import apply_mask, unpack, upload
from guideway.logits.rows import Rows
from guideway.logits.warp import Moment, Warps, warp
from guideway.sampling.noise import bits, bits_of, coins, gumbel, gumbel_of, keys, shares, streams
from guideway.sampling.settings import Sampling

pytestmark = pytest.mark.gpu

ROWS, WIDTH = 6, 3000
CPU = torch.device("cpu")

SETTINGS: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 0.7},
    "top-k": {"top_k": 50},
    "a large top-k": {"top_k": 2000},
    "top-p": {"top_p": 0.9},
    "min-p": {"min_p": 0.05},
    "typical": {"typical_p": 0.9},
    "epsilon": {"epsilon_cutoff": 3e-4},
    "eta": {"eta_cutoff": 3e-4},
    "top-H": {"top_h": 0.4},
    "top-n-sigma": {"top_n_sigma": 1.5},
    "xtc": {"xtc_probability": 0.7, "xtc_threshold": 0.05},
    "mirostat 1": {"mirostat_mode": 1, "mirostat_tau": 3.0},
    "mirostat 2": {"mirostat_mode": 2, "mirostat_tau": 3.0},
    "usual chain": {"temperature": 0.7, "top_k": 50, "top_p": 0.95},
    "all": {
        "temperature": 1.3, "top_h": 0.9, "top_k": 80, "top_p": 0.95, "min_p": 0.01,
        "typical_p": 0.95, "epsilon_cutoff": 1e-4, "eta_cutoff": 1e-4, "top_n_sigma": 3.0,
    },
    "none": {"temperature": 1.0},
}  # fmt: skip


def warped(row: Tensor, settings: list[Sampling]) -> Tensor:
    warps = Warps.of([(each.stages, each.warps) for each in settings], row.device, (5, 9))
    moment = Moment(
        torch.linspace(0.01, 0.99, len(row)).to(row.device),
        torch.linspace(1.0, 6.0, len(row)).to(row.device),
    )
    return warp(row, warps, moment).row


def moved(settings: dict[str, Any], step: float) -> dict[str, Any]:
    """The settings with all that is no whole number a little more, or less."""
    return {
        name: min(1.0, value * (1 + step)) if isinstance(value, float) and value < 1 else value
        for name, value in settings.items()
    }


def same_but_for_the_rim(gpu: torch.device, row: Tensor, kinds: list[dict[str, Any]]) -> None:
    """The same tokens as on the CPU, except those that rounding puts in or out.

    These are told on the CPU alone: where logits, or thresholds, are more or less by a few of their
    last bits, another set is left. float32 rounds entropies of 50,000 tokens as much.
    """
    ways = [(0.0, 0.0), (-2e-6, 0.0), (2e-6, 0.0), (0.0, -4e-6), (0.0, 4e-6)]
    made = [
        warped(row * (1 + scale), [Sampling(**moved(each, step), seed=1) for each in kinds])
        for scale, step in ways
    ]
    sets = torch.stack(made) > -math.inf
    certain, possible = sets.all(0), sets.any(0)
    found = warped(row.to(gpu), [Sampling(**each, seed=1) for each in kinds]).cpu()
    kept = found > -math.inf
    assert not (certain & ~kept).any()
    assert not (kept & ~possible).any()
    torch.testing.assert_close(found[certain], made[0][certain], rtol=1e-5, atol=1e-5)
    assert (possible & ~certain).sum(1).max() <= 4, "it is a rim"


@pytest.mark.parametrize("width", [700, WIDTH, 50_257])
@pytest.mark.parametrize("rows", [ROWS, 20])
@pytest.mark.parametrize("name", [*SETTINGS, "each row its own"])
def test_filters_leave_the_same_tokens(gpu: torch.device, name: str, rows: int, width: int) -> None:
    kinds = [SETTINGS[name]] * rows if name in SETTINGS else [*SETTINGS.values()]
    if name not in SETTINGS:
        kinds.append({**SETTINGS["all"], "order": "llama.cpp"})
    same_but_for_the_rim(gpu, noise(len(kinds), width), kinds)


@pytest.mark.parametrize("rows", [1, ROWS, 40])
@pytest.mark.parametrize("most", [1, 5, 40, WIDTH])
def test_of_tied_tokens_those_with_low_ids_are_kept(
    gpu: torch.device, most: int, rows: int
) -> None:
    row = noise(rows, WIDTH, seed=4, spread=1.0).round()
    for found, expected in zip(
        filters.largest(row.to(gpu), most), filters.largest(row, most), strict=True
    ):
        there = filters.largest(row, most)[0] > -math.inf
        assert torch.equal(found.cpu()[there], expected[there])


def test_one_token_alone_passes_everything(gpu: torch.device) -> None:
    row = torch.full((ROWS, WIDTH), -math.inf)
    row[torch.arange(ROWS), torch.arange(ROWS) * 7] = 2.0
    for settings in SETTINGS.values():
        several = [Sampling(**settings, seed=1)] * ROWS
        same(warped(row.to(gpu), several), warped(row, several))


@pytest.mark.parametrize("width", [1, 31, 32, 33, 1000, 128_256])
def test_masks_are_the_sets_that_were_packed(gpu: torch.device, width: int) -> None:
    packed = np.random.default_rng(0).integers(0, 1 << 32, (5, -(-width // 32)), np.uint32)
    expected = np.unpackbits(packed.view(np.uint8), axis=1, bitorder="little")[:, :width]
    found = unpack(upload([*packed], width, gpu), width)
    assert found.device.type == gpu.type
    assert np.array_equal(found.cpu().numpy(), expected.astype(bool))
    values = noise(5, width)
    same(apply_mask(values.to(gpu), found), apply_mask(values, torch.as_tensor(expected).bool()))


def test_noise_has_the_same_bits(gpu: torch.device) -> None:
    samples = [(seed, sample) for seed in (0, 5, -3) for sample in range(4)]
    steps = torch.arange(12)
    own, here = keys(streams(samples, CPU), steps), keys(streams(samples, gpu), steps.to(gpu))
    assert torch.equal(here.cpu(), own)
    assert torch.equal(bits(here, 5000).cpu(), bits(own, 5000))
    assert torch.equal(coins(here).cpu(), coins(own))
    ids = torch.randint(0, 5000, (12, 40), generator=torch.Generator().manual_seed(0))
    assert torch.equal(bits_of(here, ids.to(gpu)).cpu(), bits_of(own, ids))
    torch.testing.assert_close(gumbel(here, 5000).cpu(), gumbel(own, 5000), rtol=1e-5, atol=1e-6)
    assert torch.equal(gumbel_of(here, ids.to(gpu)), gumbel(here, 5000).gather(1, ids.to(gpu)))
    assert torch.equal(shares(here).cpu(), shares(own))


def test_a_row_that_is_nothing_at_all_disturbs_nothing(gpu: torch.device) -> None:
    row = torch.full((2, WIDTH), -math.inf)
    row[1, 3] = 0.0
    found, expected = Rows.of(row.to(gpu)), Rows.of(row)
    assert torch.equal(found.support.cpu(), expected.support)
    torch.testing.assert_close(found.total().cpu(), expected.total())
