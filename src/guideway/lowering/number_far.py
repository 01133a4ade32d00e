"""Numbers whose exponent is so large that their digits are never written."""

from decimal import Decimal, InvalidOperation
from typing import Final

from guideway.syntax.json_text import MAX_DIGITS

FARTHEST: Final = MAX_DIGITS
"""What is not far away: the power of ten of the first digit, or its opposite, is at most this."""

BEYOND: Final = Decimal("Infinity")
"""A number whose exponent, whatever its sign, has more than 17 digits."""


def read_number(digits: str) -> Decimal:
    """The value of a JSON number, or BEYOND.

    >>> [read_number(text) for text in ("25e-1", "1e9999999999999999999", "0e9999999999999999999")]
    [Decimal('2.5'), Decimal('Infinity'), Decimal('0')]
    """
    if not digits.lower().partition("e")[0].strip("-0."):
        return Decimal(0)
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return BEYOND
    return value if abs(value.adjusted()) < 10**17 else BEYOND


def is_far(value: Decimal) -> bool:
    """Whether a number is written with an exponent only.

    >>> is_far(Decimal("1e4000")), is_far(Decimal("1e-4001")), is_far(BEYOND)
    (False, True, True)
    """
    return value == BEYOND or abs(value.adjusted()) > FARTHEST
