import math

import pytest
import torch
from transformers.generation import logits_process

from fairlead.logits.warp import CANDIDATES, Warps, min_p, top_k, top_p, warp

CPU = torch.device("cpu")


def rows(count: int, width: int, *, scale: float = 3.0, seed: int = 0) -> torch.Tensor:
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=noise) * scale


def processors(
    temperature: float, k: int, p: float, share: float
) -> logits_process.LogitsProcessorList:
    """What `transformers.generate` puts together for these settings, in its order."""
    chain = logits_process.LogitsProcessorList([])
    if temperature != 1:
        chain.append(logits_process.TemperatureLogitsWarper(temperature))
    if k:
        chain.append(logits_process.TopKLogitsWarper(k))
    if p < 1:
        chain.append(logits_process.TopPLogitsWarper(p))
    if share:
        chain.append(logits_process.MinPLogitsWarper(share))
    return chain


@pytest.mark.parametrize("width", [5, 300, CANDIDATES, 4000])
@pytest.mark.parametrize(
    "settings",
    [
        (0.7, 0, 1.0, 0.0),
        (1.0, 3, 1.0, 0.0),
        (1.0, 0, 0.9, 0.0),
        (1.0, 0, 0.999, 0.0),
        (1.0, 0, 1.0, 0.1),
        (1.6, 40, 0.8, 0.02),
        (0.3, 1, 0.01, 1.0),
    ],
)
def test_the_chain_is_that_of_transformers(width: int, settings: tuple[float, int, float, float]):
    row = rows(40, width)
    row[::2, : width // 2] = -math.inf  # a constraint has been there
    # In float64, so that the rim of a nucleus is not decided by the oracle's own rounding.
    expected = processors(*settings)(torch.zeros(40, 1, dtype=torch.int64), row.double())
    torch.testing.assert_close(warp(row, Warps.of([settings] * 40, CPU)), expected.float())


def test_every_row_of_a_batch_has_its_own_settings():
    settings = [(1.0, 0, 1.0, 0.0), (0.5, 7, 1.0, 0.0), (1.0, 0, 0.6, 0.0), (2.0, 0, 1.0, 0.3)]
    row = rows(4, 2000)
    together = warp(row, Warps.of(settings, CPU))
    for place, each in enumerate(settings):
        single = warp(row[place : place + 1], Warps.of([each], CPU))
        assert torch.equal(together[place], single[0])


def test_a_nucleus_beyond_the_candidates_is_found_by_sorting():
    flat = rows(2, 5 * CANDIDATES, scale=0.01)
    kept = top_p(flat, torch.tensor([0.9, 0.001]))
    assert abs(int((kept[0] > -math.inf).sum()) - 0.9 * 5 * CANDIDATES) < 20
    expected = logits_process.TopPLogitsWarper(0.9)(torch.zeros(1, 1), flat[:1].clone())
    assert int((kept[:1] != expected).sum()) <= 1  # one token at the rim, by rounding


def test_arguments_are_left_as_they_were():
    row = rows(3, 50)
    before = row.clone()
    warp(row, Warps.of([(0.5, 5, 0.5, 0.1)] * 3, CPU))
    assert torch.equal(row, before)


def test_filters_never_empty_a_row_and_never_bring_a_token_back():
    row = rows(200, 30)
    row[:, 3:] = -math.inf
    row[100:, 1:] = -math.inf
    for settings in [(1.0, 1, 1e-9, 1.0), (5.0, 2, 0.5, 0.5), (0.01, 0, 0.1, 0.9)]:
        kept = warp(row, Warps.of([settings] * 200, CPU)) > -math.inf
        assert kept.any(1).all()
        assert not (kept & (row == -math.inf)).any()


def test_settings_that_switch_a_filter_off_change_nothing():
    row = rows(2, 100)
    off = torch.zeros(2, dtype=torch.int64)
    assert torch.equal(top_k(row, off, most=5), row)
    assert torch.equal(top_p(row, torch.ones(2)), row)
    assert torch.equal(min_p(row, torch.zeros(2)), row)


def test_more_tokens_than_there_are_is_all_of_them():
    row = rows(1, 10)
    assert torch.equal(top_k(row, torch.tensor([99]), most=99), row)


@pytest.mark.parametrize("temperature", [5e-324, 1e-40, 1e39, 1e300])
def test_no_temperature_makes_a_masked_token_possible_or_the_others_impossible(temperature: float):
    row = torch.tensor([[-2.0, -math.inf, -1.0, 3.0]])
    warped = warp(row, Warps.of([(temperature, 0, 1.0, 0.0)], row.device))
    assert warped.isneginf().tolist() == [[False, True, False, False]]
    assert warped.argmax() == 3
    assert not warped.isnan().any()


def test_a_top_k_beyond_64_bits_is_all_tokens():
    row = rows(2, 9)
    assert torch.equal(warp(row, Warps.of([(1.0, 10**30, 1.0, 0.0)] * 2, row.device)), row)
