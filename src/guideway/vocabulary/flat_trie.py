"""Spellings of a vocabulary as a byte trie in preorder, for compiled walks.

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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from guideway.errors import LimitError
from guideway.vocabulary.byte_order import Sorted, sort_spellings

Scalar = TypeVar("Scalar", bound=np.generic)
LONGEST: Final = (1 << 16) - 1  # what a depth can count


@final
@dataclass(frozen=True, slots=True, eq=False)
class FlatTrie:
    """A byte trie in preorder (see the module; all arrays are read-only).

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

        >>> trie = FlatTrie.build([b"a", None, b"ab", b"ab"])
        >>> trie.byte.tobytes(), trie.end.tolist(), trie.token_ids.tolist()
        (b'ab', [2, 2], [0, 2, 3])
        """
        return cls.of_sorted(sort_spellings(tokens))

    @classmethod
    def of_sorted(cls, rows: Sorted) -> Self:
        """The trie of sorted tokens."""
        check_longest(int(rows.lengths.max(initial=0)))
        # Each row adds a node for each byte that it does not share with the row before.
        fresh = rows.lengths - rows.shared
        first = np.cumsum(fresh) - fresh
        nodes = int(fresh.sum())
        depth = 1 + np.arange(nodes) + np.repeat(rows.shared - first, fresh)
        byte = rows.data[np.repeat(rows.starts, fresh) + depth - 1]
        end = _ends(depth)
        held = np.bincount(first + fresh - 1, minlength=nodes)  # rows spelled alike add none
        root = np.full(256, -1, np.int32)
        top = np.flatnonzero(depth == 1)
        root[byte[top]] = top
        return cls(
            byte=_read_only(byte, np.uint8),
            depth=_read_only(depth, np.uint16),
            end=_read_only(end, np.int32),
            token_offsets=_read_only(np.append(0, np.cumsum(held)), np.int32),
            token_ids=_read_only(rows.ids, np.int32),
            root=_read_only(root, np.int32),
        )

    def __len__(self) -> int:
        """The number of nodes, the root not included."""
        return len(self.byte)

    def breadth_first(self) -> NDArray[np.int64]:
        """The nodes by depth, those of a depth in the order of their prefixes."""
        return np.argsort(self.depth, kind="stable")


def check_longest(longest: int) -> None:
    """Refuse tokens of more than 65,535 bytes."""
    if longest > LONGEST:
        raise LimitError(
            f"a token has {longest} bytes; tokens of up to {LONGEST} can be read",
            limit="bytes of a token",
            given=longest,
            needed=LONGEST,
        )


def _ends(depth: NDArray[np.int64]) -> NDArray[np.int64]:
    """End of each subtree, for nodes in preorder.

    Level by level: a node ends where its next sibling begins, the last one where its parent ends.
    """
    end = np.full(len(depth), len(depth))
    order = np.argsort(depth.astype(np.uint16), kind="stable")
    levels = np.split(order, np.cumsum(np.bincount(depth))[:-1])[1:]
    above = order[:0]
    for level in levels:
        # The parent is the last earlier node one level up; none: the root.
        parent = np.searchsorted(above, level) - 1
        limit = end[above[parent]] if above.size else np.full(len(level), len(depth))
        end[level] = np.minimum(np.append(level[1:], len(depth)), limit)
        above = level
    return end


def _read_only(array: NDArray[Any], dtype: type[Scalar]) -> NDArray[Scalar]:
    narrow = np.ascontiguousarray(array, dtype)
    narrow.flags.writeable = False
    return narrow
