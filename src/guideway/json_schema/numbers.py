"""Sets of numbers as regular expressions over JSON's spelling."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from functools import cache, lru_cache, partial, reduce
from math import lcm
from sys import float_info
from typing import Final, NamedTuple, TypeVar

from guideway.errors import LimitError, UnsupportedError
from guideway.json_schema.text import MAX_DIGITS
from guideway.json_schema.tree import MOST_RESTS, Bound, Numbers, factor_of, without_zeros
from guideway.language.expr import (
    EMPTY,
    EPSILON,
    alt,
    both,
    byte_set,
    complement,
    concat,
    either,
    literal,
    optional,
    repeat,
)
from guideway.language.fuel import spend
from guideway.language.nodes import Expr, Rule
from guideway.regex.lowering import lower_regex
from guideway.regex.numerals import numerals, unsigned_to
from guideway.regex.parser import parse_regex

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


@lru_cache(maxsize=4096)
def exponents(low: int | None, high: int | None, plain: bool = False) -> Expr:
    """`e` and an integer from `low` to `high` (None: no bound); digits are lazy."""
    if plain:  # up to three digits
        low = -999 if low is None else max(low, -999)
        high = 999 if high is None else min(high, 999)
    if low is not None and high is not None and low > high:
        return EMPTY
    make = partial(_shifts, low, high, plain)
    return concat(EXPONENT_MARK, Rule("exponent", regular=True, inhabited=True, make=make))


def _shifts(low: int | None, high: int | None, plain: bool) -> Expr:
    positive = concat(optional(literal("+")), _shift(low, high))
    least, most = None if high is None else -high, None if low is None else -low
    found = alt(positive, concat(literal("-"), _shift(least, most)))
    return both(found, PLAIN_SHIFT) if plain else found


def _shift(low: int | None, high: int | None) -> Expr:
    """The whole numbers from `low` to `high`, maybe with zeros before them."""
    least = max(1, low or 0)
    some = EMPTY
    if high is None or high >= least:
        upper = None if high is None else Bound(Decimal(high))
        some = concat(repeat(_ZERO), _decimals(Bound(Decimal(least)), upper, point=False))
    zero = (low or 0) <= 0 and (high is None or high >= 0)
    return alt(some, repeat(_ZERO, 1)) if zero else some


_STEP = 12  # fuel for the digits after a remainder
_ZERO = literal("0")
_POINT = literal(".")


def _multiples(factor: int, scale: int, *, denied: bool, point: bool) -> Expr:
    """Unsigned multiples of `factor`·10^-`scale`, or all other numbers if `denied`.

    `point` allows a fraction; `denied` requires it. A state is the remainder of the digits so far
    and how many of them are behind the point, None before it.
    """
    rules: dict[tuple[int, int | None], Expr] = {}

    def step(rest: int, place: int | None, digits: range = range(10)) -> Expr:
        """One digit, and what may follow it."""
        spend(_STEP)
        found: dict[int, list[int]] = {}
        for digit in digits:
            found.setdefault((rest * 10 + digit) % factor, []).append(ord("0") + digit)
        after = None if place is None else place + 1
        return alt(*(concat(byte_set(some), follow(to, after)) for to, some in found.items()))

    def rule(rest: int, place: int | None) -> Expr:
        if (rest, place) not in rules:
            make = partial(step, rest, place)
            rules[rest, place] = Rule("digits", regular=True, inhabited=True, make=make)
        return rules[rest, place]

    def follow(rest: int, place: int | None) -> Expr:
        divides = rest * 10 ** (scale - (place or 0)) % factor == 0
        end = EPSILON if divides != denied else EMPTY
        if place is not None:
            return alt(end, fraction(rest, place))
        begun = concat(_POINT, fraction(rest, 0)) if point else EMPTY
        return alt(end, begun, rule(rest, None))

    def fraction(rest: int, place: int) -> Expr:
        """One or more digits after `place` digits of the fraction."""
        left = 10 ** (scale - place)
        if left > 1:
            some = denied or -rest * left % factor < left
            return rule(rest, place) if some else EMPTY
        if rest:
            return repeat(DIGIT, 1) if denied else EMPTY
        return concat(repeat(_ZERO), NONZERO, DIGITS) if denied else repeat(_ZERO, 1)

    below_one = alt(EMPTY if denied else EPSILON, concat(_POINT, fraction(0, 0)))
    positive = step(0, None, range(1, 10))
    return alt(positive, concat(_ZERO, below_one)) if point else positive


class _Edge(NamedTuple):
    """Remaining digits of a bound after an equal prefix; the last is not 0."""

    digits: tuple[int, ...]
    exclusive: bool

    @property
    def next(self) -> int:
        return self.digits[0] if self.digits else 0

    @property
    def rest(self) -> "_Edge":
        return _Edge(self.digits[1:], self.exclusive)


_AT_ONCE: Final = 4  # digits of a bound between lazy rules
_NONE: Final = _Edge((), exclusive=False)
_REPR: Final = 16  # digits after the point in the `repr` of a double
_ALL: Final = Bound(Decimal(0), exclusive=True)


def between(
    lower: Bound | None, upper: Bound | None, *, integer: bool = False, plain: bool = False
) -> Expr:
    """Positive numbers between two bounds, without a sign.

    integer: whole numbers, as digits; plain: exponents of at most three digits.
    """
    low = _ALL if lower is None or lower.value <= 0 else lower
    if integer:
        low = _rounded(low, up=True)
        upper = None if upper is None else _rounded(upper, up=False)
    if upper is not None and (upper.value <= 0 or low.value > upper.value):
        return EMPTY
    decimals = _decimals(low, upper, point=not integer)
    return decimals if integer else alt(decimals, *_scientific(low, upper, plain))


def _rounded(bound: Bound, *, up: bool) -> Bound:
    """Inclusive bound at the nearest allowed integer."""
    whole = bound.value.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR)
    if bound.exclusive and whole == bound.value:
        whole = Decimal(int(whole) + (1 if up else -1))
    return Bound(whole)


def _edge(bound: Bound, whole: int) -> _Edge:
    value = without_zeros(bound.value)
    digits, first = value.as_tuple().digits, value.adjusted()
    return _Edge((0,) * (whole - 1 - first) + digits if value else (), bound.exclusive)


def _digits_before(bound: Bound) -> int:
    return max(1, bound.value.adjusted() + 1) if bound.value else 1


def _decimals(low: Bound, high: Bound | None, *, point: bool) -> Expr:
    """Digits and, with `point`, an optional fraction."""
    least = _digits_before(low)
    units = partial(_units, point=point, first=True)
    fraction = FRACTION if point else EPSILON
    if high is None:
        longer = concat(NONZERO, repeat(DIGIT, least), fraction)
        return alt(units(_edge(low, least), None, least), longer)
    most = _digits_before(high)
    if least == most:
        return units(_edge(low, least), _edge(high, least), least)
    shortest, longest = units(_edge(low, least), None, least), units(None, _edge(high, most), most)
    if most - least == 1:
        return alt(shortest, longest)
    return alt(shortest, concat(NONZERO, repeat(DIGIT, least, most - 2), fraction), longest)


def _scientific(low: Bound, high: Bound | None, plain: bool) -> Iterator[Expr]:
    """Numbers with an exponent: the first and last power of ten, and those between."""
    first = low.value.adjusted() if low.value else None
    last = None if high is None else high.value.adjusted()
    inner = None if first is None else first + 1, None if last is None else last - 1
    yield concat(NONZERO, FRACTION, exponents(*inner, plain))
    for power in {power for power in (first, last) if power is not None}:
        lower = _edge(_scaled(low, power), 1) if power == first else None
        upper = _edge(_scaled(high, power), 1) if high and power == last else None
        mantissa = _units(lower, upper, 1, point=True, first=True)
        yield concat(mantissa, exponents(power, power, plain))


def _scaled(bound: Bound, power: int) -> Bound:
    """The bound divided by a power of ten; `scaleb` would round."""
    sign, digits, exponent = bound.value.as_tuple()
    return Bound(Decimal((sign, digits, int(exponent) - power)), bound.exclusive)


@lru_cache(maxsize=4096)
def _units(
    low: _Edge | None, high: _Edge | None, left: int, *, point: bool, first: bool = False
) -> Expr:
    """Numbers between two edges with `left` digits before the point; not 0 at `first`."""
    low = _needed(low)
    if high is not None and not high.digits and high.exclusive:
        return EMPTY
    if left == 0:
        fraction = concat(_POINT, _fraction(low, high)) if point else EMPTY
        return alt(EPSILON if _may_end(low, high) else EMPTY, fraction)
    if low is high is None and not first:
        return concat(repeat(DIGIT, left, left), FRACTION if point else EPSILON)
    rest = partial(_units, left=left - 1, point=point)
    least = int(first and (left > 1 or low is None))
    return _steps(low, high, least, partial(_lazily, left - 1, rest))


@lru_cache(maxsize=4096)
def _fraction(low: _Edge | None, high: _Edge | None) -> Expr:
    """One or more digits between two edges."""
    low = _needed(low)
    if low is high is None:
        return repeat(DIGIT, 1)
    if low is None and high is not None and not high.digits:
        return EMPTY if high.exclusive else repeat(_ZERO, 1)
    if low is not None and not low.digits and not (high and high.digits):
        return concat(repeat(_ZERO), NONZERO, DIGITS) if high is None else EMPTY
    return _steps(low, high, 0, _after_point)


def _after_point(low: _Edge | None, high: _Edge | None) -> Expr:
    end = EPSILON if _may_end(_needed(low), high) else EMPTY
    left = max(len(edge.digits) for edge in (low or _NONE, high or _NONE))
    return alt(end, _lazily(left, _fraction, low, high))


def _needed(low: _Edge | None) -> _Edge | None:
    """A lower bound; None if it is satisfied already."""
    return None if low is not None and not low.digits and not low.exclusive else low


def _may_end(low: _Edge | None, high: _Edge | None) -> bool:
    return low is None and (high is None or bool(high.digits) or not high.exclusive)


def _steps(
    low: _Edge | None,
    high: _Edge | None,
    least: int,
    rest: Callable[[_Edge | None, _Edge | None], Expr],
) -> Expr:
    """A digit of at least `least`, and `rest` with the edges that are still equal."""
    first = max(least, 0 if low is None else low.next)
    last = 9 if high is None else high.next
    parts = list[Expr]()
    for digit in sorted({first, last}) if first <= last else ():
        lower = low.rest if low is not None and digit == low.next else None
        upper = high.rest if high is not None and digit == high.next else None
        parts.append(concat(literal(str(digit)), rest(lower, upper)))
    if last - first > 1:
        inner = byte_set(range(ord("1") + first, ord("0") + last))
        parts.append(concat(inner, rest(None, None)))
    return alt(*parts)


def _lazily(
    left: int,
    rest: Callable[[_Edge | None, _Edge | None], Expr],
    low: _Edge | None,
    high: _Edge | None,
) -> Expr:
    """The rest of the digits, as a lazy rule every few digits."""
    low = _needed(low)
    if low is high is None or left == 0 or left % _AT_ONCE:
        return rest(low, high)
    ended = high is not None and high.exclusive and (not high.digits or low == high)
    if ended or (low and high and low.exclusive and low.digits == high.digits):
        return EMPTY
    return Rule("digits", regular=True, inhabited=True, make=partial(rest, low, high))


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


_REMAINDERS = 1 << 16  # remainders of several factors in a search: .15 s
_MINUS = literal("-")
_DECIMAL = concat(SIGN, WHOLE, FRACTION)
_ANY_ZERO = concat(SIGN, literal("0"), ZERO_FRACTION, optional(ANY_EXPONENT))
_COMPARABLE = alt(_DECIMAL, concat(SIGN, NONZERO, FRACTION, ANY_EXPONENT), _ANY_ZERO)


def lower_numbers(numbers: Numbers, *, plain: bool = False) -> Expr:
    """The numbers that satisfy all keywords; UnsupportedError or LimitError for `multipleOf`."""
    digits = numbers.integer and (plain or numbers.digits)  # digits only
    lower, upper = tightest(numbers)
    factors = _factors(numbers)
    integer = any(factor == factor.to_integral_value() for factor in factors)
    parts: list[Expr] = []
    if numbers.values is not None:
        parts.append(one_of(sorted(numbers.values), plain=plain))
    elif numbers.double and plain and not numbers.integer:
        parts.append(doubles())
        lower, upper = (None if is_beyond(bound) else bound for bound in (lower, upper))
    if lower is not None or upper is not None:
        parts.append(_range(lower, upper, integer, plain, digits))
        factors = [factor for factor in factors if factor != 1]
    elif digits:
        parts.append(PLAIN_INTEGER if plain else concat(SIGN, WHOLE))
    elif Decimal(1) in factors and not plain:
        parts.append(_integers())
        factors.remove(Decimal(1))
    parts += [multiples(factor, plain=plain) for factor in factors]
    return reduce(both, parts) if parts else PLAIN_NUMBER if plain else ANY_NUMBER


def _factors(numbers: Numbers) -> list[Decimal]:
    """The factors of the numbers; one common factor, if its remainders are few."""
    factors = [*numbers.multiples, *((Decimal(1),) if numbers.integer else ())]
    if not factors:
        return []
    common = common_multiple(tuple(factors))
    if factor_of(common) is not None:
        return [without_zeros(common)]
    if len(factors) > 1 and factor_of(common, most=_REMAINDERS) is None:
        raise LimitError(
            f"multiples of {len(numbers.multiples)} numbers at once have more than {_REMAINDERS} "
            f"remainders, as those of {without_zeros(common):.6g} do",
            limit="rests of multipleOf",
            given=_REMAINDERS,
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


def tightest(*parts: Numbers) -> tuple[Bound | None, Bound | None]:
    """The tightest bound on either side."""
    lower = (bound for part in parts for bound in part.lower)
    upper = (bound for part in parts for bound in part.upper)
    return (
        max(lower, key=lambda bound: (bound.value, bound.exclusive), default=None),
        min(upper, key=lambda bound: (bound.value, not bound.exclusive), default=None),
    )


def common_multiple(factors: tuple[Decimal, ...]) -> Decimal:
    """The least number that all factors divide; built from its text, since `scaleb` rounds."""
    places = max(0, *(-_exponent(factor) for factor in factors))
    return Decimal(f"{lcm(*(int(factor.scaleb(places)) for factor in factors))}e-{places}")


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
    return _range(lower, upper, False, plain, False)


@lru_cache(maxsize=256)  # bounds of floats have 309 digits
def _range(
    lower: Bound | None, upper: Bound | None, integer: bool, plain: bool, digits: bool
) -> Expr:
    """The numbers between the bounds; if `integer`, without an exponent; `digits`: digits only."""

    def magnitudes(low: Bound | None, high: Bound | None) -> Expr:
        return between(low, high, integer=integer, plain=plain)

    zeros = EPSILON if digits or not integer else ZERO_FRACTION
    zero = _ANY_ZERO
    if plain or digits:
        sign = EPSILON if plain and digits else SIGN
        zero = concat(sign, _ZERO, EPSILON if digits else ZERO_FRACTION)
    below = None if upper is None else _mirror(upper), None if lower is None else _mirror(lower)
    found = alt(magnitudes(lower, upper), concat(_MINUS, magnitudes(*below)))
    return alt(concat(found, zeros), zero if _holds_zero(lower, upper) else EMPTY)


def _holds_zero(lower: Bound | None, upper: Bound | None) -> bool:
    above = lower is None or lower.value < 0 or (lower.value == 0 and not lower.exclusive)
    below = upper is None or upper.value > 0 or (upper.value == 0 and not upper.exclusive)
    return above and below


def exactly(value: Decimal, *, plain: bool = False) -> Expr:
    """The spellings of one number; plain, its digits and what `repr` writes.

    >>> from guideway.language.regular import contains
    >>> [contains(exactly(Decimal("2.5")), text) for text in (b"2.50", b"25e-1", b"2.50E+00")]
    [True, False, True]
    """
    if value == BEYOND:
        return EMPTY
    if not value:
        return literal("0") if plain else _ANY_ZERO
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
    return concat(literal(f"{whole}.{fraction}"), EPSILON if plain else repeat(_ZERO))


def one_of(values: Iterable[Decimal], *, plain: bool = False) -> Expr:
    return either(exactly(value, plain=plain) for value in values)


def all_but(values: Iterable[Decimal], *, plain: bool) -> Expr:
    """All numbers except some."""
    given = list(values)
    if not given:
        return PLAIN_NUMBER if plain else ANY_NUMBER
    told = PLAIN_NUMBER if plain else _COMPARABLE
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
    return alt(concat(SIGN, magnitudes), _ANY_ZERO)


@lru_cache(maxsize=1)
def _integers() -> Expr:
    """Integers: exponents cover all digits of the fraction, or drop only zeros."""
    behind = EMPTY  # n digits of a fraction, then zeros: the exponent is at least n
    before = EMPTY  # n zeros at the end: the exponent is at least -n
    for count in range(_REPR, 0, -1):
        behind = concat(DIGIT, alt(concat(repeat(_ZERO), exponents(count, None)), behind))
        ended = concat(ZERO_FRACTION, exponents(-count, -1))
        before = concat(literal("0"), alt(ended, before))
    free = concat(ZERO_FRACTION, alt(exponents(0, None), EPSILON))
    whole = concat(WHOLE, alt(free, concat(literal("."), behind)))
    return alt(concat(SIGN, alt(whole, concat(NONZERO, repeat(DIGIT), before))), _ANY_ZERO)


@lru_cache(maxsize=256)
def multiples(factor: Decimal, *, denied: bool = False, plain: bool = False) -> Expr:
    """The multiples of a positive number, without exponents unless 1 is one of them.

    With `denied`, all other numbers.
    """
    parts = factor_of(factor)
    if parts is None:
        raise UnsupportedError(
            f"multipleOf {factor} has more than {MOST_RESTS} remainders", feature="multipleOf"
        )
    other = EMPTY if plain else _integers() if _divides(factor, Decimal(1)) else _ANY_ZERO
    if denied:  # numbers below the factor, with exponents too
        other = concat(SIGN, NONZERO, FRACTION, exponents(None, factor.adjusted() - 1, plain))
    if parts.scale >= 0:
        told = _multiples(parts.whole, parts.scale, denied=denied, point=True)
        return alt(concat(SIGN, told), other)
    digits = _multiples(parts.whole, 0, denied=False, point=False)
    zeros = literal("0" * -parts.scale)
    found = concat(SIGN, alt(concat(digits, zeros), _ZERO), ZERO_FRACTION)
    return alt(both(_DECIMAL, complement(found)) if denied else found, other)


_Value = TypeVar("_Value", bound=Hashable)


def merged(parts: list[Numbers]) -> Numbers:
    """All keywords as one, with one bound on each side; `values` satisfy the others.

    >>> merged([Numbers(integer=True), Numbers(frozenset({Decimal(1), Decimal("1.5")}))]).values
    frozenset({Decimal('1')})
    """
    low, high = tightest(*parts)
    multiples = dict.fromkeys(value for part in parts for value in part.multiples)
    made = Numbers(
        common(part.values for part in parts),
        any(part.integer for part in parts),
        any(part.digits for part in parts),
        () if low is None else (low,),
        () if high is None else (high,),
        tuple(multiples),
        any(part.double for part in parts),
    )
    if made.values is None:
        return made
    kept = frozenset(value for value in made.values if within(value, made))
    return Numbers(kept, made.integer, made.digits)


def no_number(numbers: Numbers) -> bool:
    """Return True if merged keywords plainly allow no number."""
    if numbers.values is not None:
        return not numbers.values
    return any(
        low.value > high.value or (low.value == high.value and (low.exclusive or high.exclusive))
        for low in numbers.lower
        for high in numbers.upper
    )


def within(value: Decimal, numbers: Numbers) -> bool:
    """Return True if a value satisfies the keywords, or may, as `BEYOND`."""
    return value == BEYOND or (
        not (numbers.integer and value != value.to_integral_value())
        and all(_above(value, bound) for bound in numbers.lower)
        and all(_above(value.copy_negate(), _mirror(bound)) for bound in numbers.upper)
        and all(_divides(multiple, value) for multiple in numbers.multiples)
    )


def _above(value: Decimal, bound: Bound) -> bool:
    return value > bound.value or (value == bound.value and not bound.exclusive)


def _mirror(bound: Bound) -> Bound:
    return Bound(bound.value.copy_negate(), bound.exclusive)


def _divides(multiple: Decimal, value: Decimal) -> bool:
    """In integers, as Decimals round, and without writing out the zeros of 1e999999999."""
    (_, digits, power), (_, others, unit) = value.as_tuple(), multiple.as_tuple()
    top, bottom, shift = _as_int(digits), _as_int(others), int(power) - int(unit)
    if shift >= 0:  # the twos and fives in a number are no more than its bits
        return top * 10 ** min(shift, bottom.bit_length()) % bottom == 0
    return not top or (-shift < len(digits) and top % (bottom * 10**-shift) == 0)


def _as_int(digits: tuple[int, ...]) -> int:
    return int(Decimal((0, digits, 0)))


def common(sets: "Iterable[frozenset[_Value] | None]") -> "frozenset[_Value] | None":
    """The intersection of the sets that are not None; None if there is none."""
    known = [values for values in sets if values is not None]
    return known[0].intersection(*known[1:]) if known else None
