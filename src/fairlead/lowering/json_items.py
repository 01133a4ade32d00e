"""Arrays that are read item by item, against a formula.

For `contains`, `uniqueItems`, alternatives that hang together over several items, and opposites.
The argument of the template is

    Rest(position, used, said)     behind so many items; -1 is the start

`position` counts no further than any atom does. Where items have to differ, each is captured, and
`used` has the values so far: the next one is said to be none of them, so that values run out before
they are promised. Where the engine has not kept what a capture read, `used` holds UNKNOWN; what
comes after the next comma is then unsure.

What this module does not know: schemas, spelling.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from typing import TypeAlias, cast, final

from fairlead.errors import LimitError
from fairlead.lowering.expr import EMPTY, UNSURE, alt, call, capture, concat, literal
from fairlead.lowering.fuel import paying, spend
from fairlead.lowering.json_atoms import (
    Among,
    Distinct,
    Holding,
    Item,
    Items,
    Longer,
    Shorter,
    SomeItem,
    Unlike,
    holding,
)
from fairlead.lowering.json_formulas import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    all_of,
    any_of,
    atoms,
    holds,
    leaf,
    opposite,
)
from fairlead.lowering.json_objects import UNKNOWN, Least
from fairlead.lowering.json_progress import Judge, Progress, now
from fairlead.lowering.json_text import JsonStyle
from fairlead.lowering.json_unlike import unlike_item
from fairlead.lowering.json_values import Exact, items_of, read_exact
from fairlead.lowering.nodes import Expr, Look

Used: TypeAlias = "frozenset[Exact | None]"
MOST_LOOKED_AT = 20_000
_REMEMBERED = 4096


@final
@dataclass(frozen=True, slots=True)
class Rest:
    """Behind an item, or, at -1, before the array."""

    position: int
    used: Used
    said: Formula


@final
class ItemsTemplate:
    """Unfolds the rest of an array, given what it has to satisfy."""

    def __init__(
        self,
        said: Formula,
        value: Callable[[Formula], Expr],
        style: JsonStyle,
        judge: Judge,
    ) -> None:
        self._said, self._value, self._style = said, value, style
        self._judge = judge
        self._last = max((_reach(atom) for atom in atoms(said)), default=0)
        self._single = max((_reach(a) for a in atoms(said) if isinstance(a, Item)), default=0)
        self._unfolded = lru_cache(_REMEMBERED)(self._unfold)

    def start(self) -> Expr:
        """The whole array."""
        return call(self, Rest(-1, frozenset(), self._said))

    def unfold(self, argument: Hashable) -> Expr:
        """What may follow at this position."""
        return self._unfolded(argument)

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        """What follows an item that has been captured."""
        rest = cast("Rest", argument)
        value = UNKNOWN if captured is None else read_exact(captured)
        return call(self, Rest(rest.position, rest.used | {value}, rest.said))

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        """Whether some items suffice."""
        rest = cast("Rest", argument)
        if any(isinstance(atom, Distinct) for atom in atoms(rest.said)):
            return self._search(rest, look.word) is not None
        return self._can_end(rest, look)

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        """Whether some items suffice behind one that has been captured."""
        rest = cast("Rest", argument)
        return self._search(self._behind(rest, captured()), look.word) is not None

    def parts(self, argument: Hashable) -> Iterator[Expr]:
        """The items, as they may be at each position at first."""
        rest = cast("Rest", argument)
        for position in range(-1, self._single):
            yield from (self._value(v) for _, _, v in self._steps(replace(rest, position=position)))

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """The shortest rest."""
        rest = cast("Rest", argument)
        words = self._search(rest, least)
        if words is None:
            return None
        text = b",".join(words)
        if rest.position < 0:
            return b"[" + text + b"]"
        return b"," * bool(words) + text + b"]"

    def least_after(
        self, argument: Hashable, least: Least, captured: bytes | None = None
    ) -> bytes | None:
        """The shortest rest behind an item that has been captured."""
        return self.least(self._behind(cast("Rest", argument), captured), least)

    def _behind(self, rest: Rest, captured: bytes | None) -> Rest:
        used = rest.used if captured is None else rest.used | {read_exact(captured)}
        return Rest(rest.position, used, rest.said)

    def _unfold(self, rest: Rest) -> Expr:
        style = self._style
        close = literal("]") if self._may_close(rest.said) else EMPTY
        item = UNSURE if UNKNOWN in rest.used else self._item(rest)
        if rest.position < 0:
            return concat(literal("["), alt(concat(style.opened, close), item))
        return alt(concat(style.edge, literal(","), item), concat(style.closing, close))

    def _item(self, rest: Rest) -> Expr:
        """An item with what may stand before it: a capture begins right behind a byte."""
        options: list[Expr] = []
        for position, said, value in self._steps(rest):
            item = concat(self._style.opened, self._value(value))
            if _compares(said):
                options.append(capture(item, b"", self, Rest(position, rest.used, said)))
            else:
                options.append(concat(item, call(self, Rest(position, frozenset(), said))))
        return alt(*options)

    def _steps(self, rest: Rest) -> list[tuple[int, Formula, Formula]]:
        """The position, what the rest satisfies, and what the item does, one of these."""
        position = max(rest.position, 0)
        known = frozenset(value for value in rest.used if value is not None)
        found = self._progress(position, known).pairs(rest.said)
        behind = min(position + 1, self._last)
        return [(behind, said, value) for said, value in found.items()]

    def _progress(self, position: int, used: frozenset[Exact]) -> Progress:
        return Progress(lambda atom: _read(atom, position, used), self._judge)

    def _may_close(self, said: Formula) -> bool:
        return holds(said, _holds_at_end)

    def _can_end(self, start: Rest, look: Look) -> bool | None:
        """Whether some items suffice, where it does not matter which values came."""
        stack: list[tuple[Rest, Formula | None]] = [(start, None)]
        seen: set[Rest] = set()
        while stack:
            rest, value = stack.pop()
            found = True if value is None else look(self._value(value))
            if found is None:
                return None
            if not found or rest in seen:
                continue
            if self._may_close(rest.said):
                return True
            seen.add(rest)
            steps = reversed(self._steps(rest))
            stack += [(Rest(position, frozenset(), said), value) for position, said, value in steps]
            self._pay(len(seen))
        return False

    def _pay(self, tries: int) -> None:
        spend(1)
        if tries > MOST_LOOKED_AT and paying():
            raise LimitError(
                f"what an array needs takes more than {MOST_LOOKED_AT} tries to find",
                limit="tries",
                given=MOST_LOOKED_AT,
            )

    def _search(self, start: Rest, least: Least) -> list[bytes] | None:
        """Items in order of the length of them all, until they suffice."""
        serial = 0
        queue: list[tuple[int, list[bytes], int, Rest]] = [(0, [], serial, start)]
        seen: set[Rest] = set()
        while queue:
            length, words, _, rest = heappop(queue)
            if self._may_close(rest.said):
                return words
            if rest in seen:
                continue
            seen.add(rest)
            for position, said, value in self._steps(rest):
                stays = said is rest.said and position == rest.position
                word = None if stays else least(self._value(value))
                if word is not None:
                    used = rest.used | {read_exact(word)} if _compares(said) else rest.used
                    serial += 1
                    entry = Rest(position, used, said)
                    heappush(queue, (length + len(word) + 1, [*words, word], serial, entry))
            self._pay(serial)
        return None


def _compares(said: Formula) -> bool:
    """Whether it matters which values came."""
    return any(isinstance(atom, Distinct) for atom in atoms(said))


def _reach(atom: Atom) -> int:
    """From this position on an atom says the same at each."""
    match atom:
        case Item(position, _):
            return position + 1
        case Items(start, _) | SomeItem(start, _):
            return start
        case Longer(count) | Shorter(count):
            return count + 1
        case _:
            return 0


def _holds_at_end(atom: Atom) -> bool:
    """Whether an atom holds if nothing more comes."""
    match atom:
        case Item() | Items() | Shorter():
            return True
        case Distinct(sign):
            return sign
        case Holding(_, low, _):
            return low == 0
        case Unlike(values):
            return all(items_of(value) for value in values)
        case _:
            return False


def _read(atom: Atom, position: int, used: frozenset[Exact]) -> Formula:  # noqa: PLR0911  an arm for each atom
    """What becomes of an atom when the item at a position is read."""
    match atom:
        case Item(at, value):
            return now(value) if at == position else leaf(atom)
        case Items(start, value):
            return all_of(now(value), leaf(atom)) if start <= position else leaf(atom)
        case SomeItem(start, value):
            return any_of(now(value), leaf(atom)) if start <= position else leaf(atom)
        case Holding(value, low, high):
            return _count(value, low, high)
        case Longer(count):
            return TRUE if count <= position + 1 else leaf(atom)
        case Shorter(count):
            return leaf(atom) if position < count else FALSE
        case Distinct(sign):
            equal = leaf(Among(used)) if used else FALSE
            seen = opposite(equal) if sign else equal
            return all_of(now(seen), leaf(atom)) if sign else any_of(now(seen), leaf(atom))
        case Unlike(values):
            return unlike_item(values)
        case _:
            raise TypeError(f"{atom} says nothing about items")


def _count(value: Formula, low: int, high: int | None) -> Formula:
    """What becomes of `Holding` when an item is read."""
    stays = leaf(Holding(value, low, high))
    if high is None:
        return any_of(all_of(now(value), holding(value, low - 1)), stays)
    one_less = holding(value, max(low - 1, 0), high - 1)
    return any_of(all_of(now(value), one_less), all_of(now(opposite(value)), stays))
