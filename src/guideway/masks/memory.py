"""Memory accounting and clearing of all caches of the mask engine.

A cache is tracked by a weak reference and bounds itself; this module only counts.
"""

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

    Attributes:
        rows: cached masks.
        row_bytes: their memory.
        states: states with cached transitions.
        state_bytes: memory of transitions and of their sources.
        hits: masks found in the cache.
        misses: masks computed.
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
    """A cache whose methods any thread may call at any time.

    `forget` changes timings only: states in use stay valid.
    """

    def held(self) -> Held:
        """The current size and usage."""
        ...

    def forget(self) -> None:
        """Drop what can be computed again."""
        ...


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
    """Size of cached masks, without dropped ones."""
    kept = [row for row in rows if row is not None]
    return Held(rows=len(kept), row_bytes=sum(row.nbytes for row in kept))


def total(parts: Iterable[Held]) -> Held:
    return sum(parts, Held())
