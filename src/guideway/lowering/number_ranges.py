"""Numbers in JSON's spelling: ranges and multiples, digit by digit."""

from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache, partial
from typing import Final, NamedTuple, final

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
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr, Rule
from guideway.syntax.json_schema_tree import Bound, without_zeros

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


_STEP = 12  # fuel for the digits after a remainder
_ZERO = literal("0")


@final
class Multiples:
    """Unsigned multiples of `factor`·10^-`scale`, or all other numbers if `denied`.

    `point` allows a fraction; `denied` requires it.
    """

    def __init__(
        self, factor: int, scale: int, *, denied: bool = False, point: bool = True
    ) -> None:
        self._factor, self._scale, self._denied, self._point = factor, scale, denied, point
        self._rules: dict[tuple[int, int | None], Expr] = {}

    def positive(self) -> Expr:
        """Numbers of at least 1."""
        return self._digits(0, self._whole, range(1, 10))

    def below_one(self) -> Expr:
        """Zero, if included, and numbers between 0 and 1."""
        return concat(_ZERO, alt(self._ended(0, 0), self._fraction(0)))

    def _whole(self, rest: int) -> Expr:
        return alt(self._ended(rest, 0), self._fraction(rest), self._rule(rest, None))

    def _fraction(self, rest: int) -> Expr:
        return concat(literal("."), self._behind(rest, 0)) if self._point else EMPTY

    def _behind(self, rest: int, place: int) -> Expr:
        """One or more digits after `place` digits of the fraction."""
        left = 10 ** (self._scale - place)
        if left > 1:
            some = self._denied or -rest * left % self._factor < left
            return self._rule(rest, place) if some else EMPTY
        if rest:
            return repeat(DIGIT, 1) if self._denied else EMPTY
        return concat(repeat(_ZERO), NONZERO, repeat(DIGIT)) if self._denied else repeat(_ZERO, 1)

    def _rule(self, rest: int, place: int | None) -> Expr:
        found = self._rules.get((rest, place))
        if found is None:
            make = partial(self._made, rest, place)
            found = Rule("digits", regular=True, inhabited=True, make=make)
            self._rules[rest, place] = found
        return found

    def _made(self, rest: int, place: int | None) -> Expr:
        spend(_STEP)
        if place is None:
            return self._digits(rest, self._whole)

        def after(rest: int) -> Expr:
            return alt(self._ended(rest, place + 1), self._behind(rest, place + 1))

        return self._digits(rest, after)

    def _digits(self, rest: int, after: Callable[[int], Expr], digits: range = range(10)) -> Expr:
        found: dict[int, list[int]] = {}
        for digit in digits:
            found.setdefault((rest * 10 + digit) % self._factor, []).append(ord("0") + digit)
        return alt(*(concat(byte_set(some), after(to)) for to, some in found.items()))

    def _ended(self, rest: int, place: int) -> Expr:
        divides = rest * 10 ** (self._scale - place) % self._factor == 0
        return EPSILON if divides != self._denied else EMPTY


class _Edge(NamedTuple):
    """Remaining digits of a bound after an equal prefix; the last is not 0."""

    digits: tuple[int, ...]
    exclusive: bool

    @property
    def next(self) -> int:
        return self.digits[0] if self.digits else 0

    @property
    def behind(self) -> "_Edge":
        return _Edge(self.digits[1:], self.exclusive)


class _Form(NamedTuple):
    """Form of a mantissa: `places` digits after the point, then zeros; None: any."""

    point: bool
    places: int | None

    def after(self) -> "_Form":
        return self if not self.places else _Form(self.point, self.places - 1)


_AT_ONCE: Final = 4  # digits of a bound between lazy rules
_POINT: Final = literal(".")
_RANGES_ZERO: Final = literal("0")
_NONE: Final = _Edge((), exclusive=False)
_REPR: Final = 16  # digits after the point in the `repr` of a double
_ALL: Final = Bound(Decimal(0), exclusive=True)


def between(
    lower: Bound | None,
    upper: Bound | None,
    *,
    places: int | None = None,
    digits: bool = False,
    plain: bool = False,
) -> Expr:
    """Positive numbers between two bounds, without a sign.

    places: most digits of the fraction that may differ from 0, None for any number; digits: no
    fraction and no exponent; plain: exponents of at most three digits.
    """
    low = _ALL if lower is None or lower.value <= 0 else lower
    if places is not None:
        low = _rounded(low, places, up=True)
        upper = None if upper is None else _rounded(upper, places, up=False)
    if upper is not None and (upper.value <= 0 or low.value > upper.value):
        return EMPTY
    form = _Form(not digits, places)
    parts = [_decimals(low, upper, form)]
    if not digits:
        parts += _scientific(low, upper, form, plain)
    return alt(*parts)


def shifted_away(places: int, *, plain: bool = False) -> Expr:
    """Numbers with an exponent that leaves `places` (maybe < 0) digits after the point."""
    return alt(*_scientific(_ALL, None, _Form(True, places), plain))


def _rounded(bound: Bound, places: int, *, up: bool) -> Bound:
    """Inclusive bound at the nearest allowed number with `places` digits after the point."""
    shifted = _shifted(bound.value, places)
    whole = shifted.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR)
    if bound.exclusive and whole == shifted:
        whole = Decimal(int(whole) + (1 if up else -1))
    return Bound(_shifted(whole, -places))


def _shifted(value: Decimal, places: int) -> Decimal:
    """Move the point to the right; `scaleb` would round."""
    sign, digits, exponent = value.as_tuple()
    return Decimal((sign, digits, int(exponent) + places))


def _edge(bound: Bound, whole: int) -> _Edge:
    value = without_zeros(bound.value)
    digits, first = value.as_tuple().digits, value.adjusted()
    return _Edge((0,) * (whole - 1 - first) + digits if value else (), bound.exclusive)


def _digits_before(bound: Bound) -> int:
    return max(1, bound.value.adjusted() + 1) if bound.value else 1


def _decimals(low: Bound, high: Bound | None, form: _Form) -> Expr:
    least = _digits_before(low)
    if high is None:
        longer = concat(NONZERO, repeat(DIGIT, least), _free_fraction(form))
        return alt(_whole(_edge(low, least), None, least, form, first=True), longer)
    most = _digits_before(high)
    if least == most:
        return _whole(_edge(low, least), _edge(high, least), least, form, first=True)
    short = _whole(_edge(low, least), None, least, form, first=True)
    return alt(short, _longer(_edge(high, most), most, least + 1, form, least=1))


def _up_to(high: _Edge, left: int, needed: int, form: _Form) -> Expr:
    """Numbers with `needed` to `left` digits before the point."""
    if left == 0:
        return _whole(None, high, 0, form)
    ended = _free_fraction(form) if needed <= 0 else EMPTY
    some = high.digits or not high.exclusive or needed < left
    if left % _AT_ONCE or not some:
        return alt(ended, _longer(high, left, needed, form))
    make = partial(_longer, high, left, needed, form)
    return alt(ended, Rule("digits", regular=True, inhabited=True, make=make))


@lru_cache(maxsize=4096)
def _longer(high: _Edge, left: int, needed: int, form: _Form, least: int = 0) -> Expr:
    parts = list[Expr]()
    more = max(0, needed - 1)
    for digits, most in (
        (range(least, high.next), left - 1),
        (range(max(least, high.next + 1), 10), left - 2),
    ):
        if digits and most >= more:
            free = concat(repeat(DIGIT, more, most), _free_fraction(form))
            parts.append(concat(byte_set(ord("0") + digit for digit in digits), free))
    if high.next >= least:
        rest = _up_to(high.behind, left - 1, needed - 1, form)
        parts.append(concat(literal(str(high.next)), rest))
    return alt(*parts)


def _scientific(low: Bound, high: Bound | None, form: _Form, plain: bool) -> Iterator[Expr]:
    if form.places is None:
        yield from _powers(low, high, form, None, plain)
        return
    for places in (0, _REPR):
        yield from _powers(low, high, _Form(True, places), places - form.places, plain)


def _powers(
    low: Bound, high: Bound | None, form: _Form, least: int | None, plain: bool
) -> Iterator[Expr]:
    """Numbers with an exponent: the first and last power of ten, and those between."""
    first = low.value.adjusted() if low.value else None
    last = None if high is None else high.value.adjusted()
    begin = max(
        (n for n in (least, None if first is None else first + 1) if n is not None), default=None
    )
    yield concat(
        _whole(None, None, 1, form, first=True),
        exponents(begin, None if last is None else last - 1, plain),
    )
    for power in {first, last} - {None}:
        if power is not None and (least is None or power >= least):
            lower = _scaled(low, power, form, up=True) if power == first else None
            upper = None if high is None or power != last else _scaled(high, power, form, up=False)
            yield concat(_whole(lower, upper, 1, form, first=True), exponents(power, power, plain))


def _scaled(bound: Bound, power: int, form: _Form, *, up: bool) -> _Edge:
    scaled = Bound(_shifted(bound.value, -power), bound.exclusive)
    return _edge(scaled if form.places is None else _rounded(scaled, form.places, up=up), 1)


def _free_fraction(form: _Form) -> Expr:
    return alt(EPSILON, concat(_POINT, _free_digits(form))) if form.point else EPSILON


def _free_digits(form: _Form) -> Expr:
    if form.places is None:
        return repeat(DIGIT, 1)
    some = concat(DIGIT, repeat(DIGIT, 0, form.places - 1)) if form.places else _RANGES_ZERO
    return concat(some, repeat(_RANGES_ZERO))


@lru_cache(maxsize=4096)
def _whole(
    low: _Edge | None, high: _Edge | None, left: int, form: _Form, *, first: bool = False
) -> Expr:
    low = _needed(low)
    if high is not None and not high.digits and high.exclusive:
        return EMPTY
    if left == 0:
        fraction = concat(_POINT, _fraction(low, high, form)) if form.point else EMPTY
        return alt(EPSILON if _may_end(low, high) else EMPTY, fraction)
    if low is high is None and not first:
        return concat(repeat(DIGIT, left, left), _free_fraction(form))
    rest = partial(_whole, left=left - 1, form=form)
    least = int(first and (left > 1 or low is None))
    return _steps(low, high, least, partial(_lazily, left - 1, rest))


@lru_cache(maxsize=4096)
def _fraction(low: _Edge | None, high: _Edge | None, form: _Form) -> Expr:
    low = _needed(low)
    if low is high is None:
        return _free_digits(form)
    if form.places == 0 or (low is None and high is not None and not high.digits):
        return repeat(_RANGES_ZERO, 1) if _may_end(low, high) else EMPTY  # zeros change nothing
    if low is not None and not low.digits and form.places is None and not (high and high.digits):
        return concat(repeat(_RANGES_ZERO), NONZERO, repeat(DIGIT)) if high is None else EMPTY
    return _steps(low, high, 0, partial(_behind, form=form.after()))


def _behind(low: _Edge | None, high: _Edge | None, form: _Form) -> Expr:
    end = EPSILON if _may_end(_needed(low), high) else EMPTY
    left = max(len(edge.digits) for edge in (low or _NONE, high or _NONE))
    return alt(end, _lazily(left, partial(_fraction, form=form), low, high))


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
    first = max(least, 0 if low is None else low.next)
    last = 9 if high is None else high.next
    parts = list[Expr]()
    for digit in sorted({first, last}) if first <= last else ():
        lower = low.behind if low is not None and digit == low.next else None
        upper = high.behind if high is not None and digit == high.next else None
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
