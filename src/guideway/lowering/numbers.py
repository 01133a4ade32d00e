"""Sets of numbers as regular expressions over JSON's spelling of numbers.

Every number in any spelling stands for its exact decimal value. For each keyword there are the
numbers that satisfy it and the numbers that do not, each on its own, since no automaton tells all
spellings: whether 0.00…1e+n is at most 10 depends on comparing a count with a number. Of what is
not told neither set has anything, so nothing that is invalid is ever in, with `not` or without.

    any, no keyword   all of JSON's grammar
    any, bounds       a bound of 0, zero itself, and numbers without an exponent: everything; other
                      numbers with one: up to 5 digits before the point, 5 zeros behind it
    any, integer      up to 16 digits may be shifted away by the exponent, before the point and
                      behind it, zeros beside them are free; beside bounds 2, zeros among them
    any, multipleOf   numbers without an exponent; with one, if the factor is 1 to 12 by a power of
                      ten: of powers of ten 8 digits may be shifted away, of others 2
    plain             digits with or without a fraction; or scientific notation in its normal form
                      with an exponent of up to three digits
    plain, integer    digits, and no negative zero

What this module does not know: schemas. How digits are read: `number_readers`.
"""

from decimal import Decimal
from functools import lru_cache, reduce
from math import gcd

from guideway.errors import LimitError, UnsupportedError
from guideway.lowering.alternatives import either
from guideway.lowering.expr import EMPTY, EPSILON, alt, both, concat, literal, optional, repeat
from guideway.lowering.nodes import Expr
from guideway.lowering.number_constants import spellings
from guideway.lowering.number_doubles import doubles, is_beyond
from guideway.lowering.number_far import is_far
from guideway.lowering.number_forms import (
    ANY_EXPONENT,
    ANY_NUMBER,
    DIGIT,
    NONZERO,
    PLAIN_INTEGER,
    PLAIN_NUMBER,
    SIGN,
    WHOLE,
    ZERO_FRACTION,
    exponents,
)
from guideway.lowering.number_machines import Shape, magnitudes
from guideway.lowering.number_others import all_but, one_of
from guideway.lowering.number_readers import Comparison, Multiple, Reader
from guideway.syntax.json_schema_multiples import MOST_RESTS, factor_of, without_zeros
from guideway.syntax.json_schema_tree import Bound, Numbers

ZEROS = repeat(literal("0"))
SHIFTED_DIGITS = 16  # what `repr` writes of a double after the point
_DEPTHS = (8, 2)  # digits and zeros counted for a power of ten, and for other small factors

_MOST_MET = 1 << 16  # rests of several factors, among which an end is searched for: .15 s
_FEWEST = 8  # values that are ranges, of which nothing is written down: .05 ms each
_FEW = 200  # values that are spelled one by one, each in 2 ms

_DIGITS = Shape(point=False, exponent=False)
_PLAIN_DIGITS = Shape(point=False, exponent=False, normal=True)
_PLAIN = Shape(normal=True)
_ANY = Shape()
_EVERY = {
    _DIGITS: concat(SIGN, WHOLE),
    _PLAIN_DIGITS: PLAIN_INTEGER,
    _PLAIN: PLAIN_NUMBER,
    _ANY: ANY_NUMBER,
}
_ZEROS = {
    _DIGITS: concat(SIGN, literal("0")),
    _PLAIN_DIGITS: literal("0"),
    _PLAIN: concat(SIGN, literal("0"), ZERO_FRACTION),
    _ANY: concat(SIGN, literal("0"), ZERO_FRACTION, optional(ANY_EXPONENT)),
}


def lower_numbers(numbers: Numbers, *, plain: bool = False) -> Expr:
    """The numbers that satisfy all keywords.

    >>> lower_numbers(Numbers(lower=(Bound(Decimal(1)),), upper=(Bound(Decimal(-1)),))) is EMPTY
    True

    Raises:
        UnsupportedError: a multipleOf that leaves more than 1,024 different rests.
    """
    shape = _shape(numbers, plain)
    lower, upper = tightest(numbers)
    factors = _factors(numbers)
    parts: list[Expr] = []
    if numbers.values is not None:
        parts.append(_one_of(sorted(numbers.values), plain))
    elif numbers.double and shape == _PLAIN:
        parts.append(doubles())
        lower, upper = (None if is_beyond(bound) else bound for bound in (lower, upper))
    if lower is not None or upper is not None:
        beside = _beside(factors)
        parts.append(_range(lower, upper, shape, beside))
        factors = factors if beside is None else []
    parts += [_multiples(factor, shape) for factor in factors]
    return reduce(both, parts) if parts else _EVERY[shape]


def _one_of(values: list[Decimal], plain: bool) -> Expr:
    if len(values) <= _FEWEST and not plain and not any(map(is_far, values)):
        return alt(*(_range(Bound(value), Bound(value), _ANY) for value in values))
    if len(values) <= _FEW:
        return alt(*(exactly(value, plain=plain) for value in values))
    return either(exactly(value, plain=True) for value in values) if plain else one_of(values)


def _factors(numbers: Numbers) -> list[Decimal]:
    """What the numbers are multiples of: one factor, if its rests can be told."""
    factors = [*numbers.multiples, *((Decimal(1),) if numbers.integer else ())]
    if not factors:
        return []
    common = common_multiple(tuple(factors))
    if _divisible(common) is not None:
        return [common]
    if len(factors) > 1 and factor_of(common, most=_MOST_MET) is None:
        raise LimitError(
            f"multiples of {len(numbers.multiples)} numbers at once have more than {_MOST_MET} "
            f"remainders, as those of {without_zeros(common):.6g} do",
            limit="rests of multipleOf",
            given=_MOST_MET,
        )
    return factors


def _beside(factors: list[Decimal]) -> Multiple | None:
    """The reader of a small factor, for one automaton with bounds: a meet costs more per mask."""
    if len(factors) != 1:
        return None
    reader = _divisible(factors[0], beside_bounds=True)
    return None if reader is None or reader.depth is None else reader


def lower_other_numbers(numbers: Numbers, *, plain: bool = False) -> Expr:
    """The numbers that do not satisfy some keyword; arguments and errors as in `lower_numbers`."""
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


def _shape(numbers: Numbers, plain: bool) -> Shape:
    if numbers.integer and (plain or numbers.digits):
        return _PLAIN_DIGITS if plain else _DIGITS
    return _PLAIN if plain else _ANY


def tightest(numbers: Numbers) -> tuple[Bound | None, Bound | None]:
    """The bound on either side that implies the others."""
    lower = max(numbers.lower, key=lambda bound: (bound.value, bound.exclusive), default=None)
    upper = min(numbers.upper, key=lambda bound: (bound.value, not bound.exclusive), default=None)
    return lower, upper


def common_multiple(factors: tuple[Decimal, ...]) -> Decimal:
    """The least number that all of these divide.

    >>> common_multiple((Decimal("0.4"), Decimal("0.6"), Decimal(1)))
    Decimal('6.0')
    """
    places = max(0, *(-_exponent(factor) for factor in factors))
    found = 1
    for factor in factors:
        whole = int(factor.scaleb(places))
        found = found * whole // gcd(found, whole)
    return Decimal((0, tuple(map(int, str(found))), -places))


def _exponent(value: Decimal) -> int:
    return int(value.as_tuple().exponent)


def _beyond(bound: Bound) -> Bound:
    """The other side of a bound."""
    return Bound(bound.value, not bound.exclusive)


def number_range(
    lower: Bound | None = None, upper: Bound | None = None, *, plain: bool = False
) -> Expr:
    """The numbers between the bounds."""
    return _range(lower, upper, _PLAIN if plain else _ANY)


def integer_range(
    lower: Bound | None = None, upper: Bound | None = None, *, plain: bool = False
) -> Expr:
    """The whole numbers between the bounds."""
    return lower_numbers(_numbers(lower, upper), plain=plain)


def digits_range(lower: Bound | None = None, upper: Bound | None = None) -> Expr:
    """The whole numbers between the bounds, without fraction and exponent."""
    return _range(lower, upper, _DIGITS)


def _numbers(lower: Bound | None, upper: Bound | None) -> Numbers:
    lowers, uppers = () if lower is None else (lower,), () if upper is None else (upper,)
    return Numbers(integer=True, lower=lowers, upper=uppers)


@lru_cache(maxsize=256)  # the bounds of a float have 309 digits, for each field
def _range(
    lower: Bound | None, upper: Bound | None, shape: Shape, beside: Multiple | None = None
) -> Expr:
    if lower is upper is None:
        return _EVERY[shape]
    positive = _magnitudes(lower, upper, shape, beside)
    negative = concat(literal("-"), _magnitudes(_negated(upper), _negated(lower), shape, beside))
    return alt(positive, negative, _ZEROS[shape] if _holds_zero(lower, upper) else EMPTY)


def _negated(bound: Bound | None) -> Bound | None:
    return None if bound is None else Bound(bound.value.copy_negate(), bound.exclusive)


def _holds_zero(lower: Bound | None, upper: Bound | None) -> bool:
    above = lower is None or lower.value < 0 or (lower.value == 0 and not lower.exclusive)
    below = upper is None or upper.value > 0 or (upper.value == 0 and not upper.exclusive)
    return above and below


@lru_cache(maxsize=256)
def _magnitudes(
    lower: Bound | None, upper: Bound | None, shape: Shape, beside: Multiple | None
) -> Expr:
    """Numbers of more than 0, without a sign, between the bounds; bounds may be negative."""
    if upper is not None and upper.value <= 0:
        return EMPTY
    readers: list[Reader] = [] if beside is None else [beside]
    if lower is not None and lower.value > 0:
        readers.append(_comparison(lower, upper=False))
    if upper is not None:
        readers.append(_comparison(upper, upper=True))
    return magnitudes(readers, shape, sure=_has_some(lower, upper, beside))


def _has_some(lower: Bound | None, upper: Bound | None, beside: Multiple | None) -> bool:
    """Whether there surely is a number of more than 0 between bounds; `upper` is more than 0.

    Of multiples that is told where kernels read them: of 1, 0.1 and 0.01.
    """
    if beside is not None and not (beside.factor == 1 and 0 <= beside.scale <= _DEPTHS[True]):
        return False
    if upper is None:
        return True
    low = Bound(Decimal(0), True) if lower is None or lower.value <= 0 else lower
    if beside is None:
        equal = low.value == upper.value and not (low.exclusive or upper.exclusive)
        return equal or low.value < upper.value
    first, end = _shifted(low.value, beside.scale), _shifted(upper.value, beside.scale)
    least = int(first) + (low.exclusive or first != int(first))
    return least <= int(end) - (upper.exclusive and end == int(end))


def _shifted(value: Decimal, places: int) -> Decimal:
    """A number, the point so many digits further on; `scaleb` would round it."""
    sign, digits, _ = value.as_tuple()
    return Decimal((sign, digits, _exponent(value) + places))


def _comparison(bound: Bound, *, upper: bool) -> Comparison:
    digits = without_zeros(bound.value).as_tuple().digits
    return Comparison(digits, bound.value.adjusted(), bound.exclusive, upper)


def exactly(value: Decimal, *, plain: bool = False) -> Expr:
    """The spellings of one number.

    Plain, it has one, or two: what `repr` makes of a float, and its digits without an exponent.
    """
    if not value:
        return _ZEROS[_PLAIN_DIGITS if plain else _ANY]
    if not plain:
        return concat(literal("-" if value < 0 else ""), spellings(value.copy_abs()))
    text = f"{value.copy_abs():f}"
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    digits, exponent = f"{whole}{fraction}".strip("0"), value.adjusted()
    head, tail = digits[:1], digits[1:]
    spelled = [f"{whole}.{fraction}" if fraction else whole]
    if not -4 <= exponent < 16:
        spelled.append(f"{head}{'.' if tail else ''}{tail}e{exponent:+03d}")
    return concat(literal("-" if value < 0 else ""), alt(*map(literal, spelled)))


@lru_cache(maxsize=1)
def _integers() -> Expr:
    """Whole numbers: digits, and an exponent that shifts away no more than zeros, or enough."""
    behind = EMPTY  # n digits of a fraction, the rest zeros: the exponent is at least n
    before = EMPTY  # n zeros at the end: the exponent is at least -n
    for count in range(SHIFTED_DIGITS, 0, -1):
        behind = concat(DIGIT, alt(concat(ZEROS, exponents(count, None)), behind))
        ended = concat(ZERO_FRACTION, exponents(-count, -1))
        before = concat(literal("0"), alt(ended, before))
    free = concat(ZERO_FRACTION, alt(exponents(0, None), EPSILON))
    whole = concat(WHOLE, alt(free, concat(literal("."), behind)))
    return alt(concat(SIGN, alt(whole, concat(NONZERO, repeat(DIGIT), before))), _ZEROS[_ANY])


def multiples(factor: Decimal, *, denied: bool = False, plain: bool = False) -> Expr:
    """The multiples of a number of more than 0; or, `denied`, all other numbers.

    Raises:
        UnsupportedError: the factor has too many digits.
    """
    return _multiples(factor, _PLAIN if plain else _ANY, denied)


@lru_cache(maxsize=256)
def _multiples(factor: Decimal, shape: Shape, denied: bool = False) -> Expr:
    if factor == 1 and not denied and shape != _PLAIN:
        return _integers() if shape == _ANY else _EVERY[shape]
    reader = _divisible(factor, denied=denied)
    if reader is None:
        raise UnsupportedError(
            f"multipleOf {factor} has more than {MOST_RESTS} remainders",
            feature="multipleOf",
        )
    zero = EMPTY if denied else _ZEROS[shape]
    return alt(concat(SIGN, magnitudes([reader], shape)), zero)


def _divisible(
    value: Decimal, *, denied: bool = False, beside_bounds: bool = False
) -> Multiple | None:
    """The reader for a factor; small ones with exponents."""
    factor = factor_of(value)
    if factor is None or not factor.small:
        return None if factor is None else Multiple(factor.whole, factor.scale, None, denied)
    depth = _DEPTHS[factor.whole > 1 or beside_bounds]
    return Multiple(factor.whole, factor.scale, max(depth, depth - factor.scale), denied)
