"""Whether it is plain to see that a text is left, where something is looked ahead for.

So it is of Lark's automaton at a place where what it reads can be brought to its end; nothing that
it looks ahead for looks over the end of its own texts. What is looked ahead for over the whole, as
`-` and `&` do, may have bytes behind which as much is allowed as before: behind what is no * by
what must hold none, each byte but that one. Where a text of such bytes is left it is allowed.

What this module does not know: how to search.
"""

from collections.abc import Callable
from typing import Final, final

from fairlead.lowering.aheads import looking, parts
from fairlead.lowering.expr import EMPTY, EPSILON, both, byte_set, repeat, stop
from fairlead.lowering.lark_contextual import Places
from fairlead.lowering.lark_indentation import Place
from fairlead.lowering.nodes import Call, Expr, Stop

_SETS: Final = 32  # sets of bytes for which automata are judged: each takes some milliseconds


@final
class Plainly:
    """What can be seen.

    Args:
        spellable: the bytes that exist.
        check: whether there is a text of what does not look ahead.
        arcs: disjoint byte sets and derivatives of a regular expression.
        within: whether all strings of one expression are strings of another; not if that is not
            soon seen.
    """

    def __init__(
        self,
        spellable: int,
        check: Callable[[Expr], bool],
        arcs: Callable[[Expr], list[tuple[int, Expr]]],
        within: Callable[[Expr, Expr], bool],
    ) -> None:
        self._spellable, self._check, self._arcs, self._within = spellable, check, arcs, within
        self._kept: dict[Expr, int] = {}
        self._sets: set[int] = {spellable}

    def forget(self) -> None:
        """Drop everything memoised."""
        self._kept.clear()

    def ends(self, root: Expr) -> bool:
        """Whether it is plain that there is a text."""
        leads, core = looking(root)
        if not all(lead.nullable for lead in leads):
            return False
        kept = {lead.level: self._keeping(lead.item) for lead in leads}
        while core.looks or kept:
            if core is EPSILON:
                return True  # what is looked ahead for may end
            head, tail = parts(core)
            rest = self._passed(head, tail, kept)
            if rest is None:
                return False
            core = rest
        return self._check(core)

    def _passed(self, head: Expr, tail: Expr, kept: dict[int, int]) -> Expr | None:
        """What is left behind the first part; None where that is not plainly passed."""
        if isinstance(head, Stop):
            kept.pop(head.level, None)
            return tail
        members = self._spellable
        for each in kept.values():
            members &= each
        if not head.looks:
            if kept:
                head = both(head, repeat(byte_set(members))) if head.regular else EMPTY
            return tail if self._check(head) else None
        return self._ended(head, tail, members, min(kept, default=None))

    def _ended(self, head: Expr, tail: Expr, members: int, lowest: int | None) -> Expr | None:
        """What is left behind Lark's automaton, where its texts come to an end in some bytes."""
        if not isinstance(head, Call) or not isinstance(head.template, Places):
            return None
        places, (over, rest) = head.template, parts(tail)
        if over != stop(places.level) or (lowest is not None and lowest <= places.level):
            return None
        if len(self._sets) >= _SETS and members not in self._sets:
            return None
        self._sets.add(members)
        at = head.argument
        return rest if isinstance(at, Place) and places.surely_ends(at, members) else None

    def _keeping(self, item: Expr) -> int:
        """The bytes behind each of which all is allowed that is allowed before it."""
        found = self._kept.get(item)
        if found is None:
            found = 0
            for members, target in self._arcs(item):
                if self._within(item, target):
                    found |= members
            self._kept[item] = found
        return found
