"""Formulas of speculative decoding (Leviathan et al. 2023, arXiv 2211.17192).

α is the probability that a drafted token is accepted, γ the number of drafted tokens for one
forward of the target model, and c the cost of drafting a token in forwards of the target model:

    tokens for a forward    (1 − α^(γ+1)) / (1 − α)
    speed-up                (1 − α^(γ+1)) / ((1 − α) · (γ · c + 1))

The speed-up assumes that a forward costs the same for one token and for γ + 1, as on a GPU.
"""

from typing import Final

from guideway.errors import LimitError

MOST: Final = 64  # drafted tokens; a longer draft gains less than a thousandth at a rate of 0.9


def expected_tokens(acceptance: float | int, gamma: int) -> float:
    """Expected tokens for one forward of the target model.

    >>> round(expected_tokens(0.7, 3), 3), expected_tokens(1, 3)
    (2.533, 4.0)

    Args:
        acceptance: the probability that a drafted token is accepted, 0 to 1.
        gamma: the number of drafted tokens.

    Raises:
        LimitError: an argument is out of range.
    """
    _check("acceptance", acceptance, 0 <= acceptance <= 1, "a number from 0 to 1")
    _check("gamma", gamma, gamma >= 0, "a count")
    if acceptance == 1:
        return float(gamma + 1)
    return (1 - acceptance ** (gamma + 1)) / (1 - acceptance)


def expected_speedup(acceptance: float | int, gamma: int, cost: float | int) -> float:
    """Expected speed-up of speculative decoding over decoding token by token.

    >>> round(expected_speedup(0.7, 3, 0.13), 4), round(expected_speedup(0.7, 4, 0.13), 4)
    (1.8223, 1.8244)

    Args:
        acceptance: the probability that a drafted token is accepted, 0 to 1.
        gamma: the number of drafted tokens for one forward of the target model.
        cost: the cost of drafting a token, in forwards of the target model.

    Raises:
        LimitError: an argument is out of range.
    """
    _check("cost", cost, cost >= 0, "a number from 0 up")
    return expected_tokens(acceptance, gamma) / (cost * gamma + 1)


def best_gamma(acceptance: float | int, cost: float | int, most: int = MOST) -> int:
    """The number of drafted tokens with the greatest expected speed-up; the least of ties.

    >>> best_gamma(0.7, 0.13), best_gamma(0.5, 0.5), best_gamma(1, 0.1)
    (4, 0, 64)

    Args:
        acceptance: the probability that a drafted token is accepted, 0 to 1.
        cost: the cost of drafting a token, in forwards of the target model.
        most: the greatest number to consider.

    Raises:
        LimitError: an argument is out of range.
    """
    _check("most", most, most >= 0, "a count")
    return max(range(most + 1), key=lambda gamma: expected_speedup(acceptance, gamma, cost))


def _check(name: str, value: float | int, right: bool, allowed: str) -> None:
    if not right:
        given = value if isinstance(value, int) else None
        raise LimitError(f"{name} is {value!r}: it must be {allowed}", limit=name, given=given)
