"""How many bytes lexical states are from their nearest end, and the farthest of those behind them.

Where characters are counted beside a pattern, the shortest text may have too few or too many. What
is said then is a bound: with so many characters of one byte first, or the fewest that it takes,
which bytes alone do not tell, each of the longest spelling.

What this module does not know: nodes.
"""

from collections import defaultdict
from heapq import heappop, heappush
from typing import Final, final
from weakref import WeakKeyDictionary

import numpy as np

from guideway.masks.kernels.layout import ACCEPTS, DEAD_END, DOUBTS
from guideway.masks.lexicon import Lexicon

_MET: Final = 256  # lexical states on the way to the nearest end
_COUNTED: Final = 64  # characters that are needed
_AT_ONCE: Final = 16  # states, behind so many
_LONGEST: Final = len("\\ud83d\\ude00")  # bytes of a character
_NEAR: Final = 256  # states behind one that has too many, which are taken to have so, too
_BEHIND: Final = 1 << 12  # those behind one, of an e-mail address 2,013: 25 ms, once


@final
class Spans:
    """What is known of one lexicon; what two threads find out at once is the same."""

    def __init__(self) -> None:
        self._least: dict[int, int] = {}
        self._farthest: dict[int, int | None] = {}

    def least(self, lexicon: Lexicon, state: int) -> int | None:
        """A short text of a state, mostly a shortest, and of those on the way there.

        What seems to end soonest is tried first: times of day lead to 60,000 states, and no end was
        among the nearest 256. None where that takes long.
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
        """A bound of the same, of a BOUNDED node; None where that is not known."""
        _, state, needed, allowed, between, within = bounded
        if needed:
            return None if within else self._padded(lexicon, state, needed, allowed, between)
        bytes_ = self.least(lexicon, state)
        if bytes_ is None or allowed < 0 or bytes_ <= allowed + len('"'):
            return bytes_
        return _LONGEST * (allowed + 1)  # with the rest of a character, and what ends the text

    def _padded(
        self, lexicon: Lexicon, state: int, needed: int, allowed: int, between: int
    ) -> int | None:
        """The same between two characters: so many of one byte first, as far as there are such."""
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
        """A bound of the greatest of these behind a BOUNDED node; None where it is not known."""
        _, state, needed, allowed, between, within = bounded
        found = self.farthest(lexicon, state)
        if found is None or (needed and within) or not lexicon.expand(between, briefly=True):
            return None
        if allowed >= 0:  # less than `found` may be
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
        """The states behind one character; None if there is much to be read for that."""
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
        """The greatest `least` of a state and all behind it, at most; None: they are too many."""
        if state not in self._farthest:
            met, whole = self._behind(lexicon, state)
            found = self._greatest(lexicon, met) if whole else None
            for one in met if whole else met[:_NEAR]:
                self._farthest.setdefault(one, found)
        return self._farthest[state]

    def _behind(self, lexicon: Lexicon, state: int) -> tuple[list[int], bool]:
        """A state and those behind it, the nearest first, and whether that is all of them."""
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
        """Of all these, where what is behind them is among them: backwards from the ends."""
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
    """What is known of a lexicon, for all who ask."""
    return _spans.setdefault(lexicon, Spans())
