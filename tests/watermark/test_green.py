"""Green lists: the numbers of Kirchenbauer et al. 2023, and lists among what is allowed."""

import math
from math import comb

import numpy as np
import pytest
import torch

from guideway.automaton.token_tries import pack
from guideway.watermark.evidence import evidence
from guideway.watermark.scheme import (
    Scheme,
    biased,
    green_count,
    green_free,
    green_within,
    numbers,
    row_keys,
    secret_of,
)

GAIN = math.e**2


def test_a_soft_watermark_has_the_strength_of_the_paper() -> None:
    # A token is green with probability ½, and all the rest of the mass is red.
    row = torch.tensor([[math.log(1e-6), 0.0]]).expand(2, 2)
    green = torch.tensor([[True, False], [False, False]])
    after = biased(row, green, torch.zeros_like(green), 2.0).softmax(1)[:, 0]
    assert float(after.mean() / 1e-6) == pytest.approx(4.1945, abs=1e-3)
    # A uniform model, at temperature 1 and, with the bias before it, at 0.7.
    row = torch.zeros(3000, 400)
    green = green_free(numbers(Scheme(2, gamma=0.5), torch.arange(3000)[:, None], None, 400), 0.5)
    shifted = biased(row, green, torch.zeros_like(green), 2.0)
    for temperature, share in ((1.0, 0.8808), (0.7, 0.9457)):
        found = (shifted / temperature).softmax(1).masked_fill(~green, 0.0).sum(1).mean()
        assert float(found) == pytest.approx(share, abs=1e-3)


def test_ends_stay_as_probable_and_a_hard_mark_never_draws_red_tokens() -> None:
    row = torch.randn(300, 50, generator=torch.Generator().manual_seed(4)) * 3
    row[:, 7] = -math.inf
    ends = torch.zeros(300, 50, dtype=torch.bool)
    ends[:, 49] = True
    each = [numbers(Scheme(secret_of(n)), torch.tensor([[1]]), None, 50) for n in range(300)]
    green = green_free(torch.cat(each), 0.25)
    for delta in (0.5, 2.0, 30.0, math.inf):
        after = biased(row, green, ends, delta).softmax(1)
        assert torch.allclose(after[:, 49], row.softmax(1)[:, 49], rtol=1e-4)
        assert not after[:, 7].any()
    assert not after.masked_fill(green | ends, 0.0).any()
    assert float(green.float().mean()) == pytest.approx(0.25, abs=0.02)
    assert torch.equal(biased(row, torch.zeros_like(green), ends, math.inf), row)
    only = row.masked_fill(~ends, -math.inf)
    assert torch.equal(biased(only, green, ends, 2.0).softmax(1), only.softmax(1))


@pytest.mark.parametrize(("size", "plain"), [(2, 0.381), (4, 0.620), (10, 0.722)])
def test_a_list_among_few_allowed_tokens_keeps_its_strength(size: int, plain: float) -> None:
    # Per token (E − γ) / σ with γ ½: any colouring, against half of what is allowed.
    rate = sum(comb(size, k) / 2**size * GAIN * k / (GAIN * k + size - k) for k in range(size + 1))
    assert 2 * (rate - 0.5) == pytest.approx(plain, abs=1e-3)
    row = torch.zeros(4000, size)
    allowed = torch.ones(4000, size, dtype=torch.bool)
    each = numbers(Scheme(9, gamma=0.5), torch.arange(4000)[:, None], None, size)
    key = row_keys(Scheme(9, gamma=0.5), torch.arange(4000)[:, None])
    within = green_within(each, allowed, green_count(key, allowed.sum(1), 0.5))
    for green, strength, error in ((within, 0.762, 1e-3), (green_free(each, 0.5), plain, 0.04)):
        after = biased(row, green, ~allowed, 2.0).softmax(1).masked_fill(~green, 0.0).sum(1)
        assert float(2 * (after.mean() - 0.5)) == pytest.approx(strength, abs=error)


def test_both_colours_exist_wherever_two_tokens_are_allowed_and_the_share_is_gamma() -> None:
    noise = torch.Generator().manual_seed(5)
    allowed = torch.rand(4000, 30, generator=noise) < torch.rand(4000, 1, generator=noise) * 0.9
    scheme = Scheme(3, gamma=0.3)
    contexts = torch.arange(4000)[:, None]
    sizes = allowed.sum(1)
    count = green_count(row_keys(scheme, contexts), sizes, 0.3)
    green = green_within(numbers(scheme, contexts, None, 30), allowed, count)
    assert torch.equal(green.sum(1), count.clamp(min=0))
    assert not (green & ~allowed).any()
    some = sizes >= 2
    assert ((count >= 1) & (count < sizes))[some].all()
    many = sizes >= 4
    assert float((count[many] / sizes[many]).mean()) == pytest.approx(0.3, abs=0.01)
    assert ((count - 0.3 * sizes).abs() < 1)[many].all()


def test_without_a_mark_lists_among_what_is_allowed_are_found_as_often_as_by_chance() -> None:
    noise = torch.Generator().manual_seed(6)
    zs, ps = list[float](), list[float]()
    for key in range(200):
        tokens = torch.randint(0, 64, (60,), generator=noise)
        sets = torch.rand(60, 64, generator=noise) < torch.rand(60, 1, generator=noise) ** 3
        sets[torch.arange(60), tokens] = True
        packed = [pack(row.nonzero()[:, 0].numpy(), 64) for row in sets]
        found = evidence(Scheme(secret_of(key), gamma=0.25), tokens.tolist(), [False] * 60, packed)
        zs.append(found.z)
        ps.append(found.p)
    assert abs(np.mean(zs)) < 4 / math.sqrt(200)
    assert abs(np.std(zs) - 1) < 4 / math.sqrt(400)
    for level in (0.5, 0.1, 0.02):
        allowed = level * 200 + 4 * math.sqrt(level * 200)
        assert sum(p <= level for p in ps) <= allowed
