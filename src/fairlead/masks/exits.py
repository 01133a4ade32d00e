"""Tries of what is left of tokens that leave a state on the way, once for each set of its nodes.

Where items or characters were counted before, there is a trie for each number of them, too.
"""

import threading
from hashlib import blake2b
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from fairlead.masks.forest import MOST_FIRST, Forest
from fairlead.masks.kernels.layout import NO_PICTURE
from fairlead.masks.space import untouched

_MOST: Final = 1 << 16


@final
class Exits:
    """The tries of one gallery.

    Attributes:
        rows: numbers of items, and the trie of what is left behind so many.
    """

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self.rows = untouched((_MOST, 2), np.int32)
        self._used = 0
        self._planted: dict[bytes, int] = {}  # by the nodes that are left
        self._lock = threading.Lock()

    def begin(self, context: "NDArray[np.int64]") -> None:
        """Say which context kernels get."""
        self._context = context

    def trie(self, left: "NDArray[np.int32]") -> int:
        """The trie of all that begins with one of these nodes, once; NO_PICTURE without room."""
        with self._lock:
            return self._trie(left)

    def roots(self, left: "NDArray[np.int32]") -> list[int] | None:
        """Tries of exits of all numbers of items, and of each; fields of a picture."""
        with self._lock:
            every = self._forest.plant(self._context, left[:, 0])
            first = self._used
            for items in np.unique(left[:, 1]).tolist():
                root = self._forest.plant(self._context, left[left[:, 1] == items, 0])
                if root is None or not self._add(items, root):
                    return None
            return None if every is None else [every, first, self._used]

    def root(self, left: "NDArray[np.int32]", items: int) -> list[int] | None:
        """The same where it does not matter which of them came behind how many items."""
        with self._lock:
            root, first = self._trie(left), self._used
            if root == NO_PICTURE or (len(left) and not self._add(items, root)):
                return None
            return [root, first, self._used]

    def _add(self, items: int, root: int) -> bool:
        """Add a row, if there is room."""
        if self._used == len(self.rows):
            return False
        self.rows[self._used] = items, root
        self._used += 1
        return True

    def _trie(self, left: "NDArray[np.int32]") -> int:
        key = blake2b(left.tobytes(), digest_size=16).digest()
        found = self._planted.get(key)
        if found is None:
            root = None
            if len(left) <= MOST_FIRST:
                root = self._forest.plant(self._context, left)
            found = self._planted[key] = NO_PICTURE if root is None else root
        return found
