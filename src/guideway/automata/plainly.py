"""Obvious texts of expressions with lookahead.

Lark's automaton obviously has one where the terminal being read can end, since its own lookahead
does not reach over the end of its texts. A lookahead over the whole, as of `-` and `&`, may have
bytes after which as much is allowed as before; a text of such bytes is allowed.
"""

from collections.abc import Callable, Sequence
from typing import Final, cast, final

from guideway.automata.words import Word
from guideway.lowering.aheads import looking, parts
from guideway.lowering.expr import EMPTY, EPSILON, both, byte_set, concat, repeat, stop
from guideway.lowering.lark_contextual import Places
from guideway.lowering.lark_indentation import Place, ReadLine
from guideway.lowering.nodes import Ahead, Call, Expr, Stop
from guideway.lowering.regular import Remainders, bytes_in

_SETS: Final = 32  # sets of bytes for which automata are judged: each takes some milliseconds


@final
class Plainly:
    """Obvious texts.

    Args:
        spellable: the bytes that exist.
        check: emptiness of an expression without lookahead.
        arcs: disjoint byte sets and derivatives of a regular expression.
        shortest: its shortest string, if it has any.
        within: return True if one expression is known to be included in another.
    """

    def __init__(
        self,
        spellable: int,
        check: Callable[[Expr], bool],
        arcs: Callable[[Expr], list[tuple[int, Expr]]],
        shortest: Callable[[Expr], Word | None],
        within: Callable[[Expr, Expr], bool],
    ) -> None:
        self._spellable, self._check, self._arcs, self._within = spellable, check, arcs, within
        self._shortest = shortest
        self._kept: dict[Expr, int] = {}
        self._after = Remainders()
        self._sets: set[int] = {spellable}

    def forget(self) -> None:
        """Drop all caches."""
        self._kept.clear()

    def ends(self, root: Expr) -> bytes | bool:
        """True or a text, if there obviously is one."""
        found = self._read(*looking(root))
        return found if isinstance(found, bytes) else self._surely_ends(*found)

    def _surely_ends(self, leads: Sequence[Ahead], core: Expr) -> bool:
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

    def _read(self, leads: Sequence[Ahead], core: Expr) -> tuple[Sequence[Ahead], Expr] | bytes:
        """The rest after the terminal of Lark's automaton, or all; or a text of all."""
        before, head, tail = _up_to_call(core)
        if not isinstance(head, Call) or not isinstance(head.template, Places):
            return leads, core
        places, (over, rest) = head.template, parts(tail)
        at = cast("Place | ReadLine", head.argument)
        own = [lead for lead in leads if lead.level == places.level]
        others = [lead for lead in leads if lead.level > places.level]
        if len(own) + len(others) < len(leads) or over != stop(places.level):
            return leads, core
        read = concat(*own, *before)
        # With nothing over all of it whoever asks has looked at the ends of what is read.
        if (
            others
            and (own or before)
            and isinstance(at, Place)
            and self._is_ended(places, read, at, self._kept_by(others))
        ):
            return others, rest
        # With nothing behind them texts to the end are texts of all that is left.
        if others and (own or before or isinstance(at, ReadLine)):
            ends = concat(*(stop(lead.level) for lead in others))
            text = self._allowed(places, read, at, others) if ends == rest else None
            return (leads, core) if text is None else text
        return leads, core

    def _allowed(
        self, places: Places, read: Expr, at: Place | ReadLine, others: Sequence[Ahead]
    ) -> bytes | None:
        """A text to the end, perhaps with more spacers, that the lookahead allows.

        Only bytes that may follow are tried. With newlines between words .{1,80} allows no text: a
        mask of SQL took 28 s, now 9.
        """
        words = [self._shortest(lead.item) for lead in others]
        least = max((word.length for word in words if word is not None), default=0)
        members = self._spellable
        for lead in others:
            members &= bytes_in(lead.item)
        members = members if self._judges(members) else self._spellable
        for text in places.texts(read, at, members, least):
            if all(self._after(lead.item, text).nullable for lead in others):
                return text
        return None

    def _kept_by(self, leads: Sequence[Ahead]) -> int:
        """The bytes after which all is allowed that is allowed now."""
        members = self._spellable
        for lead in leads:
            members &= self._keeping(lead.item) if lead.nullable else 0
        return members

    def _is_ended(self, places: Places, read: Expr, at: Place, members: int) -> bool:
        """Return True if the terminal ends in these bytes, and then the automaton."""
        if not self._judges(members):
            return False
        if places.freedom(self._spellable) is not None and places.freedom(members) is None:
            return False  # stacks would be told one by one, which took 10 ms each for SQL
        ends = places.ends(members)
        return ends is not None and ends.surely_ends(read, at.stack)

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
        return rest if isinstance(at, Place) and places.surely_ends(at, members) else None

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


def _up_to_call(core: Expr) -> tuple[list[Expr], Expr, Expr]:
    """The parts before the first call or stop, that, and the rest."""
    before: list[Expr] = []
    head, tail = parts(core)
    while not isinstance(head, Call | Stop) and tail is not EPSILON:
        before.append(head)
        head, tail = parts(tail)
    return before, head, tail
