"""Find the parts of a source in a finished text.

Of several readings, from left to right, each part is as long as possible, and the first alternative
wins. `_ends` computes the possible ends of a source's parts, `_walk` the path to the end of the
text; both are cached. Sources without captures and regions are read by automata. Special tokens are
marks in the text.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from guideway.api.parsing.lark import Texts, captured
from guideway.chat.parts import parts_of
from guideway.constraint.lowering import lower_source
from guideway.constraint.special_tokens import resolve
from guideway.context_free.lark.source import Lark
from guideway.language.finite_languages import Decisions
from guideway.language.nodes import Expr
from guideway.sources.regions import Captured, Composed, Region, Until
from guideway.sources.sources import Both, Either, Repetition, Sequence, Source
from guideway.vocabulary.vocabulary import Vocabulary

Places: TypeAlias = tuple[int, ...]
Place: TypeAlias = Captured | Region
NO_SPECIAL: Final = Vocabulary(())


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A capture or region found in a text, with its bytes."""

    place: Place
    data: bytes


def find_places(
    source: Source, data: bytes, vocabulary: Vocabulary | None = None, *, deep: bool = True
) -> list[Found] | None:
    """Captures and regions of a text in order, outer ones first; None if it is not in the language.

    `deep` also searches inside them.

    >>> from guideway.sources.regions import capture, until
    >>> from guideway.sources.sources import Text
    >>> found = find_places(until(":") + capture("rest", Text()), b"a: b: c")
    >>> [(each.place.name, each.data) for each in found]
    [('rest', b' b: c')]
    """
    reader = _Reader(data, vocabulary, deep)
    if len(data) not in reader.ends(source, 0):
        return None
    return list(reader.walk(source, 0, len(data)))


def belongs(data: bytes, source: Source, vocabulary: Vocabulary | None = None) -> bool:
    """Return True if a text is in the language of `source`."""
    return len(data) in _Reader(data, vocabulary, deep=False).ends(source, 0)


def has_places(source: Source) -> bool:
    """Return True if a source has captures or regions."""
    here = isinstance(source, Captured | Region) or (isinstance(source, Lark) and source.captures)
    return bool(here) or any(map(has_places, parts_read(source)))


def parts_read(source: Source) -> tuple[Source, ...]:
    """The parts of a source that its texts may contain, without those that free text excludes."""
    if isinstance(source, Composed):
        return (source.spelled_out,)
    if isinstance(source, Until):
        return (source.stop,) if source.include else ()
    return parts_of(source)


class _Reader:
    """One text, with the known ends of the parts of sources in it."""

    def __init__(self, data: bytes, vocabulary: Vocabulary | None, deep: bool) -> None:
        self._data, self._deep = data, deep
        self._vocabulary = NO_SPECIAL if vocabulary is None else vocabulary
        self._known: dict[tuple[int, int], Places] = {}
        self._texts, self._exprs = Texts(data), dict[int, Expr]()
        self._inner: dict[int, tuple[Source, Source | None]] = {}  # which keeps what ids mean

    def ends(self, source: Source, begin: int) -> Places:
        """Possible ends of a text of `source` from `begin`, the farthest first."""
        key = (id(source), begin)
        if key not in self._known:
            self._known[key] = self._ends(source, begin)
        return self._known[key]

    def walk(self, source: Source, begin: int, end: int) -> Iterator[Found]:
        """The places of a text of `source` between these."""
        if isinstance(source, Captured | Region):
            yield Found(source, self._data[begin:end])
            if not self._deep:
                return
        inner = self._opened(source)
        if inner is not None:
            yield from self.walk(inner, begin, end)
            return
        for part, low, high in self._layout(source, begin, end) if has_places(source) else ():
            yield from self.walk(part, low, high)

    def _layout(self, source: Source, begin: int, end: int) -> Iterable[tuple[Source, int, int]]:
        """The parts of a text of `source` in this range, with their positions."""
        match source:
            case Sequence() | Repetition():
                stops = self._stops(source, begin, end)
                parts = source.parts if isinstance(source, Sequence) else [source.item] * len(stops)
                return zip(parts, [begin, *stops], stops, strict=False)
            case Either(parts):
                return [next((p, begin, end) for p in parts if end in self.ends(p, begin))]
            case Both(parts):
                return [(part, begin, end) for part in parts]
            case Lark():
                return self._captured(source, begin, end)
            case Until(stop):  # the first one, as a search finds it
                begins = (at for at in range(begin, end) if end in self.ends(stop, at))
                return [(stop, at, end) for at in islice(begins, 1)]
            case _:
                return []

    def _captured(self, source: Lark, begin: int, end: int) -> list[tuple[Source, int, int]]:
        """The captures and parts of a text of a grammar between these."""

        def ends(part: Source, at: int) -> list[int]:
            places = self.ends(part, begin + at)
            return [place - begin for place in places if place <= end]

        found = captured(source, self._data[begin:end], ends)
        return [(place, begin + low, begin + high) for place, low, high in found]

    def _ends(self, source: Source, begin: int) -> Places:
        inner = self._opened(source)
        if inner is not None:
            return self.ends(inner, begin)
        if not has_places(source):
            return self._read(source, begin)
        match source:
            case Sequence() | Repetition():
                least, _ = _counted(source)
                places = {place for place, count in self._counts(source, begin) if count >= least}
            case Either(parts):
                places = {end for part in parts for end in self.ends(part, begin)}
            case Both(parts):
                first, *others = (self.ends(part, begin) for part in parts)
                places = set(first).intersection(*others)
            case _:
                return self._read(source, begin)
        return tuple(sorted(places, reverse=True))

    def _opened(self, source: Source) -> Source | None:
        """The inner source of a composed one, capture or region."""
        known = self._inner.get(id(source))
        if known is None:
            inner = source.spelled_out if isinstance(source, Composed) else None
            inner = source.item if isinstance(source, Captured | Region) else inner
            known = self._inner[id(source)] = (source, inner)
        return known[1]

    def _read(self, source: Source, begin: int) -> Places:
        """Positions where the automaton of a source accepts, the farthest first."""
        known = self._exprs.get(id(source))
        if known is None:
            known = lower_source(resolve(source, self._vocabulary).source, Decisions())
            self._exprs[id(source)] = known
        return tuple(reversed(self._texts.ends(known, begin)))

    def _counts(self, source: Sequence | Repetition, begin: int) -> set[tuple[int, int]]:
        """The ends after a number of parts; numbers that make no difference count as one."""
        _, enough = _counted(source)
        seen, todo = {(begin, 0)}, [(begin, 0)]
        for place, count in todo:  # grows while we go
            for end in self._part_ends(source, place, count):
                after = (end, min(count + 1, enough))
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
        return seen

    def _part_ends(self, source: Sequence | Repetition, place: int, count: int) -> Places:
        """The ends of the part that begins there, after `count` parts."""
        if isinstance(source, Repetition):
            return () if count == source.high else self.ends(source.item, place)
        return self.ends(source.parts[count], place) if count < len(source.parts) else ()

    def _stops(self, source: Sequence | Repetition, begin: int, end: int) -> list[int]:
        """The end of each part, longest first, by backtracking."""
        least, enough = _counted(source)
        repeats = isinstance(source, Repetition)
        failed = set[tuple[int, int]]()
        stops: list[int] = []
        ways = [iter(self._part_ends(source, begin, 0))]
        while True:
            last, count = [begin, *stops][-1], len(stops)
            # Missing texts of a repetition may be empty.
            if last == end and (count >= least or (repeats and end in self.ends(source.item, end))):
                return [*stops, *[end] * (least - count)]
            place = next(ways[-1], None)
            if place is None:
                ways.pop()
                failed.add((stops.pop(), min(count, enough)))
            elif (place, min(count + 1, enough)) not in failed and (place > last or not repeats):
                stops.append(place)
                ways.append(iter(self._part_ends(source, place, count + 1)))


def _counted(source: Sequence | Repetition) -> tuple[int, int]:
    """The least number of parts, and the number from which counts do not differ."""
    if isinstance(source, Sequence):
        return len(source.parts), len(source.parts)
    return source.low, source.low if source.high is None else source.high
