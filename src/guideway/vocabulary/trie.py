"""The tokens of a vocabulary as a byte trie in preorder.

A node is a non-empty prefix of some token, numbered in preorder with siblings in byte order. So the
subtree of a node is one range of nodes, and one range of tokens::

    tokens          b"a"=0  b"ab"=1  b"b"=2  b"ab"=3

    node                0      1      2             ("a", "ab", "b")
    byte                a      b      b
    depth               1      2      1
    end                 2      2      3             just past the last node below
    token_offsets       0      1      3      4      ids at i: token_ids from [i] below [i + 1]
    token_ids           0   1  3   2                those below i: from [i] below [end[i]]
    root                a: 0, b: 2, else -1

A walk continues at i + 1 if it enters node i, and at end[i] if it skips it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from guideway.errors import LimitError

Scalar = TypeVar("Scalar", bound=np.generic)
LONGEST: Final = (1 << 16) - 1  # what a depth can count


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """A byte trie (see the module; all arrays are read-only).

    Attributes:
        byte: uint8[nodes], last byte of each node's prefix.
        depth: uint16[nodes], length of the prefix.
        end: int32[nodes], first node after the subtree.
        token_offsets: int32[nodes + 1].
        token_ids: int32[tokens with a spelling].
        root: int32[256], node of each single byte, or -1.
    """

    byte: NDArray[np.uint8]
    depth: NDArray[np.uint16]
    end: NDArray[np.int32]
    token_offsets: NDArray[np.int32]
    token_ids: NDArray[np.int32]
    root: NDArray[np.int32]

    @classmethod
    def build(cls, tokens: Sequence[bytes | None]) -> Self:
        """The trie of tokens by id; None and b"" are left out.

        >>> trie = Trie.build([b"a", None, b"ab", b"ab"])
        >>> trie.byte.tobytes(), trie.end.tolist(), trie.token_ids.tolist()
        (b'ab', [2, 2], [0, 2, 3])
        """
        spelled = [token or b"" for token in tokens]
        ids = sorted((i for i, token in enumerate(spelled) if token), key=spelled.__getitem__)
        words = [spelled[i] for i in ids]
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        check_longest(int(lengths.max(initial=0)))
        data = np.frombuffer(b"".join(words), np.uint8)
        starts = np.cumsum(lengths) - lengths
        shared = _shared(data, starts, lengths)
        # Each token adds a node for each byte that it does not share with the one before.
        fresh = lengths - shared
        first = np.cumsum(fresh) - fresh
        nodes = int(fresh.sum())
        depth = 1 + np.arange(nodes) + np.repeat(shared - first, fresh)
        byte = data[np.repeat(starts, fresh) + depth - 1]
        end = _ends(depth)
        held = np.bincount(first + fresh - 1, minlength=nodes)  # tokens spelled alike add none
        root = np.full(256, -1, np.int32)
        top = np.flatnonzero(depth == 1)
        root[byte[top]] = top
        return cls(
            byte=_read_only(byte, np.uint8),
            depth=_read_only(depth, np.uint16),
            end=_read_only(end, np.int32),
            token_offsets=_read_only(np.append(0, np.cumsum(held)), np.int32),
            token_ids=_read_only(np.array(ids, np.int32), np.int32),
            root=_read_only(root, np.int32),
        )

    def __len__(self) -> int:
        """The number of nodes, the root not included."""
        return len(self.byte)


def _shared(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Length of the common prefix of each token and the one before; 0 for the first."""
    shared = np.zeros(len(starts), np.int64)
    rows = np.arange(1, len(starts))
    at = 0
    while rows.size:
        rows = rows[np.minimum(lengths[rows], lengths[rows - 1]) > at]
        rows = rows[data[starts[rows] + at] == data[starts[rows - 1] + at]]
        shared[rows] += 1
        at += 1
    return shared


def check_longest(longest: int) -> None:
    """Refuse tokens of more than 65,535 bytes."""
    if longest > LONGEST:
        raise LimitError(
            f"a token has {longest} bytes; tokens of up to {LONGEST} can be read",
            limit="bytes of a token",
            given=longest,
            needed=LONGEST,
        )


def levels(
    depth: NDArray[np.integer[Any]],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each length of a prefix the nodes, and their parents: -1 is the empty prefix."""
    order = np.argsort(depth.astype(np.uint16), kind="stable")
    above = np.full(1, -1)
    for level in np.split(order, np.cumsum(np.bincount(depth))[:-1])[1:]:
        yield level, above[np.searchsorted(above, level) - 1]  # the last earlier node one level up
        above = level


def _ends(depth: NDArray[np.int64]) -> NDArray[np.int64]:
    """End of each subtree: where the next sibling begins, for the last one where its parent ends.

    The last node is where the whole trie ends, so it answers for the empty prefix, -1.
    """
    end = np.full(len(depth), len(depth))
    for nodes, parents in levels(depth):
        end[nodes] = np.minimum(np.append(nodes[1:], len(depth)), end[parents])
    return end


def _read_only(array: NDArray[Any], dtype: type[Scalar]) -> NDArray[Scalar]:
    narrow = np.ascontiguousarray(array, dtype)
    narrow.flags.writeable = False
    return narrow
