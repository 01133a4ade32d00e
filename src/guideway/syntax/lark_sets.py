"""Transitive unions of sets along a graph; sets are bit masks."""

from collections.abc import Iterator, Sequence
from typing import Final, final

_LEFT: Final = -1  # depth of a finished node


@final
class Sets:
    """A set for each node of a graph; nodes can share one.

    Attributes:
        which: for each node, the node that holds its set.
    """

    def __init__(self, sets: list[int]) -> None:
        self._sets, self.which = sets, [*range(len(sets))]
        self._edges: Sequence[Sequence[int]] = ()
        self._low, self._trail = list[int](), list[int]()

    def of(self, node: int) -> int:
        return self._sets[self.which[node]]

    def add(self, node: int, more: int) -> None:
        self._sets[self.which[node]] |= more

    def spread(self, edges: Sequence[Sequence[int]]) -> None:
        """Add to each set those of all reachable nodes (Tarjan 1972)."""
        self._edges, self._low, self._trail = edges, [0] * len(edges), list[int]()
        for root in range(len(edges)):
            if not self._low[root]:
                self._walk(root)

    def _walk(self, root: int) -> None:
        todo = [self._entered(root)]
        while todo:
            node, depth, left = todo[-1]
            for after in left:
                if not self._low[after]:
                    todo.append(self._entered(after))
                    break
                self._take(node, after)
            else:
                todo.pop()
                self._leave(node, depth)
                if todo:
                    self._take(todo[-1][0], node)

    def _entered(self, node: int) -> tuple[int, int, Iterator[int]]:
        self._trail.append(node)
        self._low[node] = len(self._trail)
        return node, len(self._trail), iter(self._edges[node])

    def _take(self, node: int, after: int) -> None:
        if 0 < self._low[after] < self._low[node]:
            self._low[node] = self._low[after]
        self.add(node, self.of(after))

    def _leave(self, node: int, depth: int) -> None:
        """Merge a strongly connected component at its root."""
        if self._low[node] != depth:
            return
        for each in self._trail[depth - 1 :]:
            self._low[each], self.which[each] = _LEFT, self.which[node]
        del self._trail[depth - 1 :]
