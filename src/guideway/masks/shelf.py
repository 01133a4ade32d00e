"""Masks, each stored once for all constraints of a vocabulary, found by hash (`kernels.shelf`).

Rows are never removed, as kernels of other threads may read them. When a shelf is full, new
networks get a new one; the old one is freed with its last network.
"""

import threading
from typing import Final, final
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from guideway.masks.bits import Row
from guideway.masks.forest import address
from guideway.masks.kernels import layout as at
from guideway.masks.memory import Held, total, track_shared
from guideway.masks.space import untouched

MOST_BYTES: Final = 64 << 20
_MOST_ROWS: Final = 1 << 14  # limit for small vocabularies


@final
class Shelf:
    def __init__(self, words: int) -> None:
        self._words = words
        room = 1 << min(MOST_BYTES // (4 * words), _MOST_ROWS).bit_length() - 1
        self._table = untouched(2 * room, np.int32)
        self._codes = untouched(room, np.int64)
        self._addresses = untouched(room, np.int64)
        self.rows: list[Row] = [np.zeros(0, np.uint32)]
        self._room, self.full = room, False
        self._lock = threading.Lock()
        _shelves.add(self)

    def held(self) -> Held:
        count = len(self.rows) - 1
        return Held(rows=count, row_bytes=4 * self._words * count)

    def describe(self, context: "NDArray[np.int64]") -> None:
        context[at.SHELF_ROOM] = self._room
        context[at.SHELF], context[at.SHELF_CODE] = address(self._table), address(self._codes)
        context[at.SHELF_ROW] = address(self._addresses)

    def put(self, row: Row, code: int) -> int:
        """Store a copy of a row under its hash; return its number, 0 if there is no room."""
        with self._lock:
            number, last = len(self.rows), 2 * self._room - 1
            if number == self._room:
                self.full = True
                return 0
            made = sealed(row)
            self.rows.append(made)
            self._addresses[number], self._codes[number] = address(made), code
            place = code & last
            while self._table[place]:
                place = (place + 1) & last
            self._table[place] = number  # last, as kernels of other threads look for it
            return number


def sealed(row: Row) -> Row:
    """A copy that cannot be made writeable, as others read it."""
    own = row.copy()
    own.flags.writeable = False
    return own.view()


@final
class _Shared:
    def held(self) -> Held:
        return total([shelf.held() for shelf in [*_shelves]])

    def forget(self) -> None:
        """Do nothing: a new gallery has a new shelf."""


_shelves: "WeakSet[Shelf]" = WeakSet()
track_shared(_Shared())
