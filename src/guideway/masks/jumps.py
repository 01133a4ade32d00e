"""Which characters lead from a lexical state back to it, and where walks go on that need no others.

There is a row of bits for each set of characters that lead from a state back to it, made by
`kernels.jumps` when such a state is first met, and never changed: kernels of other threads may
read while one is added.
"""

import threading
from collections.abc import Callable
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from guideway.masks.forest import Forest, address
from guideway.masks.kernels import jump_layout as at
from guideway.masks.kernels.layout import (
    LOOP,
    LOOPS,
    NEED_COUNT,
    NEED_EXITS,
    NEED_PICTURE,
    WAY,
    WAY_TO,
)
from guideway.masks.kernels.lexer_layout import NEED_TRIE
from guideway.masks.lexicon import MOST_STATES, Lexicon
from guideway.masks.space import untouched

DRAWN: Final = (NEED_PICTURE, NEED_EXITS, NEED_COUNT, NEED_TRIE, at.NEED_JUMP)  # by galleries
_FIRST: Final = 1  # 0 says that there is none
_INTS: Final = np.zeros(0, np.int32)
_WORDS: Final = np.zeros(0, np.uint32)
_SETS: Final = np.zeros(4, np.uint64)


@final
class Jumps:
    """The rows of one gallery, and what its own walks need."""

    def __init__(self, forest: Forest, lexicon: Lexicon) -> None:
        self._words, self._records = forest.jump_words, lexicon.records
        self._rows = untouched((at.MOST_JUMPS, self._words), np.int64)
        self._keys = untouched((at.MOST_JUMPS, 3), np.int64)
        self._keys[0, 0] = _FIRST
        self._at = untouched(MOST_STATES, np.int32)
        self._loop = untouched((MOST_STATES, 2), np.uint64)
        self._loops = untouched(MOST_STATES, np.uint8)
        self._way = untouched((MOST_STATES, 2), np.uint64)
        self._way_to = untouched(MOST_STATES, np.int32)
        self._forever = untouched((MOST_STATES, 2), np.int64)
        self._free_at = untouched(MOST_STATES, np.int32)
        self._regions = np.zeros((forest.deepest + 3) * at.R_WIDTH, np.int32)

    def describe(self, context: "NDArray[np.int64]") -> None:
        """Write the addresses of what is shared to a context."""
        for slot, array in (
            (at.JUMP, self._rows),
            (at.JUMP_KEY, self._keys),
            (at.JUMP_AT, self._at),
            (LOOP, self._loop),
            (LOOPS, self._loops),
            (WAY, self._way),
            (WAY_TO, self._way_to),
            (at.FOREVER, self._forever),
            (at.FREE_AT, self._free_at),
        ):
            context[slot] = address(array)

    def begin(self, context: "NDArray[np.int64]") -> None:
        """Write to the gallery's own context what its walks need: these hold the lexicon's lock."""
        context[at.REGION] = address(self._regions)
        self.lend(context)

    def lend(self, context: "NDArray[np.int64]") -> None:
        """Let a kernel make lexical states and rows, as long as both locks are held."""
        context[at.LEXICON] = address(self._records.context)

    def find(
        self, state: int, served: "Callable[[Callable[[NDArray[np.int64]], int]], int]"
    ) -> None:
        """Have it known whether a state has a row; `served` calls a kernel of the gallery's."""
        from guideway.masks.kernels.entry import picture

        served(lambda context: picture(context, 0, state, -1, _INTS, _WORDS, _INTS, _SETS))

    @property
    def nbytes(self) -> int:
        """The memory of the rows that there are."""
        return 8 * self._words * (int(self._keys[0, 0]) - _FIRST)


@final
class Lent:
    """What `Gallery.lent` gives: a generator took 10 us of the mask that makes a picture."""

    __slots__ = ("_context", "_jumps", "_lexicon", "_pictures")

    def __init__(
        self,
        pictures: threading.Lock,
        lexicon: threading.Lock,
        jumps: Jumps,
        context: "NDArray[np.int64]",
    ) -> None:
        self._pictures, self._lexicon = pictures, lexicon
        self._jumps, self._context = jumps, context

    def __enter__(self) -> None:
        """Hold both locks, and lend what they keep."""
        self._pictures.acquire()
        self._lexicon.acquire()
        self._jumps.lend(self._context)

    def __exit__(self, *_: object) -> None:
        """Take it back."""
        self._context[at.LEXICON] = 0
        self._lexicon.release()
        self._pictures.release()
