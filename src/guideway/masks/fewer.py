"""What is judged under a guard that counts is judged with lower counts, too.

Where a text may have n characters more, a text of m of them shows that as much holds for each count
from m on; and where none is left with n, none is with less. In a mask the same node and stack come
again behind each byte of a token, and in the next mask, each time with a lower count. Judged one by
one, `sql & .{0,200}` took 110 ms a mask.

What this module does not know: how a place is judged.
"""

from typing import Final, NamedTuple, final

from guideway.lowering.expr import concat, repeat
from guideway.lowering.nodes import Concat, Expr, Repeat
from guideway.lowering.regular import Remainders
from guideway.masks.arena import Arena
from guideway.masks.kernels import layout as at
from guideway.masks.lexicon import Lexicon

_AT_ONCE: Final = 16  # lower counts: few tokens have more characters
_REMEMBERED: Final = 10_000  # what is left behind texts, before all is forgotten


class _Counting(NamedTuple):
    """What a guard that counts wants: up to so many items, behind what is left of one."""

    begun: Expr | None
    item: Expr
    high: int

    def lower(self, high: int) -> Expr:
        items = repeat(self.item, 0, high)
        return items if self.begun is None else concat(self.begun, items)


@final
class Fewer:
    """Places with lower counts, of one network.

    Args:
        arena: where the places are.
        lexicon: the lexical states.
    """

    def __init__(self, arena: Arena, lexicon: Lexicon) -> None:
        self._arena, self._lexicon = arena, lexicon
        self._counting: dict[int, _Counting | None] = {}
        self._left = Remainders()

    def judge(self, place: int, verdict: int, text: bytes | None) -> None:
        """Judge places as one that was judged, whose counts are lower; not all, the next ones.

        Args:
            place: the one that was judged.
            verdict: what it is.
            text: one that shows it, where that is known.
        """
        node, stack = self._arena.place(place)
        kind, core, guard, *_ = self._arena.record(node)
        if kind != at.GUARDED or (verdict == at.V_ALIVE and text is None):
            return
        guards = self._guards(guard)
        top = guards[-1][0]  # what looks over all of the text; the others see the beginning of it
        for index, (level, state) in enumerate(guards):
            told = self._told(state) if level == top or text is None else None
            if told is not None:
                others = guards[:index] + guards[index + 1 :]
                least = 0 if text is None else self._least(told, text)
                for high in range(told.high - 1, max(least, told.high - _AT_ONCE) - 1, -1):
                    below = level, self._lexicon.state(told.lower(high))
                    self._set(core, sorted({below, *others}), stack, verdict)
                return

    def _set(self, core: int, guards: list[tuple[int, int]], stack: int, verdict: int) -> None:
        arena, made = self._arena, 0
        for level, state in reversed(guards):
            made = arena.make(at.GUARD, state, level, made)
        place = arena.judged(arena.make(at.GUARDED, core, made), stack)
        if arena.verdict(place) in (at.V_UNKNOWN, at.V_SEARCH):
            arena.set_verdict(place, verdict)

    def _guards(self, guard: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        while guard:
            _, state, level, guard, *_ = self._arena.record(guard)
            found.append((level, state))
        return found

    def _told(self, state: int) -> _Counting | None:
        if state not in self._counting:
            self._counting[state] = _counting(self._lexicon.expr(state))
        return self._counting[state]

    def _least(self, told: _Counting, text: bytes) -> int:
        """A count that allows the text; the least, where what is left says how many are left.

        That may be another count, of what an item holds: so the text is read with the lower one.
        """
        if len(self._left) > _REMEMBERED:
            self._left.clear()
        left = _counting(self._left(told.lower(told.high), text))
        least = told.high if left is None else max(0, told.high - left.high)
        return least if self._left(told.lower(least), text).nullable else told.high


def _counting(expr: Expr) -> _Counting | None:
    begun, items = (expr.head, expr.tail) if isinstance(expr, Concat) else (None, expr)
    if not isinstance(items, Repeat) or items.low or items.high is None:
        return None
    return _Counting(begun, items.item, items.high)
