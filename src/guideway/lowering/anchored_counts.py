"""Counts of parts with anchors: unrolled at both ends, where anchors can hold.

If the item looks at lines, each round depends on its neighbours: unbounded counts are the closure
of a matrix (Kleene 1956), bounded ones are written out.
"""

from collections.abc import Callable
from itertools import product

from guideway.errors import LimitError
from guideway.lowering.anchors import (
    AFTER_NEWLINE,
    AFTER_OTHER,
    AFTER_WORD,
    BEFORE_NEWLINE,
    BEFORE_OTHER,
    BEFORE_WORD,
    SIDES,
    Sided,
    Sides,
    Value,
    any_of,
    at,
    sided,
)
from guideway.lowering.edges import NEWLINE, ONE_NEWLINE, OTHER, WORD
from guideway.lowering.expr import EMPTY, EPSILON, alt, concat, repeat
from guideway.lowering.nodes import Expr

MOST_WRITTEN_OUT = 1000

_BEGINS = {AFTER_NEWLINE: NEWLINE | ONE_NEWLINE, AFTER_OTHER: OTHER, AFTER_WORD: WORD}
_ENDS = {BEFORE_NEWLINE: NEWLINE, BEFORE_OTHER: OTHER, BEFORE_WORD: WORD}


def count(sides: Sides, item: Value, low: int, high: int | None, place: Callable[[], str]) -> Value:
    """`low` to `high` strings of a part in a row (None: any number).

    Raises:
        LimitError: the count is bounded, beyond what is written out, and its item looks at lines.
    """
    if not isinstance(item, Sided):
        return repeat(item, low, high)
    some = sides.nonempty(item)
    empty = {at(item, *pair).nullable for pair in sides.inside}
    everywhere = all(at(item, *pair).nullable for pair in SIDES)
    same = len({at(some, *pair) for pair in sides.inside}) == 1
    if same and (everywhere or True not in empty):
        return _blind(sides, item, some, low, high)
    bound = low if high is None else high
    if bound > MOST_WRITTEN_OUT:
        raise LimitError(
            f"a part with anchors can be repeated at most {MOST_WRITTEN_OUT} times, not "
            f"{bound}, or without a bound",
            limit="repetitions of a part that looks at lines",
            given=bound,
            place=place(),
        )
    found = _chain(sides, some, 0, None, _closure(sides, some)) if high is None else EPSILON
    for _ in range(0 if high is None else high - low):
        found = any_of([EPSILON, sides.then(item, found)])
    for _ in range(low):
        found = sides.then(item, found)
    return found


def _blind(sides: Sides, item: Sided, some: Value, low: int, high: int | None) -> Value:
    """A count whose inner rounds see no anchor hold."""
    inner = at(some, BEFORE_OTHER, AFTER_OTHER)
    low = 0 if at(item, BEFORE_OTHER, AFTER_OTHER).nullable else low  # then it is everywhere
    found = [_chain(sides, some, low, high, inner)]
    if low > 0:
        # Fewer than `low`, made up for by an empty one: at the beginning, at the end, or before a
        # last iteration that is the newline which ends the text.
        empty = sided(EPSILON if at(item, *s).nullable else EMPTY for s in SIDES)
        any_number = _chain(sides, some, 0, high, inner)
        but_one = _chain(sides, some, 0, None if high is None else high - 1, inner)
        found += [
            sides.then(empty, any_number),
            sides.then(any_number, empty),
            sides.then(but_one, sides.then(empty, some)),
        ]
    return any_of(found)


def _chain(sides: Sides, some: Value, low: int, high: int | None, inner: Expr | Sided) -> Value:
    """`low` to `high` non-empty rounds, unrolled at the ends."""
    found: list[Value] = [EPSILON] if low == 0 else []
    found += [some] if low <= 1 and high != 0 else []
    two = sides.then(some, some)
    found += [two] if low <= 2 and (high is None or high >= 2) else []
    if high is None or high >= 3:
        rest = None if high is None else high - 3
        middle = inner if isinstance(inner, Sided) else repeat(inner, max(low - 3, 0), rest)
        found.append(sides.then(some, sides.then(middle, two)))
    return any_of(found)


def _closure(sides: Sides, some: Value) -> Value:
    """Any number of rounds inside the text, by the sides around them."""
    inside = sides.inside
    steps: dict[tuple[int, int], dict[tuple[int, int], Expr]] = {
        (before, begins): {
            (ends, after): sides.ending(
                sides.beginning(at(some, before, after), _BEGINS[begins]), _ENDS[ends]
            )
            for ends, after in inside
        }
        for before, begins in inside
    }
    for via in inside:
        loop = repeat(steps[via][via])
        into = {state: steps[state][via] for state in inside}
        out = dict(steps[via])
        for source, target in product(inside, inside):
            detour = concat(into[source], loop, out[target])
            steps[source][target] = alt(steps[source][target], detour)

    befores, afters = {before for before, _ in inside}, {after for _, after in inside}

    def between(before: int, after: int) -> Expr:
        # START and END never stand beside the inner iterations, nor does the last newline.
        before = before if before in befores else BEFORE_OTHER
        after = after if after in afters else AFTER_OTHER
        paths = [steps[before, begins][ends, after] for begins in afters for ends in befores]
        return alt(EPSILON, *paths)

    return sided(between(*s) for s in SIDES)
