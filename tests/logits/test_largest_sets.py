"""The smallest sets, by sorting everything in plain Python."""

import math
import random

import pytest
import torch

from guideway.logits.filters import cut, first_tokens, keep_largest

pytestmark = pytest.mark.usefixtures("form")


def smallest(keys: list[float], weights: list[float], share: float) -> set[int]:
    """The tokens of the least keys that hold `share` of the weight."""
    order = sorted(range(len(keys)), key=lambda token: (keys[token], token))
    whole, held = math.fsum(weights), 0.0
    for count, token in enumerate(order):
        if count and held >= share * whole - 1e-6:
            return set(order[:count])
        held += weights[token]
    return set(order)


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 0.3, 3.0, 90.0])
def test_the_tokens_kept_are_the_first_ones_by_key_and_id(scale: float):
    noise = random.Random(scale)
    keys = torch.tensor(
        [[noise.choice([0, 1, 2.5, 7.25, 40.125]) * scale for _ in range(50)] for _ in range(40)]
    )
    keys[:20] = (torch.rand(20, 50, generator=torch.Generator().manual_seed(1)) * scale) ** 3
    keys -= keys.amin(1, keepdim=True)
    keys[5, 1:] = math.inf
    weights = torch.rand(40, 50, generator=torch.Generator().manual_seed(2)) + 0.01
    weights[keys == math.inf] = 0
    share = torch.linspace(0.0, 1.2, 40)
    ids, kept = first_tokens(-keys, weights, share)
    for row in range(40):
        if share[row] < 1:
            expected = smallest(
                keys[row].tolist(), weights[row].double().tolist(), float(share[row])
            )
            assert {*ids[row, kept[row]].tolist()} == expected


@pytest.mark.parametrize("width", [1000, 2000])
def test_all_equal_tokens_are_kept_in_the_order_of_their_ids(width: int):
    flat = torch.zeros(1, width)
    kept = keep_largest(flat, torch.ones(1, width), torch.tensor([0.25], dtype=torch.float64))
    assert (kept[0, : width // 4] == 0).all()
    assert (kept[0, width // 4 :] == -math.inf).all()


def test_few_tokens_and_many_are_kept_alike():
    noise = torch.Generator().manual_seed(4)
    few = (torch.randn(60, 300, generator=noise) * 2).round(decimals=1)
    few[::4, 100:] = -math.inf
    many = torch.full((60, 2000), -math.inf)
    many[:, 500:800] = few
    share = torch.linspace(0, 1.1, 60, dtype=torch.float64)
    expected = keep_largest(many, many.softmax(1), share)[:, 500:800]
    assert torch.equal(keep_largest(few, few.softmax(1), share), expected)


def test_what_is_less_by_one_bit_alone_comes_later_however_great_the_greatest_is():
    near = torch.tensor([1.0]).repeat(2000)
    near[1200:1300] = torch.nextafter(near[0], torch.tensor(2.0))
    near[7] = 1e6
    kept = keep_largest(near[None], torch.ones(1, 2000), torch.tensor([0.04], dtype=torch.float64))
    assert (kept[0] > -math.inf).nonzero().flatten().tolist() == [7, *range(1200, 1279)]


def test_wide_sets_and_narrow_ones_are_found_in_one_batch():
    rows = torch.zeros(3, 3000)
    rows[0, 5], rows[2, :1500] = 30.0, 0.5
    kept = keep_largest(rows, None, torch.tensor([0.9, 1.0, 0.3], dtype=torch.float64)) > -math.inf
    assert kept[0].nonzero().tolist() == [[5]]
    assert kept[1].all()
    assert kept[2].nonzero().flatten().tolist() == [*range(int(kept[2].sum()))]
    mass = rows[2].softmax(0).double()[kept[2]].sum()
    assert 0.3 - 1e-6 <= mass < 0.3 + rows[2].softmax(0).amax()


def test_a_bound_keeps_what_is_equal_to_it():
    row = torch.tensor([[1.0, 2.0, -math.inf], [0.0, -1e-45, 5.0], [3.0, 4.0, 5.0]])
    kept = cut(row, torch.tensor([2.0, 0.0, -math.inf]))
    assert kept.tolist() == [[-math.inf, 2.0, -math.inf], [0.0, -math.inf, 5.0], [3.0, 4.0, 5.0]]
