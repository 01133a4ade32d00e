"""Whether a bounded pattern has a text, where its lengths have gaps.

`kernels.bounds` decides nearly always by the fewest characters that a text must still have. Where
more are needed, and nothing says that the text can become longer by one character at a time, texts
are tried here, depth first: a state is the pair of lexical states, and the bounds that are left.

A text is one of an option of a state. Options are few where states are many (`kernels.options`):
a mask of a host name with `a.{12}b` in it, whose labels count their letters so that no state comes
again, did not come back in 20 s, and takes one. What seems to end soonest is tried first.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import TypeAlias, final

from fairlead.masks.kernels.bound_layout import OPTIONS_OF
from fairlead.masks.kernels.layout import EXPANDED
from fairlead.masks.lexicon import Lexicon

Place: TypeAlias = tuple[int, int, int, int]


@final
class Lengths:
    """What is known of the patterns over one kind of character of a lexicon.

    Args:
        lexicon: the lexical states.
        between: the state between two characters.
    """

    def __init__(self, lexicon: Lexicon, between: int) -> None:
        self._lexicon, self._between = lexicon, between
        self._known: dict[Place, bool] = {}
        self._ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._parts: dict[int, list[int]] = {}

    def alive(self, state: int, inside: int, low: int, high: int) -> bool:
        """Whether a text of the pattern goes on with `low` to `high` characters.

        Args:
            state: of the pattern, behind whose characters a byte comes that begins none.
            inside: of the character that is being read, which counts no more.
            low: at least this many.
            high: at most this many, -1 for any number.
        """
        return any(self._lives((one, inside, low, high)) for one in self._options(state))

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
                    tried.add(place)
                    way.append((place, self._following(place)))
            # Of what led nowhere nothing is known where a text was found: it may lead to the way.
            known.update((place, bool(way)) for place in ((p for p, _ in way) if way else tried))
        return known[start]

    def _ends(self, place: Place) -> bool:
        state, inside, low, _ = place
        if inside != self._between or low:
            return False
        self._expand(state, inside)
        first = self._lexicon.first
        return bool((first[state] & ~first[inside]).any())

    def _following(self, place: Place) -> Iterator[Place]:
        """What one byte of a character leads to, those first that end it."""
        state, inside, low, high = place
        if inside == self._between:
            if high == 0:
                return iter(())
            low, high = max(low - 1, 0), high - 1 if high > 0 else high
        ways = self._ways.get((state, inside))
        if ways is None:
            ways = self._ways[state, inside] = self._read(state, inside)
        return ((one, within, low, high) for one, within in ways)

    def _read(self, state: int, inside: int) -> list[tuple[int, int]]:
        """The options and the states of the character behind a byte, whatever the bounds are.

        They are kept, for the same states are met with hundreds of bounds: three patterns that
        repeat and 3,000 characters took 34 s to compile, and take 2.8.
        """
        self._expand(state, inside)
        rows = self._lexicon.rows
        pairs = set(zip(rows[state].tolist(), rows[inside].tolist(), strict=True))
        options = (
            (self._lexicon.guess(one), within != self._between, one, within)
            for after, within in pairs
            if min(after, within) > 0
            for one in self._options(after)
        )
        return [(one, within) for *_, one, within in sorted(options)]

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
