"""Emptiness and shortest strings of expressions with lookahead, by search."""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import Final, TypeAlias, final

from guideway.automata.least import NOTHING, Ways, Word, has_read, nearest, options_of
from guideway.automata.passages import Passages
from guideway.errors import LimitError
from guideway.lowering.aheads import looking
from guideway.lowering.expr import UNSURE, concat
from guideway.lowering.nodes import Alt, Expr
from guideway.lowering.regular import least_byte

# Without the early decision, one random grammar in 350 took 100 s to be found empty.
EARLY: Final = 64  # states of a search for any text before a quick decision,
HASTY: Final = 1_000  # and after it
READING: Final = 256  # states of a search that remembers captures, many of them dead
THOROUGH: Final = 10_000  # the same, if the caller waits for the text (.15 ms a state)
GREED: Final = 4  # bytes read that one byte less of the bound outweighs
LONG: Final = 2_000  # states of a search before `decide`
MOST: Final = 100_000  # and after it
FARTHEST: Final = 20_000  # bytes of a text that is searched for: the search has as many states

Lines: TypeAlias = Callable[[Expr], tuple[list[tuple[int, Expr]], Iterable[Ways]]]
_Entry: TypeAlias = tuple[int, int, int, Expr, Ways | None]


@final
class Guarded:
    """Searches in expressions with lookahead.

    `lines` gives the derivative, `loose` the shortest text without the lookahead, `soon` emptiness
    or None if that takes long, and `decide` exact emptiness (None: give up).
    """

    def __init__(
        self,
        lines: Lines,
        loose: Callable[[Expr], Word | None],
        soon: Callable[[Expr], bool | None],
        decide: Callable[[Expr], bool] | None,
        fuel: Callable[[int], None],
    ) -> None:
        self._lines, self._loose, self._fuel = lines, loose, fuel
        self._soon, self._decide = soon, decide
        self._known: dict[Expr, Word | None] = {}
        self._living: set[Expr] = set()
        self._careful = False

    def forget(self) -> None:
        self._known.clear()
        self._living.clear()

    def alive(self, root: Expr) -> bool:
        """Return True if `root` has a text; too many states raise LimitError."""
        options = root.options if isinstance(root, Alt) else (root,)
        if any(map(self._lives, options)):
            return True
        return any(self._is_alive(part) for part in options)

    def _is_alive(self, part: Expr) -> bool:
        if self._is_empty_below(part):
            self._known[part] = None
            return False
        return self._reaches(part, EARLY) or self._decided(part)

    def _is_empty_below(self, node: Expr) -> bool:
        """Return True if the expression is known to be empty even without its highest level."""
        leads, core = looking(node)
        top = max((lead.level for lead in leads), default=0)
        if node in self._known or not top:
            return False
        try:
            return not self.alive(concat(*(lead for lead in leads if lead.level != top), core))
        except LimitError:
            return False

    def _decided(self, node: Expr) -> bool:
        """Decide emptiness after a short search has found no text."""
        if node in self._known:
            return self._known[node] is not None
        told = self._soon(node) if node.looks else None
        if told is None:
            told = self._reaches(node, HASTY) or self._has_word(node)
        if told:
            self._living.add(node)
        else:
            self._known[node] = None
        return told

    def _has_word(self, node: Expr) -> bool:
        """Decide emptiness by a long search, or exactly if texts are too long for it."""
        if self._decide is not None and (self._bound(node) or 0) > FARTHEST:
            return self._decide(node)
        return self.word(node) is not None

    def _lives(self, node: Expr) -> bool:
        return node in self._living or self._ending(node) is not None

    def _reaches(self, root: Expr, most: int) -> bool:
        """Return True if a search of at most `most` states finds a text."""
        if not root.looks or root in self._known:
            return False
        came: dict[Expr, Expr | None] = {root: None}
        serial = count()
        queue: list[_Entry] = [(0, 0, next(serial), root, None)]
        looked = 0
        while queue and looked < most:
            score, read, _, node, ways = heappop(queue)
            looked += 1
            self._careful = len(came) > READING // 2
            targets, others = self._on(node, ways)
            for target in (option for _, to in targets for option in options_of(to)):
                bound = None if target in came else self._bound(target)
                if bound is None:
                    continue
                came[target] = node
                if self._lives(target):
                    after: Expr | None = target
                    while after is not None:  # the states before it live, too
                        self._living.add(after)
                        after = came[after]
                    return True
                far = GREED * bound + read + 1
                heappush(queue, (far, read + 1, next(serial), target, None))
            for each in others:
                heappush(queue, (score, read, next(serial), node, each))
            self._fuel(1)
        if not queue:
            self._known.update(dict.fromkeys(came))
        return False

    def _on(self, node: Expr, ways: Ways | None) -> tuple[Ways, Iterable[Ways]]:
        """Successors of a node by byte, then the lazily enumerated ones."""
        if ways is None:
            lines, others = self._leading(node)
            return iter(lines), others
        way = next(ways, None)
        return (iter(()), ()) if way is None else (iter((way,)), (ways,))

    def word(self, root: Expr, reading: int = READING) -> Word | None:
        """The shortest text of `root`, or None; `reading` limits states that remember captures."""
        if not root.looks:
            return self._loose(root)
        if root not in self._known:
            self._search(root, reading)
        return self._known[root]

    def _ending(self, node: Expr) -> Word | None:
        """The rest of a text if it needs no search."""
        if node.nullable:
            return NOTHING
        return self._known.get(node) if node.looks else self._loose(node)

    def _search(self, root: Expr, reading: int) -> None:
        self._check_length(self._bound(root) or 0)
        most = reading if self._decide is None else MOST
        decided = self._careful = False

        def goes_on(states: int, _: int) -> bool:
            nonlocal decided
            self._count(states, most)
            self._careful = states > READING // 2
            if decided or states <= LONG or self._decide is None:
                return True
            decided = True
            return self._is_known_to_live(root) or self._decide(root)

        words, empty = nearest(root, self._ending, self._leading, self._bound, goes_on)
        self._known.update(dict.fromkeys(empty))
        self._known.update(words)

    def _check_length(self, least: int) -> None:
        """Refuse texts that are too long: 100,000 states of `x~1000000` took 50 s."""
        if least > FARTHEST:
            raise LimitError(
                f"the lookahead needs a text of at least {least} bytes; the search is limited to "
                f"{FARTHEST}",
                limit="bytes of a text that is searched for",
                given=FARTHEST,
                needed=least,
            )

    def trust(self, root: Expr) -> None:
        if root.looks:
            self._living.add(root)

    def _is_known_to_live(self, root: Expr) -> bool:
        return root in self._living or any(part in self._living for part in options_of(root))

    def _count(self, states: int, most: int) -> None:
        self._fuel(1)
        if states > most:
            raise LimitError(
                f"the search for an end after a lookahead stopped after {most} states",
                limit="states of a search",
                given=most,
                needed=states,
            )

    def _leading(self, node: Expr) -> tuple[list[tuple[int, Expr]], list[Ways]]:
        """Successors of `node` with the least byte to each, except empty ones."""
        lines, ways = self._lines(node)
        arcs = [(least_byte(members), to) for members, to in lines]
        return [way for way in arcs if self._may_live(way)], [
            filter(self._surely_may_live, each) for each in ways
        ]

    def _may_live(self, way: tuple[int, Expr]) -> bool:
        return self._known.get(way[1], NOTHING) is not None

    def _surely_may_live(self, way: tuple[int, Expr]) -> bool:
        """Return False if a captured key must repeat; slow, so only long searches check it."""
        target = way[1]
        fresh = self._careful and target.looks and target not in self._known
        if fresh and has_read(target) and self._soon(target) is False:
            self._known[target] = None
        return self._may_live(way)

    def _bound(self, node: Expr) -> int | None:
        """Lower bound of the length of texts, None if there surely is none."""
        leads, core = looking(node)
        bound = 0
        for part in (core, *(lead.item for lead in leads if not lead.nullable)):
            word = self._loose(part)
            if word is None:
                return None
            bound = max(bound, word.length)
        return bound


@final
class Looking:
    """Answers about expressions with lookahead of one recognizer.

    `lines` ignores captured bytes, `reading` reads captures byte by byte; `captures` returns True
    if one was derived so far. `loose` gives the shortest text without the lookahead.
    """

    def __init__(
        self,
        lines: Lines,
        reading: Lines,
        captures: Callable[[], bool],
        loose: Callable[[Expr], Word | None],
        passages: Passages,
        fuel: Callable[[int], None],
    ) -> None:
        def known(expr: Expr) -> Word | None:
            return None if expr is UNSURE else loose(expr)

        self._captures, soon = captures, passages.soon
        self._hopeful = Guarded(lines, loose, soon, passages.alive, fuel)
        self._remembering = Guarded(reading, known, soon, None, fuel)
        self.alive, self.trust = self._hopeful.alive, self._hopeful.trust

    def forget(self) -> None:
        self._hopeful.forget()
        self._remembering.forget()

    def has_text(self, expr: Expr) -> bool:
        """Return True if `expr` has a text without repeated captures, or none is found soon."""
        if not self._hopeful.alive(expr):
            return False
        try:
            return not self._captures() or self._remembering.alive(expr)
        except LimitError:
            return True

    def word(self, expr: Expr, reading: int = READING) -> Word | None:
        """The shortest text of `expr`; raises LimitError after `reading` states."""
        hoped = self._hopeful.word(expr)
        if hoped is None or not self._captures():
            return hoped
        return self._remembering.word(expr, reading)

    def hoped(self, expr: Expr) -> Word | None:
        """`word` if it is found soon, else a text that may repeat captures."""
        try:
            return self.word(expr)
        except LimitError:
            return self._hopeful.word(expr)
