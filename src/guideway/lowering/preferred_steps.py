"""The steps of a matcher that reads atoms, sets of characters that a pattern does not tell apart.

    step      does
    Read      reads one of some atoms
    Row       its items, one after another
    Choice    the first option that leads to a match
    Count     its item `low` to `high` times, as often or, lazily, as seldom as can be
    Ahead     nothing, where what follows begins with the item, or does not
    Guard     nothing, where all that follows is in a language
    Behind    nothing, where what has been read is in a language, or is not

Steps name their parts by number, and parts come before what they are part of.

What looks ahead or back is an expression of the core: the byte b stands for the atom b there.

What this module does not know: patterns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

from guideway.lowering.nodes import Expr
from guideway.lowering.unicode import CodePoints, union


@final
@dataclass(frozen=True, slots=True)
class Read:
    """One of these atoms."""

    atoms: int


@final
@dataclass(frozen=True, slots=True)
class Row:
    """The items, in order."""

    items: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """The options, the preferred ones first."""

    options: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Count:
    """The item, `low` to `high` times (None: any number)."""

    item: int
    low: int
    high: int | None
    lazy: bool


@final
@dataclass(frozen=True, slots=True)
class Ahead:
    """A place before a match of the item, or before none."""

    item: int
    negated: bool


@final
@dataclass(frozen=True, slots=True)
class Guard:
    """A place with all that follows in this language of atoms."""

    rest: Expr


@final
@dataclass(frozen=True, slots=True)
class Behind:
    """A place behind a text of the past of this number, or not; `place` is where that is asked."""

    past: int
    negated: bool
    place: int


@final
@dataclass(frozen=True, slots=True)
class Past:
    """Languages of atoms that have been read: surely, and with what is unknown before the start."""

    surely: Expr
    perhaps: Expr


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """What ends in a match of a step which looks ahead, or back at the pasts before this one."""

    step: int


Silent: TypeAlias = Row | Choice | Count | Ahead | Guard | Behind
Step: TypeAlias = Read | Silent


@final
@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a pattern.

    Attributes:
        text: the pattern.
        atoms: the characters of each atom.
        steps: what is done.
        start: the step that is the whole pattern.
        pasts: what lookbehinds ask about.
        sets: the characters of some sets of atoms, the pattern's own.
    """

    text: str
    atoms: tuple[CodePoints, ...]
    steps: tuple[Step, ...]
    start: int
    pasts: tuple[Past | Seen, ...]
    sets: Mapping[int, CodePoints]

    def characters(self, atoms: int) -> CodePoints:
        """The characters of a set of atoms."""
        found = self.sets.get(atoms)
        if found is None:
            return union(*(each for n, each in enumerate(self.atoms) if atoms >> n & 1))
        return found
