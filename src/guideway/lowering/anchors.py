"""Parts of a pattern with anchors, as one expression for each pair of sides (`Sided`).

A side is what an anchor sees at a place: nothing, a newline, a word character or another one. A
part without anchors is a plain Expr. `Sides.then` sums over the sides that each part makes for the
other.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import TypeAlias, final

from guideway.lowering.alternatives import all_of, either
from guideway.lowering.edges import NEWLINE, NOTHING, ONE_NEWLINE, OTHER, SOMETHING, WORD, Edge
from guideway.lowering.expr import (
    EMPTY,
    EPSILON,
    alt,
    both,
    complement,
    concat,
    repeat,
)
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Bytes, Expr
from guideway.lowering.unicode import (
    SCALARS,
    CodePoints,
    character,
    difference,
    intersection,
    points,
    union,
)
from guideway.syntax.frozen import by_value
from guideway.syntax.regex_tree import AnchorKind

START, BEFORE_NEWLINE, BEFORE_OTHER, BEFORE_WORD = BEFORE = range(4)
END, LAST, AFTER_NEWLINE, AFTER_OTHER, AFTER_WORD = AFTER = range(5)
SIDES = tuple(product(BEFORE, AFTER))


@final
@by_value
class Sided:
    """What a part with anchors denotes, for each pair of SIDES, in their order."""

    table: tuple[Expr, ...]


Value: TypeAlias = Expr | Sided

_NEWLINE, _ASCII = points([0x0A]), points(range(0x80))
_WORK = 200  # of one sequence with anchors, in parts: it takes as long as making so many
_WITHOUT_WORDS = tuple(product(BEFORE[:BEFORE_WORD], AFTER[:AFTER_WORD]))

_BEGINNINGS = (NOTHING, NEWLINE, OTHER, WORD, ONE_NEWLINE)
_ENDINGS = (NOTHING, NEWLINE, OTHER, WORD)


def _sides_after(after: int) -> tuple[int, ...]:
    """The side after u in u·v for each beginning of v, where `after` is after v."""
    last = LAST if after == END else AFTER_NEWLINE
    return (after, AFTER_NEWLINE, AFTER_OTHER, AFTER_WORD, last)


def _sides_before(before: int) -> tuple[int, ...]:
    """The side before v in u·v for each ending of u, where `before` is before u."""
    return (before, BEFORE_NEWLINE, BEFORE_OTHER, BEFORE_WORD)


def at(value: Value, before: int, after: int) -> Expr:
    """What a part denotes between two sides."""
    return value.table[before * len(AFTER) + after] if isinstance(value, Sided) else value


def sided(entries: Iterable[Expr]) -> Value:
    """The part that denotes these between SIDES: an Expr, if it is the same everywhere."""
    table = tuple(entries)
    return table[0] if all(entry is table[0] for entry in table) else Sided(table)


def anchor(kind: AnchorKind) -> Value:
    """The empty string where the condition holds."""
    holds: dict[AnchorKind, Callable[[int, int], bool]] = {
        "text start": lambda before, after: before == START,
        "line start": lambda before, after: before < BEFORE_OTHER,
        "text end": lambda before, after: after == END,
        "last line end": lambda before, after: after in (END, LAST),
        "line end": lambda before, after: after < AFTER_OTHER,
    }
    return sided(EPSILON if holds[kind](*sides) else EMPTY for sides in SIDES)


def boundary(negated: bool, in_empty: bool) -> Value:
    r"""The empty string between a word character and another or none; negated, anywhere else.

    Args:
        negated: whether \B is meant.
        in_empty: whether \B holds in the empty text; in Python it does not, before 3.14.
    """

    def holds(before: int, after: int) -> bool:
        beside_one_word = (before == BEFORE_WORD) != (after == AFTER_WORD)
        return beside_one_word != negated and (in_empty or (before, after) != (START, END))

    return sided(EPSILON if holds(*sides) else EMPTY for sides in SIDES)


def any_of(values: Sequence[Value | bytes]) -> Value:
    """Any of the parts; `bytes` are themselves."""
    plain = [value for value in values if not isinstance(value, Sided)]
    anchored = [value for value in values if isinstance(value, Sided)]
    if not anchored:
        return either(plain)
    spend(_WORK)
    rows = [tuple(value.table[i] for value in anchored) for i in range(len(SIDES))]
    found = {row: either([*plain, *row]) for row in set(rows)}
    return sided(found[row] for row in rows)


@final
class Sides:
    """Sequences of parts, for a spelling of characters.

    Args:
        spell: one character out of a set, as bytes.
        words: the word characters, none if nothing asks for them.

    Attributes:
        text: any text.
        inside: the pairs of sides that a place between two characters can have.
    """

    def __init__(self, spell: Callable[[CodePoints], Expr], words: CodePoints = ()) -> None:
        self._spell, self._words = spell, words
        self._letters: dict[str, Expr] = {}
        self._characters: dict[Expr, dict[int, Expr]] = {}
        newline, self.text = spell(_NEWLINE), repeat(spell(SCALARS))
        self._newline = newline
        kinds = self._kinds(SCALARS)
        ends = {shape: concat(self.text, char) for shape, char in kinds.items()}
        begins = {shape: concat(char, self.text) for shape, char in kinds.items()}
        begins[NEWLINE] = concat(newline, repeat(spell(SCALARS), 1))
        begins[ONE_NEWLINE] = newline
        single = self._kinds(_ASCII) if words and spell is character else {}
        plain = {shape: char.members for shape, char in single.items() if isinstance(char, Bytes)}
        self._begin = Edge(False, begins, self._characters, plain)
        self._end = Edge(True, ends, self._characters, plain)
        self.inside = tuple(product(BEFORE[1 : len(kinds) + 1], AFTER[2 : len(kinds) + 2]))
        self._told_apart = SIDES if words else _WITHOUT_WORDS

    def character(self, ranges: CodePoints) -> Expr:
        """One character out of the set, as bytes; where words are told apart, its kinds as well."""
        expr = self._spell(ranges)
        if self._words:
            kinds = self._kinds(ranges)
            self._characters |= {kind: {shape: kind} for shape, kind in kinds.items()}
            self._characters[expr] = kinds
        return expr

    def letter(self, char: str) -> Expr:
        """One character, as bytes."""
        found = self._letters.get(char)
        if found is None:
            found = self.character(points([ord(char)]))
            if char.isascii():
                self._letters[char] = found
        return found

    def _kinds(self, ranges: CodePoints) -> dict[int, Expr]:
        """Characters of a set by kind: newline, word, other."""
        sets = {
            NEWLINE: intersection(ranges, _NEWLINE),
            OTHER: difference(ranges, union(_NEWLINE, self._words)),
            WORD: intersection(ranges, self._words),
        }
        return {
            shape: self._spell(found)
            for shape, found in sets.items()
            if self._words or shape != WORD
        }

    def then(self, first: Value, second: Value) -> Value:
        """A string of the first part, then one of the second."""
        if not isinstance(first, Sided) and not isinstance(second, Sided):
            return concat(first, second)
        if first is EPSILON or second is EPSILON:
            return second if first is EPSILON else first
        spend(_WORK)
        known: dict[tuple[tuple[Expr, ...], tuple[Expr, ...]], Expr] = {}
        entries: list[Expr] = []
        for before, after in self._told_apart:
            firsts = tuple(at(first, before, side) for side in _sides_after(after))
            seconds = tuple(at(second, side, after) for side in _sides_before(before))
            found = known.get((firsts, seconds))
            if found is None:
                found = known[firsts, seconds] = self._joined(firsts, seconds)
            entries.append(found)
        return sided(entries if self._told_apart is SIDES else _with_words(entries))

    def meet(self, *values: Value) -> Value:
        """Strings of all parts."""
        if len(values) == 1:
            return values[0]
        plain = [value for value in values if not isinstance(value, Sided)]
        if len(plain) == len(values):
            return all_of(plain)
        return sided(all_of(at(value, *sides) for value in values) for sides in SIDES)

    def opposite(self, value: Value) -> Value:
        """Texts that are no strings of a part."""
        if not isinstance(value, Sided):
            return both(self.text, complement(value))
        return sided(both(self.text, complement(entry)) for entry in value.table)

    def _joined(self, firsts: tuple[Expr, ...], seconds: tuple[Expr, ...]) -> Expr:
        return alt(
            *(
                concat(self.ending(head, ends), self.beginning(tail, begins))
                for head, begins in _together(firsts, _BEGINNINGS).items()
                for tail, ends in _together(seconds, _ENDINGS).items()
            )
        )

    def beginning(self, expr: Expr, shapes: int) -> Expr:
        """The strings of `expr` that begin so."""
        if expr is self._newline:
            return expr if shapes & ONE_NEWLINE else EMPTY
        return self._begin.restrict(expr, shapes)

    def ending(self, expr: Expr, shapes: int) -> Expr:
        """The strings of `expr` that end so."""
        return self._end.restrict(expr, shapes)

    def nonempty(self, value: Value) -> Value:
        """The strings of a part that are not empty."""
        return sided(self.beginning(at(value, *sides), SOMETHING) for sides in SIDES)


def _with_words(entries: list[Expr]) -> list[Expr]:
    rows = [entries[start : start + 4] for start in range(0, len(entries), 4)]
    return [entry for row in (*rows, rows[BEFORE_OTHER]) for entry in (*row, row[AFTER_OTHER])]


def _together(parts: tuple[Expr, ...], shapes: tuple[int, ...]) -> dict[Expr, int]:
    """For each part that is not ∅, the shapes with which it goes."""
    found: dict[Expr, int] = {}
    for part, shape in zip(parts, shapes, strict=True):
        if part is not EMPTY:
            found[part] = found.get(part, 0) | shape
    return found
