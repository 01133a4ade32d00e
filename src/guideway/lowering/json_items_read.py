"""What becomes of what is said of an array when an item is read, and what holds at its end.

    Item(1, F)          read the item at 1: it satisfies F, and nothing is left to say
    SomeItem(0, F)      it satisfies F, or some item of the rest does

Whether items are equal is not read here: formulas are first told apart by it (`told_apart`), as it
needs all the values that came.

What this module does not know: spelling.
"""

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
"""Whether some value has to come twice, or none may; None where it does not matter."""


def told_apart(said: Formula) -> list[tuple[Formula, Twice]]:
    """Formulas that do not ask whether items are equal, with what else has to be; any of them.

    What asks for one of the two only is not told apart further than it has to be.
    """
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
    """What else is said where all items are different, or where some are equal."""

    def change(atom: Atom) -> Formula:
        if isinstance(atom, Distinct):
            return TRUE if atom.sign is distinct else FALSE
        return leaf(atom)

    return replace(said, change)


def reach(atom: Atom) -> int:
    """From this position on an atom says the same at each."""
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
    """Whether an atom holds if nothing more comes."""
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
    """What becomes of an atom when the item at a position is read; None: it stays."""
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
    """What becomes of `Holding` when an item is read."""
    stays = leaf(Holding(value, low, high))
    if high is None:
        return any_of(all_of(now(value), holding(value, low - 1)), stays)
    one_less = holding(value, max(low - 1, 0), high - 1)
    return any_of(all_of(now(value), one_less), all_of(now(opposite(value)), stays))
