"""Multiples of a number, and all other numbers, by long division, digit by digit."""

from collections.abc import Callable
from functools import partial
from typing import final

from guideway.lowering.expr import EMPTY, EPSILON, alt, byte_set, concat, literal, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.number_forms import DIGIT, NONZERO

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
