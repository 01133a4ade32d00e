"""The filters on the worked example of seven fruits, and their laws."""

import math
import random
from typing import Any

import pytest
import torch

from guideway.logits import filters as rim
from guideway.logits.filters import (
    cut,
    dot,
    epsilon,
    eta,
    first_tokens,
    keep_largest,
    largest,
    min_p,
    top_h,
    top_k,
    top_n_sigma,
    top_p,
    typical,
)

pytestmark = pytest.mark.usefixtures("form")

FRUIT = torch.tensor([[0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05]]).log()
INF = math.inf


def double(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


FILTERS: dict[str, Any] = {  # a filter, a setting, and the setting that does nothing
    "top_k": (
        lambda row, k: top_k(row, k, most=max(1, int(k.max()))),
        torch.tensor(3),
        torch.tensor(0),
    ),
    "top_p": (top_p, double(0.4), double(1.0)),
    "min_p": (min_p, torch.tensor(0.3), torch.tensor(0.0)),
    "epsilon": (epsilon, torch.tensor(0.05), torch.tensor(0.0)),
    "eta": (eta, torch.tensor(0.3), torch.tensor(0.0)),
    "typical": (typical, double(0.4), double(1.0)),
    "top_h": (top_h, torch.tensor(0.3), torch.tensor(INF)),
    "top_n_sigma": (top_n_sigma, torch.tensor(1.0), torch.tensor(INF)),
}
KEPT: dict[str, dict[float, str]] = {  # at ties low ids stay; eta is lower where it is flat
    "top_p": {0.6: "abc", 0.65: "abc", 0.66: "abcd", 0.5: "ab", 0.3: "a", 1: "abcdefg"},
    "top_k": {1: "a", 4: "abcd", 5: "abcde", 9: "abcdefg"},
    "min_p": {0.5: "abc"},  # one is exactly on the edge
    "epsilon": {0.12: "abc", 0.1: "abcdef", 0.9: "a"},
    "eta": {0.05: "abcdefg", 0.1: "abcdef"},
    "typical": {0.2: "bc", 0.5: "bcdef", 1: "abcdefg"},
    "top_n_sigma": {0.5: "a", 1: "ab", 1.5: "abc", INF: "abcdefg"},
    "top_h": {0.4: "ab", 0.6: "abc", 1: "abcdefg"},
}


def initials(row: torch.Tensor) -> str:
    return "".join(name for name, logit in zip("abcdefg", row[0], strict=True) if logit > -INF)


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_of_the_fruits(name: str):
    function, on, _ = FILTERS[name]
    for value, kept in KEPT[name].items():
        parameter = torch.tensor([value]).to(on.dtype)
        assert initials(function(FRUIT, parameter)) == kept
        if name == "top_n_sigma":  # which does not depend on the temperature
            assert initials(function(FRUIT / 0.3, parameter)) == kept


def some_rows() -> torch.Tensor:
    noise = torch.Generator().manual_seed(5)
    row = (torch.randn(300, 200, generator=noise) * 3).round(decimals=1)  # with ties
    row[:200, 60:] = -INF
    row[100:200, 1:] = -INF
    row[50:90, :60] = 1.5
    return row


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_leaves_its_argument_and_its_off_rows_and_keeps_the_most_probable(name: str):
    function, on, off = FILTERS[name]
    row = some_rows()
    row[299] = -INF  # which disturbs no other
    before = row.clone()
    parameter = on.repeat(300)
    parameter[::3] = off
    kept = function(row, parameter)
    assert torch.equal(row, before)
    assert torch.equal(kept[::3], row[::3])
    there = kept > -INF
    assert torch.equal(kept[there], row[there])
    assert not (there & (row == -INF)).any()
    if name == "typical":  # which need not keep the most probable one
        assert there[:299].any(1).all()
    else:
        assert there[torch.arange(299), row.argmax(1)[:299]].all()
    single = torch.cat([function(row[n : n + 1], parameter[n : n + 1]) for n in range(300)])
    assert torch.equal(single, kept)


def test_the_largest_are_in_the_order_of_logits_and_ids():
    noise = torch.Generator().manual_seed(6)
    kinds = torch.tensor([0.0, -0.0, 1e-45, -1e-45, 3e-45, 1.2e-38, 1.0, -3e38, 3e38, -INF])
    near = torch.cat([kinds, torch.nextafter(kinds, torch.tensor(INF))])
    wild = near[torch.randint(0, 20, (30, 5000), generator=noise)]
    for row, counts in ((some_rows(), (1, 7, 100, 200, 999)), (wild, (1, 100, 2500))):
        for most in counts:
            values, ids = largest(row, most)
            expected = row.sort(dim=1, descending=True, stable=True)
            there = values > -INF
            assert torch.equal(values, expected.values[:, :most])
            assert torch.equal(ids[there], expected.indices[:, :most][there])


def test_both_forms_keep_the_same_of_many_tokens(monkeypatch: pytest.MonkeyPatch):
    noise = torch.Generator().manual_seed(7)
    row = torch.randn(12, 30_000, generator=noise) * 3
    row[:4] = row[:4].round(decimals=1)  # with ties
    row[:, ::7] = -INF
    for function, on, off in FILTERS.values():
        parameter = on.repeat(12)
        parameter[::3] = off
        monkeypatch.setattr(rim, "UNSORTED", frozenset({"cpu"}))
        searched = function(row, parameter)
        monkeypatch.setattr(rim, "UNSORTED", frozenset())
        assert torch.equal(function(row, parameter), searched)


def test_top_h_counts_shares_of_the_entropy_however_small_that_is():
    chance = torch.Generator().manual_seed(3)
    row = torch.randn(300, 30, generator=chance) * torch.linspace(1, 12, 300)[:, None]
    ordered = row.double().softmax(1).sort(dim=1, descending=True).values
    sums = -torch.special.xlogy(ordered, ordered).cumsum(1)
    shares = sums / sums[:, -1:]
    clear = ((shares - 0.9).abs() > 1e-4).all(1)
    expected = (shares <= 0.9).sum(1).clamp(min=1)
    found = (top_h(row, torch.full((300,), 0.9)) > -INF).sum(1)
    assert torch.equal(found[clear], expected[clear])
    assert clear.sum() > 290
    assert sums[:, -1].min() < 1e-5


def test_sums_over_many_tokens_are_right_to_the_last_digits_whatever_the_batch():
    # In a batch of two or more they were off by 2e-4, and typical sets with them.
    row = torch.randn(6, 50_257, generator=torch.Generator().manual_seed(0)) * 3
    logs = row.log_softmax(1)
    exact = (logs.double().exp() * logs.double()).sum(1)
    assert (dot(logs.exp(), logs).double() - exact).abs().max() < 2e-5


def smallest(keys: list[float], weights: list[float], share: float) -> set[int]:
    """The tokens of the least keys that hold `share` of the weight, in plain Python."""
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
    keys[5, 1:] = INF
    weights = torch.rand(40, 50, generator=torch.Generator().manual_seed(2)) + 0.01
    weights[keys == INF] = 0
    share = torch.linspace(0.0, 1.2, 40)
    ids, kept = first_tokens(-keys, weights, share)
    for row in range(40):
        if share[row] < 1:
            given = keys[row].tolist(), weights[row].double().tolist(), float(share[row])
            assert {*ids[row, kept[row]].tolist()} == smallest(*given)


def kept_of(row: torch.Tensor, share: float, weight: torch.Tensor | None = None) -> list[int]:
    kept = keep_largest(row[None], weight, double(share)[None])
    return (kept[0] > -INF).nonzero().flatten().tolist()


def test_equal_tokens_are_kept_in_the_order_of_their_ids_and_greater_ones_before_them():
    for width in (1000, 2000):
        flat = torch.zeros(width)
        assert kept_of(flat, 0.25, torch.ones(1, width)) == [*range(width // 4)]
    near = torch.tensor([1.0]).repeat(2000)
    near[1200:1300] = torch.nextafter(near[0], torch.tensor(2.0))  # by one bit alone
    near[7] = 1e6
    assert kept_of(near, 0.04, torch.ones(1, 2000)) == [7, *range(1200, 1279)]


def test_wide_sets_and_narrow_ones_are_found_in_one_batch():
    rows = torch.zeros(3, 3000)
    rows[0, 5], rows[2, :1500] = 30.0, 0.5
    kept = keep_largest(rows, None, torch.tensor([0.9, 1.0, 0.3], dtype=torch.float64)) > -INF
    assert kept[0].nonzero().tolist() == [[5]]
    assert kept[1].all()
    assert kept[2].nonzero().flatten().tolist() == [*range(int(kept[2].sum()))]
    mass = rows[2].softmax(0).double()[kept[2]].sum()
    assert 0.3 - 1e-6 <= mass < 0.3 + rows[2].softmax(0).amax()


def test_a_bound_keeps_what_is_equal_to_it():
    row = torch.tensor([[1.0, 2.0, -INF], [0.0, -1e-45, 5.0], [3.0, 4.0, 5.0]])
    kept = cut(row, torch.tensor([2.0, 0.0, -INF]))
    assert kept.tolist() == [[-INF, 2.0, -INF], [0.0, -INF, 5.0], [3.0, 4.0, 5.0]]
