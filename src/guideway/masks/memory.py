"""Memory accounting and clearing of all caches of the mask engine, tracked by weak references."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, final
from weakref import WeakSet

from guideway.masks.bits import Row


@final
@dataclass(frozen=True, slots=True)
class Held:
    """Size and usage of a cache.

    >>> Held(rows=1, row_bytes=8) + Held(rows=2, row_bytes=8, hits=5)
    Held(rows=3, row_bytes=16, states=0, state_bytes=0, hits=5, misses=0)
    """

    rows: int = 0
    row_bytes: int = 0
    states: int = 0
    state_bytes: int = 0
    hits: int = 0
    misses: int = 0

    def __add__(self, other: "Held") -> "Held":
        return Held(
            self.rows + other.rows,
            self.row_bytes + other.row_bytes,
            self.states + other.states,
            self.state_bytes + other.state_bytes,
            self.hits + other.hits,
            self.misses + other.misses,
        )

    @property
    def bytes(self) -> int:
        return self.row_bytes + self.state_bytes


class Cache(Protocol):
    """A thread-safe cache; `forget` changes timings only: states in use stay valid."""

    def held(self) -> Held: ...

    def forget(self) -> None: ...


_tracked: "WeakSet[Cache]" = WeakSet()
_shared: list[Cache] = []
_lock = threading.Lock()


def track(cache: Cache) -> None:
    """Count `cache` as long as it is in use."""
    with _lock:
        _tracked.add(cache)


def track_shared(cache: Cache) -> None:
    """Count a cache of the process, permanently."""
    with _lock:
        _shared.append(cache)


def tracked() -> list[Cache]:
    """The caches in use; shared ones first, since others release them in `forget`."""
    with _lock:
        return [*_shared, *_tracked]


def held_rows(rows: Iterable[Row | None]) -> Held:
    kept = [row for row in rows if row is not None]
    return Held(rows=len(kept), row_bytes=sum(row.nbytes for row in kept))


def total(parts: Iterable[Held]) -> Held:
    return sum(parts, Held())
