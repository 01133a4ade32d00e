"""Atoms about arrays after one more item, and at the end."""

from typing import TypeAlias

from guideway.lowering.json_atoms import (
    Distinct,
    Holding,
    Item,
    Items,
    Longer,
    Shorter,
    SomeItem,
    holding,
)
from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    all_of,
    any_of,
    atoms,
    leaf,
    opposite,
    replace,
)
from guideway.lowering.json_given import Unlike
from guideway.lowering.json_progress import now
from guideway.lowering.json_unlike import unlike_item
from guideway.lowering.json_values import items_of

Twice: TypeAlias = bool | None
"""True if some value must repeat, False if none may; None if it does not matter."""


def told_apart(said: Formula) -> list[tuple[Formula, Twice]]:
    """Split a formula by `Twice`: must all items differ, or must one repeat?"""
    signs = {atom.sign for atom in atoms(said) if isinstance(atom, Distinct)}
    if not signs:
        return [(said, None)]
    different, equal = _where(said, True), _where(said, False)
    options: list[tuple[Formula, Twice]] = [
        (different, False if True in signs else None),
        (equal, True if False in signs else None),
    ]
    return [(rest, twice) for rest, twice in options if rest is not FALSE]


def _where(said: Formula, distinct: bool) -> Formula:
    def change(atom: Atom) -> Formula:
        if isinstance(atom, Distinct):
            return TRUE if atom.sign is distinct else FALSE
        return leaf(atom)

    return replace(said, change)


def reach(atom: Atom) -> int:
    """The position from which on an atom is the same at each."""
    match atom:
        case Item(position, _):
            return position + 1
        case Items(start, _) | SomeItem(start, _):
            return start
        case Longer(count) | Shorter(count):
            return count + 1
        case _:
            return 0


def holds_at_end(atom: Atom) -> bool:
    """Return True if an atom holds without further items."""
    match atom:
        case Item() | Items() | Shorter():
            return True
        case Holding(_, low, _):
            return low == 0
        case Unlike(values):
            return all(items_of(value) for value in values)
        case _:
            return False


def read_item(atom: Atom, position: int) -> Formula | None:  # noqa: PLR0911  an arm for each atom
    """The formula of an atom after the item at a position; None if it does not change."""
    match atom:
        case Item(at, value):
            return now(value) if at == position else None
        case Items(start, value):
            return all_of(now(value), leaf(atom)) if start <= position else None
        case SomeItem(start, value):
            return any_of(now(value), leaf(atom)) if start <= position else None
        case Holding(value, low, high):
            return _count(value, low, high)
        case Longer(count):
            return TRUE if count <= position + 1 else None
        case Shorter(count):
            return None if position < count else FALSE
        case Unlike(values):
            return unlike_item(values)
        case _:
            raise TypeError(f"{atom} says nothing about items")


def _count(value: Formula, low: int, high: int | None) -> Formula:
    stays = leaf(Holding(value, low, high))
    if high is None:
        return any_of(all_of(now(value), holding(value, low - 1)), stays)
    one_less = holding(value, max(low - 1, 0), high - 1)
    return any_of(all_of(now(value), one_less), all_of(now(opposite(value)), stays))
