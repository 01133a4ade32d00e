"""Characters by sort: the set of pattern classes that contain them, asked of the library.

Characters of one sort are split alike. A character that the normaliser changes has no sort, because
its tokens spell another text. Neighbours may change too (`e` and U+0301 become `é`); this is
checked for each character with the last one that later characters may change (`tail`).
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, final

import numpy as np

from guideway.vocabulary.bounded import remember

NO_SORT: Final = -1

_MOST: Final = 1 << 16
_BLOCK: Final = 256
_HANGUL: Final = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))  # vowels and ends of syllables


@final
class Characters:
    """The characters of one tokenizer; `normalises` if neighbours may change."""

    def __init__(
        self,
        atoms: Sequence[Sequence[str]],
        replaced: Mapping[str, str],
        normalise: Callable[[str], str] | None,
    ) -> None:
        """Store facts about the tokenizer.

        `atoms` are the one-character patterns of each splitter, `replaced` the characters changed
        before splitting, `normalise` is None without other changes.
        """
        self._atoms, self._replaced, self._normalise = atoms, replaced, normalise
        self._sorts = dict[str, int]()
        self._known = dict[tuple[int, ...], int]()
        self._of: list[tuple[int, ...]] = []
        self._within = dict[tuple[int, int], frozenset[int]]()
        self._stable = dict[tuple[str, str], bool]()
        self.normalises = normalise is not None

    def sort(self, char: str) -> int:
        """The sort of a character, −1 if no canonical text has it."""
        found = self._sorts.get(char)
        if found is None:
            first = ord(char) & ~(_BLOCK - 1)  # its neighbours cost little more
            block = map(chr, range(first, first + _BLOCK))
            self.learn([each for each in block if not "\ud800" <= each <= "\udfff"])
            found = self._sorts[char]
        return found

    def atoms(self, sort: int) -> tuple[int, ...]:
        """For each splitter the atoms that characters of a sort are in, as bits."""
        return self._of[sort]

    def learn(self, chars: Sequence[str]) -> None:
        """Find the sorts of many characters at once."""
        fresh = [char for char in chars if char not in self._sorts]
        read = [self._replaced.get(char, char) for char in fresh]
        bits = [[0] * len(self._atoms) for _ in fresh]
        for level, patterns in enumerate(self._atoms):
            for number, pattern in enumerate(patterns):
                for at in _members(pattern, "".join(read)):
                    bits[at][level] |= 1 << number
        lost = set(self._replaced.values())
        for char, own in zip(fresh, bits, strict=True):
            if char in lost or not self._unchanged(char):
                self._sorts[char] = NO_SORT
                continue
            self._sorts[char] = self._number(tuple(own))

    def within(self, low: int, high: int) -> frozenset[int]:
        """The sorts of the characters from one code point to another; perhaps some more."""
        found = self._within.get((low, high))
        if found is None:
            chars = [chr(code) for code in range(low, high + 1) if not 0xD800 <= code < 0xE000]
            text = "".join(self._replaced.get(char, char) for char in chars)
            bits = np.zeros((len(chars), len(self._atoms)), np.int64)
            for level, patterns in enumerate(self._atoms):
                for number, pattern in enumerate(patterns):
                    bits[_members(pattern, text), level] |= 1 << number
            rows = np.unique(bits, axis=0).tolist() if self._atoms else [()]
            found = frozenset(self._number(tuple(row)) for row in rows)
            remember(self._within, (low, high), found, _MOST)
        return found

    def _number(self, own: tuple[int, ...]) -> int:
        sort = self._known.setdefault(own, len(self._of))
        if sort == len(self._of):
            self._of.append(own)
        return sort

    def tail(self, before: str, chars: str) -> str:
        """The end of a text that what follows might change, where `before` was that end."""
        if self._normalise is None or not chars:
            return before
        at = next((n for n in range(len(chars) - 1, -1, -1) if _begins(chars[n])), None)
        return before + chars if at is None else chars[at:]

    def stays(self, before: str, chars: str) -> bool:
        """Return True if `chars` are unchanged after a text that ends with `before`."""
        if self._normalise is None or not chars or not restless(chars[0]):
            return True
        key = (before, chars)
        if key not in self._stable:
            remember(self._stable, key, self._unchanged(before + chars), _MOST)
        return self._stable[key]

    def _unchanged(self, text: str) -> bool:
        return self._normalise is None or self._normalise(text) == text


@lru_cache(1 << 16)
def restless(char: str) -> bool:
    """Return True if a character might change with the characters before it.

    >>> restless("a"), restless(chr(0x301))
    (False, True)
    """
    if char < "\x7f":
        return False
    unknown = unicodedata.category(char) == "Cn"  # to this Python; not to the library, perhaps
    return unknown or unicodedata.combining(char) != 0 or char in _seconds()


def _begins(char: str) -> bool:
    """Return True if no character before this one changes with those after it."""
    return unicodedata.combining(char) == 0 and unicodedata.category(char) != "Cn"


@lru_cache(1)
def _seconds() -> frozenset[str]:
    """The characters with which one before them becomes a single one."""
    parts = (unicodedata.decomposition(chr(code)).split() for code in range(0xA0, 0x30000))
    pairs = (chr(int(part[1], 16)) for part in parts if len(part) == 2 and part[0][0] != "<")
    return frozenset(pairs) | frozenset(map(chr, _HANGUL))


def _members(pattern: str, text: str) -> list[int]:
    """The places in a text of the characters that a pattern of one character has."""
    inside = bytearray(b"\1" * len(text))
    for _, (start, end) in _splitting(pattern).pre_tokenize_str(text):
        inside[start:end] = bytes(end - start)
    return [at for at, found in enumerate(inside) if found]


@lru_cache(256)
def _splitting(pattern: str) -> Any:
    from tokenizers import Regex, pre_tokenizers

    return pre_tokenizers.Split(Regex(pattern), "removed")
