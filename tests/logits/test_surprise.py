"""XTC and mirostat by hand, and mirostat's promise: the surprise that was asked for."""

import math

import pytest
import torch

from guideway.logits.filters import mirostat, mirostat_by_rank, surprises, xtc
from guideway.sampling.noise import categorical

pytestmark = pytest.mark.usefixtures("form")

FRUIT = torch.tensor([[0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05]]).log()
NOTHING = torch.zeros(1, 1, dtype=torch.bool)


def kept(row: torch.Tensor) -> list[int]:
    return torch.nonzero(row[0] > -math.inf)[:, 0].tolist()


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (0.15, [2, 3, 4, 5, 6]),  # a probability on the edge counts
        (0.2, [1, 2, 3, 4, 5, 6]),
        (0.1, [5, 6]),  # of tied ones the last stays
        (0.25, list(range(7))),  # one alone stays
        (math.inf, list(range(7))),
    ],
)
def test_xtc_leaves_the_least_probable_of_the_probable(threshold: float, expected: list[int]):
    assert kept(xtc(FRUIT, torch.tensor([threshold]), NOTHING, most=20)) == expected


def test_xtc_leaves_out_nothing_that_is_exempt_forced_or_the_last():
    exempt = torch.isin(torch.arange(7), torch.tensor([0, 2]))[None]
    assert kept(xtc(FRUIT, torch.tensor([0.15]), exempt, most=9)) == list(range(7))
    assert kept(xtc(FRUIT, torch.tensor([0.1]), exempt, most=12)) == [0, 2, 5, 6]
    row = FRUIT.clone()
    row[0, 4:] = -math.inf
    assert kept(xtc(row, torch.tensor([0.0]), NOTHING, most=7)) == [3]
    row[0, :3] = -math.inf
    assert kept(xtc(row, torch.tensor([0.1]), NOTHING, most=11)) == [3]


def test_the_second_mirostat_keeps_what_surprises_at_most_so_many_bits():
    row = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log() + 3
    assert surprises(row.repeat(3, 1), torch.tensor([0, 1, 3])).tolist() == pytest.approx([1, 2, 3])
    for ceiling, count in ((0.1, 1), (1.0, 1), (2.0, 2), (2.5, 2), (3.0, 4), (math.inf, 4)):
        assert kept(mirostat(row, torch.tensor([ceiling]))) == list(range(count))


def by_rank(logits: list[float], ceiling: float) -> int:
    """The paper's k, in plain Python."""
    logs = sorted((logit for logit in logits if logit > -math.inf), reverse=True)
    steps = [math.log((i + 2) / (i + 1)) for i in range(min(100, len(logs) - 1))]
    drops = [logs[i] - logs[i + 1] for i in range(len(steps))]
    exponent = sum(t * b for t, b in zip(steps, drops, strict=True)) / sum(t * t for t in steps)
    excess = exponent - 1
    return round((excess * 2**ceiling / (1 - len(logs) ** -excess)) ** (1 / exponent))


@pytest.mark.parametrize("ceiling", [2.0, 5.0, 7.5])
@pytest.mark.parametrize("exponent", [0.7, 1.3, 2.0])
def test_the_first_mirostat_takes_the_rank_of_a_power_law(exponent: float, ceiling: float):
    noise = torch.randn(3000, generator=torch.Generator().manual_seed(1)) * 0.1
    row = (-exponent * torch.arange(1, 3001).log() + noise)[None]
    row[0, 2000:] = -math.inf
    count = max(1, min(2000, by_rank(row[0].tolist(), ceiling)))
    expected = row.topk(count).indices[0].sort().values.tolist()
    assert kept(mirostat_by_rank(row, torch.tensor([ceiling]))) == expected


def test_the_first_mirostat_has_no_trouble_with_power_laws_that_are_none():
    flat = torch.zeros(1, 50)
    for ceiling, count in ((2.0, 1), (9.0, 50), (math.inf, 50)):
        assert len(kept(mirostat_by_rank(flat, torch.tensor([ceiling])))) == count
    alone = torch.tensor([[1.0, -math.inf, -math.inf]])
    assert kept(mirostat_by_rank(alone, torch.tensor([3.0]))) == [0]
    pair = torch.tensor([[1.0, 1.0 - math.log(2), -math.inf]])  # an exponent of exactly 1
    assert kept(mirostat_by_rank(pair, torch.tensor([1.0]))) in ([0], [0, 1])


@pytest.mark.parametrize(
    ("function", "target"), [(mirostat, 2.0), (mirostat, 3.0), (mirostat_by_rank, 3.0)]
)
def test_the_mean_surprise_is_the_one_asked_for_within_a_tenth_of_a_bit(function, target: float):
    texts, steps = 4, 500  # 2,000 tokens
    noise = torch.Generator().manual_seed(3)
    ranks = torch.arange(1, 1001).log()
    ceiling, total = torch.full((texts,), 2 * target), 0.0
    for step in range(steps):
        exponents = 1.2 + 0.8 * torch.rand(texts, 1, generator=noise)
        row = -exponents * ranks
        left = function(row, ceiling)
        tokens = categorical(left, torch.arange(texts) * 104729 + step * 7919)
        bits = surprises(row, tokens)
        ceiling = ceiling - 0.1 * (bits - target)
        total += float(bits.sum())
    assert total / (texts * steps) == pytest.approx(target, abs=0.1)
