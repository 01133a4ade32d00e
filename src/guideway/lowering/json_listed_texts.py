"""The texts of one array or object, or of what is left of one: without whitespace, names in order.

What this module does not know: which values are listed beside it.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final, TypeAlias, final

from guideway.lowering.expr import concat, literal
from guideway.lowering.json_text import QUOTE, JsonStyle
from guideway.lowering.json_words import is_written
from guideway.lowering.nodes import Expr
from guideway.lowering.number_far import is_far
from guideway.lowering.numbers import exactly
from guideway.syntax.json_text import Json

Came: TypeAlias = "frozenset[str] | int"
Open: TypeAlias = "list[tuple[Json, Came]]"
"""Arrays and objects that are open, the innermost first, each with what has come in it."""

_COLON: Final = literal(":")
LEVELS: Final = 64  # each takes some of Python's stack
_SHORTEST: Final = 4  # of true, false and null


@final
class Written:
    """Writes values.

    Args:
        style: how their strings are spelled, and their numbers.
    """

    def __init__(self, style: JsonStyle) -> None:
        self._style = style

    def behind_name(self, levels: Open, part: Json) -> Expr:
        """The rest of a value behind the letters of the name of a part."""
        return concat(QUOTE, _COLON, self._whole(part), self.rest(levels, True))

    def rest(self, levels: Open, begun: bool) -> Expr:
        """The rest of a value behind a part of its innermost level, or before that level."""
        written: list[Expr] = []
        for inside, came in levels:
            parts = self._parts(inside, came)
            written.append(_joined(parts, comma=begun))
            written.append(literal("}" if isinstance(inside, dict) else "]"))
            if not begun:
                written.insert(0, literal("{" if isinstance(inside, dict) else "["))
            begun = True
        return concat(*written)

    def _parts(self, inside: Json, came: Came) -> list[Expr]:
        """Items, or members with their names, that have not come."""
        if isinstance(inside, list):
            return [self._whole(item) for item in _items(inside, came)]
        members = _left_of(inside, came)
        if not self._style.ordered:
            members.sort(key=lambda member: self._style.spelling.write(member[0]) + b'"')
        return [
            concat(QUOTE, self._style.spelling.text(name), QUOTE, _COLON, self._whole(part))
            for name, part in members
        ]

    def _whole(self, value: Json) -> Expr:
        """The texts of a value, which nests in a few levels."""
        match value:
            case list() | dict():
                came: Came = 0 if isinstance(value, list) else frozenset[str]()
                return self.rest([(value, came)], False)
            case str() as word:
                return concat(QUOTE, self._style.spelling.text(word), QUOTE)
            case bool() | None as other:
                return literal({True: "true", False: "false", None: "null"}[other])
            case amount:
                return self.number(Decimal(amount))

    def number(self, amount: Decimal) -> Expr:
        """The texts of a number, written down: the automaton of one takes twenty times as long."""
        return exactly(amount, plain=self._style.spelling.plain)


def size(levels: Open, begun: bool) -> int:
    """A length that no rest of a value is below; mostly it is one of that length."""
    found = 0
    for inside, came in levels:
        if isinstance(inside, list):
            sizes = [_size(item) for item in _items(inside, came)]
        else:
            sizes = [len(name.encode()) + 3 + _size(part) for name, part in _left_of(inside, came)]
        found += sum(sizes) + len(sizes) + (begun or not sizes)
        begun = True
    return found


def _items(items: list[Json], came: Came) -> list[Json]:
    """The items of an array that have not come."""
    return items[came:] if isinstance(came, int) else items


def _left_of(inside: Json, came: Came) -> list[tuple[str, Json]]:
    """The members of an object that have not come."""
    members = inside.items() if isinstance(inside, dict) else ()
    names = came if isinstance(came, frozenset) else frozenset[str]()
    return [(name, part) for name, part in members if name not in names]


def _joined(parts: Iterable[Expr], *, comma: bool) -> Expr:
    """Parts with commas between them, and one before if that is asked for."""
    listed = [piece for part in parts for piece in (literal(","), part)]
    return concat(*(listed if comma else listed[1:]))


def _size(value: Json) -> int:
    match value:
        case list() as items:
            return 1 + len(items) + sum(map(_size, items))
        case dict() as members:
            return 1 + sum(len(name.encode()) + 4 + _size(part) for name, part in members.items())
        case str() as word:
            return len(word.encode()) + 2
        case bool() | None:
            return _SHORTEST
        case amount:
            digits = "".join(map(str, Decimal(amount).as_tuple().digits)).strip("0")
            return max(1, len(digits)) + (Decimal(amount) < 0)


def is_plain(value: Json, levels: int = LEVELS) -> bool:
    """Whether all that is in a value has texts, and is told by them; it nests no deeper."""
    match value:
        case list() as items:
            return levels > 0 and all(is_plain(item, levels - 1) for item in items)
        case dict() as members:
            parts = [*members, *members.values()]
            return levels > 0 and all(is_plain(part, levels - 1) for part in parts)
        case str() as word:
            return is_written(word)
        case bool() | None:
            return True
        case amount:
            return not is_far(Decimal(amount))
