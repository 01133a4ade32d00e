"""A pattern as the places of its characters, and what may stand behind each (Glushkov 1961).

Places are numbered, counts written out; sets of places are integers with a bit for each. Of the
texts of a part, those that end at some places are an expression again, and so is what goes on from
one of them: as long as it has to be, not longer, for whoever asks what follows.

What this module does not know: which of its matches is preferred.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, Protocol, final

from guideway.lowering.characters import leaf_points, literal_points
from guideway.lowering.expr import EMPTY, alt, concat, optional, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr
from guideway.lowering.unicode import CodePoints, character
from guideway.syntax.regex_tree import (
    Alternation,
    Class,
    Dot,
    Group,
    Node,
    Repeat,
    Shorthand,
    Text,
)
from guideway.syntax.regex_tree import (
    Sequence as Items,
)

MOST_PLACES: Final = 400
MOST_OPTIONAL: Final = 30
DEEPEST: Final = 40


class Part(Protocol):
    """A part of a pattern."""

    @property
    def text(self) -> Expr:
        """Its texts."""
        ...

    @property
    def nullable(self) -> bool:
        """Whether nothing is one."""
        ...

    @property
    def first(self) -> int:
        """Where its texts begin."""
        ...

    @property
    def last(self) -> int:
        """Where its texts end."""
        ...

    @property
    def places(self) -> int:
        """All of its places."""
        ...

    def ended(self, places: int) -> Expr:
        """Its texts that end at some of its last places."""
        ...

    def begun(self) -> Expr:
        """The beginnings of its texts, nothing excepted, that are texts: one of each at least."""
        ...

    def more(self, place: int) -> Expr:
        """The same of what may come behind one of its last places."""
        ...


@final
@dataclass(frozen=True, slots=True)
class _Char:
    """One character."""

    text: Expr
    places: int
    nullable: bool = False

    @property
    def first(self) -> int:
        return self.places

    @property
    def last(self) -> int:
        return self.places

    def ended(self, places: int) -> Expr:
        return self.text if self.places & places else EMPTY

    def begun(self) -> Expr:
        return self.text

    def more(self, place: int) -> Expr:
        del place
        return EMPTY


@final
@dataclass(frozen=True, slots=True)
class _Row:
    """One part after the other."""

    items: Sequence[Part]
    text: Expr
    nullable: bool
    first: int
    last: int
    places: int

    @staticmethod
    def of(items: Sequence[Part]) -> Part:
        """These; itself if there is one."""
        if len(items) == 1:
            return items[0]
        text = concat(*(each.text for each in items))
        nullable = all(each.nullable for each in items)
        first = _all_of(each.first for each in _until_solid(items))
        last = _all_of(each.last for each in _until_solid(items[::-1]))
        return _Row(items, text, nullable, first, last, _all_of(each.places for each in items))

    def ended(self, places: int) -> Expr:
        if not self.nullable and not self.last & ~places:
            return self.text
        found: list[Expr] = []
        for item in _until_solid(self.items[::-1]):
            before = self.items[: len(self.items) - len(found) - 1]
            found.append(concat(*(each.text for each in before), item.ended(places)))
        return alt(*found)

    def begun(self) -> Expr:
        if self.nullable:
            return alt(*(each.begun() for each in self.items))
        count = max(n for n, each in enumerate(self.items) if not each.nullable)
        return concat(*(each.text for each in self.items[:count]), self.items[count].begun())

    def more(self, place: int) -> Expr:
        behind = [*takewhile(lambda item: not item.places & place, reversed(self.items))]
        item = self.items[-1 - len(behind)]
        return alt(item.more(place), *(each.begun() for each in behind))


@final
@dataclass(frozen=True, slots=True)
class _Options:
    """One of some parts."""

    options: Sequence[Part]
    text: Expr
    nullable: bool
    first: int
    last: int
    places: int

    @staticmethod
    def of(options: Sequence[Part]) -> "_Options":
        """These."""
        return _Options(
            options,
            alt(*(each.text for each in options)),
            any(each.nullable for each in options),
            _all_of(each.first for each in options),
            _all_of(each.last for each in options),
            _all_of(each.places for each in options),
        )

    def ended(self, places: int) -> Expr:
        return alt(*(each.ended(places) for each in self.options if each.last & places))

    def begun(self) -> Expr:
        return alt(*(each.begun() for each in self.options))

    def more(self, place: int) -> Expr:
        return alt(*(each.more(place) for each in self.options if each.places & place))


@final
@dataclass(frozen=True, slots=True)
class _Rounds:
    """A part that is not nothing, once or any number of times, or not at all."""

    item: Part
    text: Expr
    nullable: bool
    any_number: bool

    @property
    def first(self) -> int:
        return self.item.first

    @property
    def last(self) -> int:
        return self.item.last

    @property
    def places(self) -> int:
        return self.item.places

    def ended(self, places: int) -> Expr:
        if not self.any_number:
            return self.item.ended(places)
        if not self.last & ~places:
            return repeat(self.item.text, 1)
        return concat(repeat(self.item.text), self.item.ended(places))

    def begun(self) -> Expr:
        return self.item.begun()

    def more(self, place: int) -> Expr:
        found = self.item.more(place)
        return alt(found, self.item.begun()) if self.any_number else found


@final
@dataclass(slots=True)
class Places:
    """The places of some parts.

    Attributes:
        sets: the characters at each place.
        follow: where each may be followed.
        greedy: whether all goes on wherever it can, before it is tried to end there.
        known: whether the places say all.
    """

    sets: list[CodePoints] = field(default_factory=list[CodePoints])
    follow: list[int] = field(default_factory=list[int])
    greedy: bool = True
    known: bool = True

    def part(self, node: Node, depth: int = 0) -> Part:
        """A part of the pattern; something if it is not known."""
        if depth > DEEPEST or len(self.sets) > MOST_PLACES:
            self.known = False
        if isinstance(node, Text):
            return self._row([self._char(literal_points(char, node.mode)) for char in node.text])
        if isinstance(node, Class | Shorthand | Dot):
            return self._char(leaf_points(node))
        return self._made(node, depth + 1) if self.known else self._row([])

    def _made(self, node: Node, depth: int) -> Part:
        match node:
            case Group(item):
                return self.part(item, depth)
            case Items(items):
                return self._row([self.part(each, depth) for each in items])
            case Alternation(options):
                found = _Options.of([self.part(each, depth) for each in options])
                self.greedy = self.greedy and not found.nullable
                return found
            case Repeat():
                return self._repeat(node, depth)
            case _:
                self.known = False
                return self._row([])

    def _char(self, characters: CodePoints) -> Part:
        spend(1)
        self.sets.append(characters)
        self.follow.append(0)
        return _Char(character(characters), 1 << len(self.sets) - 1)

    def _row(self, items: Sequence[Part]) -> Part:
        ends = 0
        for item in items:
            self._follow(ends, item.first)
            ends = item.last | (ends if item.nullable else 0)
        return _Row.of(items)

    def _follow(self, ends: int, first: int) -> None:
        for place in numbers(ends):
            self.follow[place] |= first

    def _repeat(self, node: Repeat, depth: int) -> Part:
        low, high = node.low, node.high
        self.greedy = self.greedy and (low == high or not node.lazy)
        if low > MOST_PLACES or (high or low) - low > MOST_OPTIONAL:
            self.known = False
            return self._row([])
        if high is None:
            items = [self.part(node.item, depth) for _ in range(max(low, 1))]
            items[-1] = self._rounds(items[-1], low == 0, True)
            return self._row(items)
        rest = self._row([])
        items = [self.part(node.item, depth) for _ in range(high)]
        for item in reversed(items[low:]):
            rest = self._rounds(self._row([item, rest]), True, False)
        return self._row([*items[:low], rest])

    def _rounds(self, item: Part, nullable: bool, any_number: bool) -> Part:
        self.known = self.known and not item.nullable
        text = item.text
        if any_number:
            self._follow(item.last, item.first)
            text = repeat(text, 0 if nullable else 1)
        return _Rounds(item, optional(text) if nullable else text, nullable, any_number)


def numbers(places: int) -> Iterator[int]:
    """The numbers of the bits of a set."""
    while places:
        yield (places & -places).bit_length() - 1
        places &= places - 1


def _all_of(sets: Iterable[int]) -> int:
    found = 0
    for each in sets:
        found |= each
    return found


def _until_solid(items: Sequence[Part]) -> list[Part]:
    """The items up to the first that is not nothing, that one included."""
    count = next((n for n, each in enumerate(items) if not each.nullable), len(items))
    return [*items[: count + 1]]
