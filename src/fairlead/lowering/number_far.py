"""Numbers so far from 1 that they are not told from one another.

A text may hold 1e-999999999, whose digits nobody writes down, and 1e99999999999999999999, which is
no `Decimal`. Where values are compared they are all one: whatever is far away may be equal to it,
what is nearer is not. Schemas have no such numbers; they are refused.

What this module does not know: how numbers are spelled.
"""

from decimal import Decimal, InvalidOperation
from typing import Final

FARTHEST: Final = 400
"""The largest power of ten of a first digit, or its opposite; those of floats end at 308 and -324.
"""

FAR: Final = Decimal("Infinity")
"""A number of more or less, but for its sign, than these powers of ten."""


def near(digits: str) -> Decimal:
    """The value of a JSON number, FAR if it is far away.

    >>> near("25e-1"), near("1e-401"), near("0e9999999999999999999")
    (Decimal('2.5'), Decimal('Infinity'), Decimal('0'))
    """
    mantissa = digits.lower().partition("e")[0]
    if not mantissa.strip("-0."):
        return Decimal(0)
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return FAR
    return value if abs(value.adjusted()) <= FARTHEST else FAR
