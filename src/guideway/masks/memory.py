"""What all caches of the mask engine hold together, and how they are emptied.

A cache says what it holds when it is asked, and is tracked as long as somebody uses it (weakly). It
decides on its own bound; this file only counts.
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
    """What a cache holds, and how often it was of use.

    Attributes:
        rows: masks that are remembered.
        row_bytes: their memory.
        states: states whose transitions are remembered.
        state_bytes: the memory of the transitions, and of what they are made from.
        hits: how many masks were remembered when they were asked for.
        misses: how many had to be made.

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
        """What two caches hold together."""
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
        """All memory."""
        return self.row_bytes + self.state_bytes


class Cache(Protocol):
    """Something that remembers what it could make again.

    Laws: both may be called from any thread at any time; `forget` changes how long things take and
    nothing else: states that somebody keeps stay good.
    """

    def held(self) -> Held:
        """What it holds now."""
        ...

    def forget(self) -> None:
        """Drop what can be made again."""
        ...


_tracked: "WeakSet[Cache]" = WeakSet()
_shared: list[Cache] = []
_lock = threading.Lock()


def track(cache: Cache) -> None:
    """Count `cache` from now on, until nobody uses it any more."""
    with _lock:
        _tracked.add(cache)


def track_shared(cache: Cache) -> None:
    """Count a cache of the whole process, for good."""
    with _lock:
        _shared.append(cache)


def tracked() -> list[Cache]:
    """The caches in use; shared ones first, which the others let go of when they forget."""
    with _lock:
        return [*_shared, *_tracked]


def held_rows(rows: Iterable[Row | None]) -> Held:
    """What remembered masks hold, those not counted that are forgotten."""
    kept = [row for row in rows if row is not None]
    return Held(rows=len(kept), row_bytes=sum(row.nbytes for row in kept))


def total(parts: Iterable[Held]) -> Held:
    """The sum of what several caches hold.

    >>> total([]).bytes
    0
    """
    return sum(parts, Held())
