"""Sets of numbers as regular expressions over JSON's spelling."""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache, reduce
from math import gcd
from sys import float_info
from typing import Final, TypeVar

from guideway.errors import LimitError, UnsupportedError
from guideway.lowering.expr import (
    EMPTY,
    EPSILON,
    alt,
    both,
    complement,
    concat,
    either,
    literal,
    optional,
    repeat,
)
from guideway.lowering.nodes import Expr
from guideway.lowering.number_ranges import (
    ANY_EXPONENT,
    ANY_NUMBER,
    DIGIT,
    DIGITS,
    FRACTION,
    NONZERO,
    PLAIN_INTEGER,
    PLAIN_NUMBER,
    SIGN,
    WHOLE,
    ZERO_FRACTION,
    Multiples,
    between,
    exponents,
    shifted_away,
)
from guideway.lowering.regex import lower_regex
from guideway.syntax.json_schema_tree import MOST_RESTS, Bound, Numbers, factor_of, without_zeros
from guideway.syntax.json_text import MAX_DIGITS
from guideway.syntax.python_types_formats import numerals, unsigned_to
from guideway.syntax.regex import parse_regex

_DIGITS: Final = 17
_LARGEST: Final = Decimal(repr(float_info.max))
_TOP: Final = float_info.max_10_exp


def is_beyond(bound: Bound | None) -> bool:
    """Return True if a bound is None or excludes no double."""
    return bound is None or abs(bound.value) >= _LARGEST


@cache
def doubles() -> Expr:
    """Numbers with up to 17 significant digits, at most the largest double."""
    mantissa = f"[1-9](?:[.][0-9]{{1,{_DIGITS - 1}}})?"
    exponents = f"-[0-9]{{1,3}}|[+]?(?:0{{0,2}}[0-9]|0?[1-9][0-9]|{numerals(100, _TOP - 1)})"
    top = unsigned_to(_LARGEST.scaleb(-_TOP), exclusive=False)
    parts = [
        f"0(?:[.]0{{1,{_DIGITS}}})?",
        f"0[.]0{{0,{_DIGITS}}}[1-9][0-9]{{0,{_DIGITS - 1}}}",
        *(
            f"[1-9][0-9]{{{count - 1}}}(?:[.][0-9]{{1,{max(1, _DIGITS - count)}}})?"
            for count in range(1, _DIGITS + 1)
        ),
        f"{mantissa}[eE](?:{exponents})",
        f"(?={mantissa}[eE])(?:{top})[eE][+]?{_TOP}",
    ]
    return lower_regex(parse_regex(f"-?(?:{'|'.join(parts)})"))


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


ZEROS = repeat(literal("0"))
SHIFTED_DIGITS = 16  # most digits after the point in `repr` of a double

_MOST_MET = 1 << 16  # remainders of several factors in a search: .15 s
_MOST_POWERS = 12  # powers of ten tried: 2^10 divides 10^10
_MINUS = literal("-")
_DECIMAL = concat(SIGN, WHOLE, FRACTION)
_ZERO = concat(SIGN, literal("0"), ZERO_FRACTION, optional(ANY_EXPONENT))
_TOLD = alt(_DECIMAL, concat(SIGN, NONZERO, FRACTION, ANY_EXPONENT), _ZERO)


def lower_numbers(numbers: Numbers, *, plain: bool = False) -> Expr:
    """The numbers that satisfy all keywords; UnsupportedError or LimitError for `multipleOf`."""
    digits = numbers.integer and (plain or numbers.digits)  # digits only
    lower, upper = tightest(numbers)
    factors = _factors(numbers)
    parts: list[Expr] = []
    if numbers.values is not None:
        parts.append(one_of(sorted(numbers.values), plain=plain))
    elif numbers.double and plain and not numbers.integer:
        parts.append(doubles())
        lower, upper = (None if is_beyond(bound) else bound for bound in (lower, upper))
    if lower is not None or upper is not None:
        places = min((max(0, -_exponent(factor)) for factor in factors), default=None)
        parts.append(_range(lower, upper, places, plain, digits))
        factors = [factor for factor in factors if factor != _unit(places)]
    elif digits:
        parts.append(PLAIN_INTEGER if plain else concat(SIGN, WHOLE))
    elif Decimal(1) in factors and not plain:
        parts.append(_integers())
        factors.remove(Decimal(1))
    parts += [multiples(factor, plain=plain) for factor in factors]
    return reduce(both, parts) if parts else PLAIN_NUMBER if plain else ANY_NUMBER


def _unit(places: int | None) -> Decimal | None:
    return None if places is None else Decimal((0, (1,), -places))


def _factors(numbers: Numbers) -> list[Decimal]:
    """The factors of the numbers; one common factor, if its remainders are few."""
    factors = [*numbers.multiples, *((Decimal(1),) if numbers.integer else ())]
    if not factors:
        return []
    common = common_multiple(tuple(factors))
    if factor_of(common) is not None:
        return [without_zeros(common)]
    if len(factors) > 1 and factor_of(common, most=_MOST_MET) is None:
        raise LimitError(
            f"multiples of {len(numbers.multiples)} numbers at once have more than {_MOST_MET} "
            f"remainders, as those of {without_zeros(common):.6g} do",
            limit="rests of multipleOf",
            given=_MOST_MET,
        )
    return [without_zeros(factor) for factor in factors]


def lower_other_numbers(numbers: Numbers, *, plain: bool = False) -> Expr:
    """The numbers that violate some keyword; arguments and errors as in `lower_numbers`."""
    options = [number_range(upper=_beyond(bound), plain=plain) for bound in numbers.lower]
    options += [number_range(lower=_beyond(bound), plain=plain) for bound in numbers.upper]
    if numbers.integer:
        options.append(multiples(Decimal(1), denied=True, plain=plain))
    if numbers.digits and not plain:
        whole = concat(SIGN, WHOLE)
        options.append(concat(whole, alt(concat(literal("."), repeat(DIGIT, 1)), ANY_EXPONENT)))
        options.append(concat(whole, literal("."), repeat(DIGIT, 1), ANY_EXPONENT))
    if numbers.values is not None:
        options.append(all_but(numbers.values, plain=plain))
    options += [multiples(factor, denied=True, plain=plain) for factor in numbers.multiples]
    return alt(*options)


def tightest(numbers: Numbers) -> tuple[Bound | None, Bound | None]:
    """The tightest bound on either side."""
    lower = max(numbers.lower, key=lambda bound: (bound.value, bound.exclusive), default=None)
    upper = min(numbers.upper, key=lambda bound: (bound.value, not bound.exclusive), default=None)
    return lower, upper


def common_multiple(factors: tuple[Decimal, ...]) -> Decimal:
    places = max(0, *(-_exponent(factor) for factor in factors))
    found = 1
    for factor in factors:
        whole = int(factor.scaleb(places))
        found = found * whole // gcd(found, whole)
    return Decimal((0, tuple(map(int, str(found))), -places))


def _exponent(value: Decimal) -> int:
    return int(value.as_tuple().exponent)


def _beyond(bound: Bound) -> Bound:
    return Bound(bound.value, not bound.exclusive)


def number_range(
    lower: Bound | None = None, upper: Bound | None = None, *, plain: bool = False
) -> Expr:
    """The numbers between the bounds."""
    if lower is upper is None:
        return PLAIN_NUMBER if plain else ANY_NUMBER
    return _range(lower, upper, None, plain, digits=False)


@lru_cache(maxsize=256)  # bounds of floats have 309 digits
def _range(
    lower: Bound | None, upper: Bound | None, places: int | None, plain: bool, digits: bool
) -> Expr:
    def magnitudes(low: Bound | None, high: Bound | None) -> Expr:
        return between(low, high, places=places, digits=digits, plain=plain)

    zero = _ZERO
    if digits:
        zero = literal("0") if plain else concat(SIGN, literal("0"))
    elif plain:
        zero = concat(SIGN, literal("0"), ZERO_FRACTION)
    negative = concat(_MINUS, magnitudes(_negated(upper), _negated(lower)))
    return alt(magnitudes(lower, upper), negative, zero if _holds_zero(lower, upper) else EMPTY)


def _negated(bound: Bound | None) -> Bound | None:
    return None if bound is None else Bound(bound.value.copy_negate(), bound.exclusive)


def _holds_zero(lower: Bound | None, upper: Bound | None) -> bool:
    above = lower is None or lower.value < 0 or (lower.value == 0 and not lower.exclusive)
    below = upper is None or upper.value > 0 or (upper.value == 0 and not upper.exclusive)
    return above and below


def exactly(value: Decimal, *, plain: bool = False) -> Expr:
    """The spellings of one number; plain, its digits and what `repr` writes.

    >>> from guideway.lowering.regular import contains
    >>> [contains(exactly(Decimal("2.5")), text) for text in (b"2.50", b"25e-1", b"2.50E+00")]
    [True, False, True]
    """
    if value == BEYOND:
        return EMPTY
    if not value:
        return literal("0") if plain else _ZERO
    magnitude, exponent = value.copy_abs(), value.adjusted()
    digits = "".join(map(str, without_zeros(magnitude).as_tuple().digits))
    forms = list[Expr]()
    if not is_far(value):
        whole, _, fraction = f"{magnitude:f}".partition(".")
        forms.append(_spelled(whole, fraction.rstrip("0"), plain))
    if not (plain and -4 <= exponent < 16):
        shift = literal(f"e{exponent:+03d}") if plain else exponents(exponent, exponent)
        forms.append(concat(_spelled(digits[0], digits[1:], plain), shift))
    return concat(_MINUS if value < 0 else EPSILON, alt(*forms))


def _spelled(whole: str, fraction: str, plain: bool) -> Expr:
    if not fraction:
        return concat(literal(whole), EPSILON if plain else ZERO_FRACTION)
    return concat(literal(f"{whole}.{fraction}"), EPSILON if plain else ZEROS)


def one_of(values: Iterable[Decimal], *, plain: bool = False) -> Expr:
    return either(exactly(value, plain=plain) for value in values)


def all_but(values: Iterable[Decimal], *, plain: bool) -> Expr:
    """All numbers except some."""
    given = list(values)
    if not given:
        return PLAIN_NUMBER if plain else ANY_NUMBER
    told = PLAIN_NUMBER if plain else _TOLD
    if any(map(is_far, given)):
        told = both(told, _near(counted=BEYOND in given))
    return both(told, complement(one_of(given)))


@lru_cache(maxsize=2)
def _near(*, counted: bool) -> Expr:
    """Numbers that are not far away, or have an exponent (`counted`: of up to 16 digits)."""
    shifts = exponents(1 - 10**16, 10**16 - 1) if counted else ANY_EXPONENT
    magnitudes = alt(
        concat(NONZERO, repeat(DIGIT, 0, FARTHEST), FRACTION),
        concat(literal("0."), repeat(literal("0"), 0, FARTHEST - 1), NONZERO, DIGITS),
        concat(NONZERO, FRACTION, shifts),
    )
    return alt(concat(SIGN, magnitudes), _ZERO)


@lru_cache(maxsize=1)
def _integers() -> Expr:
    """Integers: exponents cover all digits of the fraction, or drop only zeros."""
    behind = EMPTY  # n digits of a fraction, then zeros: the exponent is at least n
    before = EMPTY  # n zeros at the end: the exponent is at least -n
    for count in range(SHIFTED_DIGITS, 0, -1):
        behind = concat(DIGIT, alt(concat(ZEROS, exponents(count, None)), behind))
        ended = concat(ZERO_FRACTION, exponents(-count, -1))
        before = concat(literal("0"), alt(ended, before))
    free = concat(ZERO_FRACTION, alt(exponents(0, None), EPSILON))
    whole = concat(WHOLE, alt(free, concat(literal("."), behind)))
    return alt(concat(SIGN, alt(whole, concat(NONZERO, repeat(DIGIT), before))), _ZERO)


@lru_cache(maxsize=256)
def multiples(factor: Decimal, *, denied: bool = False, plain: bool = False) -> Expr:
    """The multiples of a positive number; with `denied`, all other numbers."""
    parts = factor_of(factor)
    if parts is None:
        raise UnsupportedError(
            f"multipleOf {factor} has more than {MOST_RESTS} remainders", feature="multipleOf"
        )
    if denied:  # numbers below the factor, with exponents too
        other = concat(SIGN, NONZERO, FRACTION, exponents(None, factor.adjusted() - 1, plain))
    else:  # multiples of 10ⁿ are multiples of its divisors
        powers = (n for n in range(_MOST_POWERS) if 10**n % parts.whole == 0)
        zeros = next(powers, None)
        shifted = EMPTY if zeros is None else shifted_away(parts.scale - zeros, plain=plain)
        other = alt(concat(SIGN, shifted), EMPTY if plain else _ZERO)
    if parts.scale >= 0:
        told = Multiples(parts.whole, parts.scale, denied=denied)
        return alt(concat(SIGN, alt(told.positive(), told.below_one())), other)
    digits = Multiples(parts.whole, 0, point=False).positive()
    spelled = concat(digits, literal("0" * -parts.scale), ZERO_FRACTION)
    found = concat(SIGN, alt(spelled, concat(literal("0"), ZERO_FRACTION)))
    return alt(both(_DECIMAL, complement(found)) if denied else found, other)


_Value = TypeVar("_Value", bound="str | Decimal")


def merged(parts: list[Numbers]) -> Numbers:
    """All keywords as one, with one bound on each side; `values` satisfy the others.

    >>> merged([Numbers(integer=True), Numbers(frozenset({Decimal(1), Decimal("1.5")}))]).values
    frozenset({Decimal('1')})
    """
    lower = [bound for part in parts for bound in part.lower]
    upper = [bound for part in parts for bound in part.upper]
    multiples = dict.fromkeys(value for part in parts for value in part.multiples)
    made = Numbers(
        common(part.values for part in parts),
        any(part.integer for part in parts),
        any(part.digits for part in parts),
        (max(lower, key=lambda bound: (bound.value, bound.exclusive)),) if lower else (),
        (min(upper, key=lambda bound: (bound.value, not bound.exclusive)),) if upper else (),
        tuple(multiples),
        any(part.double for part in parts),
    )
    if made.values is None:
        return made
    kept = frozenset(value for value in made.values if within(value, made))
    return Numbers(kept, made.integer, made.digits)


def no_number(numbers: Numbers) -> bool:
    """Whether merged keywords plainly leave no number."""
    if numbers.values is not None:
        return not numbers.values
    return any(
        low.value > high.value or (low.value == high.value and (low.exclusive or high.exclusive))
        for low in numbers.lower
        for high in numbers.upper
    )


def within(value: Decimal, numbers: Numbers) -> bool:
    """Whether a value satisfies the keywords, or may, as what is beyond counting."""
    return value == BEYOND or (
        not (numbers.integer and value != value.to_integral_value())
        and all(_above(value, bound) for bound in numbers.lower)
        and all(_above(value.copy_negate(), _mirror(bound)) for bound in numbers.upper)
        and all(_divides(multiple, value) for multiple in numbers.multiples)
    )


def implies(first: Numbers, second: Numbers) -> bool:
    """Whether the numbers of merged keywords are plainly among those of others.

    >>> implies(Numbers(multiples=(Decimal(4), Decimal(6))), Numbers(multiples=(Decimal(12),)))
    True
    """
    if second.values is not None:
        return first.values is not None and first.values <= second.values
    return (
        first.digits >= second.digits
        and all(any(_is_tighter(one, bound) for one in first.lower) for bound in second.lower)
        and all(
            any(_is_tighter(_mirror(one), _mirror(bound)) for one in first.upper)
            for bound in second.upper
        )
        and _divide(_numbers_factors(second), _numbers_factors(first))
    )


def _numbers_factors(numbers: Numbers) -> tuple[Decimal, ...]:
    return (*numbers.multiples, Decimal(1)) if numbers.integer else numbers.multiples


def _divide(some: tuple[Decimal, ...], others: tuple[Decimal, ...]) -> bool:
    return not some or (
        bool(others) and all(_divides(one, common_multiple(others)) for one in some)
    )


def _is_tighter(lower: Bound, other: Bound) -> bool:
    alike = lower.value == other.value and lower.exclusive >= other.exclusive
    return lower.value > other.value or alike


def _above(value: Decimal, bound: Bound) -> bool:
    return value > bound.value or (value == bound.value and not bound.exclusive)


def _mirror(bound: Bound) -> Bound:
    return Bound(bound.value.copy_negate(), bound.exclusive)


def _divides(multiple: Decimal, value: Decimal) -> bool:
    """In integers, as Decimals round, and without writing out the zeros of 1e999999999."""
    (_, digits, power), (_, others, unit) = value.as_tuple(), multiple.as_tuple()
    top, bottom, shift = _whole(digits), _whole(others), int(power) - int(unit)
    if shift >= 0:  # the twos and fives in a number are no more than its bits
        return top * 10 ** min(shift, bottom.bit_length()) % bottom == 0
    return not top or (-shift < len(digits) and top % (bottom * 10**-shift) == 0)


def _whole(digits: tuple[int, ...]) -> int:
    return int(Decimal((0, digits, 0)))


def common(sets: "Iterable[frozenset[_Value] | None]") -> "frozenset[_Value] | None":
    """What is in all the sets that are given, None if none is."""
    known = [values for values in sets if values is not None]
    return known[0].intersection(*known[1:]) if known else None
