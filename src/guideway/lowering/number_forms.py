"""Parts of the JSON grammar of numbers (RFC 8259 §6), and exponents in a range."""

from functools import lru_cache, partial

from guideway.lowering.expr import (
    EMPTY,
    EPSILON,
    alt,
    both,
    byte_set,
    concat,
    literal,
    optional,
    repeat,
)
from guideway.lowering.nodes import Expr, Rule

DIGIT = byte_set(b"0123456789")
NONZERO = byte_set(b"123456789")
DIGITS = repeat(DIGIT)
WHOLE = alt(literal("0"), concat(NONZERO, DIGITS))
FRACTION = optional(concat(literal("."), repeat(DIGIT, 1)))
ZERO_FRACTION = optional(concat(literal("."), repeat(literal("0"), 1)))
SIGN = optional(literal("-"))
EXPONENT_MARK = byte_set(b"eE")
ANY_EXPONENT = concat(EXPONENT_MARK, optional(byte_set(b"+-")), repeat(DIGIT, 1))
PLAIN_SHIFT = concat(optional(byte_set(b"+-")), repeat(DIGIT, 1, 3))
PLAIN_EXPONENT = concat(EXPONENT_MARK, PLAIN_SHIFT)
ANY_NUMBER = concat(SIGN, WHOLE, FRACTION, optional(ANY_EXPONENT))
PLAIN_NUMBER = concat(SIGN, alt(concat(WHOLE, FRACTION), concat(NONZERO, FRACTION, PLAIN_EXPONENT)))
PLAIN_INTEGER = alt(literal("0"), concat(SIGN, NONZERO, DIGITS))


def exponent_range(
    low: int | None, high: int | None, plain: bool
) -> tuple[int | None, int | None] | None:
    """Clip a range of exponents to those that can be written; None if it is empty."""
    if plain:  # up to three digits
        low = -999 if low is None else max(low, -999)
        high = 999 if high is None else min(high, 999)
    return None if low is not None and high is not None and low > high else (low, high)


@lru_cache(maxsize=4096)
def exponents(low: int | None, high: int | None, plain: bool = False) -> Expr:
    """`e` and an integer from `low` to `high` (None: no bound); digits are lazy."""
    ends = exponent_range(low, high, plain)
    if ends is None:
        return EMPTY
    return concat(EXPONENT_MARK, shifts(*ends, plain))


@lru_cache(maxsize=4096)
def shifts(low: int | None, high: int | None, plain: bool) -> Rule:
    """`exponents` without its letter, for a non-empty range."""
    make = partial(_shifts, low, high, plain)
    return Rule("exponent", regular=True, inhabited=True, make=make)


def _shifts(low: int | None, high: int | None, plain: bool) -> Expr:
    positive = concat(optional(literal("+")), _magnitude(low, high))
    negative = concat(literal("-"), _magnitude(_negated(high), _negated(low)))
    found = alt(positive, negative)
    return both(found, PLAIN_SHIFT) if plain else found


def _negated(end: int | None) -> int | None:
    return None if end is None else -end


def _magnitude(low: int | None, high: int | None) -> Expr:
    if high is not None and high < 0:
        return EMPTY
    zeros = repeat(literal("0"))
    above = repeat(DIGIT, 1) if low is None or low <= 0 else concat(zeros, _at_least(str(low)))
    return above if high is None else both(above, concat(zeros, _at_most(str(high))))


def _at_least(digits: str) -> Expr:
    rest = EPSILON
    for behind, digit in enumerate(map(int, reversed(digits))):
        greater = concat(_digits(digit + 1, 9), repeat(DIGIT, behind, behind))
        rest = alt(concat(_digits(digit, digit), rest), greater)
    return alt(rest, concat(NONZERO, repeat(DIGIT, len(digits))))


def _at_most(digits: str) -> Expr:
    rest = EPSILON
    for behind, digit in enumerate(map(int, reversed(digits))):
        smaller = concat(_digits(0, digit - 1), repeat(DIGIT, behind, behind))
        rest = alt(concat(_digits(digit, digit), rest), smaller)
    return alt(rest, repeat(DIGIT, 1, len(digits) - 1) if len(digits) > 1 else EMPTY)


def _digits(low: int, high: int) -> Expr:
    return byte_set(range(ord("0") + low, ord("0") + high + 1))
