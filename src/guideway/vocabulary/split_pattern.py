r"""Split patterns of pre-tokenizers, as programs of a Pike machine.

    'll| ?\p{L}+|\s+(?!\S)|\s+    ->    fork, read [']; read [l]; read [l]; match …

Threads are in the order of a backtracking matcher. Atoms are classes and characters as written;
`vocabulary.splitting` asks the tokenizers library for their members. Supported are the patterns of
real tokenizers: characters, escapes, classes, groups, alternatives, greedy and lazy counts, (?i:…),
and (?!class). Anything else is refused by name.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from guideway.errors import UnsupportedError, brief

Step: TypeAlias = (
    tuple[Literal["read", "not"], int]  # a character of this atom; none of it may come
    | tuple[Literal["fork"], int, int]  # the first place is tried first
    | tuple[Literal["match"]]
)

DEEPEST: Final = 50  # groups in groups
MOST_STEPS: Final = 2000
SPLIT: Final = "pattern of a pre-tokenizer"  # the feature that an error names
_QUANTIFIER: Final = re.compile(r"[*+?]|\{(\d+)(,?)(\d*)\}")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\[pP]\{[^}]*\}|\\.|\[:\^?\w+:\]|[^\]\\\[])*\]", re.DOTALL)
_ATOM: Final = re.compile(
    r"\\[pP]\{\^?\w+\}|\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[sSdDwWrntfv]"
    r"|\\[^\w\s]|[^\\^$.|?*+()\[\]{}]"
)


@final
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
    (('read', 0), ('fork', 0, 2), ('match',))
    """
    reader = _Reader(pattern)
    reader.alternatives(0)
    if reader.at < len(pattern):
        raise reader.refusal()
    reader.steps.append(("match",))
    return Program(tuple(reader.steps), tuple(reader.atoms))


@final
@dataclass(slots=True)
class _Reader:
    pattern: str
    at: int = 0
    fold: bool = False
    steps: list[Step] = field(default_factory=list[Step])
    atoms: dict[str, int] = field(default_factory=dict[str, int])

    def alternatives(self, depth: int) -> None:
        """`a|b|c`, to the end or a bracket that closes."""
        if depth > DEEPEST or len(self.steps) > MOST_STEPS:
            raise self.refusal()
        ways: list[list[Step]] = []
        outer, base = self.steps, len(self.steps)
        while True:
            self.steps = []
            self._sequence(depth)
            ways.append(self.steps)
            if not self._takes("|"):
                break
        self.steps = outer + _either(ways, base)

    def _sequence(self, depth: int) -> None:
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            before, self.steps = self.steps, []
            self._item(depth)
            item, self.steps = self.steps, before
            self._counted(item)

    def _item(self, depth: int) -> None:
        """One item, its steps numbered from 0."""
        for opening, fold in (("(?i:", True), ("(?:", self.fold)):
            if self._takes(opening):
                folded, self.fold = self.fold, fold
                self._group(depth)
                self.fold = folded
                return
        if self._takes("(?!"):
            self.steps.append(("not", self._atom()))
            if not self._takes(")"):
                raise self.refusal()
        elif self.pattern.startswith("(", self.at) and not self.pattern.startswith("(?", self.at):
            self.at += 1
            self._group(depth)
        else:
            self.steps.append(("read", self._atom()))

    def _group(self, depth: int) -> None:
        self.alternatives(depth + 1)
        if not self._takes(")"):
            raise self.refusal()

    def _atom(self) -> int:
        for form in (_CLASS, _ATOM):
            found = form.match(self.pattern, self.at)
            if found is not None:
                break
        else:
            raise self.refusal()
        self.at = found.end()
        text = f"(?i:{found[0]})" if self.fold else found[0]
        return self.atoms.setdefault(text, len(self.atoms))

    def _counted(self, item: list[Step]) -> None:
        """Repeat an item by the count after it."""
        found = _QUANTIFIER.match(self.pattern, self.at)
        low, high = 1, 1
        greedy = True
        if found is not None:
            if all(step[0] == "not" for step in item):
                raise self.refusal()
            low, high = _bounds(found)
            self.at = found.end()
            greedy = not self._takes("?")
            if self.pattern.startswith("+", self.at):
                raise self.refusal()
        many = low + (1 if high < 0 else high - low)
        if high == 0 or len(self.steps) + many * (len(item) + 1) > MOST_STEPS:
            raise self.refusal()
        for _ in range(low):
            self._append(item)
        if high < 0 and low:  # back to the last round
            start = len(self.steps) - len(item)
            self.steps.append(_fork(start, len(self.steps) + 1, greedy=greedy))
        elif high < 0:
            start = len(self.steps)
            self.steps.append(_fork(start + 1, start + len(item) + 2, greedy=greedy))
            self._append(item)
            self.steps.append(("fork", start, start))
        else:
            end = len(self.steps) + (high - low) * (len(item) + 1)
            for _ in range(high - low):
                self.steps.append(_fork(len(self.steps) + 1, end, greedy=greedy))
                self._append(item)

    def _append(self, item: list[Step]) -> None:
        self.steps += _moved(item, len(self.steps))

    def _takes(self, text: str) -> bool:
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


def not_canonical(
    why: str, feature: str = "canonical tokens of this tokenizer", place: str = ""
) -> UnsupportedError:
    """The error for a tokenizer whose canonical tokens guideway cannot follow."""
    return UnsupportedError(
        f"canonical tokens are not supported for this tokenizer: {why}; leave canonical out",
        feature=feature,
        place=place,
    )


def _either(ways: list[list[Step]], base: int) -> list[Step]:
    """Alternatives from step `base` on, each but the last after a fork."""
    end = base + sum(map(len, ways)) + 2 * (len(ways) - 1)
    steps: list[Step] = []
    for way in ways[:-1]:
        here = base + len(steps)
        steps.append(("fork", here + 1, here + len(way) + 2))
        steps += _moved(way, here + 1)
        steps.append(("fork", end, end))
    return steps + _moved(ways[-1], base + len(steps))


def _moved(steps: list[Step], by: int) -> list[Step]:
    return [("fork", s[1] + by, s[2] + by) if s[0] == "fork" else s for s in steps]


def _fork(going: int, leaving: int, *, greedy: bool) -> Step:
    return ("fork", going, leaving) if greedy else ("fork", leaving, going)


def _bounds(found: re.Match[str]) -> tuple[int, int]:
    """Least and greatest count, −1 for any number."""
    if found[1] is None:
        return {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[found[0]]
    low = int(found[1])
    return low, (int(found[3]) if found[3] else -1) if found[2] else low
