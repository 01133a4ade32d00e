"""Ranges of numbers as regular expressions over JSON's spelling of numbers.

A bound becomes a walk along its digits. At least 123, as whole numbers of three digits:

    "12" [3-9]  |  "1" [3-9] [0-9]  |  [2-9] [0-9] [0-9]

longer ones are all greater, and a fraction is compared in the same way, with zeros for the digits
that are not there. Lower and upper bound are two expressions and meet in `both`.

Which spellings there are (every number in any spelling stands for its exact decimal value):

    any, no bounds     all of JSON's grammar
    any, bounds        digits with or without a fraction; or scientific notation in its normal form,
                       one digit other than 0 before the point, any exponent; or a zero in any form
    any, integer       the same, where the value is a whole number; if there is a fraction, at most
                       16 digits of it, zeros at its end aside, may be shifted away by the exponent,
                       and a negative exponent stands only behind zeros
    plain              digits with or without a fraction; or scientific notation in its normal form
                       with an exponent of up to three digits
    plain, integer     digits, and no negative zero

What is missing from "any" cannot be told by a finite automaton: whether 0.00…1e+n is at most 10
depends on comparing a count with a number.

What this module does not know: schemas.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import final

from fairlead.lowering.expr import EMPTY, alt, both, byte_set, concat, literal, optional, repeat
from fairlead.lowering.nodes import Expr
from fairlead.syntax.json_schema_tree import Bound

DIGIT = byte_set(b"0123456789")
NONZERO = byte_set(b"123456789")
DIGITS = repeat(DIGIT)
ZEROS = repeat(literal("0"))
WHOLE = alt(literal("0"), concat(NONZERO, DIGITS))
FRACTION = optional(concat(literal("."), repeat(DIGIT, 1)))
ZERO_FRACTION = optional(concat(literal("."), repeat(literal("0"), 1)))
SIGN = optional(literal("-"))
EXPONENT_MARK = byte_set(b"eE")
ANY_EXPONENT = concat(EXPONENT_MARK, optional(byte_set(b"+-")), repeat(DIGIT, 1))
ZERO = concat(SIGN, literal("0"), ZERO_FRACTION, optional(ANY_EXPONENT))
MANTISSA = concat(NONZERO, FRACTION)  # of scientific notation in its normal form
PLAIN_EXPONENT = concat(EXPONENT_MARK, optional(byte_set(b"+-")), repeat(DIGIT, 1, 3))
SHIFTED_DIGITS = 16  # what `repr` writes of a double after the point


@final
@dataclass(frozen=True, slots=True)
class _Forms:
    """How numbers of 0 and more may be written: scientific in its normal form; and any zero."""

    decimal: Expr
    scientific: Expr
    zero: Expr


@lru_cache(maxsize=64)  # the bounds of a float have 309 digits: 14 ms, for each field
def number_range(
    lower: Bound | None = None, upper: Bound | None = None, *, plain: bool = False
) -> Expr:
    """The numbers between the bounds.

    >>> from fairlead.lowering.expr import literal
    >>> number_range(upper=Bound(Decimal("-1")), lower=Bound(Decimal(1)))
    Empty(nullable=False, regular=True)
    """
    if plain:
        forms = _Forms(concat(WHOLE, FRACTION), concat(MANTISSA, PLAIN_EXPONENT), EMPTY)
    else:
        forms = _Forms(concat(WHOLE, FRACTION), concat(MANTISSA, ANY_EXPONENT), ZERO)
        if lower is upper is None:
            return concat(SIGN, WHOLE, FRACTION, optional(ANY_EXPONENT))
    return _between(lower, upper, forms)


def integer_range(
    lower: Bound | None = None, upper: Bound | None = None, *, plain: bool = False
) -> Expr:
    """The whole numbers between the bounds."""
    if plain:
        shape = plain_integers()
        if lower is upper is None:
            return shape
        return both(shape, _between(lower, upper, _Forms(WHOLE, EMPTY, EMPTY)))
    if lower is upper is None:
        return alt(concat(SIGN, WHOLE, _integral_end()), ZERO)
    scientific = concat(NONZERO, _integral_end())
    return _between(lower, upper, _Forms(concat(WHOLE, ZERO_FRACTION), scientific, ZERO))


def digits_range(lower: Bound | None = None, upper: Bound | None = None) -> Expr:
    """The whole numbers between the bounds, without fraction and exponent."""
    if lower is upper is None:
        return concat(SIGN, WHOLE)
    return _between(lower, upper, _Forms(WHOLE, EMPTY, EMPTY))


def exactly(value: Decimal, *, plain: bool = False) -> Expr:
    """The spellings of one number.

    Plain, it has one, or two: what `repr` makes of a float, and its digits without an exponent.
    """
    if not value:
        return literal("0") if plain else ZERO
    sign = literal("-" if value < 0 else "")
    whole, fraction = _digits(value)
    digits, exponent = f"{whole}{fraction}".strip("0"), value.adjusted()
    head, tail = digits[:1], digits[1:]
    if plain:
        spelled = [f"{whole}.{fraction}" if fraction else whole]
        if not -5 <= exponent < 16:
            spelled.append(f"{head}{'.' if tail else ''}{tail}e{exponent:+03d}")
        return concat(sign, alt(*map(literal, spelled)))
    end = Bound(Decimal(exponent))
    decimal = concat(literal(whole), _exact_fraction(fraction))
    scientific = concat(literal(head), _exact_fraction(tail), _exponents(end, end))
    return concat(sign, alt(decimal, scientific))


def _exact_fraction(digits: str) -> Expr:
    return concat(literal(f".{digits}"), ZEROS) if digits else ZERO_FRACTION


@lru_cache(maxsize=1)
def plain_integers() -> Expr:
    """Whole numbers as people write them: no fraction, exponent, or negative zero."""
    return alt(literal("0"), concat(SIGN, NONZERO, DIGITS))


@lru_cache(maxsize=1)
def _integral_end() -> Expr:
    """What makes the digits before it a whole number: a fraction of zeros or shifted away."""
    shifted = EMPTY  # n digits of a fraction, the rest zeros: the exponent is at least n
    for count in range(SHIFTED_DIGITS, 0, -1):
        enough = _exponents(Bound(Decimal(count)), None)
        shifted = concat(DIGIT, alt(concat(ZEROS, enough), shifted))
    fractions = concat(literal("."), shifted)
    return alt(concat(ZERO_FRACTION, optional(_exponents(Bound(Decimal(0)), None))), fractions)


def _negated(bound: Bound | None) -> Bound | None:
    return None if bound is None else Bound(bound.value.copy_negate(), bound.exclusive)


def _holds_zero(lower: Bound | None, upper: Bound | None) -> bool:
    above = lower is None or lower.value < 0 or (lower.value == 0 and not lower.exclusive)
    below = upper is None or upper.value > 0 or (upper.value == 0 and not upper.exclusive)
    return above and below


def _between(lower: Bound | None, upper: Bound | None, forms: _Forms) -> Expr:
    positive = _magnitudes(lower, upper, forms)
    negative = _magnitudes(_negated(upper), _negated(lower), forms)
    zero = forms.zero if _holds_zero(lower, upper) else EMPTY
    return alt(positive, concat(literal("-"), negative), zero)


def _magnitudes(low: Bound | None, high: Bound | None, forms: _Forms) -> Expr:
    """Numbers of 0 and more, without a sign, between the bounds; bounds may be negative."""
    if low is not None and (low.value < 0 or (low.value == 0 and not low.exclusive)):
        low = None
    if high is not None and high.value < 0:
        return EMPTY
    decimal, scientific = forms.decimal, forms.scientific
    if low is not None:
        decimal = both(decimal, _at_least(low))
        scientific = both(scientific, _scientific_at_least(low))
    if high is not None:
        decimal = both(decimal, _at_most(high))
        scientific = both(scientific, _scientific_at_most(high))
    return alt(decimal, scientific)


def _digits(value: Decimal) -> tuple[str, str]:
    """The digits before and after the point, without zeros at the end."""
    whole, _, fraction = f"{value.copy_abs():f}".partition(".")
    return whole, fraction.rstrip("0")


def _from(low: int, high: int) -> Expr:
    return byte_set(range(ord("0") + low, ord("0") + high + 1))


def _at_least(bound: Bound) -> Expr:
    whole, fraction = _digits(bound.value)
    rest = _fraction_at_least(fraction, bound.exclusive)
    for behind, digit in enumerate(map(int, reversed(whole))):
        greater = concat(_from(digit + 1, 9), repeat(DIGIT, behind, behind), FRACTION)
        rest = alt(concat(_from(digit, digit), rest), greater)
    longer = concat(NONZERO, repeat(DIGIT, len(whole)), FRACTION)
    return alt(rest, longer)


def _fraction_at_least(digits: str, exclusive: bool) -> Expr:
    more = concat(ZEROS, NONZERO, DIGITS)
    if not digits:
        return concat(literal("."), more) if exclusive else FRACTION
    rest = more if exclusive else DIGITS
    for digit in map(int, reversed(digits)):
        rest = alt(concat(_from(digit, digit), rest), concat(_from(digit + 1, 9), DIGITS))
    return concat(literal("."), rest)


def _at_most(bound: Bound) -> Expr:
    whole, fraction = _digits(bound.value)
    rest = _fraction_at_most(fraction, bound.exclusive)
    for behind, digit in enumerate(map(int, reversed(whole))):
        first = behind == len(whole) - 1 and behind > 0  # no 0 begins a number of many digits
        smaller = concat(_from(int(first), digit - 1), repeat(DIGIT, behind, behind), FRACTION)
        rest = alt(concat(_from(digit, digit), rest), smaller)
    if len(whole) == 1:
        return rest
    shorter = alt(literal("0"), concat(NONZERO, repeat(DIGIT, 0, len(whole) - 2)))
    return alt(rest, concat(shorter, FRACTION))


def _fraction_at_most(digits: str, exclusive: bool) -> Expr:
    rest = EMPTY if exclusive else ZEROS
    more = rest
    for digit in map(int, reversed(digits)):
        more = alt(concat(_from(digit, digit), rest), concat(_from(0, digit - 1), DIGITS))
        rest = optional(more)  # 0.12 is less than 0.125
    if not digits:
        return EMPTY if exclusive else ZERO_FRACTION
    return optional(concat(literal("."), more))


def _normal(bound: Bound) -> tuple[Bound, Bound, Bound]:
    """The mantissa of a bound in [1, 10), its exponent, and the same exponent, exclusive.

    Built from the digits: arithmetic on a Decimal rounds to 28 of them.
    """
    digits, exponent = bound.value.as_tuple().digits, bound.value.adjusted()
    mantissa = Bound(Decimal((0, digits, 1 - len(digits))), bound.exclusive)
    return mantissa, Bound(Decimal(exponent)), Bound(Decimal(exponent), exclusive=True)


def _scientific_at_least(bound: Bound) -> Expr:
    if not bound.value:
        return concat(MANTISSA, ANY_EXPONENT)
    mantissa, equal, beyond = _normal(bound)
    same = concat(both(MANTISSA, _at_least(mantissa)), _exponents(equal, equal))
    return alt(same, concat(MANTISSA, _exponents(beyond, None)))


def _scientific_at_most(bound: Bound) -> Expr:
    if not bound.value:
        return EMPTY
    mantissa, equal, beyond = _normal(bound)
    same = concat(both(MANTISSA, _at_most(mantissa)), _exponents(equal, equal))
    return alt(same, concat(MANTISSA, _exponents(None, beyond)))


def _exponents(low: Bound | None, high: Bound | None) -> Expr:
    """`e` and a whole number between the bounds, with any zeros before its digits."""
    positive = concat(optional(literal("+")), ZEROS, _whole(low, high))
    negative = concat(literal("-"), ZEROS, _whole(_negated(high), _negated(low)))
    return concat(EXPONENT_MARK, alt(positive, negative))


def _whole(low: Bound | None, high: Bound | None) -> Expr:
    if high is not None and high.value < 0:
        return EMPTY
    above = WHOLE if low is None or low.value < 0 else both(WHOLE, _at_least(low))
    return above if high is None else both(above, _at_most(high))
