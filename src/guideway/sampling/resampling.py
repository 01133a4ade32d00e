"""Resampling of weighted particles. Weights are logarithms; uniform numbers are arguments."""

import math
from collections.abc import Iterable, Sequence


def log_sum(logs: Iterable[float]) -> float:
    """Logarithm of a sum of numbers given by their logarithms."""
    terms = list(logs)
    top = max(terms, default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(each - top) for each in terms))


def log_mean(logs: Sequence[float]) -> float:
    """The logarithm of the mean of some weights, those of −∞ counted."""
    return log_sum(logs) - math.log(len(logs))


def effective_size(logs: Sequence[float]) -> float:
    """(Σ weight)² / Σ weight², the effective number of particles (Kong 1992)."""
    total = log_sum(logs)
    if total == -math.inf:
        return 0.0
    return math.exp(2 * total - log_sum(2 * each for each in logs))


def stratified(logs: Sequence[float], uniforms: Sequence[float]) -> list[int]:
    """Indices of stratified draws from weighted particles, ascending.

    Draw i is the particle at (i + uniforms[i]) / n of the cumulative weight, so a particle of share
    w is drawn n·w times on average, within less than 2 (Kitagawa 1996; Douc, Cappé and Moulines
    2005, "Comparison of resampling schemes").

    >>> stratified([math.log(0.5), math.log(0.25), math.log(0.25)], [0.9, 0.9, 0.1, 0.9])
    [0, 0, 1, 2]
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
