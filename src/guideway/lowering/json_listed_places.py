"""Where the text is within one of many values that are told apart as they are read.

What this module does not know: the values.
"""

from collections.abc import Iterable
from typing import TypeAlias, cast, final

from guideway.lowering.json_listed_texts import Came
from guideway.syntax.frozen import by_value

Some: TypeAlias = frozenset[int]  # values that may still come, by their places in the list


@final
@by_value
class Level:
    """An array or object that is open.

    Attributes:
        step: the name or place of it in the one around it.
        came: the names, or the number of items, that have come in it.
    """

    step: str | int
    came: Came


@final
@by_value
class Left:
    """Behind a part, or, where that has not begun, before the innermost level."""

    some: Some
    levels: tuple[Level, ...]
    begun: bool


@final
@by_value
class Named:
    """Before the closing quote of a name."""

    left: Left
    name: str


Place: TypeAlias = Left | Named


def some_of(place: Place) -> Some:
    """The values that may still come."""
    return left_of(place).some


def of_some(place: Place, some: Iterable[int]) -> Place:
    """The same place, of some values only."""
    left = among(left_of(place), some)
    return Named(left, place.name) if isinstance(place, Named) else left


def among(left: Left, some: Iterable[int]) -> Left:
    """The same place between parts, of some values only."""
    return Left(frozenset(some), left.levels, left.begun)


def passed(place: Place, some: Iterable[int]) -> Left:
    """Behind a part that some of the values have."""
    left, step = step_of(place)
    *outer, level = left.levels
    came = level.came + 1 if isinstance(level.came, int) else level.came | {step}
    return Left(frozenset(some), (*outer, Level(level.step, cast("Came", came))), True)


def left_of(place: Place) -> Left:
    """The place without the name that has been read, if one has."""
    return place.left if isinstance(place, Named) else place


def step_of(place: Place) -> tuple[Left, str | int]:
    """Where the next part stands."""
    if isinstance(place, Named):
        return place.left, place.name
    return place, cast("int", place.levels[-1].came)
