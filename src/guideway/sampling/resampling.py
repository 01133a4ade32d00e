"""Resampling of weighted particles: how good their weights are, and which of them go on.

Weights are given as logarithms; −∞ is a particle that came to nothing. Nothing here is random: the
uniform numbers are given.

What this module does not know: what particles are.
"""

import math
from collections.abc import Iterable, Sequence


def log_sum(logs: Iterable[float]) -> float:
    """The logarithm of the sum of numbers given by their logarithms.

    Example:
        >>> round(log_sum([math.log(0.25), math.log(0.5), -math.inf]), 3)
        -0.288
    """
    terms = list(logs)
    top = max(terms, default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(each - top) for each in terms))


def log_mean(logs: Sequence[float]) -> float:
    """The logarithm of the mean of some weights, those of −∞ counted."""
    return log_sum(logs) - math.log(len(logs))


def effective_size(logs: Sequence[float]) -> float:
    """(Σ weight)² / Σ weight²: how many equal particles are worth as much (Kong 1992).

    Example:
        >>> effective_size([0.0, 0.0, -math.inf]), effective_size([-math.inf])
        (2.0, 0.0)
    """
    total = log_sum(logs)
    if total == -math.inf:
        return 0.0
    return math.exp(2 * total - log_sum(2 * each for each in logs))


def stratified(logs: Sequence[float], uniforms: Sequence[float]) -> list[int]:
    """Draws from weighted particles, one in each of as many equal parts of the whole weight.

    Draw i is the particle at the place (i + uniforms[i]) / n of the weights laid end to end, so a
    particle with the share w comes n·w times in the mean, and never two times more or fewer
    (Kitagawa 1996; Douc, Cappé and Moulines 2005, "Comparison of resampling schemes").

    Example:
        >>> stratified([math.log(0.5), math.log(0.25), math.log(0.25)], [0.9, 0.9, 0.1, 0.9])
        [0, 0, 1, 2]

    Args:
        logs: the weights, of which one at least is above −∞.
        uniforms: a number from 0 to below 1 for each draw.

    Returns:
        The places of the particles drawn, ascending.
    """
    top = max(logs)
    shares = [math.exp(each - top) for each in logs]
    part = math.fsum(shares) / len(uniforms)
    last = max(place for place, share in enumerate(shares) if share)
    drawn = list[int]()
    place, end = 0, shares[0]
    for number, uniform in enumerate(uniforms):
        while place < last and end <= (number + uniform) * part:
            place += 1
            end += shares[place]
        drawn.append(place)
    return drawn
