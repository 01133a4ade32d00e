"""Numbers whose exponent is so large that their digits are never written."""

from decimal import Decimal, InvalidOperation
from typing import Final

from guideway.syntax.json_text import MAX_DIGITS

FARTHEST: Final = MAX_DIGITS
"""Largest absolute power of ten of the first digit, for numbers that are not far."""

BEYOND: Final = Decimal("Infinity")
"""A number whose exponent, of either sign, has more than 17 digits."""


def read_number(digits: str) -> Decimal:
    """Value of a JSON number, or BEYOND."""
    if not digits.lower().partition("e")[0].strip("-0."):
        return Decimal(0)
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return BEYOND
    return value if abs(value.adjusted()) < 10**17 else BEYOND


def is_far(value: Decimal) -> bool:
    """Return True if a number is written only with an exponent."""
    return value == BEYOND or abs(value.adjusted()) > FARTHEST
