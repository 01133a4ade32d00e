"""The declared keys of an object as a trie, with the keys below a node as a range of bits."""

from collections.abc import Iterable, Iterator, Sequence
from typing import final


@final
class KeyTrie:
    """A prefix tree of distinct names; node 0 is the root.

    >>> trie = KeyTrie(["b", "a", "ab"])
    >>> trie.children(0, trie.among([0, 2]))
    [('a', 1), ('b', 3)]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._order = sorted(range(len(names)), key=names.__getitem__)
        self._rank = {index: rank for rank, index in enumerate(self._order)}
        self._children: list[dict[str, int]] = [{}]
        self._first: list[int] = [0]
        self._stop: list[int] = [len(names)]
        self._depth: list[int] = [0]
        self._ends: dict[int, int] = {}
        for rank, index in enumerate(self._order):
            node = 0
            for character in names[index]:
                node = self._step(node, character, rank)
            self._ends[node] = index

    def _step(self, node: int, character: str, rank: int) -> int:
        child = self._children[node].setdefault(character, len(self._children))
        if child == len(self._children):
            self._children.append({})
            self._first.append(rank)
            self._stop.append(rank)
            self._depth.append(self._depth[node] + 1)
        self._stop[child] = rank + 1
        return child

    def depth(self, node: int) -> int:
        """How many characters lead to `node`."""
        return self._depth[node]

    def among(self, indices: Iterable[int]) -> int:
        """These keys as a bit set, for the other methods."""
        return sum(1 << self._rank[index] for index in indices)

    def children(self, node: int, keys: int) -> list[tuple[str, int]]:
        """The characters, with their nodes, that lead on from `node` to one of `keys`."""
        return [
            (character, child)
            for character, child in self._children[node].items()
            if self._below(child, keys)
        ]

    def key(self, node: int, keys: int) -> int | None:
        """The index of the key that ends at `node`, if it is one of `keys`."""
        index = self._ends.get(node)
        return index if index is not None and keys >> self._rank[index] & 1 else None

    def below(self, node: int, keys: int) -> Iterator[int]:
        """The indices of those of `keys` that begin as `node` does."""
        rank, rest = self._first[node], self._below(node, keys)
        while rest:
            if rest & 1:
                yield self._order[rank]
            rank, rest = rank + 1, rest >> 1

    def _below(self, node: int, keys: int) -> int:
        first, stop = self._first[node], self._stop[node]
        return keys >> first & ((1 << (stop - first)) - 1)
