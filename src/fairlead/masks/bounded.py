"""Pictures of bounded patterns, for all constraints over one gallery.

A picture is made of what `kernels.bounded.measure` says: for each token the fewest characters that
a text has with it. The tokens that need few are a row, the others are listed by what they need, so
that a mask is the row and as much of the list as there is room for.
"""

import threading
from collections.abc import Callable
from typing import Final, final
from weakref import WeakKeyDictionary, proxy

import numpy as np
from numpy.typing import NDArray

from fairlead.masks.bits import packed
from fairlead.masks.gallery import Gallery, address
from fairlead.masks.kernels import layout as at
from fairlead.masks.lengths import Lengths
from fairlead.masks.lexicon import MOST_STATES
from fairlead.masks.memory import Held, track_shared

MOST_ROWS: Final = 2048
MOST_EXITS: Final = 1 << 16  # of one picture
_MOST_LISTED: Final = 1 << 22
_LISTED: Final = 2048  # tokens of a picture that are listed, or a few more that need as many
_ENDED: Final = np.uint32(1 << 31)
_ENOUGH: Final = 8  # masks made by walking, .35 ms each, before one of 3 ms is worth its making

Numbers = NDArray[np.uint32]


@final
class Bounds:
    """The pictures of one gallery, and what is known of lengths."""

    def __init__(self, gallery: Gallery) -> None:
        self._words, self._width = gallery.words, len(gallery.token_at) - 1
        self._lexicon = gallery.lexicon
        self._gallery: Gallery = proxy(gallery)  # who keeps these; they are kept as long as it
        self._lengths: dict[int, Lengths] = {}
        self._at = np.zeros(MOST_STATES, np.int32)
        self._pictures = np.zeros((MOST_ROWS, 12), np.int32)
        self._base = np.zeros((MOST_ROWS, gallery.words), np.uint32)
        self._base[0] = gallery.every  # no picture has this number
        self._listed = np.zeros((_MOST_LISTED, 2), np.int32)
        self._used_pictures, self._used_listed = 1, 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """The memory of what is used; no picture has the number 0."""
        return 4 * (self._used_pictures - 1) * self._words + 8 * self._used_listed

    def describe(self, context: "NDArray[np.int64]") -> None:
        """Write the addresses of what is shared to a context."""
        for slot, array in (
            (at.BOUND_AT, self._at),
            (at.BOUND, self._pictures),
            (at.BOUND_BASE, self._base),
            (at.BOUND_LISTED, self._listed),
        ):
            context[slot] = address(array)
        context[at.BOUND_ENOUGH] = _ENOUGH

    def alive(self, state: int, inside: int, between: int, low: int, high: int) -> bool:
        """Whether a bounded pattern has a text: see `lengths`."""
        with self._lock:
            lengths = self._lengths.get(between)
            if lengths is None:
                lengths = self._lengths[between] = Lengths(self._lexicon, between)
            return lengths.alive(state, inside, low, high)

    def make(
        self,
        state: int,
        between: int,
        context: "NDArray[np.int64]",
        measure: "Callable[[Numbers, Numbers], int]",
    ) -> None:
        """Make the picture of a lexical state between two characters.

        Args:
            state: of the pattern.
            between: of its characters.
            context: of the constraint that needs it.
            measure: runs `kernels.bounded.measure`, whatever that needs.
        """
        with self._lock:
            if self._at[state]:
                return
            context[at.MEASURED], context[at.STEADY] = 0, 1
            row = np.zeros(self._width, np.uint32)
            exits = np.zeros(2 * MOST_EXITS, np.uint32)
            found = measure(row, exits)
            full = self._used_listed + self._width > _MOST_LISTED
            roots = None
            if found <= MOST_EXITS and not full and self._used_pictures < MOST_ROWS:
                roots = self._gallery.roots(exits[: 2 * found].view(np.int32).reshape(-1, 2))
            if roots is None:
                self._at[state] = at.NO_PICTURE
                return
            number = self._used_pictures
            self._used_pictures = number + 1
            self._pictures[number] = [*self._drawn(number, between, row), *roots, 0]
            self._pictures[number, at.B_STEADY] = context[at.STEADY]
            self._at[state] = number

    def _drawn(self, number: int, between: int, row: Numbers) -> "list[int]":
        """The fields of a picture without exits, its row and lists being written."""
        needs = row[(row > 0) & (row < _ENDED)]  # one more than that
        rank = len(needs) - 1 - _LISTED
        least = int(np.partition(needs, rank)[rank]) if rank >= 0 else 1
        longer = np.flatnonzero((row > least) & (row < _ENDED))
        longer = longer[np.argsort(row[longer], kind="stable")]
        self._base[number] = packed((row > 0) & (row <= least))
        ends = np.flatnonzero(row >= _ENDED)
        counts = (row[ends] & ~_ENDED) - 1
        return [
            *(between, number, least - 1, 0),
            *self._list(row[longer] - 1, longer),
            *self._list(counts, ends),
        ]

    def _list(self, characters: "NDArray[np.generic]", what: "NDArray[np.generic]") -> list[int]:
        first = self._used_listed
        self._used_listed = first + len(what)
        self._listed[first : self._used_listed, 0] = characters
        self._listed[first : self._used_listed, 1] = what
        return [first, self._used_listed]


@final
class _Shared:
    """The pictures that new constraints get, as the memory accounts see them."""

    def held(self) -> Held:
        """What the pictures take."""
        with _lock:
            return Held(state_bytes=sum(one.nbytes for one in _bounds.values()))

    def forget(self) -> None:
        """Leave the pictures to those who use them."""
        with _lock:
            _bounds.clear()


_bounds: "WeakKeyDictionary[Gallery, Bounds]" = WeakKeyDictionary()
_lock = threading.Lock()
track_shared(_Shared())


def shared_bounds(gallery: Gallery) -> Bounds:
    """The pictures of bounded patterns of a gallery."""
    with _lock:
        found = _bounds.get(gallery)
        if found is None:
            found = _bounds[gallery] = Bounds(gallery)
        return found
