r"""JSON objects: keys once each, in any order or in the declared one.

A template, because what may come next depends on the keys that are there already. Its argument is

    START                   before the brace
    (position, extras)      behind a value

where `extras` is the set of undeclared keys used, and `position`, in declared order, the number of
the first declared key that may still come, and in any order a bit set of those that came::

    {"a": 1, "x": 2, "c"  …      declared a, b, c: position 0b001, extras {"x"}, then 0b101

An undeclared key is captured while it is read, and decoded at its closing quote, so that "\u0061"
is known to be "a" again. Where the engine has not kept what a capture read, the set holds UNKNOWN;
the next undeclared key is then unsure, as it might be the same.

The shortest rest of an object needs no unfolding: the required keys that are missing, in declared
order or sorted, as what a quoted key begins with never begins another.

What this module does not know: schemas, and how many states it has. Unfolding is lazy.
"""

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeAlias, cast, final

from fairlead.lowering.expr import (
    EMPTY,
    EPSILON,
    UNSURE,
    Expr,
    alt,
    both,
    call,
    capture,
    complement,
    concat,
    literal,
)
from fairlead.lowering.json_text import QUOTE, JsonStyle

Extras: TypeAlias = "frozenset[str | None]"
Position: TypeAlias = "tuple[int, Extras]"
UNKNOWN = None
START = (-1, frozenset[str | None]())
_REMEMBERED = 4096


@final
@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """What an object may hold.

    Attributes:
        names: the declared keys, in order.
        values: the value of each.
        required: whether each must be there.
        others: the value of every undeclared key, EMPTY if there may be none.
        allowed: what is between the quotes of any key, None if that may be anything.
        ordered: whether declared keys come in order, and undeclared ones after them.
    """

    names: tuple[str, ...]
    values: tuple[Expr, ...]
    required: tuple[bool, ...]
    others: Expr
    allowed: Expr | None
    ordered: bool


def json_object(members: Members, style: JsonStyle) -> Expr:
    """The objects that hold such members."""
    return call(ObjectTemplate(members, style), START)


@final
class ObjectTemplate:
    """Unfolds the rest of an object, given the keys that it has."""

    def __init__(self, members: Members, style: JsonStyle) -> None:
        self._members, self._style = members, style
        self._keys = tuple(self._key(name) for name in members.names)
        between = concat(QUOTE, style.colon)
        self._bodies = tuple(concat(between, value) for value in members.values)
        quoted = zip(self._keys, self._bodies, strict=True)
        self._words = tuple(concat(QUOTE, key, body) for key, body in quoted)
        self._other_body = concat(style.colon, members.others)
        self._other_keys: Expr | None = None
        self._unfolded: dict[Hashable, Expr] = {}

    def unfold(self, argument: Hashable) -> Expr:
        """What may follow at this position."""
        found = self._unfolded.get(argument)
        if found is None:
            if len(self._unfolded) >= _REMEMBERED:
                self._unfolded.clear()
            found = self._unfolded[argument] = self._unfold(cast("Position", argument))
        return found

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        """What follows an undeclared key and its closing quote."""
        position, extras = cast("Position", argument)
        key: str | None = UNKNOWN if captured is None else json.loads(b'"' + captured)
        return concat(self._other_body, call(self, self._behind_other(position, extras | {key})))

    def least(self, argument: Hashable, least: Callable[[Expr], bytes | None]) -> bytes | None:
        """The required keys that are missing, each with its shortest value."""
        position, _ = cast("Position", argument)
        words = [least(self._words[index]) for index in self._missing(position)]
        known = [word for word in words if word is not None]
        if len(known) < len(words):
            return None
        if not self._members.ordered:
            known.sort()
        if position < 0:
            return b"{" + b",".join(known) + b"}"
        return b"".join(b"," + word for word in known) + b"}"

    def least_after(
        self, argument: Hashable, least: Callable[[Expr], bytes | None]
    ) -> bytes | None:
        """The shortest value of an undeclared key, and the shortest rest."""
        position, extras = cast("Position", argument)
        value = least(self._other_body)
        rest = self.least(self._behind_other(position, extras), least)
        return None if value is None or rest is None else value + rest

    def _unfold(self, argument: Position) -> Expr:
        position, extras = argument
        close = EMPTY if self._missing(position) else literal("}")
        member = concat(QUOTE, self._member(max(position, 0), extras))
        style = self._style
        if position < 0:
            return concat(literal("{"), style.opened, alt(close, member))
        return alt(concat(style.comma, member), concat(style.closing, close))

    def _member(self, position: int, extras: Extras) -> Expr:
        """A key without its opening quote, its value, and the rest."""
        options = [
            (self._members.names[index], self._keys[index], self._rest(index, position, extras))
            for index in self._next(position)
        ]
        undeclared = EMPTY if self._blocked(position) else self._other(position, extras)
        if self._members.allowed is None:
            trie = self._style.spelling.choose((name, rest) for name, _, rest in options)
            return alt(trie, undeclared)
        return alt(*(concat(key, rest) for _, key, rest in options), undeclared)

    def _rest(self, index: int, position: int, extras: Extras) -> Expr:
        behind = index + 1 if self._members.ordered else position | 1 << index
        return concat(self._bodies[index], call(self, (behind, extras)))

    def _other(self, position: int, extras: Extras) -> Expr:
        """An undeclared key that is not used, and what follows."""
        if self._members.others is EMPTY:
            return EMPTY
        keys = self._undeclared()
        used = [(key, EPSILON) for key in extras if key is not None]
        if used:
            keys = both(keys, complement(self._style.spelling.choose(used)))
        if UNKNOWN not in extras:
            return capture(concat(keys, QUOTE), b"", self, (position, extras))
        # Every beginning of a key goes on to some unused key, unless names are limited.
        return concat(keys, QUOTE, UNSURE) if self._members.allowed is None else UNSURE

    def _undeclared(self) -> Expr:
        if self._other_keys is None:
            allowed = self._members.allowed
            spelling = self._style.spelling
            declared = spelling.choose((name, EPSILON) for name in self._members.names)
            keys = spelling.content if allowed is None else allowed
            self._other_keys = keys if declared is EMPTY else both(keys, complement(declared))
        return self._other_keys

    def _behind_other(self, position: int, extras: Extras) -> Position:
        return (len(self._keys) if self._members.ordered else max(position, 0), extras)

    def _key(self, name: str) -> Expr:
        key, allowed = self._style.spelling.text(name), self._members.allowed
        return key if allowed is None else both(key, allowed)

    def _missing(self, position: int) -> list[int]:
        """The required keys that are still to come."""
        return [index for index in self._unused(position) if self._members.required[index]]

    def _unused(self, position: int) -> list[int]:
        count, position = len(self._keys), max(position, 0)
        if self._members.ordered:
            return list(range(position, count))
        return [index for index in range(count) if not position >> index & 1]

    def _next(self, position: int) -> list[int]:
        """The declared keys that may come next: in order, no required one is passed over."""
        unused = self._unused(position)
        if self._members.ordered:
            for count, index in enumerate(unused, start=1):
                if self._members.required[index]:
                    return unused[:count]
        return unused

    def _blocked(self, position: int) -> bool:
        """Whether undeclared keys have to wait."""
        return self._members.ordered and bool(self._missing(position))
