"""The least, in byte order, of the shortest texts from an expression: a best-first search.

A* (Hart 1968): words in order of the length they will have at least, then of bytes. The bound never
overestimates and falls by one a byte at most, so the first word that is taken out as a whole one is
the least; a way to an expression with a lesser word of the same length takes the place of the one
before.

What this module does not know: how a byte is read, and what a bound is made of.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import TypeAlias

from fairlead.automata.words import Word
from fairlead.lowering.nodes import Expr

Entry: TypeAlias = tuple[int, bytes, int, Expr, bool]


def nearest(
    root: Expr,
    ending: Callable[[Expr], Word | None],
    leading: Callable[[Expr], Iterable[tuple[int, Expr]]],
    bound: Callable[[Expr], int | None],
    goes_on: Callable[[int, int], bool],
) -> tuple[dict[Expr, Word], Iterable[Expr]]:
    """The words of the expressions along the least way, the root's last; or those found empty.

    Args:
        root: where texts begin.
        ending: the rest of the least text, where that is known.
        leading: the least byte to each expression that may follow.
        bound: a length that no text is below; None if there surely is none.
        goes_on: told the number of expressions met, and of bytes read; whether to look further.

    Returns:
        The words, none if there is no text; and then the expressions that have none.
    """
    came = dict[Expr, tuple[Expr, int]]()
    best = {root: b""}
    # (least length of the whole word, what is read, serial number, expression, whether whole)
    queue: list[Entry] = [(0, b"", 0, root, False)]
    serial = 0
    while queue:
        _, read, _, node, whole = heappop(queue)
        rest = ending(node)
        if whole and rest is not None:
            return _retraced(came, node, rest), ()
        if best[node] != read:
            continue
        serial += 1
        if rest is not None:
            heappush(queue, (len(read) + rest.length, read + rest.text, serial, node, True))
            continue
        for byte, target in leading(node):
            longer = read + bytes((byte,))
            before = best.get(target)
            nearer = before is None or (len(longer), longer) < (len(before), before)
            least = bound(target) if nearer else None
            if least is not None:
                best[target], came[target] = longer, (node, byte)
                serial += 1
                heappush(queue, (len(longer) + least, longer, serial, target, False))
        if not goes_on(len(best), len(read)):
            break
    return {}, best


def _retraced(came: dict[Expr, tuple[Expr, int]], node: Expr, word: Word) -> dict[Expr, Word]:
    """Along the least word, what is left of it is the least word of each expression."""
    words = {node: word}
    while node in came:
        node, byte = came[node]
        words[node] = word = Word.of(bytes((byte,)), word)
    return words
