"""The spellings of a vocabulary as one tree of bytes, depth first: what compiled walks go along.

A node is a prefix of some token; the empty one, the root, is left out. Nodes are numbered in
preorder and siblings in the order of their bytes, which is the byte order of the prefixes. So what
is below a node is one range of nodes, and one range of tokens::

    tokens          b"a"=0  b"ab"=1  b"b"=2  b"ab"=3

    node                0      1      2             ("a", "ab", "b")
    byte                a      b      b
    depth               1      2      1
    end                 2      2      3             just past the last node below
    token_offsets       0      1      3      4      ids at i: token_ids from [i] below [i + 1]
    token_ids           0   1  3   2                those below i: from [i] below [end[i]]
    root                a: 0, b: 2, else -1

A walk goes to i + 1 from a node that goes on, and to end[i] from one that does not. This file knows
nothing of end ids, special tokens or grammars.
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
    """A tree of token spellings in preorder (drawn at the top of this module; all read-only).

    Attributes:
        byte: uint8[nodes], the last byte of each node's prefix.
        depth: uint16[nodes], the length of the prefix, 1 for the children of the root.
        end: int32[nodes], the first node that is not below this one.
        token_offsets: int32[nodes + 1].
        token_ids: int32[tokens with a spelling].
        root: int32[256], the node of each single byte, -1 where no token begins so.
    """

    byte: NDArray[np.uint8]
    depth: NDArray[np.uint16]
    end: NDArray[np.int32]
    token_offsets: NDArray[np.int32]
    token_ids: NDArray[np.int32]
    root: NDArray[np.int32]

    @classmethod
    def build(cls, tokens: Sequence[bytes | None]) -> Self:
        """The trie of `tokens`, where the id of a token is its place; None and b"" are left out.

        Example:
            >>> trie = FlatTrie.build([b"a", None, b"ab", b"ab"])
            >>> trie.byte.tobytes(), trie.end.tolist(), trie.token_ids.tolist()
            (b'ab', [2, 2], [0, 2, 3])

        Raises:
            LimitError: a token is longer than 65,535 bytes.
        """
        return cls.of_sorted(sort_spellings(tokens))

    @classmethod
    def of_sorted(cls, rows: Sorted) -> Self:
        """The trie of tokens that are sorted already.

        Raises:
            LimitError: a token is longer than 65,535 bytes.
        """
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
    """Refuse tokens that are too long.

    Raises:
        LimitError: `longest` is more than 65,535 bytes.
    """
    if longest > LONGEST:
        raise LimitError(
            f"a token has {longest} bytes; tokens of up to {LONGEST} can be read",
            limit="bytes of a token",
            given=longest,
            needed=LONGEST,
        )


def _ends(depth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Just past the last node below each node, for nodes in preorder.

    Level by level from the top: a node ends where its next sibling begins, and the last of several
    siblings where their parent ends.
    """
    end = np.full(len(depth), len(depth))
    order = np.argsort(depth.astype(np.uint16), kind="stable")
    levels = np.split(order, np.cumsum(np.bincount(depth))[:-1])[1:]
    above = order[:0]
    for level in levels:
        # The parent is the last node one level up that stands before it; no parent: the root.
        parent = np.searchsorted(above, level) - 1
        limit = end[above[parent]] if above.size else np.full(len(level), len(depth))
        end[level] = np.minimum(np.append(level[1:], len(depth)), limit)
        above = level
    return end


def _read_only(array: NDArray[Any], dtype: type[Scalar]) -> NDArray[Scalar]:
    narrow = np.ascontiguousarray(array, dtype)
    narrow.flags.writeable = False
    return narrow
