"""Exact tail probabilities of scores without a mark, by sums of positive terms.

    binomial        number of green tokens with equal probabilities
    weighted        with other probabilities or weights (Poisson binomial, by convolution), and
                    several tokens of one green list (hypergeometric)
    gamma           sum of −ln(1 − r) of Gumbel marks: exponential numbers

Terms are positive and added from the smallest, so far tails are exact to the last digits. The
normal approximation is not: with γ ½ and 200 tokens, P(z > 4) is 2.5e-5, not 3.2e-5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray


def binomial_tail(count: int, chance: float, least: int) -> float:
    """P(X ≥ least), X the successes among `count` with probability `chance` each.

    >>> round(binomial_tail(16, 0.5, 16) * 2**16, 9), binomial_tail(5, 0.25, 0)
    (1.0, 1.0)
    """
    if least <= 0:
        return 1.0
    if least > count:
        return 0.0
    at = np.arange(least, count)
    steps = np.log((count - at) / (at + 1)) + math.log(chance) - math.log1p(-chance)
    first = (
        math.lgamma(count + 1)
        - math.lgamma(least + 1)
        - math.lgamma(count - least + 1)
        + least * math.log(chance)
        + (count - least) * math.log1p(-chance)
    )
    return _total(first, steps)


def gamma_tail(count: int, least: float) -> float:
    """P(S ≥ least), S a sum of `count` exponential numbers of mean 1.

    >>> round(gamma_tail(1, 2.0) / math.exp(-2), 12), gamma_tail(3, 0.0)
    (1.0, 1.0)
    """
    if least <= 0:
        return 1.0
    steps = math.log(least) - np.log(np.arange(1, count))
    return _total(-least, steps) if count else 0.0


@final
@dataclass(frozen=True, slots=True)
class Urn:
    """Tokens of one green list: their positions, the size of the list, and its green tokens."""

    places: tuple[int, ...]
    size: int
    green: int


def weighted_tail(
    weights: Sequence[int], chances: Sequence[float], least: int, urns: Sequence[Urn] = ()
) -> float:
    """P(Σ w b ≥ least), each b 1 with its own probability; tokens of an urn are dependent.

    >>> weighted_tail([1, 1], [0.5, 0.25], 2), weighted_tail([3, 1], [0.5, 0.25], 3)
    (0.125, 0.5)
    >>> round(weighted_tail([1, 1], [0.5, 0.5], 2, [Urn((0, 1), 4, 2)]), 12) == round(1 / 6, 12)
    True
    """
    total = sum(weights)
    if least > total:
        return 0.0
    together = {place for urn in urns for place in urn.places}
    spread: NDArray[np.float64] = np.zeros(total + 1)
    spread[0] = 1.0
    reached = 0
    for place, (weight, chance) in enumerate(zip(weights, chances, strict=True)):
        if place in together:
            continue
        reached += weight
        shifted = spread[: reached + 1 - weight] * chance
        spread[: reached + 1] *= 1 - chance
        spread[weight : reached + 1] += shifted
    spread = spread[: reached + 1]
    for urn in urns:  # what weighs nothing may be left in the urn
        drawn = [weights[place] for place in urn.places if weights[place]]
        spread = np.convolve(spread, _drawn(drawn, urn)) if drawn else spread
    return min(1.0, float(np.sort(spread[max(0, least) :]).sum()))


def _drawn(weights: Sequence[int], urn: Urn) -> NDArray[np.float64]:
    """Probabilities of the sums of weights of green tokens drawn from an urn."""
    same = weights[0] if len(set(weights)) == 1 else None  # then the sum is their number
    total = 0 if same is not None else sum(weights)
    found: NDArray[np.float64] = np.zeros((len(weights) + 1, total + 1))
    found[0, 0] = 1.0
    before = np.arange(len(weights) + 1)[:, None]  # green ones
    for drawn, weight in enumerate(weights):
        chance = np.clip((urn.green - before) / (urn.size - drawn), 0.0, 1.0)
        gained, found = found * chance, found * (1 - chance)
        step = 0 if same is not None else weight
        found[1:, step:] += gained[:-1, : total + 1 - step]
    if same is None:
        return found.sum(0)
    spread = np.zeros(sum(weights) + 1)
    np.add.at(spread, before[:, 0] * same, found[:, 0])
    return spread


def _total(first: float, steps: NDArray[np.float64]) -> float:
    """exp(first) times the sum of the products of the steps' exponentials."""
    logs = np.concatenate([[first], first + np.cumsum(steps)])
    top = float(logs.max())
    return min(1.0, math.exp(top) * float(np.sort(np.exp(logs - top)).sum()))
