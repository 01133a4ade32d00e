"""Depth-first search for a text of a bounded pattern, where `kernels.bounds` cannot decide.

It runs on options of states (`kernels.lexemes`): a host name with `a.{12}b` took over 20 s per mask
on states, 1 s on options. Where characters are missing, the longest option comes first, else the
one that seems to end soonest: `idn-hostname` of 24 characters took over a minute otherwise.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from guideway.lowering.fuel import spend
from guideway.masks.kernels.layout import BOUND_SEARCH, EXPANDED, OPTIONS_OF, PLAINLY, SPLITTING
from guideway.masks.kernels.record_layout import FARTHEST
from guideway.masks.lexicon import Lexicon

Place: TypeAlias = tuple[int, int, int]
Ways: TypeAlias = tuple[list[int], list[int]]

SEARCHED: Final = 32  # pairs that a search expands before it splits states into options
_ANY: Final = 1 << 30


@final
class Lengths:
    """Results for patterns over one kind of character, whose boundary is the state `between`.

    Caching successors by one character: three patterns of 3,000 take 2.8 s instead of 34.
    """

    def __init__(self, lexicon: Lexicon, between: int) -> None:
        self._lexicon, self._between = lexicon, between
        self._known: dict[Place, bool] = {}
        self._ways: dict[tuple[int, bool], Ways] = {}
        self._parts: dict[int, list[int]] = {}

    def alive(self, state: int, inside: int, low: int, high: int) -> bool:
        """Return True if the pattern has a text of `low` to `high` (-1: any) more characters.

        A byte that begins no character follows them; `inside` is the state in the current one.
        """
        ended = [state] if inside == self._between else self._ended(state, inside)
        return any(self._lives((one, low, high)) for one in self._in_order(ended)[low > 0])

    def _lives(self, start: Place) -> bool:
        known = self._known
        if start not in known:
            way = [(start, self._following(start))]
            tried = {start}
            while way and not known.get(way[-1][0]) and not self._ends(way[-1][0]):
                place = next((p for p in way[-1][1] if p not in tried), None)
                if place is None:
                    way.pop()
                elif known.get(place) is not False:
                    spend(1)
                    tried.add(place)
                    way.append((place, self._following(place)))
            # After a success, tried places off the way stay unknown: they may lead to the way.
            known.update((place, bool(way)) for place in ((p for p, _ in way) if way else tried))
        return known[start]

    def _ends(self, place: Place) -> bool:
        state, low, _ = place
        if low:
            return False
        first = self._lexicon.first
        self._expand(state, self._between)
        return bool((first[state] & ~first[self._between]).any())

    def _following(self, place: Place) -> Iterator[Place]:
        """Places after one character, those of one byte first."""
        state, low, high = place
        most = self._lexicon.most(state)  # counts the closing byte
        if high == 0 or low >= most < FARTHEST:
            return
        low, high = max(low - 1, 0), high - 1 if high > 0 else high
        for longer in (False, True):
            for one in self._read(state, longer)[low > 0]:
                yield one, low, high

    def _read(self, state: int, longer: bool) -> Ways:
        """Options after a character of one byte, or a longer one, in both orders of `_in_order`."""
        found = self._ways.get((state, longer))
        if found is None:
            found = self._ways[state, longer] = self._in_order(self._behind(state, longer))
        return found

    def _behind(self, state: int, longer: bool) -> Iterable[int]:
        """States after a character of one byte; if `longer`, after the others that may differ."""
        between = self._between
        pairs = self._pairs(state, between)
        if not longer:
            return {one for one, within in pairs if within == between}
        if self._lexicon.flags[between] & PLAINLY:
            return ()
        return {one for pair in pairs if pair[1] != between for one in self._ended(*pair)}

    def _in_order(self, states: Iterable[int]) -> Ways:
        """Options of some states in two orders: soonest end first, and longest text first."""
        guess, most = self._lexicon.guess, self._lexicon.most
        options = {option for one in states for option in self._options(one)}
        soonest = sorted(options, key=lambda one: (guess(one), one))
        return soonest, sorted(soonest, key=lambda one: -most(one))

    def _ended(self, state: int, inside: int) -> set[int]:
        """States at the end of a character that has begun."""
        todo, met = [(state, inside)], {(state, inside)}
        while todo:
            fresh = self._pairs(*todo.pop()) - met
            met |= fresh
            todo += (pair for pair in fresh if pair[1] != self._between)
            spend(len(fresh))
        return {one for one, within in met if within == self._between}

    def _pairs(self, state: int, inside: int) -> set[tuple[int, int]]:
        self._expand(state, inside)
        rows = self._lexicon.rows
        pairs = set(zip(rows[state].tolist(), rows[inside].tolist(), strict=True))
        return {pair for pair in pairs if min(pair) > 0}

    def _options(self, state: int) -> list[int]:
        """States whose union is this state."""
        if state not in self._parts:
            self._parts[state] = self._split(state)
        return self._parts[state]

    def _split(self, state: int) -> list[int]:
        lexicon = self._lexicon
        if lexicon.option_at[state] == 0:
            lexicon.expand(state + OPTIONS_OF)
        at = int(lexicon.option_at[state])
        if at < 0:
            return [state]
        return list(takewhile(bool, map(int, lexicon.options[at:])))

    def _expand(self, *states: int) -> None:
        for state in states:
            if not self._lexicon.flags[state] & EXPANDED:
                self._lexicon.expand(state)


def expand(lexicon: Lexicon, state: int, context: "NDArray[np.int64]") -> None:
    """Make the row of a lexical state that a network's context asks for.

    An option without a text can take minutes; then SPLITTING is turned off for good.
    """
    splitting = bool(context[SPLITTING])
    if not lexicon.expand(state, briefly=splitting):
        context[SPLITTING], context[BOUND_SEARCH] = 0, _ANY
