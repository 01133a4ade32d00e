"""Free text up to words, as the automaton that looks for them all at once (Aho and Corasick 1975).

    until(R) of `lowering.regions`, where R is finite: a state for each beginning of a word

As an expression, free text remembers each place at which a word may have begun: within 500 times
the same letter that are 500, at every step. Here a state is the longest beginning of a word that
the text ends with, which says all of them. States are rules, made when they are reached.

What this module does not know: where the words come from.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final, final

from guideway.lowering.expr import EMPTY, EPSILON, alt, byte_set, concat
from guideway.lowering.fuel import spend
from guideway.lowering.linear import arcs
from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.unicode import TEXT_CHAR

_ROOT: Final = 0
_FEW: Final = 16
"""As expressions so many beginnings cost less: of 300 words that do not overlap, the first mask
over 128,000 tokens takes .3 s, and 1.9 as rules. Of 500 times a letter it takes 1.4, and .1."""
_LONG: Final = 512
"""Bytes of a word: 2,000 Chinese characters took .4 million parts as an expression."""


def up_to_words(
    stops: Iterable[bytes], others: Iterable[bytes] = (), *, include: bool = True
) -> Expr | None:
    """Free text and the first stop in it; None where few beginnings of short words overlap.

    >>> from guideway.lowering.regular import contains
    >>> found = up_to_words([b"a" * 20 + b"b"])
    >>> [contains(found, b"a" * count + b"b") for count in (19, 20, 21)]
    [False, True, True]
    >>> up_to_words([b"</think>"])

    Args:
        stops: words of whole characters, none empty.
        others: what does not stand in the text either, but for its very end.
        include: whether the stop belongs to the text; if not, no word stands in it.
    """
    search = _Search({*stops}, {*others}, include)
    return search.state(_ROOT) if search.overlapping > _FEW or search.longest > _LONG else None


@final
class _Search:
    """The beginnings of words, by number: the empty one is 0."""

    def __init__(self, stops: set[bytes], others: set[bytes], include: bool) -> None:
        self._include = include
        self._below: list[dict[int, int]] = [{}]
        self._shorter = [_ROOT]  # the longest end of a beginning that is a beginning itself
        self._left: list[Expr] = [TEXT_CHAR]  # what is left of the character that it ends in
        self._ends: list[bool] = [False]  # whether it ends with a word
        self._stops: list[bool] = [False]  # and whether one of these is a stop
        self._inside: list[int] = [0]  # how many beginnings it ends with
        self._states: dict[int, Expr] = {}
        self._steps: dict[int, dict[int, int]] = {}
        for word in sorted(stops | others):
            self._add(word, word in stops)
        self._link()
        self.overlapping = max(self._inside)
        self.longest = max(map(len, stops | others))
        self._sure = include and not others  # a word goes on to its end, or another one ends before
        self._needs = sum(1 << byte for byte in {*b"".join(stops)})

    def _add(self, word: bytes, is_stop: bool) -> None:
        spend(len(word))
        at = _ROOT
        for byte in word:
            after = self._below[at].get(byte)
            if after is None:
                after = self._below[at][byte] = len(self._below)
                left = next(rest for members, rest in arcs(self._left[at]) if members >> byte & 1)
                self._left.append(TEXT_CHAR if left is EPSILON else left)
                self._below.append({})
                self._shorter.append(_ROOT)
                self._inside.append(1)
                self._ends.append(False)
                self._stops.append(False)
            at = after
        self._ends[at], self._stops[at] = True, is_stop

    def _link(self) -> None:
        order = [*self._below[_ROOT].values()]
        for at in order:  # grows while we go, the shorter ones first
            shorter = self._shorter[at]
            self._ends[at] = self._ends[at] or self._ends[shorter]
            self._stops[at] = self._stops[at] or self._stops[shorter]
            for byte, after in self._below[at].items():
                back = shorter
                while back and byte not in self._below[back]:
                    back = self._shorter[back]
                self._shorter[after] = self._below[back].get(byte, _ROOT)
                self._inside[after] = self._inside[self._shorter[after]] + 1
                order.append(after)

    def state(self, at: int) -> Expr:
        """What may follow where the text ends with this beginning, and with no longer one."""
        found = self._states.get(at)
        if found is None:
            found = self._states.setdefault(at, self._state(at))
        return found

    def _state(self, at: int) -> Expr:
        if self._ends[at]:
            return EPSILON if self._include and self._stops[at] else EMPTY
        make = partial(self._body, at)
        state = Rule("text", regular=True, inhabited=self._sure, make=make, needs=self._needs)
        ends = not self._include and self._left[at] is TEXT_CHAR
        return alt(state, EPSILON) if ends else state

    def _body(self, at: int) -> Expr:
        steps = self._goes(at)
        spend(len(steps) + 1)
        told = sum(1 << byte for byte in steps)
        targets: dict[int, int] = {}
        for byte, after in steps.items():
            targets[after] = targets.get(after, 0) | 1 << byte
        found = [concat(byte_set(members), self.state(to)) for to, members in targets.items()]
        for members, left in arcs(self._left[at]):
            found.append(concat(byte_set(members & ~told), left, self.state(_ROOT)))
        return alt(*found)

    def _goes(self, at: int) -> dict[int, int]:
        """Where bytes lead that go on with a beginning of a word, or begin one."""
        path: list[int] = []
        while at not in self._steps and at:
            path.append(at)
            at = self._shorter[at]
        found = self._steps.setdefault(at, self._below[at])
        for longer in reversed(path):
            spend(len(found))
            found = self._steps.setdefault(longer, {**found, **self._below[longer]})
        return found
