"""Objects no member of which says anything of another: what each may be is told once.

    properties a, patternProperties ^x-, ^y-      "a", keys like "x-1", keys like "y-1", all others

Read against a formula, such an object had a state for each set of its names, and each state took a
look at all of them (107 names: 1.2 ms each). What this module does not know: how it is read then.
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
    """What may come in any order, each whatever else comes.

    Attributes:
        names: all that are mentioned.
        values: the value of each.
        required: whether each must be there.
        classes: of other keys, and the value of each.
    """

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
    """The members of an object of which this is said, if none hangs on another.

    Args:
        said: of the whole object.
        keys: names, then classes.
        keysets: tells what classes hold.
        value: the values that a formula allows.
    """
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
    """The atoms that all have to hold, if each is about members of one kind."""
    found = list[Atom]()
    for part in said.parts if isinstance(said, Every) else (said,):
        if not (isinstance(part, Leaf) and isinstance(part.atom, (Named, Required, Matching))):
            return None
        found.append(part.atom)
    return tuple(found)
