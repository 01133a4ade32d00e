"""Tries of tokens in flat arrays, packed rows of tokens, and the sizes of all caches."""

import gc
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass
from math import prod
from mmap import ACCESS_COPY, mmap
from typing import Any, Final, Protocol, TypeAlias
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.jit.records import Record
from guideway.automaton.kernels.layout import Context
from guideway.errors import LimitError
from guideway.vocabulary.trie import Trie


def untouched(shape: int | tuple[int, ...], kind: Any) -> NDArray[Any]:
    """Zeros in a private memory map; a forked process writes to copies.

    >>> int(untouched((2, 3), np.int32).sum())
    0
    """
    sizes = (shape,) if isinstance(shape, int) else shape
    count = prod(sizes)
    block = _mapped(max(count, 1) * np.dtype(kind).itemsize)
    return np.frombuffer(block, kind, count).reshape(sizes)


def _mapped(size: int) -> mmap:
    """A private memory map; LimitError where a limit of the process leaves no address space."""
    with suppress(OSError):
        return mmap(-1, size, access=ACCESS_COPY)
    gc.collect()  # automata that nothing refers to hold most of it
    try:
        return mmap(-1, size, access=ACCESS_COPY)
    except OSError as error:
        raise LimitError(
            f"there is no address space for {size >> 20} MiB more (most of them stay unused)",
            limit="bytes of address space",
            needed=size,
        ) from error


Row: TypeAlias = NDArray[np.uint32]

_FEW: Final = 0.5  # share of nonzero bytes above which selecting them takes longer


def words(width: int) -> int:
    return -(-width // 32)


def pack(ids: "NDArray[np.int32] | Iterable[int]", width: int) -> Row:
    """The read-only row of the token ids `ids`.

    >>> pack([0, 33], 40).tolist()
    [1, 2]
    """
    members = np.zeros(words(width) * 32, np.bool_)
    members[np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), np.int64)] = True
    row = np.packbits(members, bitorder="little").view("<u4").astype(np.uint32, copy=False)
    row.flags.writeable = False
    return row


def unpack(row: Row) -> NDArray[np.int64]:
    held = row.astype("<u4", copy=False).view(np.uint8)  # 10 us; expanding all bits took 240
    where = np.flatnonzero(held != 0)
    if len(where) > _FEW * len(held):
        return np.flatnonzero(_bits(held))
    found = np.flatnonzero(_bits(held[where]))
    return where[found >> 3] * 8 + (found & 7)


def _bits(held: "NDArray[np.uint8]") -> "NDArray[np.bool_]":
    """The bits as booleans: numpy's flatnonzero is ten times faster on them than on bytes."""
    return np.unpackbits(held, bitorder="little").view(np.bool_)


def has(row: Row, token: int) -> bool:
    """Return True if `token` is in the row; False for ids outside it."""
    return 0 <= token < 32 * len(row) and bool(int(row[token >> 5]) >> (token & 31) & 1)


def count(row: Row) -> int:
    return int(np.bitwise_count(row).sum())


MOST_NODES: Final = 1 << 23
_MOST_TOKENS: Final = 1 << 24
MOST_FIRST: Final = 1 << 21


class TokenTries:
    def __init__(self, trie: Trie, words: int) -> None:
        from guideway.automaton.kernels.tries import COUNTS

        nodes, tokens = len(trie.byte) + 1, len(trie.token_ids)
        self._nodes, self._tokens = nodes + MOST_NODES, tokens + _MOST_TOKENS
        self._byte = untouched(self._nodes + 1, np.uint8)
        self._depth = untouched(self._nodes + 1, np.uint16)
        self._end = untouched(self._nodes + 1, np.int32)
        self._at = untouched(self._nodes + 2, np.int32)
        self._ids = untouched(self._tokens, np.int32)
        self._root = np.where(trie.root >= 0, trie.root + 1, -1).astype(np.int32)
        self._byte[1:nodes], self._depth[1:nodes] = trie.byte, trie.depth
        self._end[0], self._end[1:nodes] = nodes, trie.end + 1
        self._at[1 : nodes + 1], self._ids[:tokens] = trie.token_offsets, trie.token_ids
        self._hold, self._part = np.zeros((nodes, 2), np.uint64), np.zeros(nodes, np.uint8)
        self._height = np.zeros(nodes, np.uint8)
        self.deepest = int(trie.depth.max(initial=0))
        self._first, self._free = nodes, nodes
        self._segments = untouched(2 * MOST_FIRST, np.int32)
        self._levels = np.zeros(COUNTS + 3 * (self.deepest + 2), np.int32)
        self._every = pack(trie.token_ids, words * 32)
        self._known: dict[bytes, int | None] = {}  # roots of merged tries, by their nodes
        self._lock = threading.Lock()

    @property
    def crowded(self) -> bool:
        """Return True if a quarter of the room for suffix tries is used."""
        tokens = int(self._at[self._free] - self._at[self._first])
        return self._free - self._first > MOST_NODES // 4 or tokens > _MOST_TOKENS // 4

    @property
    def nbytes(self) -> int:
        return (self._free - self._first) * 19 + 4 * int(
            self._at[self._free] - self._at[self._first]
        )

    def describe(self, context: Context) -> None:
        share(
            context,
            trie_bytes=self._byte,
            trie_depths=self._depth,
            trie_ends=self._end,
            trie_at=self._at,
            trie_tokens=self._ids,
            trie_roots=self._root,
            subtree_bytes=self._hold,
            subtree_flags=self._part,
            heights=self._height,
            every_row=self._every,
        )

    def survey(self, context: Context) -> None:
        """Summarize the subtree of each node of the vocabulary's trie; once, before any mask."""
        from guideway.automaton.kernels.entry import survey_parts

        survey_parts(context, np.zeros(3 * (self.deepest + 2), np.uint64))

    def plant(self, context: Context, firsts: "NDArray[np.int32]") -> int | None:
        """Root of the trie that merges the subtrees of these nodes; 0 if there are none.

        Return None if there are more than MOST_FIRST, or no room.
        """
        if not len(firsts):
            return 0
        key = firsts.tobytes()
        with self._lock:
            if key not in self._known:
                self._known[key] = self._planted(context, firsts)
            return self._known[key]

    def _planted(self, context: Context, firsts: "NDArray[np.int32]") -> int | None:
        from guideway.automaton.kernels.entry import merge

        count, room = len(firsts), (self._nodes, self._tokens)
        if count > MOST_FIRST:
            return None
        self._segments[:count] = firsts
        root = context.trie_free = self._free
        end = merge(context, count, self._segments, self._levels, *room)
        if end < 0:
            return None
        self._free = end
        return root


def address(array: "NDArray[Any]") -> int:
    return array.__array_interface__["data"][0]  # ctypes would trigger audit hooks


def share(context: Record, **arrays: "NDArray[Any]") -> None:
    """Write the addresses of arrays to the fields of a context."""
    context.point(**{name: address(array) for name, array in arrays.items()})


@dataclass(frozen=True, slots=True)
class Held:
    """Size and usage of a cache."""

    rows: int = 0
    row_bytes: int = 0
    states: int = 0
    state_bytes: int = 0
    hits: int = 0
    misses: int = 0

    @property
    def bytes(self) -> int:
        return self.row_bytes + self.state_bytes


class Cache(Protocol):
    """A thread-safe cache; `forget` changes timings only: states in use stay valid."""

    def held(self) -> Held: ...

    def forget(self) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """A cache of the process."""

    held: Callable[[], Held]
    forget: Callable[[], None]


_tracked: "WeakSet[Cache]" = WeakSet()
_shared: list[Cache] = []
_lock = threading.Lock()


def track(cache: Cache) -> None:
    """Count `cache` as long as it is in use."""
    with _lock:
        _tracked.add(cache)


def track_shared(held: Callable[[], Held], forget: Callable[[], None]) -> None:
    """Count a cache of the process, permanently."""
    with _lock:
        _shared.append(_Shared(held, forget))


def tracked() -> list[Cache]:
    """The caches in use; shared ones first, since others release them in `forget`."""
    with _lock:
        return [*_shared, *_tracked]


def held_rows(rows: Iterable[Row | None]) -> Held:
    kept = [row for row in rows if row is not None]
    return Held(rows=len(kept), row_bytes=sum(row.nbytes for row in kept))


def total(parts: Iterable[Held]) -> Held:
    """The sum of each field.

    >>> total([Held(rows=1, row_bytes=8), Held(rows=2, row_bytes=8, hits=5)])
    Held(rows=3, row_bytes=16, states=0, state_bytes=0, hits=5, misses=0)
    """
    return Held(*map(sum, zip(*map(astuple, parts), strict=True)))
