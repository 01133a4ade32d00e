"""Spellings of a vocabulary as a byte trie in breadth-first order.

A node is a prefix of some token; node 0 is the empty one. Siblings are in byte order, so children,
tokens and levels are ranges::

    tokens          b"a"=0  b"ab"=1  b"b"=2  b"ab"=3

    node                0      1      2      3          (root, "a", "b", "ab")
    byte                -      a      b      b
    parent             -1      0      0      1
    first_child         1      3      4      4      4   children of i: from [i] below [i + 1]
    token_offsets       0      0      1      2      4   ids at i: token_ids from [i] below [i + 1]
    token_ids           0   2   1   3                   duplicates kept, ascending
    level_offsets       0      1      3      4          nodes of length d: from [d] below [d + 1]

The descendants of a node are one range per level.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from guideway.vocabulary.flat_trie import FlatTrie

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
        order = flat.breadth_first()
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
            byte=_frozen(np.append(np.zeros(1, np.uint8), flat.byte[order])),
            parent=_indices(parent),
            first_child=_indices(1 + np.append(0, np.cumsum(children))),
            token_offsets=_indices(np.append(0, places)),
            token_ids=_indices(
                flat.token_ids[np.arange(places[-1]) + np.repeat(starts - places[:-1], held)]
            ),
            level_offsets=_indices(levels),
        )

    def __len__(self) -> int:
        """The number of nodes, the root included."""
        return len(self.byte)

    def child(self, node: int, byte: int) -> int:
        """The node one byte further, -1 where no token goes on so."""
        low, high = int(self.first_child[node]), int(self.first_child[node + 1])
        place = self.byte[low:high].tobytes().find(byte)
        return -1 if place < 0 else low + place

    def path(self, node: int) -> bytes:
        """The prefix of a node."""
        spelling = bytearray()
        while node:
            spelling.append(int(self.byte[node]))
            node = int(self.parent[node])
        return bytes(reversed(spelling))

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
        node = 0
        for byte in spelling:
            node = self.child(node, byte)
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


def _frozen(array: Bytes) -> Bytes:
    array.flags.writeable = False
    return array


def _indices(array: NDArray[np.integer]) -> Indices:
    narrow = array.astype(np.int32)
    narrow.flags.writeable = False
    return narrow
