"""Context-free grammars of all notations: named rules of alternatives of items.

Groups are rules of their own, so a tree is never deep. The parser checks that every name has a
rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, final


@final
@dataclass(frozen=True, slots=True)
class Word:
    """Exactly this text."""

    text: str


@final
@dataclass(frozen=True, slots=True)
class Characters:
    """One character of these ranges of code points, ends included; of all others if negated."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False


@final
@dataclass(frozen=True, slots=True)
class Name:
    """A text of the rule of this name."""

    rule: str


@final
@dataclass(frozen=True, slots=True)
class Terminal:
    """A non-empty match of the terminal of this name, which lowering defines."""

    name: str


Atom: TypeAlias = Word | Characters | Name | Terminal


@final
@dataclass(frozen=True, slots=True)
class Item:
    """An atom, `low` to `high` times in a row (None: any number)."""

    atom: Atom
    low: int = 1
    high: int | None = 1


Alternative: TypeAlias = tuple[Item, ...]


@final
@dataclass(frozen=True, slots=True)
class Grammar:
    """Alternatives of each rule, start rule, and names of the rules made from groups."""

    rules: Mapping[str, tuple[Alternative, ...]]
    start: str
    groups: frozenset[str]
