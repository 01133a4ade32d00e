"""Factors of multipleOf: what an automaton has to remember of a number to tell its multiples.

What this module does not know: automata.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import final

MOST_RESTS = 1024
_SMALL = 12
_MOST_DIGITS = 20


@final
@dataclass(frozen=True, slots=True)
class Factor:
    """A factor whose multiples can be told: `whole`·10^-`scale`.

    Attributes:
        whole: what digits are divided by.
        scale: how many digits behind the point count; below 0, how many zeros are at the end.
    """

    whole: int
    scale: int


def factor_of(value: Decimal, most: int = MOST_RESTS) -> Factor | None:
    """The factor of this value, more than 0; None where it leaves more than `most` rests.

    >>> factor_of(Decimal("0.25")), factor_of(Decimal(998244353))
    (Factor(whole=25, scale=2), None)
    """
    exact = without_zeros(value)
    scale = -int(exact.as_tuple().exponent)
    if len(exact.as_tuple().digits) > _MOST_DIGITS:
        return None
    whole = int(exact.scaleb(scale))
    if whole <= _SMALL and abs(scale) <= _MOST_DIGITS:
        return Factor(whole, scale)
    if scale < 0:
        whole, scale = whole * 10 ** min(-scale, _MOST_DIGITS), 0
    return Factor(whole, scale) if whole * (scale + 1) <= most else None


def without_zeros(value: Decimal) -> Decimal:
    """The same value without zeros at its end; `normalize` rounds to 28 digits.

    >>> without_zeros(Decimal("1200.0"))
    Decimal('1.2E+3')
    """
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    return Decimal((sign, tuple(map(int, short)), int(exponent) + len(text) - len(short)))
