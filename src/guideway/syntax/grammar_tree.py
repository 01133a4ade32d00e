"""Context-free grammars as every notation for them is read: named rules of alternatives of items.

    rule          name, alternatives
    alternative   items, one after another; without any it is the empty text
    item          an atom, `low` to `high` times
    atom          a text, a character out of a set, or a rule or a terminal by its name

Groups are rules of their own, so that a tree is never deep. Which names are taken, and that every
name has a rule, is checked by the notation's parser, which knows the places.
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
    """What the terminal of this name takes where it stands: never nothing. Who lowers knows it."""

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
    """Rules, and the one that texts are read by.

    Attributes:
        rules: the alternatives of each rule, those of groups among them.
        start: the name of the rule of whole texts.
        groups: names of rules that nobody wrote: of what stood in parentheses.
    """

    rules: Mapping[str, tuple[Alternative, ...]]
    start: str
    groups: frozenset[str]
