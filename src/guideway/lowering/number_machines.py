"""Readers of digits side by side over one mantissa, as an expression.

`magnitudes` makes a right-linear rule of each state of their automaton from which an end can be
reached: rules that are regular, and never mention a state that is dead. A body is made when it is
first asked for: a mask looks at a few of them, and whether there is a number at all takes none.

A place says how far the mantissa is read, and where each reader is. Places are the same in all
ranges where what follows is: behind the first digit, 1 to 65,535 and 1,024 to 49,151 have most of
them in common. Readers have few states, and there are many places (an integer from 1 to 65,535 has
196 that lead to an end), so each reader is asked once about each of its states.

What this module does not know: what readers look for, signs, zero, keywords.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Final, final
from weakref import WeakKeyDictionary

from guideway.lowering.expr import EMPTY, EPSILON, alt, byte_set, concat, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.number_forms import DIGIT, FRACTION, exponent_range, exponents
from guideway.lowering.number_readers import POINT, Ending, Reader, State
from guideway.syntax.frozen import by_value

_STEP = 12  # fuel: a step takes up to 12 µs, so that a budget of 4 million lasts for 4 s of them

_MOST_PLACES: Final = 1 << 14  # with more, ranges that are new share no places with those before

_NEXT_DIGIT: Final = {2: 3, 3: 3, 4: 6, 5: 7, 6: 6, 7: 7}
_NEXT_POINT: Final = {1: 5, 2: 4, 3: 5}
# The symbols that lead elsewhere whatever is looked for, before a digit other than 0 and behind it.
_CUTS: Final = (frozenset((0, 1, POINT)), frozenset((0, POINT)))
_ENDS, _NORMAL = frozenset((2, 3, 6, 7)), frozenset((2, 6))


@final
@by_value
class Shape:
    """Which numbers may be written at all.

    Attributes:
        point: whether there may be a fraction.
        exponent: whether there may be an exponent.
        normal: whether only one digit may stand before the point then, and up to 3 in the exponent.
    """

    point: bool = True
    exponent: bool = True
    normal: bool = False


@final
class _Side:
    """A reader somewhere on its way, and what it says there; `_Places` has one for all alike."""

    __slots__ = ("_ending", "_reader", "_state", "cuts", "dead", "high", "low", "more", "steps")

    def __init__(self, reader: Reader, state: State) -> None:
        self._reader, self._state = reader, state
        self.cuts = frozenset(cut for cut in reader.cuts(state) if cut <= POINT)
        self.more = reader.more(state)
        self.low, self.high = reader.window(state)
        self.dead = state is False  # nothing belongs
        self.steps: dict[int, _Side] = {}  # by symbol, as far as they were asked for
        self._ending: Ending | None = None

    def after(self, symbol: int) -> tuple[Reader, State]:
        """A reader and its state after one more symbol."""
        return self._reader.bare(self._reader.step(self._state, symbol))

    @property
    def ending(self) -> Ending:
        """What belongs if the mantissa ends here."""
        if self._ending is None:
            self._ending = self._reader.ending(self._state)
        return self._ending


@final
class _Place:
    """How far the mantissa is read, and where each reader is.

    Attributes:
        stage: 0 nothing, 1 a zero, 2 one other digit, 3 more of them, 4 the point after stage 2, 5
            after 1 and 3, 6 a fraction after stage 4, 7 after 5.
        counts: whether a digit was not 0.
        sides: the readers.
        lives: whether an end is reached from here, if that is known.
        arcs: where digits and the point lead, with the bytes of each as bits, if that is known.
        end: what may follow the mantissa, if that is known.
        expr: what may be read here, if that is made.
    """

    __slots__ = ("arcs", "counts", "end", "expr", "lives", "sides", "stage")

    def __init__(self, stage: int, counts: bool, sides: "tuple[_Side, ...]") -> None:
        self.stage, self.counts, self.sides = stage, counts, sides
        self.lives: bool | None = None
        self.arcs: dict[_Place, int] | None = None
        self.end: _End | None = None
        self.expr: Expr | None = None


def magnitudes(readers: Sequence[Reader], shape: Shape, *, sure: bool = False) -> Expr:
    """The numbers of more than 0, without a sign, that all readers take.

    Args:
        readers: what looks at the digits.
        shape: how numbers may be written.
        sure: whether it is known that there is such a number, as of bounds and whole numbers.
    """
    return _places(shape).start(readers, sure)


def place_from(
    stage: int, counts: bool, states: Sequence[tuple[Reader, State]], shape: Shape
) -> Expr:
    """What may be read where readers are so far; stages as places have them."""
    return _places(shape).at(stage, counts, states)


def _places(shape: Shape) -> "_Places":
    found = _shared.get(shape)
    if found is None or len(found) > _MOST_PLACES:
        found = _shared[shape] = _Places(shape)
    return found


def begun(rule: Rule) -> tuple[tuple[Reader, ...], Shape] | None:
    """The readers before the first digit of a number, if that is what a rule is, and its shape."""
    return _begun.get(rule)


@final
@by_value
class _End:
    """Whether a number may end, and the exponents that may follow; or the digits that follow."""

    plain: bool = False
    exponents: tuple[int | None, int | None] | None = None
    rest: Expr | None = None

    @property
    def here(self) -> bool:
        """Whether anything of that is possible."""
        return self.plain or self.exponents is not None or self.rest not in (None, EMPTY)


_NO_END: Final = _End()


@final
class _Places:
    """The automaton of all readers, a place of which is made when somebody goes there.

    Threads share it: what two of them make at once is the same, and one of both is kept.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._fraction = FRACTION if shape.point else EPSILON
        self._sides: dict[tuple[Reader, type, State], _Side] = {}  # the type, as False is 0
        self._known: dict[tuple[int, bool, tuple[_Side, ...]], _Place] = {}

    def __len__(self) -> int:
        return len(self._known)

    def start(self, readers: Sequence[Reader], sure: bool) -> Expr:
        """What may be read before the first digit."""
        sides = tuple(self._side(reader, reader.start) for reader in readers)
        place = self._place(0, False, sides)
        if not sure:
            return self._state(place)
        if not isinstance(place.expr, Rule):
            place.expr = self._rule(place)
        _begun[place.expr] = tuple(readers), self._shape
        return place.expr

    def at(self, stage: int, counts: bool, states: Sequence[tuple[Reader, State]]) -> Expr:
        """What may be read at a place."""
        sides = tuple(self._side(reader, state) for reader, state in states)
        return self._state(self._place(stage, counts, sides))

    def _rule(self, place: _Place) -> Rule:
        make = partial(self._body, place)
        return Rule("digits", regular=True, inhabited=True, make=make)

    def _side(self, reader: Reader, state: State) -> _Side:
        key = (reader, state.__class__, state)
        found = self._sides.get(key)
        return self._sides.setdefault(key, _Side(reader, state)) if found is None else found

    def _place(self, stage: int, counts: bool, sides: tuple[_Side, ...]) -> _Place:
        key = (stage, counts, sides)
        found = self._known.get(key)
        return self._known.setdefault(key, _Place(*key)) if found is None else found

    def _state(self, place: _Place) -> Expr:
        """What may be read at a place: an end, or what follows."""
        found = place.expr
        if found is None:
            found = place.expr = self._made(place)
        return found

    def _made(self, place: _Place) -> Expr:
        end = self._end(place)
        if end.rest is not None:
            return concat(end.rest, self._fraction)
        rule: Expr = EMPTY
        goes_on = end.exponents is not None or (place.lives and not end.here)
        if goes_on or any(map(self._lives, self._arcs(place))):
            rule = self._rule(place)
        return alt(rule, EPSILON if end.plain else EMPTY)

    def _body(self, place: _Place) -> Expr:
        """What follows at a place from which an end is reached in one step or more."""
        steps = (
            concat(byte_set(symbols), self._state(to))
            for to, symbols in self._arcs(place).items()
            if self._lives(to)
        )
        ends = self._end(place).exponents
        return alt(*steps, EMPTY if ends is None else exponents(*ends, self._shape.normal))

    def _lives(self, place: _Place) -> bool:
        """Whether an end is reached from a place: mostly one is near."""
        if place.lives is not None:
            return place.lives
        came: dict[_Place, _Place | None] = {place: None}
        todo = [place]
        while todo:
            here = todo.pop()
            lives = here.lives
            if lives or (lives is None and self._end(here).here):
                way: _Place | None = here
                while way is not None:
                    way.lives, way = True, came[way]
                return True
            for after in self._arcs(here) if lives is None else ():
                if after not in came:
                    came[after] = here
                    todo.append(after)
        for met in came:
            met.lives = False
        return False

    def _end(self, place: _Place) -> _End:
        found = place.end
        if found is None:
            rest = _rest(place.sides)
            found = place.end = _end(place, self._shape) if rest is None else _End(rest=rest)
        return found

    def _arcs(self, place: _Place) -> dict[_Place, int]:
        """Where the digits and the point lead; nowhere where it is known already what follows."""
        found = place.arcs
        if found is None:
            done = self._end(place).rest is not None
            found = place.arcs = {} if done else self._steps(place)
        return found

    def _steps(self, place: _Place) -> dict[_Place, int]:
        stage, counts, sides = place.stage, place.counts, place.sides
        cuts = _CUTS[counts].union(*(side.cuts for side in sides))
        parts = _segments(cuts)
        spend(_STEP * len(parts))
        found: dict[_Place, int] = {}
        for symbol, symbols in parts:
            following = _following(stage, symbol, self._shape)
            if following is None:
                continue
            if stage == 0 and symbol == 0:
                after = self._place(following, counts, sides)
            else:
                steps = tuple([self._step(side, symbol) for side in sides])
                if _exclude(steps):
                    continue
                after = self._place(following, counts or 0 < symbol < POINT, steps)
            if symbol == POINT and self._end(place).here:  # zeros behind it change nothing
                after.lives = True
            found[after] = found.get(after, 0) | symbols
        return found

    def _step(self, side: _Side, symbol: int) -> _Side:
        found = side.steps.get(symbol)
        if found is None:
            found = side.steps[symbol] = self._side(*side.after(symbol))
        return found


_shared: Final[dict[Shape, _Places]] = {}
_begun: "WeakKeyDictionary[Rule, tuple[tuple[Reader, ...], Shape]]" = WeakKeyDictionary()


def _exclude(sides: tuple[_Side, ...]) -> bool:
    """Whether nothing belongs where the readers are, as far as is plain."""
    low = high = None
    for side in sides:
        if side.dead:
            return True
        if side.low is not None:
            low = side.low if low is None else max(low, side.low)
        if side.high is not None:
            high = side.high if high is None else min(high, side.high)
    return low is not None and high is not None and low > high


def _rest(sides: tuple[_Side, ...]) -> Expr | None:
    """The digits that follow before the point, if every reader only counts them."""
    known = [side.more for side in sides if side.more is not None]
    if not known or len(known) < len(sides):
        return None
    high = min((high for _, high in known if high is not None), default=None)
    return repeat(DIGIT, max(low for low, _ in known), high)


@lru_cache(maxsize=2048)
def _segments(cuts: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """The symbols from each cut to the next: the first of them, and the bytes of all as bits."""
    ends = (*sorted(cuts), POINT + 1)
    return tuple(
        (symbol, sum(1 << byte for byte in b"0123456789."[symbol:end]))
        for symbol, end in pairwise(ends)
    )


def _following(stage: int, symbol: int, shape: Shape) -> int | None:
    """The stage after a symbol, if it may come."""
    if stage == 0:
        if symbol == 0:
            return 1
        return None if symbol == POINT else 2 if shape.normal else 3
    if symbol == POINT:
        return _NEXT_POINT.get(stage) if shape.point else None
    return _NEXT_DIGIT.get(stage)


def _end(place: _Place, shape: Shape) -> _End:
    """What may follow the mantissa."""
    stage = place.stage
    if stage not in _ENDS or not place.counts:
        return _NO_END
    said = [side.ending for side in place.sides]
    plain = all(ending.plain for ending in said)
    normal = not shape.normal or stage in _NORMAL
    if not (shape.exponent and normal and all(ending.told for ending in said)):
        return _End(plain)
    low = max((end.low for end in said if end.low is not None), default=None)
    high = min((end.high for end in said if end.high is not None), default=None)
    return _End(plain, exponent_range(low, high, shape.normal))
