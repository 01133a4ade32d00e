"""Objects whose members are independent: the value of each name is compiled once.

Read with a formula instead, such an object has a state for each set of names (107 names: 1.2 ms
each).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from guideway.lowering.json_atoms import Matching, Named, Required
from guideway.lowering.json_formulas import Atom, Every, Formula, Leaf
from guideway.lowering.json_keysets import KeyClass, Keysets, Unnamed, said_by_cases
from guideway.lowering.nodes import Expr


@final
@dataclass(frozen=True, slots=True)
class Alone:
    """Independent members: names with values and presence, then classes of other keys."""

    names: tuple[str, ...]
    values: tuple[Expr, ...]
    required: tuple[bool, ...]
    classes: tuple[tuple[Unnamed, Expr], ...]


def told_alone(
    said: Formula,
    keys: Sequence[KeyClass],
    keysets: Keysets,
    value: Callable[[Formula], Expr],
) -> Alone | None:
    """The independent members of an object with this formula, else None."""
    case = _atoms_of(said)
    if case is None:
        return None
    names = [key for key in keys if key.name is not None]
    classes = keys[len(names) :]
    about, required = said_by_cases(keys), {a.name for a in case if isinstance(a, Required)}
    return Alone(
        tuple(str(key.name) for key in names),
        tuple(value(about(case, number)) for number in range(len(names))),
        tuple(key.name in required for key in names),
        tuple(
            (keysets.unnamed(part, classes), value(about(case, number)))
            for number, part in enumerate(classes, len(names))
        ),
    )


def _atoms_of(said: Formula) -> tuple[Atom, ...] | None:
    """The atoms of a conjunction, if each concerns members of one kind, else None."""
    found = list[Atom]()
    for part in said.parts if isinstance(said, Every) else (said,):
        if not (isinstance(part, Leaf) and isinstance(part.atom, (Named, Required, Matching))):
            return None
        found.append(part.atom)
    return tuple(found)
