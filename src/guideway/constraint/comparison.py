"""Inclusion and equality of languages, and why a source has no text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Final, Literal, TypeAlias

from guideway.chat.parts import operands_of, parts_of, written
from guideway.constraint.lowering import lower_source
from guideway.constraint.special_tokens import Segmentation
from guideway.context_free.lark.extensions import Part
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark, place_of
from guideway.context_free.lark.terminals import swallowing
from guideway.errors import LimitError, UnsatisfiableError, UnsupportedError
from guideway.json_schema.lowering import explain_conflict
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import extend, walk
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ALL_BYTES,
    ANYTHING,
    both,
    byte_set,
    complement,
    either,
    repeat,
)
from guideway.language.finite_languages import Decisions
from guideway.language.nodes import Expr
from guideway.language.regular import derivative
from guideway.language.set_algebra import looking
from guideway.language.special_tokens import shown
from guideway.python_types.source import type_source
from guideway.sources.sources import Both, Inverse, PythonType, Source
from guideway.vocabulary.vocabulary import Vocabulary

Side: TypeAlias = Literal["this", "other"]


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


@dataclass(frozen=True, slots=True)
class Language:
    """The texts of an expression that a vocabulary can spell."""

    expr: Expr
    vocabulary: Vocabulary

    def flattened(self, decisions: Decisions) -> Expr | None:
        """The language as one regular expression; None if it nests."""
        flat = decisions.flattened(self.expr)
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
    return HOLDS if missing is None else Comparison(False, _decoded(missing), "other")


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
        return Comparison(False, _decoded(witness), side)
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


def _decoded(text: bytes) -> str:
    return shown(text).decode(errors="backslashreplace")


def conflict(source: Source, decisions: Decisions) -> UnsatisfiableError:
    """The error that explains why no text satisfies `source`."""
    try:
        return _Conflict(decisions).of(source)
    except LimitError:
        return UnsatisfiableError("no text satisfies the source", conflict=(written(source),))


def undecided(source: Source, error: LimitError) -> LimitError:
    """Add the names of two intersected parts, if there are any, to an error about a search."""
    todo = [source]
    for each in todo:  # grows while it is read
        parts = operands_of(each, Both)
        if len(parts) > 1:
            one, other = parts[0], parts[-1]
            if isinstance(one, Inverse):
                one, other = other, one
            denied = isinstance(other, Inverse)
            names = written(one), written(other.item if isinstance(other, Inverse) else other)
            where = f"{names[0]} {'-' if denied else '&'} {names[1]}"
            return error.at(error.place or where, f"{where}: {error.args[0]}")
        todo += parts_of(each)
    return error


_KEYWORDS: Final = {"classes of keys": "patternProperties", "rests of multipleOf": "multipleOf"}


def placed(source: Source, error: LimitError) -> LimitError:
    """Add the JSON pointer of the smallest part with all keywords that the error may be about."""
    keyword = _KEYWORDS.get(error.limit)
    if keyword is None or error.place or not isinstance(source, JsonSchema):
        return error
    found = [
        extend(pointer, keyword).split("/")
        for pointer, part in walk(source.value)
        if part.__class__ is dict and keyword in part
    ]
    shared = takewhile(lambda names: len({*names}) == 1, zip(*found, strict=False))
    return error.at("/".join(names[0] for names in shared))


class _Conflict:
    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    def of(self, source: Source) -> UnsatisfiableError:
        """The conflict in the innermost empty part."""
        around = list[Part]()
        while True:
            if isinstance(source, JsonSchema | PythonType):
                schema = type_source(source) if isinstance(source, PythonType) else source
                return _placed_outside(around, explain_conflict(schema, self._dead))
            meeting = operands_of(source, Both) if isinstance(source, Both) else ()
            parts = meeting or (() if isinstance(source, Inverse) else parts_of(source))
            empty = next((part for part in parts if self._empty(part)), None)
            if empty is None:
                return _placed_outside(around, self._between(source, meeting))
            if isinstance(source, Lark):
                around.append(next(part for part in source.parts if part.source is empty))
            source = empty

    def _between(self, source: Source, parts: Sequence[Source]) -> UnsatisfiableError:
        """The conflict among parts that are not empty."""
        for one, other in combinations(parts, 2):
            if self._empty(Both((one, other))):
                return (
                    self._of_two(other, one)
                    if isinstance(one, Inverse)
                    else self._of_two(one, other)
                )
        told = self._swallowed(source) if isinstance(source, Lark) else None
        if told is not None:
            return told
        names = tuple(map(written, parts)) or (written(source),)
        return UnsatisfiableError(f"no text satisfies {' and '.join(names)}", conflict=names)

    def _swallowed(self, source: Lark) -> UnsatisfiableError | None:
        """The conflict with a Lark terminal that matches what must follow it."""
        found = swallowing(read_lark(source), self._dead)
        if found is None:
            return None
        taker, taken = found
        names = [each.written if each.text is None else repr(each.text) for each in taken]
        return UnsatisfiableError(
            f"{taker.written} matches as far as it can, and takes the {' or '.join(names)} that "
            "must follow. Stop the match before it, as in /.+?(?=<end>)/, or exclude its first "
            "character, as in /[^<]+/",
            place=place_of(taker, source),
            conflict=(taker.written, *names),
        )

    def _of_two(self, one: Source, other: Source) -> UnsatisfiableError:
        names = written(one), written(other)
        shortest = f"{self._shortest(one)!r}"
        if isinstance(other, Inverse):
            whole = written(other.item)
            why = f"nothing of {names[0]} is left without {whole}, {shortest} neither"
        else:
            shortest += f" and {self._shortest(other)!r}"
            why = f"no text is in both {names[0]} and {names[1]}: the shortest are {shortest}"
        return UnsatisfiableError(why, conflict=names)

    def _dead(self, expr: Expr) -> bool:
        return not self._decisions.machine.has_text(expr)

    def _empty(self, source: Source) -> bool:
        try:
            return self._shortest(source) is None
        except UnsupportedError:  # undecidable alone, but maybe not in an intersection
            return False

    def _shortest(self, source: Source) -> str | None:
        machine = self._decisions.machine
        expr = lower_source(source, self._decisions)
        return shown(machine.shortest(expr)).decode() if machine.has_text(expr) else None


def _placed_outside(around: Sequence[Part], error: UnsatisfiableError) -> UnsatisfiableError:
    """The error of a part of a grammar, with the place of the part."""
    for part in reversed(around):
        error = error.at(part.place, f"{part.written}: {error}")
    return error
