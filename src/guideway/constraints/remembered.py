"""What `guideway.compile` remembers: the constraints asked for last, within a bound on memory.

Constraints grow while they are used, so what they hold is looked at again and again: not that of
all each time, as that takes longer for 64 than finding one, or than compiling a small one. The
least recently asked for is dropped first, and the last one stays. Who still uses what was dropped
goes on doing so.

To drop one takes .1 ms, a third of the time in which a small schema is compiled, and 17 at once,
those of schemas in use, took 1.6 to 6 ms. So some more are kept, and what takes neither so short to
make nor so long that it is noticed drops a few of them; where that is not enough, all are dropped.
"""

import threading
from collections.abc import Hashable
from typing import Final, Generic, Protocol, TypeVar, final


class Sized(Protocol):
    """Something that takes memory, and says so at once: it is asked each time."""

    def size(self) -> int:
        """How much it takes."""
        ...


_QUICK: Final = 0.001  # seconds: what shows in the median takes less than this to make
_SLOW: Final = 0.002  # and what takes 7 ms until its first mask is there more than this
_AT_ONCE: Final = 4  # by one of eight schemas in use

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept", bound=Sized)


@final
class Remembered(Generic[Key, Kept]):
    """A bounded dictionary, least recently used first out. Thread safe.

    Attributes:
        most: how many are kept,
        spare: and how many beside them before these are dropped, all at once.
        most_bytes: how much memory they may hold together.
        hits: how often what was asked for was there.
        misses: how often it was not.
    """

    def __init__(self, most: int, most_bytes: int, spare: int = 0) -> None:
        self.most, self.most_bytes, self.spare = most, most_bytes, spare
        self.hits = self.misses = 0
        self._sizes: dict[Key, int] = {}  # when they were last looked at
        # A plain dictionary: an ordered one asks for the hash of each key again when it grows.
        self._kept: dict[Key, Kept] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def bytes(self) -> int:
        """What they hold together."""
        with self._lock:
            return self._bytes()

    def get(self, key: Key) -> Kept | None:
        """What is kept under `key`, which is now the last one asked for."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                self.misses += 1
                return None
            self.hits += 1
            self._kept[key] = self._kept.pop(key)
            if self.hits % self.most == 0:
                self._sizes = {kept: value.size() for kept, value in self._kept.items()}
                self._shrink(len(self._kept))
            return found

    def put(self, key: Key, value: Kept, took: float = 0) -> None:
        """Keep `value` under `key`, which took so many seconds to make.

        >>> class One:
        ...     def size(self):
        ...         return 1
        >>> kept = Remembered(2, 9, spare=3)
        >>> for key in "abcd":
        ...     kept.put(key, One())
        >>> len(kept)
        4
        >>> kept.put("e", One(), took=0.0015)
        >>> len(kept)
        2
        """
        with self._lock:
            used = next(reversed(self._kept), key)  # until now, and so it may have grown
            self._kept.pop(key, None)
            self._kept[key] = value
            for last in (used, key):
                self._sizes[last] = self._kept[last].size()
            self._shrink(self._most_beside(took))

    def clear(self) -> None:
        """Drop all, and count anew."""
        with self._lock:
            self._kept.clear()
            self._sizes.clear()
            self.hits = self.misses = 0

    def _most_beside(self, took: float) -> int:
        """How many may be kept together with one that took so long."""
        kept, full = len(self._kept), len(self._kept) > self.most + self.spare
        if took < _QUICK:
            return self.most if full else kept
        return max(self.most, kept - _AT_ONCE) if full or took < _SLOW else kept

    def _shrink(self, most: int) -> None:
        used = sum(self._sizes.values())
        while len(self._kept) > 1 and (len(self._kept) > most or used > self.most_bytes):
            dropped = next(iter(self._kept))
            del self._kept[dropped]
            used -= self._sizes.pop(dropped)

    def _bytes(self) -> int:
        return sum(value.size() for value in self._kept.values())
