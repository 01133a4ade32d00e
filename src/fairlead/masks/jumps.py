"""Which characters lead from a lexical state back to it, and where walks go on that need no others.

There is a row of bits for each set of characters that lead from a state back to it, made by
`kernels.jumps` when such a state is first met, and never changed: kernels of other threads may
read while one is added.
"""

from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from fairlead.masks.forest import Forest, address
from fairlead.masks.kernels import jump_layout as at
from fairlead.masks.kernels.layout import LOOP, LOOPS, WAY, WAY_TO
from fairlead.masks.lexicon import MOST_STATES, Lexicon
from fairlead.masks.space import untouched

_FIRST: Final = 1  # 0 says that there is none


@final
class Jumps:
    """The rows of one gallery, and what its own walks need."""

    def __init__(self, forest: Forest, lexicon: Lexicon) -> None:
        self._words, self._records = forest.jump_words, lexicon.records
        self._rows = untouched((at.MOST_JUMPS, self._words), np.int64)
        self._keys = untouched((at.MOST_JUMPS, 3), np.int64)
        self._at = untouched(MOST_STATES, np.int32)
        self._loop = untouched((MOST_STATES, 2), np.uint64)
        self._loops = untouched(MOST_STATES, np.uint8)
        self._way = untouched((MOST_STATES, 2), np.uint64)
        self._way_to = untouched(MOST_STATES, np.int32)
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
        ):
            context[slot] = address(array)

    def begin(self, context: "NDArray[np.int64]") -> None:
        """Write to the gallery's own context what its walks need: these hold the lexicon's lock."""
        context[at.REGION], context[at.JUMPS] = address(self._regions), _FIRST
        context[at.LEXICON] = address(self._records.context)

    def nbytes(self, context: "NDArray[np.int64]") -> int:
        """The memory of the rows that there are."""
        return 8 * self._words * (int(context[at.JUMPS]) - _FIRST)
