"""Inclusion and equality of languages, with a counterexample.

A includes B if "B and not A" is empty, restricted to what the vocabulary can spell. A search finds
its shortest text if A is regular or has bounded nesting. Otherwise the texts of B are tried one by
one if they are few. All else is refused: inclusion of context-free languages is undecidable.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, final

from guideway.automata.decided import Decisions
from guideway.automata.derivative import Derivatives
from guideway.constraints.segmentation import Segmentation
from guideway.errors import UnsupportedError
from guideway.lowering.alternatives import either
from guideway.lowering.expr import ALL_BYTES, ANYTHING, EMPTY, both, byte_set, complement, repeat
from guideway.lowering.meets import looking
from guideway.lowering.nodes import Expr
from guideway.lowering.regular import derivative
from guideway.lowering.special import shown
from guideway.vocabulary.spellings import Vocabulary

Side: TypeAlias = Literal["this", "other"]


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer to `includes` and `equivalent`: true or false as a condition.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)])
        >>> digits = gw.compile(gw.Regex("[0-9]+"), vocabulary)
        >>> found = digits.includes(gw.Regex(r"[0-9]{2,4}|v[0-9]"))
        >>> bool(found), found.witness, found.side
        (False, 'v0', 'other')

    Attributes:
        holds: the answer.
        witness: if it is False, a shortest text that only one side accepts, the first in byte
            order; None otherwise. If one side nests without end, the shortest in one direction.
        side: the side that accepts the witness, "this" or "other"; None if `holds`.
    """

    holds: bool
    witness: str | None = None
    side: Side | None = None

    def __bool__(self) -> bool:
        return self.holds


HOLDS: Final = Comparison(True)


@final
@dataclass(frozen=True, slots=True)
class Language:
    """The texts of an expression that a vocabulary can spell."""

    expr: Expr
    vocabulary: Vocabulary

    def flattened(self, decisions: Decisions) -> Expr | None:
        """The language as one regular expression; None if it nests and has many texts."""
        flat = decisions.flattened(self.expr)
        if flat is None:
            words = decisions.words(self.expr)
            flat = None if words is None else either(set(words)) if words else EMPTY
        return None if flat is None else both(flat, self.spelled)

    @property
    def spelled(self) -> Expr:
        vocabulary = self.vocabulary
        if vocabulary.closed:
            spellable = vocabulary.spellable
            return ANYTHING if spellable == ALL_BYTES else repeat(byte_set(spellable))
        whole = repeat(either({token for token in vocabulary.tokens if token}))
        for byte in vocabulary.lead:
            whole = derivative(whole, byte)
        return whole

    def words(self, decisions: Decisions) -> tuple[bytes, ...] | None:
        """All texts; None if they are too many."""
        words = decisions.words(self.expr)
        return None if words is None else tuple(filter(self._spells, words))

    def has(self, text: bytes, decisions: Decisions) -> bool:
        return self._spells(text) and decisions.contains(self.expr, text)

    def _spells(self, text: bytes) -> bool:
        lead = self.vocabulary.lead
        whole = text if self.vocabulary.closed else lead + text
        return Segmentation(self.vocabulary).fewest(whole) is not None


def included(this: Language, other: Language, fuel: Callable[[int], None]) -> Comparison:
    """Compare: does `this` have every text of `other`?"""
    missing = _missing(this, other, Decisions(fuel))
    return HOLDS if missing is None else Comparison(False, _shown(missing), "other")


def equal(this: Language, other: Language, fuel: Callable[[int], None]) -> Comparison:
    decisions = Decisions(fuel)
    found: list[tuple[int, bytes, Side]] = []
    refused: UnsupportedError | None = None
    directions: tuple[tuple[Language, Language, Side], ...] = (
        (this, other, "other"),
        (other, this, "this"),
    )
    for outer, inner, side in directions:
        try:
            missing = _missing(outer, inner, decisions)
        except UnsupportedError as error:  # the other direction may tell them apart
            refused = error
        else:
            if missing is not None:
                found.append((len(missing), missing, side))
    if found:
        _, witness, side = min(found)
        return Comparison(False, _shown(witness), side)
    if refused is not None:
        raise refused
    return HOLDS


def _missing(outer: Language, inner: Language, decisions: Decisions) -> bytes | None:
    """A shortest text of `inner` that `outer` does not have."""
    if outer == inner:
        return None
    whole, part = outer.flattened(decisions), inner.flattened(decisions)
    if whole is not None:
        beyond = both(inner.spelled, complement(whole))
        beyond = looking(inner.expr, beyond) if part is None else both(part, beyond)
        machine = Derivatives(beyond, fuel=decisions.fuel)
        return machine.shortest(beyond) if machine.alive(beyond) else None
    words = inner.words(decisions)
    if words is None:
        raise UnsupportedError(
            "cannot decide inclusion: one constraint nests without end, and the other has too many "
            "texts to try one by one",
            feature="comparison with a constraint that nests",
        )
    missing = [word for word in words if not outer.has(word, decisions)]
    return min(missing, key=lambda word: (len(word), word), default=None)


def _shown(text: bytes) -> str:
    return shown(text).decode(errors="backslashreplace")
