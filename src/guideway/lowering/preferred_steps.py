"""Steps of a matcher over atoms, sets of characters that a pattern does not distinguish.

Steps refer to their parts by number, and parts come first. Lookaround languages are expressions in
which byte b is atom b.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

from guideway.lowering.nodes import Expr
from guideway.lowering.unicode import CodePoints, union


@final
@dataclass(frozen=True, slots=True)
class Read:
    """Read one of these atoms."""

    atoms: int


@final
@dataclass(frozen=True, slots=True)
class Row:
    """Match the items in order."""

    items: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """Match one of the options, in order of preference."""

    options: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Count:
    """Match the item `low` to `high` times (None: any number)."""

    item: int
    low: int
    high: int | None
    lazy: bool


@final
@dataclass(frozen=True, slots=True)
class Ahead:
    """Match nothing, if what follows begins with the item, or does not."""

    item: int
    negated: bool


@final
@dataclass(frozen=True, slots=True)
class Guard:
    """Match nothing, if all that follows is in this language."""

    rest: Expr


@final
@dataclass(frozen=True, slots=True)
class Behind:
    """Match nothing, if the text before is in this past, or is not; `place` is for errors."""

    past: int
    negated: bool
    place: int


@final
@dataclass(frozen=True, slots=True)
class Past:
    """Languages of the text read before; `perhaps` allows unknown text before the start."""

    surely: Expr
    perhaps: Expr


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """Texts that end in a match of a step; the step may refer to earlier pasts."""

    step: int


Silent: TypeAlias = Row | Choice | Count | Ahead | Guard | Behind
Step: TypeAlias = Read | Silent


@final
@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a pattern.

    `atoms` are the characters of each atom, `start` the step of the whole pattern, `pasts` the
    languages of lookbehinds, `sets` the character sets of the pattern by atoms.
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
