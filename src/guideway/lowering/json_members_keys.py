"""Languages of the keys of an object, and whether keys of a class run out."""

from collections.abc import Sequence
from functools import cached_property
from typing import final

from guideway.lowering.endless import soon_endless
from guideway.lowering.expr import EPSILON, both, complement, concat
from guideway.lowering.fuel import spend
from guideway.lowering.json_keysets import KeyClass, Keysets
from guideway.lowering.json_objects import Extras
from guideway.lowering.json_text import QUOTE, Spelling
from guideway.lowering.nodes import Expr

_MOST_KNOWN = 1 << 12
_KEY = 8  # fuel of one look at a key, 5 µs


@final
class KeyTexts:
    """The keys of one kind of object without quotes, by number: names, then classes."""

    def __init__(self, keys: Sequence[KeyClass], keysets: Keysets, spelling: Spelling) -> None:
        self._keys, self._keysets, self._spelling = keys, keysets, spelling
        self._contents: dict[int, Expr] = {}  # on demand
        self._languages = frozenset[Expr]().union(*(key.inside for key in keys))
        self._members: dict[tuple[int, Expr], Expr] = {}
        self._endless: dict[tuple[int, int], bool] = {}

    def __getitem__(self, key: int) -> Expr:
        """A name, or the keys of a class."""
        found = self._contents.get(key)
        if found is None:
            part = self._keys[key]
            found = self._keysets.content(part)
            if part.name is None:
                found = both(found, self._others)
            self._contents[key] = found
        return found

    @cached_property
    def _others(self) -> Expr:
        names = (str(key.name) for key in self._keys if key.name is not None)
        return complement(self._spelling.choose((name, EPSILON) for name in names))

    def unused(self, key: int, extras: Extras) -> Expr:
        """The keys of a class without those already used."""
        part, content = self._keys[key], self[key]
        used = [
            (extra, EPSILON)
            for extra in extras
            if extra is not None and self._keysets.is_of(extra, part, self._languages)
        ]
        spend(_KEY * (len(extras) + len(used)))
        return both(content, complement(self._spelling.choose(used))) if used else content

    def member(self, key: int, colon: Expr, value: Expr) -> Expr:
        """A name and its value."""
        found = self._members.get((key, value))
        if found is None:
            found = concat(QUOTE, self[key], QUOTE, colon, value)
            if len(self._members) > _MOST_KNOWN:
                self._members.clear()
            self._members[(key, value)] = found
        return found

    def endless(self, key: int, spellable: int) -> bool:
        """Return True if keys of a class surely never run out."""
        found = self._endless.get((key, spellable))
        if found is None:
            found = soon_endless(self[key], spellable)
            self._endless[(key, spellable)] = found
        return found
