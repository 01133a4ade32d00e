"""Whether an expression that looks ahead has a text, and the least of the shortest: a search.

What an Ahead allows depends on all that follows it, so such an expression is not judged part by
part. States are read byte by byte, those first whose text would be the shortest (`nearest`), where
the bound is the shortest text if nothing were looked ahead for. It never overestimates, falls
by at most one a byte, and is exact as soon as nothing is looked ahead for any more; so where the
first guess holds, the search goes straight on. One that takes long may have no end: whether there
is a text is decided first (`passages`).

Whether there is any text takes less: first a search that goes where the bound is least, almost
whatever has been read, for most states have some text near by. It says nothing where it gives up.

What this module does not know: how a byte is read.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, final

from fairlead.automata.nearest import nearest
from fairlead.automata.words import NOTHING, Word
from fairlead.errors import LimitError
from fairlead.lowering.aheads import looking
from fairlead.lowering.nodes import Alt, Expr
from fairlead.lowering.regular import least_byte

# One grammar in 350, drawn at random, took 100 s to be found empty without the early decision.
EARLY: Final = 64  # states of a search for any text before that is decided, if that is soon done,
HASTY: Final = 1_000  # and after,
GREED: Final = 4  # how many bytes more than another it may have read for one less to come
LONG: Final = 2_000  # states of a search that may have no end,
MOST: Final = 100_000  # and of one that has


@final
class Guarded:
    """What is known of expressions that look ahead.

    Args:
        lines: byte sets, which may overlap, and parts of the derivative.
        loose: the shortest text if nothing were looked ahead for.
        plain: whether it is plain to see that there is a text.
        soon: whether there is one; None where that takes long.
        decide: the same, however long it takes.
        fuel: called with the number of states looked at, raises when there are too many.
    """

    def __init__(
        self,
        lines: Callable[[Expr], list[tuple[int, Expr]]],
        loose: Callable[[Expr], Word | None],
        plain: Callable[[Expr], bool],
        soon: Callable[[Expr], bool | None],
        decide: Callable[[Expr], bool],
        fuel: Callable[[int], None],
    ) -> None:
        self._lines, self._loose, self._fuel = lines, loose, fuel
        self._plain, self._soon, self._decide = plain, soon, decide
        self._known: dict[Expr, Word | None] = {}
        self._living: set[Expr] = set()

    def forget(self) -> None:
        """Drop everything memoised."""
        self._known.clear()
        self._living.clear()

    def alive(self, root: Expr) -> bool:
        """Whether `root` has a text.

        Raises:
            LimitError: that is not known after so many states.
        """
        options = root.options if isinstance(root, Alt) else (root,)
        if any(map(self._lives, options)):
            return True
        return any(self._reaches(part, EARLY) or self._decided(part) for part in options)

    def _decided(self, node: Expr) -> bool:
        """Whether there is a text, where a short search has found none."""
        if node in self._known:
            return self._known[node] is not None
        told = self._soon(node) if node.looks else None
        if told is None:
            return self._reaches(node, HASTY) or self.word(node) is not None
        if told:
            self._living.add(node)
        else:
            self._known[node] = None
        return told

    def _lives(self, node: Expr) -> bool:
        """Whether it is known that there is a text, or plain to see."""
        if node in self._living or self._ending(node) is not None:
            return True
        if node.looks and node not in self._known and self._plain(node):
            self._living.add(node)
            return True
        return False

    def _reaches(self, root: Expr, most: int) -> bool:
        """Whether a search of so many states finds a text, any text."""
        if not root.looks or root in self._known:
            return False
        came: dict[Expr, Expr | None] = {root: None}
        queue: list[tuple[int, int, int, Expr]] = [(0, 0, 0, root)]
        while queue and len(came) < most:
            _, read, _, node = heappop(queue)
            for _, target in self._leading(node):
                if target in came:
                    continue
                bound = self._bound(target)
                if bound is None:
                    continue
                came[target] = node
                if self._lives(target):
                    way: Expr | None = target
                    while way is not None:
                        self._living.add(way)
                        way = came[way]
                    return True
                heappush(queue, (GREED * bound + read + 1, read + 1, len(came), target))
            self._fuel(1)
        if not queue:
            self._known.update(dict.fromkeys(came))
        return False

    def word(self, root: Expr) -> Word | None:
        """The least, in byte order, of the shortest texts of `root`; None if it has none.

        Raises:
            LimitError: as `alive`.
        """
        if not root.looks:
            return self._loose(root)
        if root not in self._known:
            self._search(root)
        return self._known[root]

    def _ending(self, node: Expr) -> Word | None:
        """The rest of a text, where it takes no search."""
        if node.nullable:
            return NOTHING
        return self._known.get(node) if node.looks else self._loose(node)

    def _search(self, root: Expr) -> None:
        decided = False

        def goes_on(states: int, _: int) -> bool:
            nonlocal decided
            self._count(states)
            if decided or states <= LONG:
                return True
            decided = True
            return self._decide(root)

        words, empty = nearest(root, self._ending, self._leading, self._bound, goes_on)
        self._known.update(dict.fromkeys(empty))
        self._known.update(words)

    def _count(self, states: int) -> None:
        self._fuel(1)
        if states > MOST:
            raise LimitError(
                f"whether a text can end after what is looked ahead for is not known after {MOST} "
                "states",
                limit="states of a search",
                given=MOST,
                needed=states,
            )

    def _leading(self, node: Expr) -> list[tuple[int, Expr]]:
        """What `node` goes on to, with the least byte that leads there; nothing known as empty."""
        arcs = [(least_byte(members), to) for members, to in self._lines(node)]
        return [(byte, to) for byte, to in arcs if self._known.get(to, NOTHING) is not None]

    def _bound(self, node: Expr) -> int | None:
        """A length that no text of `node` is below, None if it surely has none."""
        leads, core = looking(node)
        bound = 0
        for part in (core, *(lead.item for lead in leads if not lead.nullable)):
            word = self._loose(part)
            if word is None:
                return None
            bound = max(bound, word.length)
        return bound
