"""Readers of digits side by side over one mantissa, as an expression.

`magnitudes` makes a right-linear rule of each state of their automaton from which an end can be
reached: rules that are regular, and never mention a state that is dead. A body is made when it is
first asked for: a mask looks at a few of them, and whether there is a number at all takes none.

A place is a tuple of numbers: how far the mantissa is read, and for each reader the number of its
state. Readers have few states, and there are many places (an integer from 1 to 65,535 has 196 that
lead to an end), so each reader is asked once about each of its states.

What this module does not know: what readers look for, signs, zero, keywords.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias, final

from fairlead.lowering.expr import EMPTY, EPSILON, alt, byte_set, concat, repeat
from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Expr, Rule
from fairlead.lowering.number_forms import DIGIT, FRACTION, exponent_range, exponents
from fairlead.lowering.number_readers import POINT, Ending, Reader, State

_STEP = 12  # fuel: a step takes up to 12 µs, so that a budget of 4 million lasts for 4 s of them

# (stage, whether a digit was not 0, the state of each reader). Stages: 0 nothing, 1 a zero, 2 one
# other digit, 3 more of them, 4 the point after stage 2, 5 after 1 and 3, 6 a fraction after stage
# 4, 7 after 5.
_Place: TypeAlias = tuple[int, ...]

_NEXT_DIGIT: Final = {2: 3, 3: 3, 4: 6, 5: 7, 6: 6, 7: 7}
_NEXT_POINT: Final = {1: 5, 2: 4, 3: 5}
_ENDS, _NORMAL = frozenset((2, 3, 6, 7)), frozenset((2, 6))


@final
@dataclass(frozen=True, slots=True)
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
    """A reader, whose states are numbered when they are met; the first is 0."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._states: list[State] = []
        self._numbers: dict[tuple[type, State], int] = {}  # as False is 0 otherwise
        self._steps: dict[tuple[int, int], int] = {}
        self._endings: dict[int, Ending] = {}
        self.cuts: list[frozenset[int]] = []  # of each state, see `Reader.cuts`
        self.more: list[tuple[int, int | None] | None] = []
        self.low: list[int | None] = []  # see `Reader.window`
        self.high: list[int | None] = []
        self.dead = -1  # the state from which nothing belongs
        self._number(reader.start)

    def _number(self, state: State) -> int:
        found = self._numbers.setdefault((state.__class__, state), len(self._states))
        if found == len(self._states):
            self._states.append(state)
            self.cuts.append(frozenset(cut for cut in self._reader.cuts(state) if cut <= POINT))
            self.more.append(self._reader.more(state))
            low, high = self._reader.window(state)
            self.low.append(low)
            self.high.append(high)
            if state is False:
                self.dead = found
        return found

    def step(self, number: int, symbol: int) -> int:
        """The state after one more symbol."""
        found = self._steps.get((number, symbol))
        if found is None:
            after = self._reader.step(self._states[number], symbol)
            found = self._steps[(number, symbol)] = self._number(after)
        return found

    def ending(self, number: int) -> Ending:
        """What belongs if the mantissa ends here."""
        found = self._endings.get(number)
        if found is None:
            found = self._endings[number] = self._reader.ending(self._states[number])
        return found


def magnitudes(readers: Sequence[Reader], shape: Shape) -> Expr:
    """The numbers of more than 0, without a sign, that all readers take."""
    return _Places([_Side(reader) for reader in readers], shape).start()


@final
@dataclass(frozen=True, slots=True)
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
    """The automaton of all readers, a place of which is made when somebody goes there."""

    def __init__(self, sides: list[_Side], shape: Shape) -> None:
        self._sides, self._shape = sides, shape
        self._fraction = FRACTION if shape.point else EPSILON
        self._known_arcs: dict[_Place, dict[_Place, bytes]] = {}
        self._ends: dict[_Place, _End] = {}
        self._living: dict[_Place, bool] = {}
        self._states: dict[_Place, Expr] = {}

    def start(self) -> Expr:
        """What may be read before the first digit."""
        return self._state((0, 0, *(0 for _ in self._sides)))

    def _state(self, place: _Place) -> Expr:
        """What may be read at a place: an end, or what follows."""
        found = self._states.get(place)
        if found is None:
            found = self._states[place] = self._made(place)
        return found

    def _made(self, place: _Place) -> Expr:
        end = self._end(place)
        if end.rest is not None:
            return concat(end.rest, self._fraction)
        rule: Expr = EMPTY
        if end.exponents is not None or any(map(self._lives, self._arcs(place))):
            name = f"digits {len(self._states)}"
            rule = Rule(name, regular=True, inhabited=True, make=lambda: self._body(place))
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
        living = self._living
        came: dict[_Place, _Place | None] = {place: None}
        todo = [place]
        while todo:
            here = todo.pop()
            lives = living.get(here)
            if lives or (lives is None and self._end(here).here):
                way: _Place | None = here
                while way is not None:
                    living[way], way = True, came[way]
                return True
            for after in self._arcs(here) if lives is None else ():
                if after not in came:
                    came[after] = here
                    todo.append(after)
        living.update(dict.fromkeys(came, False))
        return False

    def _end(self, place: _Place) -> _End:
        found = self._ends.get(place)
        if found is None:
            rest = _rest(place, self._sides)
            found = _end(place, self._sides, self._shape) if rest is None else _End(rest=rest)
            self._ends[place] = found
        return found

    def _arcs(self, place: _Place) -> dict[_Place, bytes]:
        """Where the digits and the point lead; nowhere where it is known already what follows."""
        found = self._known_arcs.get(place)
        if found is None:
            done = self._end(place).rest is not None
            found = self._known_arcs[place] = {} if done else self._steps(place)
        return found

    def _steps(self, place: _Place) -> dict[_Place, bytes]:
        stage, counts, *known = place
        cuts = set((0, POINT) if counts else (0, 1, POINT))
        for side, number in zip(self._sides, known, strict=True):
            cuts |= side.cuts[number]
        parts = _segments(frozenset(cuts))
        spend(_STEP * len(parts))
        found: dict[_Place, bytes] = {}
        for symbol, symbols in parts:
            following = _following(stage, symbol, self._shape)
            if following is None:
                continue
            if stage == 0 and symbol == 0:
                after = (following, counts, *known)
            else:
                steps = [side.step(n, symbol) for side, n in zip(self._sides, known, strict=True)]
                if self._exclude(steps):
                    continue
                after = (following, counts or int(0 < symbol < POINT), *steps)
            found[after] = found.get(after, b"") + symbols
        return found

    def _exclude(self, numbers: list[int]) -> bool:
        """Whether nothing belongs where the readers are in these states, as far as is plain."""
        low = high = None
        for side, number in zip(self._sides, numbers, strict=True):
            if side.dead == number:
                return True
            least, most = side.low[number], side.high[number]
            if least is not None:
                low = least if low is None else max(low, least)
            if most is not None:
                high = most if high is None else min(high, most)
        return low is not None and high is not None and low > high


def _rest(place: _Place, sides: list[_Side]) -> Expr | None:
    """The digits that follow before the point, if every reader only counts them."""
    counts = [side.more[state] for side, state in zip(sides, place[2:], strict=True)]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return None
    high = min((high for _, high in known if high is not None), default=None)
    return repeat(DIGIT, max(low for low, _ in known), high)


@lru_cache(maxsize=2048)
def _segments(cuts: frozenset[int]) -> tuple[tuple[int, bytes], ...]:
    """The symbols from each cut to the next: the first of them, and the characters of all."""
    ends = (*sorted(cuts), POINT + 1)
    return tuple((symbol, b"0123456789."[symbol:end]) for symbol, end in pairwise(ends))


def _following(stage: int, symbol: int, shape: Shape) -> int | None:
    """The stage after a symbol, if it may come."""
    if stage == 0:
        if symbol == 0:
            return 1
        return None if symbol == POINT else 2 if shape.normal else 3
    if symbol == POINT:
        return _NEXT_POINT.get(stage) if shape.point else None
    return _NEXT_DIGIT.get(stage)


def _end(place: _Place, sides: list[_Side], shape: Shape) -> _End:
    """What may follow the mantissa."""
    stage, counts, *known = place
    if stage not in _ENDS or not counts:
        return _NO_END
    said = [side.ending(state) for side, state in zip(sides, known, strict=True)]
    plain = all(ending.plain for ending in said)
    normal = not shape.normal or stage in _NORMAL
    if not (shape.exponent and normal and all(ending.told for ending in said)):
        return _End(plain)
    low = max((end.low for end in said if end.low is not None), default=None)
    high = min((end.high for end in said if end.high is not None), default=None)
    return _End(plain, exponent_range(low, high, shape.normal))
