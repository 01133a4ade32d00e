"""The least, in byte order, of the shortest texts from an expression: a best-first search.

A* (Hart 1968): words in order of the length they will have at least, then of bytes. The bound never
overestimates and falls by one a byte at most, so the first word that is taken out as a whole one is
the least; a way to an expression with a lesser word of the same length takes the place of the one
before.

What this module does not know: how a byte is read, and what a bound is made of.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Final, TypeAlias, final

from guideway.automata.words import Word
from guideway.lowering.nodes import Expr

Ways: TypeAlias = Iterator[tuple[int, Expr]]
Entry: TypeAlias = tuple[int, bytes, int, Expr, Ways | None]

_WHOLE: Ways = iter(())
_LAST: Final = 255  # of bytes


def nearest(
    root: Expr,
    ending: Callable[[Expr], Word | None],
    leading: Callable[[Expr], tuple[Iterable[tuple[int, Expr]], Iterable[Ways]]],
    bound: Callable[[Expr], int | None],
    goes_on: Callable[[int, int], bool],
) -> tuple[dict[Expr, Word], Iterable[Expr]]:
    """The words of the expressions along the least way, the root's last; or those found empty.

    Args:
        root: where texts begin.
        ending: the rest of the least text, where that is known.
        leading: the least byte to each expression that may follow; and where each byte leads to
            another one, those in order of bytes, which are gone through as far as need be.
        bound: a length that no text is below; None if there surely is none.
        goes_on: told the number of expressions met, and of bytes read; whether to look further.

    Returns:
        The words, none if there is no text; and then the expressions that have none.
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
    """What has been met, and what is still to be looked at.

    Entries are (least length of the whole word, what is read, serial number, expression, what is
    next of it): None all of it, _WHOLE no more, as what is read is a whole word.
    """

    def __init__(self, root: Expr, bound: Callable[[Expr], int | None]) -> None:
        self._bound, self._serial = bound, count()
        self._came = dict[Expr, tuple[Expr, int]]()
        self.best = {root: b""}
        self.queue: list[Entry] = [(bound(root) or 0, b"", next(self._serial), root, None)]

    def put(self, least: int, read: bytes, node: Expr, ways: Ways | None) -> None:
        """Something to be looked at."""
        heappush(self.queue, (least, read, next(self._serial), node, ways))

    def leave(
        self,
        least: int,
        read: bytes,
        node: Expr,
        lines: Iterable[tuple[int, Expr]],
        ways: Iterable[Ways],
    ) -> None:
        """On from an expression."""
        for byte, target in lines:
            self._meet(read, node, byte, target)
        for each in ways:
            self.go_on(least, read, node, each)

    def go_on(self, least: int, read: bytes, node: Expr, ways: Ways) -> None:
        """On by the next byte; those behind it wait, as none of them is nearer than `least`."""
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
        """Along the least word, what is left of it is the least word of each expression."""
        words = {node: word}
        while node in self._came:
            node, byte = self._came[node]
            words[node] = word = Word.of(bytes((byte,)), word)
        return words
