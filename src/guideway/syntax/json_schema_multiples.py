"""Factors of multipleOf, with bounded remainders."""

from dataclasses import dataclass
from decimal import Decimal
from typing import final

MOST_RESTS = 1024
_SMALL = 12
_MOST_DIGITS = 20


@final
@dataclass(frozen=True, slots=True)
class Factor:
    """`whole`·10^-`scale`; digits are divided by `whole` after `scale` decimal places."""

    whole: int
    scale: int


def factor_of(value: Decimal, most: int = MOST_RESTS) -> Factor | None:
    """The factor of a positive value, None if it has more than `most` remainders.

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
    """Remove zeros at the end; `normalize` would round to 28 digits."""
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    return Decimal((sign, tuple(map(int, short)), int(exponent) + len(text) - len(short)))
