"""The spellings of one number, with fraction and exponent.

The automaton between two equal bounds (`number_machines`) has the same, but an enum of 63 numbers
makes 63 of them, and most of their states lead nowhere. Here each number is written down as it may
be read, the point after each of its digits in turn::

    25    2(5(ε|.00*|e0)|.50*e1)|0.(250*e2|0(250*e3|...))

As beside bounds, exponents are told up to DEPTH digits before the point, or zeros behind it. What
is far away (`number_far`) has spellings with an exponent only.

What this module does not know: signs, zero, keywords.
"""

from decimal import Decimal

from guideway.lowering.expr import EMPTY, EPSILON, alt, concat, literal, repeat
from guideway.lowering.nodes import Expr
from guideway.lowering.number_far import BEYOND, FARTHEST
from guideway.lowering.number_forms import exponents
from guideway.lowering.number_readers import DEPTH
from guideway.syntax.json_schema_multiples import without_zeros

_ZEROS = repeat(literal("0"))


def spellings(value: Decimal) -> Expr:
    """The texts of a number of more than 0, without a sign.

    >>> from guideway.lowering.regular import contains
    >>> [contains(spellings(Decimal("2.5")), text) for text in (b"2.50", b"25e-1", b"2.51")]
    [True, True, False]
    """
    if value == BEYOND:
        return EMPTY
    digits = "".join(map(str, without_zeros(value).as_tuple().digits))
    exponent = value.adjusted()
    return alt(
        _before_point(digits, exponent),
        concat(literal("0."), _behind_point(digits, exponent)),
    )


def _before_point(digits: str, exponent: int) -> Expr:
    """The first digit stands before the point, and perhaps others."""
    rest = EMPTY
    most = exponent + 1 if exponent <= FARTHEST else 0
    for count in range(max(DEPTH, most), 0, -1):  # digits before the point
        end = _end(exponent, count - 1)
        digit = literal(digits[count - 1 : count] or "0")
        if end is not EMPTY:  # 5,000 digits have no more than 11 places for the point
            behind = digits[count:]
            fraction = concat(literal(f".{behind or '0'}"), _ZEROS, end)
            rest = alt(EMPTY if behind else end, fraction, rest)
        rest = concat(digit, rest)
    return rest


def _behind_point(digits: str, exponent: int) -> Expr:
    """So many zeros, then the first digit."""
    rest = EMPTY
    most = -exponent if -exponent <= FARTHEST else 0
    for zeros in range(max(DEPTH, most), 0, -1):
        end = _end(exponent, -zeros)
        here = EMPTY if end is EMPTY else concat(literal(digits), _ZEROS, end)
        rest = alt(here, concat(literal("0"), rest))
    return rest


def _end(exponent: int, read: int) -> Expr:
    """What follows a mantissa whose first digit stands for a power of ten: `read` says which."""
    plain = EPSILON if read == exponent else EMPTY
    told = -DEPTH <= read < DEPTH
    return alt(plain, exponents(exponent - read, exponent - read)) if told else plain
