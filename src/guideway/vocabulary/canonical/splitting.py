r"""Boundaries of a pre-tokenizer, decided while the text grows.

A pattern splits a text into the successive matches of a backtracking matcher. A match may depend on
later text: with `\s+(?!\S)|\s+` the last blank before a word goes to the word. So a boundary is
first claimed, and then checked:

    items      open threads of the pattern in the current piece, in their order
    pending    threads of the piece just ended, until the next character is known
    against    threads preferred to a claimed end: none may ever match

A claim is right if some thread matches there and no thread before it ever does. Without a boundary,
threads after a matching one are dropped.

The sort of a character is the set of atoms that contain it (`Characters`). Characters of one sort
are split alike. A character that the normaliser changes has no sort, because its tokens spell
another text. Neighbours may change too (`e` and U+0301 become `é`); this is checked for each
character with the last one that later characters may change (`tail`).

A split pattern is the program of a Pike machine:

    'll| ?\p{L}+|\s+(?!\S)|\s+    ->    fork, read [']; read [l]; read [l]; match …

Threads are in the order of a backtracking matcher. Atoms are classes and characters as written; the
tokenizers library is asked for their members. Supported are the patterns of real tokenizers:
characters, escapes, classes, groups, alternatives, greedy and lazy counts, (?i:…), and (?!class).
Anything else is refused by name.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from guideway.errors import UnsupportedError, brief

NO_SORT: Final = -1

_MOST: Final = 1 << 16
_BLOCK: Final = 256
_HANGUL: Final = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))  # vowels and ends of syllables


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
        self.within = lru_cache(_MOST)(self._sorts_within)
        self._stays = lru_cache(_MOST)(self._unchanged)
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
        lost = set(self._replaced.values())
        for char, own in zip(fresh, self._atoms_of(fresh), strict=True):
            kept = char not in lost and self._unchanged(char)
            self._sorts[char] = self._number(own) if kept else NO_SORT

    def _sorts_within(self, low: int, high: int) -> frozenset[int]:
        """The sorts of the characters from one code point to another; perhaps some more."""
        chars = [chr(code) for code in range(low, high + 1) if not 0xD800 <= code < 0xE000]
        return frozenset(map(self._number, set(self._atoms_of(chars))))

    def _atoms_of(self, chars: Sequence[str]) -> list[tuple[int, ...]]:
        """For each character the atoms of each splitter that it is in, as bits."""
        text = "".join(self._replaced.get(char, char) for char in chars)
        bits = np.zeros((len(chars), len(self._atoms)), np.object_)  # of any number of atoms
        for level, patterns in enumerate(self._atoms):
            for number, pattern in enumerate(patterns):
                bits[_members(pattern, text), level] |= 1 << number
        return [tuple(own) for own in bits.tolist()]

    def _number(self, own: tuple[int, ...]) -> int:
        sort = self._known.setdefault(own, len(self._of))
        if sort == len(self._of):
            self._of.append(own)
        return sort

    def tail(self, before: str, chars: str) -> str:
        """The end of a text that later characters might change; `before` was it before `chars`."""
        if self._normalise is None or not chars:
            return before
        at = next((n for n in range(len(chars) - 1, -1, -1) if _begins(chars[n])), None)
        return before + chars if at is None else chars[at:]

    def stays(self, before: str, chars: str) -> bool:
        """Return True if `chars` are unchanged after a text that ends with `before`."""
        if self._normalise is None or not chars or not restless(chars[0]):
            return True
        return self._stays(before + chars)

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


Step: TypeAlias = (
    tuple[Literal["read", "not"], int]  # a character of this atom; none of it may come
    | tuple[Literal["fork"], int, int]  # distances to the next steps, the first is tried first
    | tuple[Literal["match"]]
)

DEEPEST: Final = 50  # groups in groups
MOST_STEPS: Final = 2000
SPLIT: Final = "pattern of a pre-tokenizer"  # the feature that an error names
_QUANTIFIER: Final = re.compile(r"([*+?]|\{(\d+)(,?)(\d*)\})(\??)")
_SIGNS: Final = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}  # least and greatest count, −1 for any
_ATOM: Final = re.compile(
    r"\[\^?\]?(?:\\[pP]\{[^}]*\}|\\.|\[:\^?\w+:\]|[^\]\\\[])*\]"
    r"|\\[pP]\{\^?\w+\}|\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[sSdDwWrntfv]"
    r"|\\[^\w\s]|[^\\^$.|?*+()\[\]{}]",
    re.DOTALL,
)
_GROUP: Final = re.compile(r"\((?!\?)|\(\?i?:")


@dataclass(frozen=True, slots=True)
class Program:
    """A pattern, ready to run from step 0; `atoms` are one-character patterns.

    After "read" and "not", the next step follows.
    """

    steps: tuple[Step, ...]
    atoms: tuple[str, ...]


def read_pattern(pattern: str) -> Program:
    r"""The program of a pattern.

    >>> read_pattern(r"\p{L}+").steps
    (('read', 0), ('fork', -1, 1), ('match',))
    """
    reader = _Reader(pattern)
    steps = reader.alternatives(0)
    if reader.at < len(pattern):
        raise reader.refusal()
    return Program((*steps, ("match",)), tuple(reader.atoms))


@dataclass(slots=True)
class _Reader:
    pattern: str
    at: int = 0
    fold: bool = False
    atoms: dict[str, int] = field(default_factory=dict[str, int])

    def alternatives(self, depth: int) -> list[Step]:
        """The steps of `a|b|c`, to the end or a bracket that closes."""
        ways = [self._sequence(depth)]
        while self._skip("|"):
            ways.append(self._sequence(depth))
        if depth > DEEPEST or sum(map(len, ways)) > MOST_STEPS:
            raise self.refusal()
        steps = ways.pop()
        for way in reversed(ways):
            leave: Step = ("fork", len(steps) + 1, len(steps) + 1)
            steps = [_fork(1, len(way) + 2, ""), *way, leave, *steps]
        return steps

    def _sequence(self, depth: int) -> list[Step]:
        steps: list[Step] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            steps += self._counted(self._item(depth))
        return steps

    def _item(self, depth: int) -> list[Step]:
        if self._skip("(?!"):
            steps: list[Step] = [("not", self._atom())]
        elif (found := _GROUP.match(self.pattern, self.at)) and depth <= DEEPEST:
            self.at, outer = found.end(), self.fold
            self.fold = outer or found[0] == "(?i:"
            steps = self.alternatives(depth + 1)
            self.fold = outer
        else:
            return [("read", self._atom())]
        if not self._skip(")"):
            raise self.refusal()
        return steps

    def _atom(self) -> int:
        found = _ATOM.match(self.pattern, self.at)
        if found is None:
            raise self.refusal()
        self.at = found.end()
        text = f"(?i:{found[0]})" if self.fold else found[0]
        return self.atoms.setdefault(text, len(self.atoms))

    def _counted(self, item: list[Step]) -> list[Step]:
        """An item as often as the count after it says."""
        found = _QUANTIFIER.match(self.pattern, self.at)
        if found is None:
            return item
        self.at = found.end()
        sign, least, comma, most, lazy = found.groups()
        low, high = _SIGNS.get(sign) or (int(least), int(most or -1 if comma else least))
        many = low + (1 if high < 0 else high - low)
        silent = all(step[0] == "not" for step in item)
        if silent or high == 0 or self._skip("+") or many * (len(item) + 1) > MOST_STEPS:
            raise self.refusal()
        steps = item * low
        if high < 0 and low:  # back to the last round
            steps.append(_fork(-len(item), 1, lazy))
        elif high < 0:
            around = len(item) + 1
            again: Step = ("fork", -around, -around)
            steps = [_fork(1, around + 1, lazy), *item, again]
        else:
            for left in range(high - low, 0, -1):
                steps += [_fork(1, left * (len(item) + 1), lazy), *item]
        return steps

    def _skip(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def refusal(self) -> UnsupportedError:
        found = repr(self.pattern[self.at : self.at + 12]) if self.at < len(self.pattern) else "end"
        return not_canonical(
            f"its split pattern {brief(self.pattern)} has {found} at offset {self.at} (supported: "
            "characters, classes, groups, |, counts, (?i:…), (?!x))",
            SPLIT,
            "/pre_tokenizer",
        )


def _fork(going: int, leaving: int, lazy: str) -> Step:
    return ("fork", leaving, going) if lazy else ("fork", going, leaving)


def not_canonical(
    why: str, feature: str = "canonical tokens of this tokenizer", place: str = ""
) -> UnsupportedError:
    """The error for a tokenizer whose canonical tokens guideway cannot follow."""
    return UnsupportedError(
        f"canonical tokens are not supported for this tokenizer: {why}; leave canonical out",
        feature=feature,
        place=place,
    )


Item: TypeAlias = tuple[int, int]  # a step, and atoms that the next character is not in

GPT2: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""What `ByteLevel` splits by."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Claims about a text so far, immutable.

    Attributes:
        items: threads since the last boundary.
        against: threads that must not match.
        pending: threads of the previous piece, before any new character.
        fresh: True before any character since the last boundary.
    """

    items: tuple[Item, ...]
    against: frozenset[Item] = frozenset()
    pending: tuple[Item, ...] = ()
    fresh: bool = True


class Splitter:
    r"""One pattern; `start` is the claim before the first character.

    `read` gives the claim after a character, `cut` with a boundary.

    >>> from guideway.vocabulary.canonical.splitting import read_pattern
    >>> letters = Splitter(read_pattern("a+|b"))  # an "a" is in atom 0, a "b" in atom 1
    >>> one = letters.read(letters.start, 0b01)
    >>> letters.ends(one), letters.read(letters.cut(one), 0b01)
    (True, None)
    >>> letters.ends(letters.read(letters.cut(one), 0b10))
    True
    """

    def __init__(self, program: Program) -> None:
        """The splitter of a program; one that matches the empty text is refused."""
        self._steps = program.steps
        self._match = len(program.steps) - 1
        self.read, self.cut = cache(self._reading), cache(self._cutting)
        self._closure = cache(self._reachable)
        self.start = Claim(self._closure(0))
        if any(step == self._match for step, _ in self.start.items):
            raise not_canonical("its split pattern matches the empty text", SPLIT, "/pre_tokenizer")

    def _cutting(self, claim: Claim) -> Claim | None:
        """With the claim that the piece ends here, None if it cannot."""
        ways = self._until_match(claim.items)
        after = Claim(self.start.items, claim.against, ways)
        return after if ways and not claim.fresh else None

    def ends(self, claim: Claim) -> bool:
        """Return True if all claims are right when the text ends here, or is empty."""
        if any(step == self._match for step, _ in claim.against):
            return False
        items = claim.pending if claim.fresh else claim.items
        return not items or any(step == self._match for step, _ in items)

    def covers(self, atoms: int) -> bool:
        """Return True if a character in these atoms is always a piece by itself."""
        after = self.read(self.start, atoms)
        return after is not None and (self._match, 0) in after.items

    def _reading(self, claim: Claim, atoms: int) -> Claim | None:
        """The claim after a character in these atoms, None if a claim was wrong."""
        preferred: tuple[Item, ...] = ()
        if claim.pending:
            matches = [
                at
                for at, (step, none_of) in enumerate(claim.pending)
                if step == self._match and not none_of & atoms
            ]
            if not matches:
                return None
            preferred = claim.pending[: matches[0]]
        against = frozenset(self._threads_after([*claim.against, *preferred], atoms, stop=False))
        matched = any(
            step == self._match and not none_of & atoms for step, none_of in claim.against
        )
        items = tuple(self._threads_after(claim.items, atoms, stop=True))
        if matched or not items or (self._match, 0) in against:
            return None
        return Claim(items, against, fresh=False)

    def _threads_after(self, items: Iterable[Item], atoms: int, *, stop: bool) -> list[Item]:
        """Threads after a character; `stop` drops those after a matching one."""
        found: dict[Item, None] = {}
        for step, none_of in items:
            if none_of & atoms:
                continue
            what = self._steps[step]
            if what[0] == "read":
                if atoms >> what[1] & 1:
                    found.update(dict.fromkeys(self._closure(step + 1)))
            elif stop:
                break
        return list(found)

    def _until_match(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """The items down to the first that surely matches, none if none may."""
        if (self._match, 0) in items:
            return items[: items.index((self._match, 0)) + 1]
        return items if any(step == self._match for step, _ in items) else ()

    def _reachable(self, start: int) -> tuple[Item, ...]:
        """Items reachable from a step without reading, in order."""
        found: dict[Item, None] = {}
        seen = set[Item]()
        stack: list[Item] = [(start, 0)]
        while stack:
            at, none_of = stack.pop()
            if (at, none_of) in seen:
                continue
            seen.add((at, none_of))
            step = self._steps[at]
            if step[0] == "fork":
                stack += [(at + step[2], none_of), (at + step[1], none_of)]
            elif step[0] == "not":
                stack.append((at + 1, none_of | 1 << step[1]))
            else:
                found[at, none_of] = None
        return tuple(found)
