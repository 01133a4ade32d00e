"""Spellings of a vocabulary in byte order, as flat arrays.

Eight bytes are compared as one big-endian number; rows that agree continue with the next eight.
Ended rows are padded with zeros; their length puts them before rows that continue with NUL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

CHUNK: Final = 8
FIRST: Final = ~np.array([(1 << 8 * (CHUNK - size)) - 1 for size in range(CHUNK + 1)], np.uint64)
"""The bits of the first bytes of a chunk, by their number."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """Tokens in the order of their spellings, ties in the order of ids.

    Attributes:
        data: uint8[...], padded; row r spells data[starts[r] : starts[r] + lengths[r]].
        starts: int64[rows].
        lengths: int64[rows], none 0.
        ids: int64[rows], token of each row.
        shared: int64[rows], length of the common prefix with the row before.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ids: NDArray[np.int64]
    shared: NDArray[np.int64]


def sort_spellings(tokens: Sequence[bytes | None]) -> Sorted:
    """Tokens with a spelling, sorted.

    >>> rows = sort_spellings([b"b", None, b"ab", b"a"])
    >>> rows.ids.tolist(), rows.shared.tolist()
    ([3, 2, 0], [0, 1, 0])
    """
    spelled = [token or b"" for token in tokens]
    lengths = np.fromiter(map(len, spelled), np.int64, len(spelled))
    starts = np.cumsum(lengths) - lengths
    data = np.frombuffer(b"".join(spelled) + bytes(CHUNK), np.uint8)
    ids = np.flatnonzero(lengths)
    ids = ids[_order(data, starts[ids], lengths[ids])]
    starts, lengths = starts[ids], lengths[ids]
    return Sorted(data, starts, lengths, ids, _shared(data, starts, lengths))


def _order(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The permutation that sorts the rows; stable."""
    order = np.arange(len(starts))
    places, run = order.copy(), np.zeros_like(order)  # what is undecided: runs of equal beginnings
    at = 0
    while places.size:
        rows = order[places]
        chunk, size = _chunks(data, starts[rows] + at, lengths[rows] - at)
        inner = np.lexsort((size, chunk, run))
        order[places] = rows[inner]
        chunk, size, run = chunk[inner], size[inner], run[inner]
        fresh = np.ones(len(inner), np.bool_)
        fresh[1:] = (chunk[1:] != chunk[:-1]) | (size[1:] != size[:-1]) | (run[1:] != run[:-1])
        run = np.cumsum(fresh)
        undecided = (np.bincount(run)[run] > 1) & (size == CHUNK)
        places, run = places[undecided], run[undecided]
        at += CHUNK
    return order


def _shared(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Length of the common prefix of each row and the one before; 0 for the first."""
    shared = np.zeros(len(starts), np.int64)
    rows = np.arange(1, len(starts))
    at = 0
    while rows.size:
        this, size = _chunks(data, starts[rows] + at, lengths[rows] - at)
        before, size_before = _chunks(data, starts[rows - 1] + at, lengths[rows - 1] - at)
        equal = np.zeros(len(rows), np.int64)
        for byte in range(CHUNK):
            equal += (this ^ before) < np.uint64(1 << 8 * byte)
        equal = np.minimum(equal, np.minimum(size, size_before))
        shared[rows] += equal
        rows = rows[equal == CHUNK]
        at += CHUNK
    return shared


def _chunks(
    data: NDArray[np.uint8], starts: NDArray[np.int64], left: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The next eight bytes of each row as one number, and how many of them it has."""
    size = np.clip(left, 0, CHUNK).astype(np.uint8)
    # Every place of the data as the number that begins there; no row begins in the padding.
    numbers: NDArray[np.uint64] = np.ndarray((len(data) - CHUNK + 1,), ">u8", data, 0, (1,))
    return numbers[starts].astype(np.uint64) & FIRST[size], size
