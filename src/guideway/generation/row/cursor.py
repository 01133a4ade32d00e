"""Tokens that may come next in a row: any text, or a position in a constraint.

Both classes have the same methods. The position in a constraint also enforces the limits, so that
no text is cut:

- A token after which the rest would not fit into `most` tokens is refused, and the row is narrowed
  towards `mask_within`. (`mask_within` at every step would cost a distance for each token; this
  costs one.) `crowded` counts refusals: the budget has changed the choice.
- Before `least` tokens, end ids are not offered, and tokens after which only an end can come are
  refused. If that leaves nothing, the text ends early.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from guideway.automaton.token_tries import Row, pack
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.constraint.longest_path import longest_path
from guideway.vocabulary.healing import across
from guideway.vocabulary.vocabulary import Vocabulary
from guideway.watermark.scheme import forced

Taken: TypeAlias = tuple[int, ...]  # tokens at the end of the prompt that are written again

TRIES: Final = 32  # tokens refused for either limit in one step; each costs a draw


@dataclass(frozen=True, slots=True)
class Choices:
    """The choice that a constraint leaves at a position, which a detector recomputes."""

    row: Row  # allowed tokens without ends, whatever the limits
    free: bool  # True if they differ in their first byte
    before: tuple[int, ...]  # tokens at earlier free positions


class Free:
    """Any text: every id that spells something, and the end ids."""

    over: Final = False
    crowded: Final = 0
    position: Final = None

    def __init__(self, vocabulary: Vocabulary, least: int, taken: Taken = ()) -> None:
        """No end ids before `least` tokens, nor before the `taken` bytes are spelled again."""
        self._text, self._ends = text_row(vocabulary), end_row(vocabulary)
        self._vocabulary, self._taken = vocabulary, taken
        self._least, self._count = least, 0

    @property
    def accepts(self) -> bool:
        return not self._taken

    def row(self) -> Row:
        if self._taken:
            return across_row(self._vocabulary, self._taken)
        return self._text if self._count < self._least else self._text | self._ends

    def admits(self, token: int) -> bool:
        return True

    def narrow(self) -> bool:
        return False

    def fits(self, token: int) -> bool:
        return True

    def choices(self) -> Choices | None:
        return None

    def take(self, token: int) -> bool:
        self._count += 1
        self._taken = _left_after(self._taken, token)
        return True

    def matches(self, text: str) -> bool:
        return True


class Held:
    """A position in a constraint with a token budget.

    Attributes:
        crowded: number of tokens refused here because no end would fit after them.
    """

    def __init__(
        self,
        constraint: CompiledConstraint,
        *,
        joint: bytes,
        least: int,
        most: int,
        taken: Taken = (),
    ) -> None:
        """The position after `joint`, with `least` to `most` tokens to come.

        If the joint was `taken` back from the prompt, its original tokens are kept up to the one
        that continues past its end.
        """
        self._taken = taken
        self._constraint, self._least, self._most = constraint, least, most
        self._ends = end_row(constraint.vocabulary)
        self._state = constraint.start(joint)
        self._count = self._refused = self.crowded = 0
        self._narrowed = False
        self._row: Row | None = None
        self._unfitting: tuple[tuple[int, bool], ...] = ()  # refused since `_row`, by which mask
        self._free = False  # of the last choice that was asked for here
        self._chosen: tuple[int, ...] = ()

    @property
    def position(self) -> tuple[CompiledConstraint, DecodeState]:
        return self._constraint, self._state

    @property
    def accepts(self) -> bool:
        """Return True if the text may end here."""
        return self._constraint.accepts(self._state)

    @property
    def over(self) -> bool:
        """Return True if the text can only end here."""
        return self.accepts and not (self._constraint.mask(self._state) & ~self._ends).any()

    def row(self) -> Row:
        """The tokens that may come next, packed; slow after a token was refused for the budget."""
        if self._row is None:
            self._row = self._unended(self._constraint.mask(self._state))
        refused, self._unfitting = self._unfitting, ()
        for token, whole in refused:
            left = self._most - self._count
            if whole:
                fitting = self._constraint.mask_within(self._state, left)
            else:
                fitting = self._constraint.mask_without(self._state, token, left)
            narrow = self._row & fitting
            self._row = narrow if narrow.any() else self._unended(fitting)
        return self._row

    def narrow(self) -> bool:
        """Remove tokens after which no end would fit from `row`; return True if there were any.

        For searches, which use the probabilities of a whole row.
        """
        if self._narrowed:
            return False
        before, self._narrowed = self.row(), True
        fitting = self._constraint.mask_within(self._state, self._most - self._count)
        self._row = self._unended(fitting)
        return not np.array_equal(self._row, before)

    def choices(self) -> Choices | None:
        """The choice at this position. Who needs it asks at every position."""
        row = self._constraint.mask(self._state) & ~self._ends
        self._free = not forced(row, self._constraint.vocabulary)
        return Choices(row, free=self._free, before=self._chosen)

    def take(self, token: int) -> bool:
        """Go on by a token, or refuse it and have a narrower row."""
        if not self.admits(token):
            return False
        self._state, self._row = self._constraint.advance(self._state, token), None
        self._unfitting = ()
        self._taken = _left_after(self._taken, token)
        if self._free:
            self._chosen, self._free = (*self._chosen, token), False
        self._count, self._refused, self.crowded = self._count + 1, 0, 0
        self._narrowed = False
        return True

    def admits(self, token: int) -> bool:
        """Return True if a token of `row` may be taken; if not, `row` gets narrower."""
        if not self.fits(token, TRIES):
            return False
        after = self._constraint.advance(self._state, token)
        missing = self._least - self._count - 1
        if missing > 0 and self._refused < TRIES:
            longest = longest_path(self._constraint, after, missing)
            others = _remove(self.row(), token)
            if longest is not None and longest < missing and others.any():
                self._row = others
                self._refused += 1
                return False
        return True

    def fits(self, token: int, tries: int = 0) -> bool:
        """Return True if an end fits after a token; if not, `row` is reduced to fitting tokens.

        The first `tries` times, `row` may keep others: finding all fitting tokens can be slow, and
        the next token drawn mostly fits.
        """
        after = self._constraint.advance(self._state, token)
        if self._constraint.fits(after, self._most - self._count - 1):
            return True
        self.crowded += 1
        self._unfitting = (*self._unfitting, (token, self.crowded > tries))
        return False

    def matches(self, text: str) -> bool:
        return self._constraint.matches(text)

    def _unended(self, row: Row) -> Row:
        """Remove end ids before `least` tokens, unless nothing else is left.

        While the end of the prompt is spelled again, prefer its original tokens.
        """
        if self._taken:
            across = row & across_row(self._constraint.vocabulary, self._taken)
            row = across if across.any() else row
        if self._count >= self._least:
            return row
        rest = row & ~self._ends
        return rest if rest.any() else row


Cursor: TypeAlias = Free | Held  # `copy.copy` forks them: what they hold is never changed in place


@lru_cache(16)
def text_row(vocabulary: Vocabulary) -> Row:
    """All ids that spell something: padding rows of the logits and special tokens are no text."""
    tokens = vocabulary.tokens
    return pack([token for token, spelling in enumerate(tokens) if spelling], vocabulary.width)


@lru_cache(256)
def across_row(vocabulary: Vocabulary, taken: Taken) -> Row:
    """The ids that may come in the place of tokens that were taken back."""
    return pack(across(vocabulary, taken), vocabulary.width)


def _left_after(taken: Taken, token: int) -> Taken:
    """The tokens taken back that remain after `token`; none if it is another one."""
    return taken[1:] if taken and taken[0] == token else ()


@lru_cache(16)
def end_row(vocabulary: Vocabulary) -> Row:
    return pack(sorted(vocabulary.eos_ids), vocabulary.width)


def _remove(row: Row, token: int) -> Row:
    rest = row.copy()
    rest[token >> 5] &= ~np.uint32(1 << (token & 31))
    return rest
