"""Watermarks on a GPU: keyed numbers and green lists, made of integers, are the same bit for bit,
and tournaments are as near to what they are in float64 as rounding lets them be."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from elsewhere import noise, same
from guideway.watermark.scheme import (
    Scheme,
    biased,
    green_count,
    green_free,
    green_within,
    numbers,
    row_keys,
    tournament,
)

pytestmark = pytest.mark.gpu

ROWS, WIDTH = 6, 3000
CPU = torch.device("cpu")


def float64_tournament(
    row: Tensor, numbers: Tensor, ends: Tensor, depth: int, chance: torch.Generator | None
) -> Tensor:
    """A tournament in float64; with `chance`, each result off by as much as float32 may round it.

    A layer multiplies a share by 1 + g − s, where s is the mass of the tokens with a bit of 1. If s
    is all but 1, what rounding does to s is much in relation to 1 − s, and all layers after it
    inherit that.
    """

    def rounded(value: Tensor, units: Tensor | float) -> Tensor:
        if chance is None:
            return value
        off = torch.rand(value.shape, generator=chance, dtype=torch.float64) * 2 - 1
        return value * (1 + 2.0**-24 * units * off)

    tokens = row.double().masked_fill(ends, -math.inf)
    below = (tokens - tokens.amax(1, keepdim=True)).clamp(min=-1e4)
    share = rounded(tokens.softmax(1), 4 - below)
    for layer in range(depth):
        bit = (numbers >> layer) & 1
        mass = rounded((bit * share).sum(1, keepdim=True), 8)  # some of the sum's roundings
        share = rounded(share * (1 + bit - mass).clamp(min=0), 2)
    after = share.log() + tokens.logsumexp(1, keepdim=True)
    return torch.where(ends, row.double(), after)


@pytest.mark.parametrize(("kind", "context"), [
    *(("left", 1), ("left", 3), ("min", 4), ("self", 3)),
    *(("unigram", 0), ("synthid", 4), ("gumbel", 4)),
])  # fmt: skip
def test_green_lists_and_tournaments_are_the_same(
    gpu: torch.device, kind: Any, context: int
) -> None:
    scheme = Scheme(secret=77, kind=kind, context=context)
    made = torch.Generator().manual_seed(0)
    contexts = torch.randint(0, WIDTH, (ROWS, context), generator=made)
    places = torch.randint(-9, 9, (ROWS,), generator=made)
    ids = torch.randint(0, WIDTH, (ROWS, 30), generator=made)
    allowed = torch.rand(ROWS, WIDTH, generator=made) < 0.01
    ends = torch.zeros_like(allowed)
    ends[:, 5] = True
    row = noise(ROWS, WIDTH, seed=7)

    def parts(device: torch.device) -> list[Tensor]:
        at = contexts.to(device)
        each, some = (numbers(scheme, at, which, WIDTH) for which in (None, ids.to(device)))
        within = numbers(scheme.ranked, at, None, WIDTH, places.to(device))
        key = row_keys(scheme.ranked, at, places.to(device))
        count = green_count(key, allowed.to(device).sum(1), scheme.gamma)
        lists = green_free(each, scheme.gamma), green_within(within, allowed.to(device), count)
        return [each, *lists, some, within, key, count]

    expected = parts(CPU)
    for mine, theirs in zip(parts(gpu), expected, strict=True):
        assert torch.equal(mine.cpu(), theirs)
    each, green, *_ = expected
    for delta in (2.0, math.inf):
        marked = biased(row.to(gpu), green.to(gpu), ends.to(gpu), delta)
        same(marked, biased(row, green, ends, delta))
    exact, *others = (
        float64_tournament(row, each, ends, scheme.depth, chance)
        for chance in (None, *(torch.Generator().manual_seed(n) for n in range(30)))
    )
    there = (exact > math.log(2.0**-126)) & (row > -math.inf)  # below, float32 has fewer bits
    far = torch.stack([(other - exact).abs() for other in others]).amax(0)
    for device in (gpu, CPU):
        after = tournament(row.to(device), each.to(device), ends.to(device), scheme.depth).cpu()
        assert torch.equal(after[row == -math.inf], row[row == -math.inf])
        off = (after.double() - exact).abs()
        assert (off <= 4 * far + 2.0**-22 * (exact.abs() + 1))[there].all()
    assert there.double().mean() > 0.7
    assert far[there].max() < 0.05
