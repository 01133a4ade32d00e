"""Distances of lexical states from their nearest accept state, and their maxima over successors.

With counted characters the shortest text may have too few or too many of them. Then these are upper
bounds: the missing characters of one byte each, or all characters in the longest spelling.
"""

from collections import defaultdict
from heapq import heappop, heappush
from typing import Final, final
from weakref import WeakKeyDictionary

import numpy as np

from guideway.masks.kernels.layout import ACCEPTS, DEAD_END, DOUBTS
from guideway.masks.lexicon import Lexicon

_MET: Final = 256  # lexical states in a search for the nearest end
_COUNTED: Final = 64  # needed characters
_AT_ONCE: Final = 16  # parallel states after them
_LONGEST: Final = len("\\ud83d\\ude00")  # bytes of a character
_NEAR: Final = 256  # successors of a state with too many that count as such, too
_BEHIND: Final = 1 << 12  # successors of a state; an e-mail address has 2,013: 25 ms, once


@final
class Spans:
    def __init__(self) -> None:
        self._least: dict[int, int] = {}
        self._farthest: dict[int, int | None] = {}

    def least(self, lexicon: Lexicon, state: int) -> int | None:
        """Length of a short text of a state, mostly a shortest one; None if it takes long.

        Best first by `guess`: no end is among the nearest 256 of the 60,000 states of times.
        """
        before, heap = {state: state}, [(0, 0, state)]
        while heap and len(before) <= _MET:
            _, length, one = heappop(heap)
            if not lexicon.expand(one, briefly=True):
                break
            if lexicon.flags[one] & ACCEPTS or one in self._least:
                return self._learn(state, one, before)
            for target in _targets(lexicon, one):
                if target not in before:
                    before[target] = one
                    heappush(heap, (length + 1 + lexicon.guess(target), length + 1, target))
        return None

    def least_bounded(self, lexicon: Lexicon, bounded: list[int]) -> int | None:
        """Upper bound on the shortest rest of a BOUNDED node; None if not known."""
        _, state, needed, allowed, between, within = bounded
        if needed:
            return None if within else self._padded(lexicon, state, needed, allowed, between)
        bytes_ = self.least(lexicon, state)
        if bytes_ is None or allowed < 0 or bytes_ <= allowed + len('"'):
            return bytes_
        return _LONGEST * (allowed + 1)  # includes a started character and the closing byte

    def _padded(
        self, lexicon: Lexicon, state: int, needed: int, allowed: int, between: int
    ) -> int | None:
        """The same between two characters: the needed characters of one byte first."""
        states, single = {state}, np.flatnonzero(lexicon.rows[between] == between)
        for _ in range(min(needed, _COUNTED + 1)):
            if len(states) > _AT_ONCE or not all(lexicon.expand(s, briefly=True) for s in states):
                return None
            after = [np.unique(lexicon.rows[one][single]).tolist() for one in states]
            states = {target for targets in after for target in targets} - {DEAD_END}
        found = [more for one in states if (more := self.least(lexicon, one)) is not None]
        fits = found and needed <= _COUNTED and (allowed < 0 or needed + min(found) <= allowed + 1)
        return needed + min(found) if fits else None

    def farthest_bounded(self, lexicon: Lexicon, bounded: list[int]) -> int | None:
        """Upper bound on `least_bounded` of all successors of a BOUNDED node; None if not known."""
        _, state, needed, allowed, between, within = bounded
        found = self.farthest(lexicon, state)
        if found is None or (needed and within) or not lexicon.expand(between, briefly=True):
            return None
        if allowed >= 0:  # may be less than `found`
            found = max(found, _LONGEST * (found - len('"')))
        states = {state}
        for read in range(needed):
            more = allowed if allowed < 0 else allowed - read
            rests = [self._padded(lexicon, s, needed - read, more, between) for s in states]
            known = [rest for rest in rests if rest is not None]
            if len(known) < len(rests):
                return None
            found = max(found, _LONGEST + max(known, default=0))
            after = self._behind_one(lexicon, states, between)
            if after is None or len(after) > _AT_ONCE:
                return None
            states = after
        return found

    def _behind_one(self, lexicon: Lexicon, states: set[int], between: int) -> set[int] | None:
        met = [(state, between) for state in states]
        known, found = {*met}, set[int]()
        for state, inside in met:  # which grows
            expanded = lexicon.expand(state, briefly=True) and lexicon.expand(inside, briefly=True)
            if not expanded or len(met) > _MET:
                return None
            pairs = zip(lexicon.rows[state].tolist(), lexicon.rows[inside].tolist(), strict=True)
            for pair in {*pairs} - known:
                known.add(pair)
                if pair[1] == between and pair[0] != DEAD_END:
                    found.add(pair[0])
                elif DEAD_END not in pair:
                    met.append(pair)
        return found

    def _learn(self, state: int, end: int, before: dict[int, int]) -> int:
        length = self._least.setdefault(end, 0)
        while end != state:
            end, length = before[end], length + 1
            self._least[end] = length
        return length

    def farthest(self, lexicon: Lexicon, state: int) -> int | None:
        """Upper bound on `least` of a state and all its successors; None if there are too many."""
        if state not in self._farthest:
            met, whole = self._behind(lexicon, state)
            found = self._greatest(lexicon, met) if whole else None
            for one in met if whole else met[:_NEAR]:
                self._farthest.setdefault(one, found)
        return self._farthest[state]

    def _behind(self, lexicon: Lexicon, state: int) -> tuple[list[int], bool]:
        """A state and its successors in breadth-first order, and whether these are all."""
        met, known = [state], {state}
        for one in met:  # which grows
            if len(met) > _BEHIND or not lexicon.expand(one, briefly=True):
                return met, False
            if lexicon.flags[one] & DOUBTS:
                return met, False
            for target in _targets(lexicon, one):
                if target not in known:
                    known.add(target)
                    met.append(target)
        return met, True

    def _greatest(self, lexicon: Lexicon, met: list[int]) -> int | None:
        """Greatest distance of a closed set of states: a search backwards from accept states."""
        sources = defaultdict[int, list[int]](list)
        for one in met:
            for target in _targets(lexicon, one):
                sources[target].append(one)
        ends = [one for one in met if lexicon.flags[one] & ACCEPTS]
        lengths = dict.fromkeys(ends, 0)
        for one in ends:  # which grows
            for source in sources[one]:
                if source not in lengths:
                    lengths[source] = lengths[one] + 1
                    ends.append(source)
        self._least.update(lengths)
        return lengths[ends[-1]] if len(ends) == len(met) else None


def _targets(lexicon: Lexicon, state: int) -> list[int]:
    return [one for one in np.unique(lexicon.rows[state]).tolist() if one != DEAD_END]


_spans: "WeakKeyDictionary[Lexicon, Spans]" = WeakKeyDictionary()


def shared_spans(lexicon: Lexicon) -> Spans:
    return _spans.setdefault(lexicon, Spans())
