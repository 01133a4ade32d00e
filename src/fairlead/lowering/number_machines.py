"""Readers of digits side by side over one mantissa, as an expression.

`magnitudes` builds the automaton of their states and makes a right-linear rule of each state from
which an end can be reached: rules that are regular, and never mention a state that is dead.

A place is a tuple of numbers: how far the mantissa is read, and for each reader the number of its
state. Readers have few states, and there are many places, so each reader is asked once about each
of its states (an integer from 1 to 65,535 has 324 places; asking anew at each took 14 ms, not 6).

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
from fairlead.lowering.number_forms import DIGIT, FRACTION, exponents
from fairlead.lowering.number_readers import POINT, Ending, Reader, State

_STEP = 12  # fuel: a step takes up to 12 µs, so that a budget of 4 million lasts for 4 s of them

# (stage, whether a digit was not 0, the state of each reader). Stages: 0 nothing, 1 a zero, 2 one
# other digit, 3 more of them, 4 the point after stage 2, 5 after 1 and 3, 6 a fraction after stage
# 4, 7 after 5.
_Place: TypeAlias = tuple[int, ...]
_Arcs: TypeAlias = "dict[_Place, dict[_Place, bytes]]"

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
        self.dead = -1  # the state from which nothing belongs
        self._number(reader.start)

    def _number(self, state: State) -> int:
        found = self._numbers.setdefault((state.__class__, state), len(self._states))
        if found == len(self._states):
            self._states.append(state)
            self.cuts.append(frozenset(cut for cut in self._reader.cuts(state) if cut <= POINT))
            self.more.append(self._reader.more(state))
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
    sides = [_Side(reader) for reader in readers]
    first: _Place = (0, 0, *(0 for _ in sides))
    arcs: _Arcs = {}
    ends: dict[_Place, _End] = {}
    todo: list[_Place] = [first]
    while todo:
        place = todo.pop()
        if place not in arcs:
            rest = _rest(place, sides)
            ends[place] = _end(place, sides, shape) if rest is None else _End(rest=rest)
            arcs[place] = _arcs(place, sides, shape) if rest is None else {}
            todo.extend(arcs[place])
    return _rules(first, arcs, ends, FRACTION if shape.point else EPSILON)


def _rest(place: _Place, sides: list[_Side]) -> Expr | None:
    """The digits that follow before the point, if every reader only counts them."""
    counts = [side.more[state] for side, state in zip(sides, place[2:], strict=True)]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return None
    high = min((high for _, high in known if high is not None), default=None)
    return repeat(DIGIT, max(low for low, _ in known), high)


def _arcs(place: _Place, sides: list[_Side], shape: Shape) -> dict[_Place, bytes]:
    """Where the digits and the point lead."""
    stage, counts, *known = place
    cuts = frozenset((0, POINT) if counts else (0, 1, POINT))
    parts = _segments(cuts.union(*(side.cuts[n] for side, n in zip(sides, known, strict=True))))
    spend(_STEP * len(parts))
    found: dict[_Place, bytes] = {}
    for symbol, symbols in parts:
        following = _following(stage, symbol, shape)
        if following is None:
            continue
        if stage == 0 and symbol == 0:
            after = (following, counts, *known)
        else:
            steps = [side.step(n, symbol) for side, n in zip(sides, known, strict=True)]
            if any(side.dead == n for side, n in zip(sides, steps, strict=True)):
                continue
            after = (following, counts or int(0 < symbol < POINT), *steps)
        found[after] = found.get(after, b"") + symbols
    return found


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


@final
@dataclass(frozen=True, slots=True)
class _End:
    """Whether a number may end, and the exponents that may follow; or the digits that follow."""

    plain: bool = False
    exponent: Expr = EMPTY
    rest: Expr | None = None


_NO_END: Final = _End()


def _end(place: _Place, sides: list[_Side], shape: Shape) -> _End:
    """What may follow the mantissa."""
    stage, counts, *known = place
    if stage not in _ENDS or not counts:
        return _NO_END
    said = [side.ending(state) for side, state in zip(sides, known, strict=True)]
    plain = all(ending.plain for ending in said)
    normal = not shape.normal or stage in _NORMAL
    if not (shape.exponent and normal and all(ending.told for ending in said)):
        return _End(plain, EMPTY)
    low = max((end.low for end in said if end.low is not None), default=None)
    high = min((end.high for end in said if end.high is not None), default=None)
    return _End(plain, exponents(low, high, shape.normal))


def _rules(first: _Place, arcs: _Arcs, ends: dict[_Place, _End], fraction: Expr) -> Expr:
    """A rule for each state from which an end is reached in one step or more."""
    onward = _onward(arcs, ends)
    rules = {
        place: Rule(f"digits {number}", regular=True, inhabited=True)
        for number, place in enumerate(onward)
    }

    def state(place: _Place) -> Expr:
        end = ends[place]
        if end.rest is not None:
            return concat(end.rest, fraction)
        return alt(rules.get(place, EMPTY), EPSILON if end.plain else EMPTY)

    states = {place: state(place) for place in arcs}
    for place, rule in rules.items():
        steps = (concat(byte_set(symbols), states[to]) for to, symbols in arcs[place].items())
        rule.define(alt(*steps, ends[place].exponent))
    return states[first]


def _onward(arcs: _Arcs, ends: dict[_Place, _End]) -> dict[_Place, None]:
    """The states from which an end is reached in one step or more."""
    before: dict[_Place, list[_Place]] = {place: [] for place in arcs}
    for place, following in arcs.items():
        for after in following:
            before[after].append(place)
    found = {place: None for place in arcs if ends[place].exponent is not EMPTY}
    todo = [
        place
        for place, end in ends.items()
        if end.plain or place in found or end.rest not in (None, EMPTY)
    ]
    while todo:
        for place in before[todo.pop()]:
            if place not in found:
                found[place] = None
                todo.append(place)
    return found
