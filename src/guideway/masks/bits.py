"""Packed sets of token ids: token t is bit t % 32 of word t // 32, in uint32 words.

The layout is that of xgrammar and llguidance, so that their kernels and ours read the same rows.
Rows are read-only: they are handed out without copying.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Row: TypeAlias = NDArray[np.uint32]

_FEW: Final = 0.5  # of all bytes: if more have a bit, looking at them alone takes longer


def words(width: int) -> int:
    """How many words a row of `width` tokens takes."""
    return -(-width // 32)


def pack(ids: "NDArray[np.int32] | Iterable[int]", width: int) -> Row:
    """The read-only row with exactly the bits `ids` set.

    >>> pack([0, 33], 40).tolist()
    [1, 2]
    """
    members = np.zeros(words(width) * 32, np.bool_)
    members[np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), np.int64)] = True
    row = packed(members)
    row.flags.writeable = False
    return row


def packed(members: "NDArray[np.bool_]") -> Row:
    """The row of the tokens that are members, as many as fill words or fewer.

    >>> packed(np.array([True] + [False] * 32 + [True])).tolist()
    [1, 2]
    """
    found = np.zeros(words(len(members)), "<u4")
    bits = np.packbits(members, bitorder="little")
    found.view(np.uint8)[: len(bits)] = bits
    return found.astype(np.uint32, copy=False)


def unpack(row: Row) -> NDArray[np.int64]:
    """The ids whose bits are set, ascending.

    >>> unpack(pack([0, 33], 40)).tolist()
    [0, 33]
    """
    held = row.astype("<u4", copy=False).view(np.uint8)  # 10 us, all bits at once took 240
    where = np.flatnonzero(held != 0)
    if len(where) > _FEW * len(held):
        return np.flatnonzero(_bits(held))
    found = np.flatnonzero(_bits(held[where]))
    return where[found >> 3] * 8 + (found & 7)


def _bits(held: "NDArray[np.uint8]") -> "NDArray[np.bool_]":
    """As truth values, which numpy looks through in a tenth of the time that bytes take it."""
    return np.unpackbits(held, bitorder="little").view(np.bool_)


def has(row: Row, token: int) -> bool:
    """Whether the bit of `token` is set; False for ids outside the row."""
    return 0 <= token < 32 * len(row) and bool(int(row[token >> 5]) >> (token & 31) & 1)


def count(row: Row) -> int:
    """How many bits are set."""
    return int(np.bitwise_count(row).sum())
