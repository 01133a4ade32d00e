"""Cache of `guideway.compile`: least recently used first out, with a bound on memory.

Constraints grow while they are used, so their sizes are measured again now and then.
"""

import threading
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar, final


class Sized(Protocol):
    """An object that knows its memory."""

    def size(self) -> int: ...


Name = TypeVar("Name", bound=Hashable)
Kept = TypeVar("Kept", bound=Sized)


@final
class Remembered(Generic[Name, Kept]):
    """A bounded LRU dictionary, thread safe; `hits` and `misses` count look-ups."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self.most, self.most_bytes = most, most_bytes
        self.hits = self.misses = 0
        self._sizes: dict[Name, int] = {}  # when last measured
        # Not an OrderedDict, which hashes each key again when it grows.
        self._kept: dict[Name, Kept] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def bytes(self) -> int:
        with self._lock:
            return sum(value.size() for value in self._kept.values())

    def get(self, key: Name) -> Kept | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                self.misses += 1
                return None
            self.hits += 1
            self._kept[key] = self._kept.pop(key)
            if self.hits % self.most == 0:
                self._sizes = {kept: value.size() for kept, value in self._kept.items()}
                self._shrink()
            return found

    def put(self, key: Name, value: Kept) -> None:
        with self._lock:
            used = next(reversed(self._kept), key)  # it may have grown since
            self._kept.pop(key, None)
            self._kept[key] = value
            for last in (used, key):
                self._sizes[last] = self._kept[last].size()
            self._shrink()

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._sizes.clear()
            self.hits = self.misses = 0

    def _shrink(self) -> None:
        used = sum(self._sizes.values())
        while len(self._kept) > 1 and (len(self._kept) > self.most or used > self.most_bytes):
            dropped = next(iter(self._kept))
            del self._kept[dropped]
            used -= self._sizes.pop(dropped)
