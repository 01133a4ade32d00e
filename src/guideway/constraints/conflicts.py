"""Explanation of an empty source: two of its parts that exclude each other."""

from collections.abc import Sequence
from itertools import combinations, takewhile
from typing import Final, final

from guideway.automata.decided import Decisions
from guideway.errors import LimitError, UnsatisfiableError, UnsupportedError
from guideway.lowering.json_conflicts import explain_conflict
from guideway.lowering.lark_swallowing import swallowing
from guideway.lowering.nodes import Expr
from guideway.lowering.sources import lower_source
from guideway.lowering.special import shown
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_text import extend, walk
from guideway.syntax.lark_extensions import Part
from guideway.syntax.lark_places import place_of
from guideway.syntax.lark_reader import read_lark
from guideway.syntax.lark_source import Lark
from guideway.syntax.parts import parts_of
from guideway.syntax.python_types import type_source
from guideway.syntax.sources import Both, Inverse, PythonType, Source
from guideway.syntax.written import written


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
        parts = _meeting(each)
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


@final
class _Conflict:
    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    def of(self, source: Source) -> UnsatisfiableError:
        """The conflict in the innermost empty part."""
        around = list[Part]()
        while True:
            if isinstance(source, JsonSchema | PythonType):
                schema = type_source(source) if isinstance(source, PythonType) else source
                return _within(around, explain_conflict(schema, self._dead))
            meeting = _meeting(source)
            parts = meeting or _inner(source)
            empty = next((part for part in parts if self._empty(part)), None)
            if empty is None:
                return _within(around, self._between(source, meeting))
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


def _within(around: Sequence[Part], error: UnsatisfiableError) -> UnsatisfiableError:
    """The error of a part of a grammar, with the place of the part."""
    for part in reversed(around):
        said = f"{part.written}: {error}"
        error = UnsatisfiableError(said, place=part.place, conflict=error.conflict)
    return error


def _meeting(source: Source) -> tuple[Source, ...]:
    """Parts of nested intersections; () for other sources."""
    if not isinstance(source, Both):
        return ()
    found: list[Source] = []
    todo = [*reversed(source.parts)]
    while todo:
        part = todo.pop()
        if isinstance(part, Both):
            todo += reversed(part.parts)
        else:
            found.append(part)
    return tuple(found)


def _inner(source: Source) -> tuple[Source, ...]:
    return () if isinstance(source, Inverse) else parts_of(source)
