"""Readers of digits side by side over one mantissa, as an expression.

`magnitudes` builds the automaton of their states and makes a right-linear rule of each state from
which an end can be reached: rules that are regular, and never mention a state that is dead.

What this module does not know: what readers look for, signs, zero, keywords.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from fairlead.lowering.expr import EMPTY, EPSILON, alt, byte_set, concat, repeat
from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Expr, Rule
from fairlead.lowering.number_forms import DIGIT, FRACTION, exponents
from fairlead.lowering.number_readers import POINT, Reader, State

_STEP = 12  # fuel: a step takes 12 µs, so that a budget of 4 million lasts for 4 s of them


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
@dataclass(frozen=True, slots=True)
class _Place:
    """A state of the mantissa: how far it is read, and what each reader knows.

    `stage`: 0 nothing, 1 a zero, 2 one other digit, 3 more of them, 4 the point after stage 2, 5
    after 1 and 3, 6 a fraction after stage 4, 7 after 5. `counts`: a digit is not 0.
    """

    stage: int
    counts: bool
    known: tuple[State, ...]


_NEXT_DIGIT = {2: 3, 3: 3, 4: 6, 5: 7, 6: 6, 7: 7}
_NEXT_POINT = {1: 5, 2: 4, 3: 5}
_ENDS, _NORMAL = frozenset((2, 3, 6, 7)), frozenset((2, 6))


def magnitudes(readers: Sequence[Reader], shape: Shape) -> Expr:
    """The numbers of more than 0, without a sign, that all readers take."""
    first = _Place(0, counts=False, known=tuple(reader.start for reader in readers))
    arcs: dict[_Place, dict[_Place, list[int]]] = {}
    ends: dict[_Place, _End] = {}
    todo = [first]
    while todo:
        place = todo.pop()
        if place not in arcs:
            rest = _rest(place, readers)
            ends[place] = _end(place, readers, shape) if rest is None else _End(rest=rest)
            arcs[place] = _arcs(place, readers, shape) if rest is None else {}
            todo.extend(arcs[place])
    return _rules(first, arcs, ends, FRACTION if shape.point else EPSILON)


def _rest(place: _Place, readers: Sequence[Reader]) -> Expr | None:
    """The digits that follow before the point, if every reader only counts them."""
    counts = [reader.more(state) for reader, state in zip(readers, place.known, strict=True)]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return None
    high = min((high for _, high in known if high is not None), default=None)
    return repeat(DIGIT, max(low for low, _ in known), high)


def _arcs(place: _Place, readers: Sequence[Reader], shape: Shape) -> dict[_Place, list[int]]:
    """Where the digits and the point lead."""
    cuts = {0, POINT} if place.counts else {0, 1, POINT}
    for reader, state in zip(readers, place.known, strict=True):
        cuts.update(reader.cuts(state))
    spend(_STEP * len(cuts))
    found: dict[_Place, list[int]] = {}
    for symbol, end in pairwise((*sorted(cut for cut in cuts if cut <= POINT), POINT + 1)):
        after = _after(place, symbol, readers, shape)
        if after is not None:
            symbols = b"0123456789."[symbol:end]
            found.setdefault(after, []).extend(symbols)
    return found


def _after(place: _Place, symbol: int, readers: Sequence[Reader], shape: Shape) -> _Place | None:
    if place.stage == 0:
        if symbol == 0:
            return _Place(1, counts=False, known=place.known)
        stage = None if symbol == POINT else 2 if shape.normal else 3
    elif symbol == POINT:
        stage = _NEXT_POINT.get(place.stage) if shape.point else None
    else:
        stage = _NEXT_DIGIT.get(place.stage)
    if stage is None:
        return None
    known = tuple(
        reader.step(state, symbol) for reader, state in zip(readers, place.known, strict=True)
    )
    return _Place(stage, place.counts or 0 < symbol < POINT, known)


@final
@dataclass(frozen=True, slots=True)
class _End:
    """Whether a number may end, and the exponents that may follow; or the digits that follow."""

    plain: bool = False
    exponent: Expr = EMPTY
    rest: Expr | None = None


def _end(place: _Place, readers: Sequence[Reader], shape: Shape) -> _End:
    """What may follow the mantissa."""
    if place.stage not in _ENDS or not place.counts:
        return _End()
    said = [reader.ending(state) for reader, state in zip(readers, place.known, strict=True)]
    plain = all(ending.plain for ending in said)
    normal = not shape.normal or place.stage in _NORMAL
    if not (shape.exponent and normal and all(ending.told for ending in said)):
        return _End(plain, EMPTY)
    low = max((end.low for end in said if end.low is not None), default=None)
    high = min((end.high for end in said if end.high is not None), default=None)
    return _End(plain, exponents(low, high, shape.normal))


def _rules(
    first: _Place,
    arcs: dict[_Place, dict[_Place, list[int]]],
    ends: dict[_Place, _End],
    fraction: Expr,
) -> Expr:
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

    for place, rule in rules.items():
        steps = (concat(byte_set(symbols), state(to)) for to, symbols in arcs[place].items())
        rule.define(alt(*steps, ends[place].exponent))
    return state(first)


def _onward(
    arcs: dict[_Place, dict[_Place, list[int]]], ends: dict[_Place, _End]
) -> dict[_Place, None]:
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
