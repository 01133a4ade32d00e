"""Whether a bounded pattern has a text, where its lengths have gaps.

`kernels.bounds` decides nearly always by the fewest characters that a text must still have. Where
more are needed, and nothing says that the text can become longer by one character at a time, texts
are tried here, depth first: a place is a lexical state between two characters, and the bounds.

A text is one of an option of a state. Options are few where states are many (`kernels.options`):
a mask of a host name with `a.{12}b` in it, whose labels count their letters so that no state comes
again, did not come back in 20 s, and takes one. Where more characters are needed, what may become
longest is tried first, else what seems to end soonest: of `idn-hostname` with 24 characters all
names of three short labels came before longer ones, and no mask came in a minute.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from guideway.lowering.fuel import spend
from guideway.masks.kernels.bound_layout import BOUND_SEARCH, OPTIONS_OF, PLAINLY, SPLITTING
from guideway.masks.kernels.layout import EXPANDED
from guideway.masks.kernels.record_layout import FARTHEST
from guideway.masks.lexicon import Lexicon

Place: TypeAlias = tuple[int, int, int]
Ways: TypeAlias = tuple[list[int], list[int]]

SEARCHED: Final = 32  # pairs that a search goes on from, before options of states are told apart
_ANY: Final = 1 << 30


@final
class Lengths:
    """What is known of the patterns over one kind of character of a lexicon.

    What one character leads to is kept, for the same states are met with hundreds of bounds: three
    patterns that repeat and 3,000 characters took 34 s to compile, and take 2.8.

    Args:
        lexicon: the lexical states.
        between: the state between two characters.
    """

    def __init__(self, lexicon: Lexicon, between: int) -> None:
        self._lexicon, self._between = lexicon, between
        self._known: dict[Place, bool] = {}
        self._ways: dict[tuple[int, bool], Ways] = {}
        self._parts: dict[int, list[int]] = {}

    def alive(self, state: int, inside: int, low: int, high: int) -> bool:
        """Whether a text of the pattern goes on with `low` to `high` characters.

        Args:
            state: of the pattern, behind whose characters a byte comes that begins none.
            inside: of the character that is being read, which counts no more.
            low: at least this many.
            high: at most this many, -1 for any number.
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
            # Of what led nowhere nothing is known where a text was found: it may lead to the way.
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
        """What one character leads to, those of one byte first."""
        state, low, high = place
        most = self._lexicon.most(state)  # the closing byte among them
        if high == 0 or low >= most < FARTHEST:
            return
        low, high = max(low - 1, 0), high - 1 if high > 0 else high
        for longer in (False, True):
            for one in self._read(state, longer)[low > 0]:
                yield one, low, high

    def _read(self, state: int, longer: bool) -> Ways:
        """The options behind a character of one byte, or a longer one; the longest first, too."""
        found = self._ways.get((state, longer))
        if found is None:
            found = self._ways[state, longer] = self._in_order(self._behind(state, longer))
        return found

    def _behind(self, state: int, longer: bool) -> Iterable[int]:
        """The states behind a character of one byte, or a longer one where those say not all."""
        between = self._between
        pairs = self._pairs(state, between)
        if not longer:
            return {one for one, within in pairs if within == between}
        if self._lexicon.flags[between] & PLAINLY:
            return ()
        return {one for pair in pairs if pair[1] != between for one in self._ended(*pair)}

    def _in_order(self, states: Iterable[int]) -> Ways:
        """The options of some states, what seems to end soonest first, and the longest first."""
        guess, most = self._lexicon.guess, self._lexicon.most
        options = {option for one in states for option in self._options(one)}
        soonest = sorted(options, key=lambda one: (guess(one), one))
        return soonest, sorted(soonest, key=lambda one: -most(one))

    def _ended(self, state: int, inside: int) -> set[int]:
        """The states where a character that has begun has ended."""
        todo, met = [(state, inside)], {(state, inside)}
        while todo:
            fresh = self._pairs(*todo.pop()) - met
            met |= fresh
            todo += (pair for pair in fresh if pair[1] != self._between)
            spend(len(fresh))
        return {one for one, within in met if within == self._between}

    def _pairs(self, state: int, inside: int) -> set[tuple[int, int]]:
        """The pairs that a byte leads to."""
        self._expand(state, inside)
        rows = self._lexicon.rows
        pairs = set(zip(rows[state].tolist(), rows[inside].tolist(), strict=True))
        return {pair for pair in pairs if min(pair) > 0}

    def _options(self, state: int) -> list[int]:
        """The states of which a text is, if it is one of this state."""
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
    """Make the row of a lexical state that a network's context wants.

    Where the row of an option takes long while searches are SPLITTING, it may have no text where
    others have: to see that of three groups of nine patterns that meet took minutes. Then states
    are looked at whole for good.
    """
    splitting = bool(context[SPLITTING])
    if not lexicon.expand(state, briefly=splitting):
        context[SPLITTING], context[BOUND_SEARCH] = 0, _ANY
