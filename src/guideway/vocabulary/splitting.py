r"""Boundaries of a pre-tokenizer, decided while the text grows.

A pattern splits a text into the successive matches of a backtracking matcher. A match may depend on
later text: with `\s+(?!\S)|\s+` the last blank before a word goes to the word. So a boundary is
first claimed, and then checked:

    items      open threads of the pattern in the current piece, in their order
    pending    threads of the piece just ended, until the next character is known
    against    threads preferred to a claimed end: none may ever match

A claim is right if some thread matches there and no thread before it ever does. Without a boundary,
threads after a matching one are dropped. Characters are numbers: the set of atoms that contain them
(`Atoms`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from guideway.vocabulary.split_pattern import SPLIT, Program, not_canonical

Item: TypeAlias = tuple[int, int]  # a step, and atoms that the next character is not in

GPT2: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""What `ByteLevel` splits by."""


@final
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


@final
class Splitter:
    r"""One pattern; `start` is the claim before the first character.

    >>> from guideway.vocabulary.split_pattern import read_pattern
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
        self._closures = dict[int, tuple[Item, ...]]()
        self._read = dict[tuple[Claim, int], Claim | None]()
        self._cut = dict[Claim, Claim | None]()
        self.start = Claim(self._closure(0))
        if any(step == self._match for step, _ in self.start.items):
            raise not_canonical("its split pattern matches the empty text", SPLIT, "/pre_tokenizer")

    def read(self, claim: Claim, atoms: int) -> Claim | None:
        """The claim after a character in these atoms, None if a claim was wrong."""
        key = (claim, atoms)
        if key not in self._read:
            self._read[key] = self._reading(claim, atoms)
        return self._read[key]

    def cut(self, claim: Claim) -> Claim | None:
        """With the claim that the piece ends here, None if it cannot."""
        if claim not in self._cut:
            ways = self._until_match(claim.items)
            after = Claim(self.start.items, claim.against, ways)
            self._cut[claim] = after if ways and not claim.fresh else None
        return self._cut[claim]

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
        against = frozenset(self._after([*claim.against, *preferred], atoms, stop=False))
        matched = any(
            step == self._match and not none_of & atoms for step, none_of in claim.against
        )
        items = tuple(self._after(claim.items, atoms, stop=True))
        if matched or not items or (self._match, 0) in against:
            return None
        return Claim(items, against, fresh=False)

    def _after(self, items: Iterable[Item], atoms: int, *, stop: bool) -> list[Item]:
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

    def _closure(self, start: int) -> tuple[Item, ...]:
        """Items reachable from a step without reading, in order."""
        if start not in self._closures:
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
                    stack += [(step[2], none_of), (step[1], none_of)]
                elif step[0] == "not":
                    stack.append((at + 1, none_of | 1 << step[1]))
                else:
                    found[at, none_of] = None
            self._closures[start] = tuple(found)
        return self._closures[start]
