"""The formulas of speculative decoding against a simulation and the figures of the papers."""

import random

import pytest

import guideway as gw
from guideway.sampling.speculation import expected_tokens


def simulated(acceptance: float, gamma: int, forwards: int = 20_000) -> float:
    """Tokens for a forward, counted."""
    chance = random.Random(0)
    tokens = 0
    for _ in range(forwards):
        accepted = 0
        while accepted < gamma and chance.random() < acceptance:
            accepted += 1
        tokens += accepted + 1
    return tokens / forwards


@pytest.mark.parametrize("acceptance", [0.0, 0.4, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("gamma", [0, 1, 3, 8])
def test_as_many_tokens_come_of_a_forward_as_the_formula_says(acceptance: float, gamma: int):
    expected = expected_tokens(acceptance, gamma)
    assert simulated(acceptance, gamma) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(("acceptance", "gamma", "cost", "times"), [
    (0.7, 3, 0.13, 1.8223),
    (0.7, 4, 0.13, 1.8244),
    (0.75, 7, 0.0, 3.60),
    (0.8, 5, 0.13, 2.24),
    (0.9, 13, 0.05, 4.67),
])  # fmt: skip
def test_speeds_are_those_of_the_papers_formula(
    acceptance: float, gamma: int, cost: float, times: float
):
    found = gw.expected_speedup(acceptance=acceptance, gamma=gamma, cost=cost)
    assert found == pytest.approx(times, abs=0.006 if times > 1.9 else 5e-5)


@pytest.mark.parametrize(
    ("rate", "cost", "best"),
    [(0.7, 0.13, 4), (0.8, 0.05, 8), (0.8, 0.13, 5), (0.9, 0.05, 13), (0.5, 0.5, 0), (0.5, 0.9, 0)],
)
def test_the_best_draft_has_the_length_that_makes_it_fastest(rate: float, cost: float, best: int):
    assert gw.best_gamma(acceptance=rate, cost=cost) == best
    assert gw.best_gamma(1.0, cost, most=7) == (7 if cost < 1 else 0)


def test_what_is_no_rate_count_or_cost_is_refused():
    for wrong in (lambda: expected_tokens(1.5, 2), lambda: expected_tokens(0.5, -1)):
        with pytest.raises(gw.LimitError, match=r"acceptance is 1\.5|gamma is -1"):
            wrong()
    with pytest.raises(gw.LimitError, match="most is -1: it must be a count"):
        gw.best_gamma(0.5, 0.1, most=-1)
    with pytest.raises(gw.LimitError, match=r"cost is -0\.1: it must be a number from 0 up"):
        gw.expected_speedup(0.5, 2, -0.1)
