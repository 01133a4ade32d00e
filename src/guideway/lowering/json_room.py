"""Objects and arrays for vocabularies without a comma or a bracket."""

from collections.abc import Callable

from guideway.lowering.expr import literal
from guideway.lowering.json_atoms import at_most
from guideway.lowering.json_formulas import FALSE, Formula, all_of
from guideway.lowering.nodes import Least


def room(place: int, brackets: str, spelled: Callable[[str], bool]) -> int | None:
    """How many members or items may still come: None for any number, -1 if a bracket is missing.

    Args:
        place: negative before the opening bracket, else behind a value.
        brackets: the opening and the closing one.
        spelled: whether the vocabulary has a character.

    Returns:
        The number, None where there is no bound, -1 where a bracket is missing.
    """
    if not all(map(spelled, brackets if place < 0 else brackets[1])):
        return -1
    if spelled(","):
        return None
    return 1 if place < 0 else 0


def bounded(said: Formula, place: int, brackets: str, spelled: Callable[[str], bool]) -> Formula:
    """What is said, and that no more comes than there is room for."""
    left = room(place, brackets, spelled)
    if left is None:
        return said
    return FALSE if left < 0 else all_of(said, at_most(left))


def among(spellable: int) -> Callable[[str], bool]:
    """What tells whether a character of ASCII is among bytes, given as a 256-bit integer."""
    return lambda mark: bool(spellable >> ord(mark) & 1)


def writes(least: Least) -> Callable[[str], bool]:
    """The same by what tells the shortest text of an expression."""
    return lambda mark: least(literal(mark)) is not None
