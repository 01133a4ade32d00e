"""The tokens of a vocabulary as byte tries, in breadth-first order and in preorder.

Breadth-first: a node is a prefix of some token; node 0 is the empty one. Siblings are in byte
order, so children, tokens and levels are ranges::

    tokens          b"a"=0  b"ab"=1  b"b"=2  b"ab"=3

    node                0      1      2      3          (root, "a", "b", "ab")
    byte                -      a      b      b
    parent             -1      0      0      1
    first_child         1      3      4      4      4   children of i: from [i] below [i + 1]
    token_offsets       0      0      1      2      4   ids at i: token_ids from [i] below [i + 1]
    token_ids           0   2   1   3                   duplicates kept, ascending
    level_offsets       0      1      3      4          nodes of length d: from [d] below [d + 1]

The descendants of a node are one range per level.

Preorder, for compiled walks: a node is a non-empty prefix of some token, numbered in preorder with
siblings in byte order. So the subtree of a node is one range of nodes, and one range of tokens::

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


Bytes = NDArray[np.uint8]
Indices = NDArray[np.int32]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """A byte trie in breadth-first order (see the module; all arrays are read-only).

    Attributes:
        byte: uint8[nodes], last byte of each node's prefix (0 at the root).
        parent: int32[nodes], -1 at the root.
        first_child: int32[nodes + 1].
        token_offsets: int32[nodes + 1].
        token_ids: int32[tokens with a spelling].
        level_offsets: int32[longest spelling + 2].
    """

    byte: Bytes
    parent: Indices
    first_child: Indices
    token_offsets: Indices
    token_ids: Indices
    level_offsets: Indices

    @classmethod
    def build(cls, tokens: Sequence[bytes | None]) -> Self:
        """The trie of tokens by id; None and b"" are left out.

        >>> Trie.build([b"a", None, b"ab", b"ab"]).ids(b"ab").tolist()
        [2, 3]
        """
        return cls.of_flat(FlatTrie.build(tokens))

    @classmethod
    def of_flat(cls, flat: FlatTrie) -> Self:
        """The same tree, renumbered."""
        order = np.argsort(flat.depth, kind="stable")
        depth = flat.depth[order]
        levels = np.append(0, 1 + np.cumsum(np.bincount(depth, minlength=1)))
        parents = [np.full(1, -1, np.int64)]
        above = order[:0]
        for number in range(1, len(levels) - 1):
            level = order[levels[number] - 1 : levels[number + 1] - 1]
            # The last earlier node in preorder, one level up.
            place = np.searchsorted(above, level) - 1 if above.size else np.zeros_like(level)
            parents.append(levels[number - 1] + place)
            above = level
        parent = np.concatenate(parents)
        children = np.bincount(parent[1:], minlength=len(parent))
        starts = flat.token_offsets[order]
        held = flat.token_offsets[order + 1] - starts
        places = np.append(0, np.cumsum(held))
        return cls(
            byte=_read_only(np.append(np.zeros(1, np.uint8), flat.byte[order]), np.uint8),
            parent=_read_only(parent, np.int32),
            first_child=_read_only(1 + np.append(0, np.cumsum(children)), np.int32),
            token_offsets=_read_only(np.append(0, places), np.int32),
            token_ids=_read_only(
                flat.token_ids[np.arange(places[-1]) + np.repeat(starts - places[:-1], held)],
                np.int32,
            ),
            level_offsets=_read_only(levels, np.int32),
        )

    def __len__(self) -> int:
        """The number of nodes, the root included."""
        return len(self.byte)

    def child(self, node: int, byte: int) -> int:
        """The node one byte further, -1 where no token goes on so."""
        low, high = int(self.first_child[node]), int(self.first_child[node + 1])
        place = self.byte[low:high].tobytes().find(byte)
        return -1 if place < 0 else low + place

    def node(self, prefix: bytes) -> int:
        """The node of a prefix, -1 if no token begins so."""
        node = 0
        for byte in prefix:
            node = self.child(node, byte)
            if node < 0:
                break
        return node

    def subtree_tokens(self, node: int) -> Indices:
        """Ids of all tokens with the prefix of `node`, shortest first."""
        parts: list[Indices] = []
        low, high = node, node + 1
        while low < high:
            parts.append(self.token_ids[self.token_offsets[low] : self.token_offsets[high]])
            low, high = int(self.first_child[low]), int(self.first_child[high])
        return np.concatenate(parts)

    def ids(self, spelling: bytes) -> Indices:
        """The ids whose spelling is exactly this, ascending; empty where there is none."""
        node = self.node(spelling)
        if node < 0:
            return self.token_ids[:0]
        return self.token_ids[self.token_offsets[node] : self.token_offsets[node + 1]]

    def prefixes(self, data: bytes, at: int = 0) -> list[int]:
        """Lengths of the tokens that are prefixes of `data[at:]`, ascending.

        >>> Trie.build([b"a", b"abc", b"b"]).prefixes(b"xabcd", 1)
        [1, 3]
        """
        lengths: list[int] = []
        node = 0
        for place in range(at, len(data)):
            node = self.child(node, data[place])
            if node < 0:
                break
            if self.token_offsets[node] < self.token_offsets[node + 1]:
                lengths.append(place + 1 - at)
        return lengths
