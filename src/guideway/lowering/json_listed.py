"""One of many arrays and objects that an `enum` lists, told apart as they are read.

Which of them may still come, and where in them the text is, is all that matters of what was read::

    {"id": 1, "tags": ["a"]} or {"id": 2, "tags": ["a", "b"]}
    behind {"tags": ["a"       both, within "tags" behind one item: a comma or a bracket

So a part that is equal in many is read once for all of them, and only what somebody begins to write
is ever unfolded. As a formula, each of 3,000 objects was looked at behind each member: a mask took
3.4 s, and takes .07; of 26 arrays of 300 numbers, 4.8 s and .01. Strings lead each to what follows
it, as names do; numbers have spellings without end, so where many lead to different rests they are
captured.

What this module does not know: schemas.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, cast, final

from guideway.lowering.expr import (
    ALL_BYTES,
    EMPTY,
    EPSILON,
    UNSURE,
    alt,
    call,
    capture,
    concat,
    literal,
)
from guideway.lowering.fuel import spend
from guideway.lowering.json_atoms import Amount
from guideway.lowering.json_cases import MOST
from guideway.lowering.json_formulas import leaf
from guideway.lowering.json_listed_places import (
    Left,
    Level,
    Named,
    Place,
    Some,
    among,
    of_some,
    passed,
    some_of,
    step_of,
)
from guideway.lowering.json_listed_texts import Came, Written, is_plain, size
from guideway.lowering.json_scalars import number
from guideway.lowering.json_text import QUOTE, JsonStyle
from guideway.lowering.json_values import read_exact
from guideway.lowering.nodes import Expr, Least, Look
from guideway.lowering.recalled import Recalled
from guideway.syntax.frozen import by_identity
from guideway.syntax.json_schema_tree import Numbers
from guideway.syntax.json_text import Json

_REMEMBERED: Final = 1024
_FEW: Final = 16  # numbers, or sets of them, each with a rest of its own
_FREE: Final = 8
_CONSTANTS: Final = {True: "true", False: "false", None: "null"}


@final
@by_identity
class _Parts:
    """What may come as the next part: for each, the values that have it."""

    brackets: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    words: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    numbers: dict[Decimal, list[int]] = field(default_factory=dict[Decimal, list[int]])
    others: dict[str, list[int]] = field(default_factory=dict[str, list[int]])


def listed(values: Sequence[Json], style: JsonStyle) -> Expr | None:
    """Any of some arrays and objects.

    None for those that are few, which are told apart as well as schemas are, for numbers beyond
    counting, and for halves of surrogate pairs.

    >>> from guideway.lowering.json_text import json_style
    >>> from guideway.syntax.json_schema_source import JsonSchema
    >>> style = json_style(JsonSchema({}))
    >>> listed([[1]], style) is None, listed([[n] for n in range(99)], style) is None
    (True, False)
    """
    if len(values) <= MOST or not all(map(is_plain, values)):
        return None

    def number_of(amounts: frozenset[Decimal]) -> Expr:
        return number(leaf(Amount(Numbers(values=amounts))), plain=style.spelling.plain)

    return ListedTemplate(values, style, number_of).start()


@final
class ListedTemplate:
    """Unfolds the rest of one of some values, given what they have in common so far.

    Args:
        values: arrays and objects.
        style: how they are written.
        number: the texts of some numbers.
    """

    def __init__(
        self,
        values: Sequence[Json],
        style: JsonStyle,
        number: Callable[[frozenset[Decimal]], Expr],
    ) -> None:
        self._values, self._style, self._number = values, style, number
        self._written = Written(style)
        self._unfolded = Recalled[Hashable, Expr](_REMEMBERED)
        self._parts = Recalled[Place, _Parts](_REMEMBERED)

    def start(self) -> Expr:
        """Any of the values."""
        kinds: defaultdict[type, list[int]] = defaultdict(list)
        for index, value in enumerate(self._values):
            kinds[value.__class__].append(index)
        return alt(*(call(self, self._opened(some, (), 0)) for some in kinds.values()))

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        """What may follow; of values that cannot be spelled nothing does."""
        place = cast("Place", argument)
        if look.spellable != ALL_BYTES:
            place = of_some(place, (i for i in some_of(place) if look(self._rest(i, place))))
        found = self._unfolded.get(place)
        return self._unfolded.keep(place, self._unfold(place)) if found is None else found

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        """What follows a number."""
        place = cast("Place", argument)
        return UNSURE if captured is None else self._behind(place, self._having(place, captured))

    def resume_any(self, argument: Hashable) -> Expr:
        """The same, whichever that was."""
        place = cast("Place", argument)
        return alt(*(self._behind(place, one) for one in self._next(place).numbers.values()))

    def remembers(self, argument: Hashable) -> bool:
        """What came is known wherever anything may follow."""
        del argument
        return True

    def depends(self, argument: Hashable) -> bool:
        """A number tells which values are left."""
        del argument
        return True

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        """Whether some value can be spelled."""
        place = cast("Place", argument)
        if look.spellable == ALL_BYTES:
            return bool(some_of(place))
        rests = (self._rest(index, place) for index in sorted(some_of(place)))
        return next((found for rest in rests if (found := look(rest)) is not False), False)

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        """Behind each number that may come the rest can be spelled, or nothing is captured."""
        del argument, look, captured
        return True

    def parts(self, argument: Hashable) -> tuple[Expr, ...]:
        """Nothing is entered that may be refused."""
        del argument
        return ()

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """The shortest rest of a value."""
        place = cast("Place", argument)
        return self._shortest([(index, b"", place) for index in some_of(place)], least)

    def least_after(
        self, argument: Hashable, least: Least, captured: bytes | None = None
    ) -> bytes | None:
        """The shortest rest behind a number."""
        place = cast("Place", argument)
        found = self._next(place).numbers
        some = [*found.values()] if captured is None else [self._having(place, captured)]
        rests = [(at, b"", cast("Place", passed(place, one))) for one in some for at in one]
        return self._shortest(rests, least)

    def least_begun(self, argument: Hashable, least: Least, read: bytes) -> bytes | None:
        """The shortest number and rest, of those that are written so."""
        place = cast("Place", argument)
        begun = read.rstrip(b"-+.eE0123456789")
        if isinstance(place, Named) and b":" not in begun:
            begun += b":"
        rests: list[tuple[int, bytes, Place]] = []
        for amount, some in self._next(place).numbers.items():
            word = least(self._written.number(amount))
            if word is not None and (begun + word).startswith(read):
                rests += [(index, begun + word, passed(place, some)) for index in some]
        return self._shortest(rests, least)

    # Unfolding

    def _unfold(self, place: Place) -> Expr:
        style = self._style
        if isinstance(place, Named):
            others, numbers = self._part(place)
            value = alt(concat(style.colon, others), self._captured(place, style.colon, numbers))
            return concat(QUOTE, value)  # a capture begins right behind a byte
        one = self._at(min(place.some), place)
        end = "}" if isinstance(one, dict) else "]"
        close = concat(literal(end), self._closed(place)) if self._ended(place) else EMPTY
        more = self._member(place) if isinstance(one, dict) else self._item(place)
        if not place.begun:
            begin = "{" if isinstance(one, dict) else "["
            return concat(literal(begin), alt(concat(style.opened, close), more))
        return alt(concat(style.edge, literal(","), more), concat(style.closing, close))

    def _item(self, left: Left) -> Expr:
        """An item with what may stand before it."""
        others, numbers = self._part(left)
        opened = self._style.opened
        return alt(concat(opened, others), self._captured(left, opened, numbers))

    def _member(self, left: Left) -> Expr:
        """A member with what may stand before it."""
        names: defaultdict[str, list[int]] = defaultdict(list)
        for index in left.some:
            for name in self._names(cast("dict[str, Json]", self._at(index, left)), left):
                names[name].append(index)
        spend(1 + len(left.some) // _FREE)
        listed = (
            (name, call(self, Named(among(left, some), name))) for name, some in names.items()
        )
        return concat(self._style.opened, QUOTE, self._style.spelling.choose(listed))

    def _part(self, place: Place) -> tuple[Expr, Expr]:
        """A value, and the numbers that have to be captured if it is one of them."""
        parts = self._next(place)
        spend(1 + len(some_of(place)) // _FREE)
        options = [call(self, self._open(place, some)) for some in parts.brackets.values()]
        words = ((w, concat(QUOTE, self._behind(place, some))) for w, some in parts.words.items())
        if parts.words:
            options.append(concat(QUOTE, self._style.spelling.choose(words)))
        for text, some in parts.others.items():
            options.append(concat(literal(text), self._behind(place, some)))
        rests: defaultdict[Some, list[Decimal]] = defaultdict(list)
        for amount, some in parts.numbers.items():
            rests[frozenset(some)].append(amount)
        if len(rests) > _FEW:
            return alt(*options), self._number(frozenset(parts.numbers))
        for some, amounts in rests.items():
            rest = self._behind(place, some)
            options.append(concat(self._number(frozenset(amounts)), rest))
        return alt(*options), EMPTY

    def _captured(self, place: Place, before: Expr, numbers: Expr) -> Expr:
        if numbers is EMPTY:
            return EMPTY
        return capture(concat(before, numbers), b"", self, place)

    # Places

    def _at(self, index: int, left: Left) -> Json:
        """The part of a value that is the innermost level."""
        found: Any = self._values[index]
        for level in left.levels[1:]:
            found = found[level.step]
        return found

    def _names(self, members: dict[str, Json], left: Left) -> Iterable[str]:
        """The names that may come next in an object."""
        came = cast("frozenset[str]", left.levels[-1].came)
        if self._style.ordered:
            return [*members][len(came) : len(came) + 1]
        return [name for name in members if name not in came]

    def _next(self, place: Place) -> _Parts:
        """What may come as the next part."""
        found = self._parts.get(place)
        return self._parts.keep(place, self._found(place)) if found is None else found

    def _found(self, place: Place) -> _Parts:
        left, step = step_of(place)
        parts = _Parts()
        for index in sorted(left.some):
            inside: Any = self._at(index, left)
            if isinstance(step, int) and step >= len(inside):
                continue
            match inside[step]:
                case list():
                    parts.brackets.setdefault("[", []).append(index)
                case dict():
                    parts.brackets.setdefault("{", []).append(index)
                case str() as word:
                    parts.words.setdefault(word, []).append(index)
                case bool() | None as other:
                    parts.others.setdefault(_CONSTANTS[other], []).append(index)
                case amount:
                    parts.numbers.setdefault(Decimal(amount), []).append(index)
        return parts

    def _having(self, place: Place, captured: bytes) -> list[int]:
        """The values that have a number here."""
        _, amount = read_exact(captured.rpartition(b":")[2])
        return self._next(place).numbers[cast("Decimal", amount)]

    def _behind(self, place: Place, some: Iterable[int]) -> Expr:
        return call(self, passed(place, some))

    def _open(self, place: Place, some: list[int]) -> Left:
        """Before an array or object that is a part."""
        _, step = step_of(place)
        return self._opened(some, passed(place, some).levels, step)

    def _opened(self, some: list[int], levels: tuple[Level, ...], step: str | int) -> Left:
        inside: Any = self._values[some[0]]
        for at in (*levels[1:], Level(step, 0))[: len(levels)]:
            inside = inside[at.step]
        came: Came = frozenset[str]() if isinstance(inside, dict) else 0
        return Left(frozenset(some), (*levels, Level(step, came)), False)

    def _ended(self, left: Left) -> list[int]:
        """The values of which the innermost level has all its parts."""
        came = left.levels[-1].came
        count = came if isinstance(came, int) else len(came)
        return [index for index in left.some if len(cast("Any", self._at(index, left))) == count]

    def _closed(self, left: Left) -> Expr:
        """What follows the bracket that closes the innermost level."""
        outer = left.levels[:-1]
        return call(self, Left(frozenset(self._ended(left)), outer, True)) if outer else EPSILON

    # Single values

    def _open_parts(self, index: int, left: Left) -> list[tuple[Json, Came]]:
        """The levels of one value, the innermost first, with what came in each."""
        found: Any = self._values[index]
        levels = [(found, left.levels[0].came)]
        for level in left.levels[1:]:
            found = found[level.step]
            levels.append((found, level.came))
        return levels[::-1]

    def _rest(self, index: int, place: Place) -> Expr:
        """The texts of what is left of one value, without whitespace."""
        if isinstance(place, Left):
            return self._written.rest(self._open_parts(index, place), place.begun)
        part = cast("dict[str, Json]", self._at(index, place.left))[place.name]
        behind = passed(place, (index,))
        return self._written.behind_name(self._open_parts(index, behind), part)

    def _shortest(self, rests: list[tuple[int, bytes, Place]], least: Least) -> bytes | None:
        """The least of some texts, each followed by the rest of a value.

        Those that may be shorter are written out, no others: of 3,000 objects some ten.
        """
        sized = [
            (len(text) + self._size(index, place), index, text, place)
            for index, text, place in rests
        ]
        best: bytes | None = None
        for least_size, index, text, place in sorted(sized, key=itemgetter(0, 1)):
            if best is not None and least_size > len(best):
                break
            word = least(self._rest(index, place))
            if word is not None and (best is None or _key(text + word) < _key(best)):
                best = text + word
        return best

    def _size(self, index: int, place: Place) -> int:
        """A length that no rest of a value is below."""
        left = place if isinstance(place, Left) else passed(place, (index,))
        return size(self._open_parts(index, left), left.begun)


def _key(text: bytes) -> tuple[int, bytes]:
    return len(text), text
