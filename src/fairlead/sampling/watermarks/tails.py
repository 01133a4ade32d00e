"""How likely a text without a mark scores so high: exact tails, by sums of positive terms.

    binomial        as many green tokens, each green with the same probability
    weighted        the same where probabilities or weights differ (Poisson binomial, by addition of
                    one token after the other)
    gamma           so high a sum of −ln(1 − r) of Gumbel marks: a sum of exponential numbers

Terms are positive and small ones come first, so that far tails are right to the last digits. The
normal distribution is not: with γ ½ and 200 tokens z > 4 has 2.5e-5, not 3.2e-5.

What this module does not know: tokens.
"""

import math
from collections.abc import Sequence

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


def weighted_tail(weights: Sequence[int], chances: Sequence[float], least: int) -> float:
    """P(Σ w b ≥ least), each b 1 with its own probability.

    >>> weighted_tail([1, 1], [0.5, 0.25], 2), weighted_tail([3, 1], [0.5, 0.25], 3)
    (0.125, 0.5)

    Args:
        weights: from 0 up.
        chances: a probability for each.
        least: of the sum.
    """
    total = sum(weights)
    if least > total:
        return 0.0
    spread: NDArray[np.float64] = np.zeros(total + 1)
    spread[0] = 1.0
    reached = 0
    for weight, chance in zip(weights, chances, strict=True):
        reached += weight
        shifted = spread[: reached + 1 - weight] * chance
        spread[: reached + 1] *= 1 - chance
        spread[weight : reached + 1] += shifted
    return min(1.0, float(np.sort(spread[max(0, least) :]).sum()))


def _total(first: float, steps: NDArray[np.float64]) -> float:
    """exp(first) times the sum of the products of the steps' exponentials."""
    logs = np.concatenate([[first], first + np.cumsum(steps)])
    top = float(logs.max())
    return min(1.0, math.exp(top) * float(np.sort(np.exp(logs - top)).sum()))
