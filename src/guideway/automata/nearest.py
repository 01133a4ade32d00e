"""The shortest text of an expression, first in byte order: A* (Hart 1968)."""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Final, TypeAlias, final

from guideway.automata.words import Word
from guideway.lowering.nodes import Expr

Ways: TypeAlias = Iterator[tuple[int, Expr]]
Entry: TypeAlias = tuple[int, bytes, int, Expr, Ways | None]

_WHOLE: Ways = iter(())
_LAST: Final = 255  # the greatest byte


def nearest(
    root: Expr,
    ending: Callable[[Expr], Word | None],
    leading: Callable[[Expr], tuple[Iterable[tuple[int, Expr]], Iterable[Ways]]],
    bound: Callable[[Expr], int | None],
    goes_on: Callable[[int, int], bool],
) -> tuple[dict[Expr, Word], Iterable[Expr]]:
    """Words of the expressions on the shortest path, the root's last; or the empty expressions.

    `ending`: the rest of the shortest text, if known. `leading`: the least byte to each successor,
    and lazy successors in byte order. `bound`: consistent lower bound of the length, None if there
    is no text. `goes_on`: called with the numbers of expressions and bytes; False stops.
    """
    search = _Search(root, bound)
    while search.queue:
        least, read, _, node, ways = heappop(search.queue)
        if ways is _WHOLE and (rest := ending(node)) is not None:
            return search.retraced(node, rest), ()
        if ways is not None:
            search.go_on(least, read[:-1], node, ways)
        elif search.best[node] != read:
            continue
        elif (rest := ending(node)) is not None:
            search.put(len(read) + rest.length, read + rest.text, node, _WHOLE)
            continue
        else:
            search.leave(least, read, node, *leading(node))
        if not goes_on(len(search.best), len(read)):
            break
    return {}, search.best


@final
class _Search:
    """Expressions reached, and the queue.

    Entries are (lower bound of the whole word, bytes read, serial number, expression, remaining
    successors): None for all, _WHOLE if the bytes are a whole word.
    """

    def __init__(self, root: Expr, bound: Callable[[Expr], int | None]) -> None:
        self._bound, self._serial = bound, count()
        self._came = dict[Expr, tuple[Expr, int]]()
        self.best = {root: b""}
        self.queue: list[Entry] = [(bound(root) or 0, b"", next(self._serial), root, None)]

    def put(self, least: int, read: bytes, node: Expr, ways: Ways | None) -> None:
        heappush(self.queue, (least, read, next(self._serial), node, ways))

    def leave(
        self,
        least: int,
        read: bytes,
        node: Expr,
        lines: Iterable[tuple[int, Expr]],
        ways: Iterable[Ways],
    ) -> None:
        """Expand an expression."""
        for byte, target in lines:
            self._meet(read, node, byte, target)
        for each in ways:
            self.go_on(least, read, node, each)

    def go_on(self, least: int, read: bytes, node: Expr, ways: Ways) -> None:
        """Take the next lazy successor, and requeue the others with bound `least`."""
        way = next(ways, None) if self.best[node] == read else None
        if way is not None:
            self._meet(read, node, *way)
            self.put(least, read + bytes((min(way[0] + 1, _LAST),)), node, ways)

    def _meet(self, read: bytes, node: Expr, byte: int, target: Expr) -> None:
        longer = read + bytes((byte,))
        before = self.best.get(target)
        nearer = before is None or (len(longer), longer) < (len(before), before)
        least = self._bound(target) if nearer else None
        if least is not None:
            self.best[target], self._came[target] = longer, (node, byte)
            self.put(len(longer) + least, longer, target, None)

    def retraced(self, node: Expr, word: Word) -> dict[Expr, Word]:
        words = {node: word}
        while node in self._came:
            node, byte = self._came[node]
            words[node] = word = Word.of(bytes((byte,)), word)
        return words
