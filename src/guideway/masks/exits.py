"""Tries of token suffixes after a lexical state is left, one for each set of trie nodes.

Similar strings are left at the same nodes, so they share a trie and the pictures over it.
After counted items or characters there is one trie for each count.
"""

import threading
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from guideway.masks.forest import MOST_FIRST, MOST_NODES, Forest
from guideway.masks.kernels.layout import NO_PICTURE
from guideway.masks.space import untouched

_MOST: Final = 1 << 16


@final
class Exits:
    """The tries of one gallery.

    Attributes:
        rows: int32[n, 2], a number of items and the root of its trie.
    """

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self.rows = untouched((_MOST, 2), np.int32)
        self._used = 0
        self._known: dict[tuple[bytes, int], int | None] = {}  # by the nodes that are left
        self._lock = threading.Lock()

    def begin(self, context: "NDArray[np.int64]") -> None:
        self._context = context

    def trie(self, left: "NDArray[np.int32]") -> int:
        """Root of the trie of all suffixes at these nodes; NO_PICTURE if there is no room."""
        root = self.planted(left)
        return NO_PICTURE if root is None else root

    def planted(self, left: "NDArray[np.int32]", most: int = MOST_NODES) -> int | None:
        """As `trie`; None if it has more than `most` nodes or there is no room."""
        with self._lock:
            return self._planted(left, most)

    def roots(self, left: "NDArray[np.int32]") -> list[int] | None:
        """Root for exits of any count, and the range of rows with a root for each count."""
        with self._lock:
            every = self._planted(left[:, 0], MOST_NODES)
            first = self._used
            for items in np.unique(left[:, 1]).tolist():
                root = self._planted(left[left[:, 1] == items, 0], MOST_NODES)
                if root is None or not self._add(items, root):
                    return None
            return None if every is None else [every, first, self._used]

    def _add(self, items: int, root: int) -> bool:
        if self._used == len(self.rows):
            return False
        self.rows[self._used] = items, root
        self._used += 1
        return True

    def _planted(self, left: "NDArray[np.int32]", most: int) -> int | None:
        if not len(left):
            return 0
        key = left.tobytes(), most
        if key not in self._known:
            room = len(left) <= MOST_FIRST
            found = self._forest.plant(self._context, left, most) if room else None
            self._known[key] = found
        return self._known[key]
