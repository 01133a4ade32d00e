"""One of many numbers, and all numbers but some: of the spellings that are told apart.

Between 20,000 numbers are as many gaps, each a machine of its own, and each number has dozens of
spellings. Here the numbers become a trie of their digits instead, and what it reads is taken away
from all numbers. A place in it is made when it is entered::

    1, 12, 1e3      "1" → one of 1 and 1e3, the exponent says which; or the first digit of 12
                    "10" → the same one place on: 1 is 10e-1

The spellings that are told apart are those of `number_constants`: of numbers without an exponent
all; with one, up to DEPTH digits before the point, or zeros behind it.

What this module does not know: keywords.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Final, TypeAlias, final

from guideway.lowering.expr import (
    EMPTY,
    EPSILON,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    optional,
    repeat,
)
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.number_constants import spellings
from guideway.lowering.number_far import BEYOND, FARTHEST, is_far
from guideway.lowering.number_forms import (
    ANY_EXPONENT,
    ANY_NUMBER,
    DIGIT,
    DIGITS,
    FRACTION,
    NONZERO,
    PLAIN_NUMBER,
    SIGN,
    WHOLE,
    ZERO_FRACTION,
    exponents,
)
from guideway.lowering.number_readers import DEPTH
from guideway.syntax.json_schema_multiples import without_zeros

_ZERO: Final = concat(SIGN, literal("0"), ZERO_FRACTION, optional(ANY_EXPONENT))
_TOLD: Final = alt(
    concat(SIGN, WHOLE, FRACTION),
    concat(SIGN, NONZERO, repeat(DIGIT, 0, DEPTH - 1), FRACTION, ANY_EXPONENT),
    concat(SIGN, literal("0."), repeat(literal("0"), 0, DEPTH - 1), NONZERO, DIGITS, ANY_EXPONENT),
    _ZERO,
)

_BYTES: Final = sum(1 << byte for byte in b"0123456789.e-")

# The digits of numbers that differ in the place of the point, and the power of ten of the first.
_Entry: TypeAlias = tuple[str, tuple[int, ...]]

# Whether the point is passed, and a digit behind it; which power of ten the first digit stands for,
# before the point as if it were here; the node of the trie, if the digits go on to more; and the
# powers of ten of the first digits of numbers that have no other digits.
_Place: TypeAlias = tuple[bool, bool, int, "_Node | None", tuple[int, ...]]


def all_but(values: Iterable[Decimal], *, plain: bool) -> Expr:
    """The numbers that are none of some.

    >>> all_but([], plain=True) is PLAIN_NUMBER
    True
    """
    given = list(values)
    if not given:
        return PLAIN_NUMBER if plain else ANY_NUMBER
    told = PLAIN_NUMBER if plain else _TOLD
    if any(map(is_far, given)):
        told = both(told, _near(counted=BEYOND in given))
        given = [value for value in given if value != BEYOND]
    return both(told, complement(_taken(given)))


def one_of(values: Iterable[Decimal]) -> Expr:
    """One of many numbers, in any spelling that is told apart.

    >>> one_of([]) is EMPTY, one_of([Decimal("-0.0")]) is _ZERO
    (True, True)
    """
    given = list(values)
    far = (
        concat(literal("-" if value < 0 else ""), spellings(value.copy_abs()))
        for value in given
        if is_far(value)
    )
    return alt(_taken([value for value in given if not is_far(value)]), *far)


def _taken(given: list[Decimal]) -> Expr:
    return alt(
        _spelled(value for value in given if value > 0),
        concat(literal("-"), _spelled(value.copy_abs() for value in given if value < 0)),
        _ZERO if any(not value for value in given) else EMPTY,
    )


@lru_cache(maxsize=2)
def _near(*, counted: bool) -> Expr:
    """The numbers that are not far away, or have an exponent; `counted`: up to 16 digits of it."""
    shifts = exponents(1 - 10**16, 10**16 - 1) if counted else ANY_EXPONENT
    magnitudes = alt(
        concat(NONZERO, repeat(DIGIT, 0, FARTHEST), FRACTION),
        concat(literal("0."), repeat(literal("0"), 0, FARTHEST - 1), NONZERO, DIGITS),
        concat(NONZERO, repeat(DIGIT, 0, DEPTH - 1), FRACTION, shifts),
        concat(literal("0."), repeat(literal("0"), 0, DEPTH - 1), NONZERO, DIGITS, shifts),
    )
    return alt(concat(SIGN, magnitudes), _ZERO)


@final
class _Node:
    """What begins with some digits: the powers of ten of numbers that end here, and what follows.

    The numbers are more than 0 and have no zeros before or behind their digits; `entries` are those
    in order, with the powers of ten of each, of which these stand from `first` to `end`.
    """

    __slots__ = ("_below", "_end", "_entries", "_first", "_length", "powers")

    def __init__(self, entries: list[_Entry], first: int, end: int, length: int) -> None:
        self._entries, self._first, self._end, self._length = entries, first, end, length
        digits, powers = entries[first]
        self.powers = powers if len(digits) == length else ()
        self._below: dict[int, _Node] | None = None

    @property
    def below(self) -> "dict[int, _Node]":
        """What is left by the digit that comes next."""
        if self._below is None:
            self._below = {}
            first = self._first + bool(self.powers)
            while first < self._end:
                begun = self._entries[first][0][: self._length + 1]
                end = bisect_left(self._entries, f"{begun}:", first, self._end, key=_digits_of)
                self._below[int(begun[-1])] = _Node(self._entries, first, end, len(begun))
                first = end
        return self._below

    def most(self) -> int:
        """The greatest power of ten of them all."""
        return max(max(powers) for _, powers in self._entries[self._first : self._end])


def _digits_of(entry: _Entry) -> str:
    return entry[0]


def _spelled(values: Iterable[Decimal]) -> Expr:
    """The spellings of numbers of more than 0."""
    found: dict[str, list[int]] = {}
    most, least = DEPTH - 1, -DEPTH
    for value in values:
        power = value.adjusted()
        digits = "".join(map(str, without_zeros(value).as_tuple().digits))
        found.setdefault(digits, []).append(power)
        if abs(power) <= FARTHEST:
            most, least = max(most, power), min(least, power)
    if not found:
        return EMPTY
    spend(len(found))
    entries = [(digits, tuple(found[digits])) for digits in sorted(found)]
    return _Spellings(most, least).all(_Node(entries, 0, len(entries), 0))


@final
class _Spellings:
    """The places of one trie, as expressions that are made when they are entered."""

    def __init__(self, most: int, least: int) -> None:
        self._most, self._least = most, least
        self._place = lru_cache(maxsize=None)(self._make)

    def all(self, root: _Node) -> Expr:
        """All spellings of its numbers."""
        behind = EMPTY
        for power in range(self._least, 0):  # of the first digit behind the point
            first = self._digits(root, lambda node, power=power: self._behind(node, power))
            behind = alt(first, concat(literal("0"), behind))
        before = self._digits(root, lambda node: self._place(self._start(node)))
        return alt(before, concat(literal("0."), behind))

    def _start(self, node: _Node) -> _Place:
        return (False, False, 0, node, node.powers)

    def _behind(self, node: _Node, power: int) -> Expr:
        return self._place((True, True, power, node, node.powers))

    def _digits(self, node: _Node, go: Callable[[_Node], Expr]) -> Expr:
        return alt(*(concat(_digit(digit), go(below)) for digit, below in node.below.items()))

    def _make(self, place: _Place) -> Expr:
        """What may follow at a place."""
        passed, ended, power, node, powers = place
        sure = -DEPTH <= power < DEPTH  # with the point and an exponent, whatever is begun can end
        if not (sure or passed):
            most = max(powers, default=power if node is None else node.most())
            sure = power <= most <= self._most
        made = partial(self._body, place)
        rule = Rule("digits", regular=True, inhabited=sure, make=made, needs=_BYTES)
        return alt(rule, EPSILON if (ended or not passed) and power in powers else EMPTY)

    def _body(self, place: _Place) -> Expr:
        """The same, if something follows."""
        passed, ended, power, node, powers = place
        options: list[Expr] = []
        following = set(node.below) if node is not None else set[int]()
        for digit in sorted(following | ({0} if powers else set())):
            below = None if node is None else node.below.get(digit)
            kept = powers if digit == 0 else ()
            more = (*kept, *(() if below is None else below.powers))
            if passed or power < self._most:
                after = (passed, passed, power if passed else power + 1, below, more)
                options.append(concat(_digit(digit), self._place(after)))
        if not passed:
            options.append(concat(literal("."), self._place((True, False, power, node, powers))))
        if (ended or not passed) and -DEPTH <= power < DEPTH:
            options += (exponents(one - power, one - power) for one in powers)
        return alt(*options)


def _digit(digit: int) -> Expr:
    return byte_set(b"0123456789"[digit : digit + 1])
