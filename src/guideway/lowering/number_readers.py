"""Numbers told digit by digit: what a bound or a multiple makes of the digits of a mantissa.

A *reader* looks at the digits of a number of more than 0 and says at its end for which exponents
the number belongs: an interval, as what is compared or divided only shifts by it::

    at least 250   "3" → exponents of 2 and more;  "2" → 3 and more;  "25.0" → 1 and more
    multiple of 4  "12" → 0 and more;  "1" → 2 and more;  "0.5" → 3 and more

Counts have an end: beyond DEPTH digits before the point, or zeros after it, a reader no longer
tells exponents, and the number belongs only as it stands, without any. Digits behind that are
compared exactly for any length.

What this module does not know: expressions, signs, zero, keywords.
"""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Protocol, TypeAlias, cast, final

from guideway.syntax.frozen import by_value

DEPTH = 5
POINT = 10  # as a symbol beside the digits 0 to 9
State: TypeAlias = Hashable


@final
@by_value
class Ending:
    """Whether a number belongs as it stands, and with exponents from `low` to `high`.

    `told` is False where exponents are not told: then none is allowed.
    """

    plain: bool
    low: int | None = None
    high: int | None = None
    told: bool = True


class Reader(Protocol):
    """A pure function of digits, in steps. The zero before the point in 0.5 is not read.

    The state False, if it has it, says that nothing belongs, whatever follows.
    """

    @property
    def start(self) -> State:
        """Before the first digit."""
        ...

    def step(self, state: State, symbol: int) -> State:
        """After one more digit or the point."""
        ...

    def bare(self, state: State) -> "tuple[Reader, State]":
        """A reader in a state, which say the same whatever follows, without what is past.

        Those that say the same should be equal, whichever reader they come from.
        """
        ...

    def cuts(self, state: State) -> Iterable[int]:
        """The digits that may lead elsewhere than the digit before."""
        ...

    def ending(self, state: State) -> Ending:
        """What belongs if the mantissa ends here; it is more than 0."""
        ...

    def more(self, state: State) -> tuple[int, int | None] | None:
        """How few and how many digits may follow, any of them, then a fraction, and no exponent.

        None where it takes more to say.
        """
        ...

    def window(self, state: State) -> tuple[int | None, int | None]:
        """Ends for all exponents, 0 for none, that may belong, whatever digits follow.

        Of a number that has a digit other than 0. A digit more before the point moves the ends of
        all readers by the same; None is no end.
        """
        ...


@final
@by_value
class Size:
    """The digits so far beside those of a bound.

    Attributes:
        exponent: of the first digit other than 0; before the point, as if the last so far were all.
        sign: -1 less, 0 equal so far, 1 greater.
        matched: how many digits were equal, where sign is 0.
        fraction: whether the point is passed.
    """

    exponent: int
    sign: int
    matched: int
    fraction: bool


_NOTHING = Size(-1, 0, 0, fraction=False)


@final
@by_value
class Comparison:
    """At least (or, `upper`, at most) the bound 0.`digits`·10^(`exponent` + 1), more than 0.

    The first of the digits is not 0, nor is the last. Those that were read already are none of them
    in what is `bare`.
    """

    digits: tuple[int, ...]
    exponent: int
    exclusive: bool
    upper: bool

    @property
    def start(self) -> State:
        """No digit yet."""
        return _NOTHING

    def bare(self, state: State) -> tuple[Reader, State]:
        """With the digits that are still compared, if any are."""
        if isinstance(state, bool):
            return _DECIDED, state
        if isinstance(state, int) or state == _NOTHING:
            return self, state
        size = cast("Size", state)
        if size.sign:
            return Comparison((), self.exponent, False, self.upper), size
        left = Comparison(self.digits[size.matched :], self.exponent, self.exclusive, self.upper)
        return left, replace(size, matched=0)

    def cuts(self, state: State) -> Iterable[int]:
        """The digit beside, and the next."""
        if isinstance(state, bool):
            return ()
        if isinstance(state, int):
            return (1, self.digits[0], self.digits[0] + 1)
        size = cast("Size", state)
        beside = self._beside(size)
        return () if size.sign else (beside, beside + 1)

    def step(self, state: State, symbol: int) -> State:
        """A count stands for so many zeros after the point, a bool for what is decided."""
        if isinstance(state, bool):
            return state
        if isinstance(state, int):
            if symbol == 0:
                return min(state + 1, max(DEPTH, -self.exponent) + 1)
            return self._compared(Size(-state - 1, 0, 0, fraction=True), symbol)
        return 0 if state == _NOTHING and symbol == POINT else self._further(state, symbol)

    def _further(self, state: State, symbol: int) -> State:
        size = cast("Size", state)
        if symbol == POINT:
            return self._settled(Size(size.exponent, size.sign, size.matched, fraction=True))
        if size.fraction:
            return self._compared(size, symbol)
        most = max(DEPTH, self.exponent)
        exponent = min(size.exponent, most) + 1
        if exponent > most and self.upper:  # too long, and exponents are not told any more
            return False
        return self._compared(Size(exponent, size.sign, size.matched, fraction=False), symbol)

    def _beside(self, size: Size) -> int:
        return self.digits[size.matched] if size.matched < len(self.digits) else 0

    def _compared(self, size: Size, digit: int) -> State:
        if size.sign:
            return size
        beside = self._beside(size)
        if digit == beside:
            matched = min(size.matched + 1, len(self.digits))
            return Size(size.exponent, 0, matched, size.fraction)
        sign = 1 if digit > beside else -1
        return self._settled(Size(size.exponent, sign, 0, size.fraction))

    def _settled(self, size: Size) -> State:
        """No more than whether it belongs, where no digit and no exponent changes that."""
        decided = size.sign or size.exponent != self.exponent
        if size.fraction and decided and not _counted(size):
            return self.ending(size).plain
        return size

    def more(self, state: State) -> tuple[int, int | None] | None:
        """Where the digits are compared, only their number counts; a float's bounds have 309."""
        size = state if isinstance(state, Size) else _NOTHING
        if not size.sign or size.fraction or _counted(size):
            return None
        missing = self.exponent - size.exponent + (size.sign < 0) - self.upper
        return (0, missing) if self.upper else (max(missing, 0), None)

    def window(self, state: State) -> tuple[int | None, int | None]:
        """What the digits so far leave, the others being all 0 or all 9; long ones have no end."""
        if state is True:
            return 0, 0
        size = state if isinstance(state, Size) else _NOTHING
        if size == _NOTHING or size.exponent > max(DEPTH, self.exponent):
            return None, None
        shift = self.exponent - size.exponent
        if self.upper:
            return None, shift - (size.sign > 0)
        return shift + (size.sign < 0), None

    def ending(self, state: State) -> Ending:
        """With the exponent that makes both as long, the digits decide; else the exponent does."""
        if isinstance(state, bool):
            return Ending(state, told=False)
        size = cast("Size", state)
        shift = self.exponent - size.exponent
        sign = size.sign or -(size.matched < len(self.digits))
        if self.upper:
            high = shift if sign < 0 or (sign == 0 and not self.exclusive) else shift - 1
            return Ending(high >= 0, None, high, _counted(size))
        low = shift if sign > 0 or (sign == 0 and not self.exclusive) else shift + 1
        return Ending(low <= 0, low, None, _counted(size))


_DECIDED = Comparison((), 0, exclusive=False, upper=False)


def _counted(size: Size) -> bool:
    return -DEPTH <= size.exponent < DEPTH


@final
@by_value
class Rest:
    """What the digits so far leave when they are divided.

    Attributes:
        rest: of the digits up to the last one other than 0.
        all: of all digits.
        last: how far behind the point the last digit other than 0 stands; 0 or less before it,
            and one less than the depth where more zeros follow than are counted.
        place: how far behind the point the last digit stands; None before it.
    """

    rest: int
    all: int
    last: int
    place: int | None


@final
@by_value
class Long:
    """The same when zeros are not counted any more: only numbers without exponents are told.

    Attributes:
        all: of all digits; at the scale and behind it, 0 for a multiple and 1 for none.
        place: how far behind the point, at most the scale; None before it.
    """

    all: int
    place: int | None


@final
@by_value
class Multiple:
    """A multiple of `factor`·10^-`scale`; or, `denied`, anything else.

    The digits up to the last one other than 0 are a whole number, which the factor divides when
    enough zeros follow it, or never. Those zeros, and digits behind the point, are counted up to
    `depth`; None tells no exponents at all, which takes fewer states and a scale of 0 or more. With
    a depth, zeros enough for the factor are counted.
    """

    factor: int
    scale: int
    depth: int | None
    denied: bool = False

    @property
    def start(self) -> State:
        """No digit yet."""
        return Long(0, None) if self.depth is None else Rest(0, 0, 0, None)

    def bare(self, state: State) -> tuple[Reader, State]:
        """Rests of one factor are none of another."""
        return self, state

    def cuts(self, state: State) -> Iterable[int]:
        """Every digit leaves another rest; of one, and behind the scale, zero and the others."""
        ended = isinstance(state, Long) and state.place is not None and state.place >= self.scale
        return (1,) if ended or self.factor == 1 else range(1, 10)

    def step(self, state: State, symbol: int) -> State:
        """A number with more digits behind the point becomes a long one, and stays it."""
        if isinstance(state, Long):
            return self._long(state, symbol)
        found = self._short(cast("Rest", state), symbol)
        depth = self.depth or 0
        if found.place is not None and found.place > depth:
            return self._lengthened(found)
        return found if found.last >= -depth else replace(found, last=-depth - 1)

    def _short(self, state: Rest, symbol: int) -> Rest:
        if symbol == POINT:
            return Rest(state.rest, state.all, state.last, 0)
        place = None if state.place is None else state.place + 1
        rest = (state.all * 10 + symbol) % self.factor
        if symbol:
            return Rest(rest, rest, place or 0, place)
        last = state.last - 1 if place is None else state.last
        return Rest(state.rest, rest, last, place)

    def _lengthened(self, state: Rest) -> State:
        if state.place is not None and state.place < self.scale:
            return Long(state.all, state.place)
        shift = max(self.scale - state.last, 0)
        rest = state.rest * 10**shift % self.factor
        return self._passed(rest == 0 and state.last <= self.scale)

    def _passed(self, divides: bool) -> State:
        """Behind the scale only zeros may follow, if that is a multiple; else nothing belongs."""
        return Long(int(not divides), self.scale) if divides or self.denied else False

    def _long(self, state: Long, symbol: int) -> State:
        rest, place = state.all, state.place
        if place is not None and place >= self.scale:
            return self._passed(rest == 0 and symbol == 0)
        if symbol != POINT:
            rest = (rest * 10 + symbol) % self.factor
            place = None if place is None else place + 1
        else:
            place = 0
        return self._passed(rest == 0) if place == self.scale else Long(rest, place)

    def more(self, state: State) -> tuple[int, int | None] | None:
        """The digits matter, not their number."""
        return None

    def window(self, state: State) -> tuple[int | None, int | None]:
        """The last digit other than 0 must not stand behind the scale."""
        if self.denied:
            return None, None
        if isinstance(state, Rest):
            return (state.last - self.scale if state.last >= -(self.depth or 0) else None), None
        passed = isinstance(state, Long) and state.place is not None
        return (0, 0) if passed else (None, None)

    def ending(self, state: State) -> Ending:
        """The least exponent that makes it a multiple, and all greater ones."""
        if isinstance(state, Long):
            zeros = self.scale - (state.place or 0)
            divides = state.all == 0 if zeros == 0 else state.all * 10**zeros % self.factor == 0
            return Ending(divides != self.denied, told=False)
        short = cast("Rest", state)
        zeros = self._zeros(short.rest)
        if zeros is None:
            return Ending(self.denied, told=self.denied)
        low = short.last - self.scale + zeros
        told = short.last >= -(self.depth or 0)
        if self.denied:
            return Ending(low > 0, None, low - 1, told)
        return Ending(low <= 0, low, None, told)

    def _zeros(self, rest: int) -> int | None:
        """How many zeros behind the digits make the factor divide them; None if none do."""
        for zeros in range(self.factor.bit_length() + 1):
            if rest * 10**zeros % self.factor == 0:
                return zeros
        return None
