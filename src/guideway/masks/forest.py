"""The trie of a vocabulary and, in the same arrays, tries of token suffixes.

Kernels walk all of them alike (`kernels.tries`). The arrays never move: they have their final size,
and the operating system commits pages on first use.
"""

import threading
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from guideway.masks.bits import pack
from guideway.masks.kernels import layout as at
from guideway.masks.space import untouched
from guideway.vocabulary.flat_trie import FlatTrie

MOST_NODES: Final = 1 << 23
_MOST_TOKENS: Final = 1 << 24
MOST_FIRST: Final = 1 << 20


@final
class Forest:
    def __init__(self, trie: FlatTrie, words: int) -> None:
        from guideway.masks.kernels.tries import COUNTS

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

    def describe(self, context: "NDArray[np.int64]") -> None:
        for slot, array in (
            (at.TRIE_BYTE, self._byte),
            (at.TRIE_DEPTH, self._depth),
            (at.TRIE_END, self._end),
            (at.TRIE_AT, self._at),
            (at.TRIE_TOKEN, self._ids),
            (at.TRIE_ROOT, self._root),
            (at.HOLD, self._hold),
            (at.PART, self._part),
            (at.HEIGHT, self._height),
            (at.EVERY, self._every),
        ):
            context[slot] = address(array)

    def survey(self, context: "NDArray[np.int64]") -> None:
        """Summarize the subtree of each node of the vocabulary's trie; once, before any picture."""
        from guideway.masks.kernels.entry import survey_parts

        survey_parts(context, np.zeros(3 * (self.deepest + 2), np.uint64))

    def plant(
        self, context: "NDArray[np.int64]", firsts: "NDArray[np.int32]", most: int = MOST_NODES
    ) -> int | None:
        """Root of the trie that merges the subtrees of these nodes, at most MOST_FIRST.

        Return 0 if there are none; None if the trie has more than `most` nodes or no room.
        """
        if not len(firsts):
            return 0
        with self._lock:
            return self._planted(context, firsts, most)

    def _planted(
        self, context: "NDArray[np.int64]", firsts: "NDArray[np.int32]", most: int
    ) -> int | None:
        from guideway.masks.kernels.entry import merge

        self._segments[: len(firsts)] = firsts
        root = context[at.TRIE_FREE] = self._free
        nodes = min(self._nodes, self._free + most)
        end = merge(context, len(firsts), self._segments, self._levels, nodes, self._tokens)
        if end < 0:
            return None
        self._free = end
        return int(root)


def address(array: "NDArray[Any]") -> int:
    return array.__array_interface__["data"][0]  # ctypes would trigger audit hooks
