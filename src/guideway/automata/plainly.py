"""Obvious texts of expressions with lookahead.

Lark's automaton obviously has one where each of its stacks has an end (`lark_freedom`): its own
lookahead does not reach over the end of its texts. A lookahead over the whole, as of `-` and `&`,
may have bytes after which as much is allowed as before; a text of such bytes is allowed.
"""

from collections.abc import Callable
from typing import Final, final

from guideway.lowering.aheads import looking, parts
from guideway.lowering.expr import EMPTY, EPSILON, both, byte_set, repeat, stop
from guideway.lowering.lark_contextual import Places
from guideway.lowering.lark_indentation import Place
from guideway.lowering.nodes import Ahead, Call, Expr, Stop

_SETS: Final = 32  # sets of bytes for which automata are judged: each takes some milliseconds


@final
class Plainly:
    """Obvious texts.

    Args:
        spellable: the bytes that exist.
        check: emptiness of an expression without lookahead.
        arcs: disjoint byte sets and derivatives of a regular expression.
        within: return True if one expression is known to be included in another.
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
        """Drop all caches."""
        self._kept.clear()

    def ends(self, root: Expr) -> bool:
        """Return True if there obviously is a text."""
        leads, core = looking(root)
        if not all(lead.nullable for lead in leads):
            return False
        kept = dict[int, int]()
        for lead in leads:
            self._keep(lead, kept)
        while core.looks or kept:
            if core is EPSILON:
                return True  # what is looked ahead for may end
            head, tail = parts(core)
            rest = self._passed(head, tail, kept)
            if rest is None:
                return False
            core = rest
        return self._check(core)

    def _judges(self, members: int) -> bool:
        """Return True if automata are decided for these bytes: only the first ones are."""
        if len(self._sets) < _SETS:
            self._sets.add(members)
        return members in self._sets

    def _passed(self, head: Expr, tail: Expr, kept: dict[int, int]) -> Expr | None:
        """The rest after the first part; None if that is not obvious."""
        if isinstance(head, Stop):
            kept.pop(head.level, None)
            return tail
        if isinstance(head, Ahead):
            self._keep(head, kept)
            return tail if head.nullable else None
        members = self._spellable
        for each in kept.values():
            members &= each
        if not head.looks:
            if kept:
                head = both(head, repeat(byte_set(members))) if head.regular else EMPTY
            return tail if self._check(head) else None
        rest = self._ended(head, tail, members, min(kept, default=None))
        # Each of the 500 ends of /[a-z]{1,500}x/ was searched for: 12 ms.
        return tail if rest is None and head.nullable else rest

    def _keep(self, lead: Ahead, kept: dict[int, int]) -> None:
        """Restrict `kept` to the bytes that one more lookahead keeps."""
        kept[lead.level] = kept.get(lead.level, self._spellable) & self._keeping(lead.item)

    def _ended(self, head: Expr, tail: Expr, members: int, lowest: int | None) -> Expr | None:
        """The rest after Lark's automaton, if its texts end in `members`."""
        if not isinstance(head, Call) or not isinstance(head.template, Places):
            return None
        places, (over, rest) = head.template, parts(tail)
        if over != stop(places.level) or (lowest is not None and lowest <= places.level):
            return None
        if not self._judges(members):
            return None
        at = head.argument
        return rest if isinstance(at, Place) and places.freedom(members) is not None else None

    def _keeping(self, item: Expr) -> int:
        """The bytes after which a lookahead allows all that it allows before."""
        found = self._kept.get(item)
        if found is None:
            found = 0
            for members, target in self._arcs(item):
                if self._within(item, target):
                    found |= members
            self._kept[item] = found
        return found
