"""Whether an expression that looks ahead has a text: decided, where a search might never end.

What is looked ahead for is a regular expression, so only finitely many things may be left of it,
and how an expression can be passed is a set of pairs: what is looked ahead for before it and behind
it (Bar-Hillel, Perles and Shamir 1961, on what context-free and regular languages have in common).
They are collected for each part and each beginning that is asked for, until none is new.

    Ahead(g)    g joins what is looked ahead for       e f     through e, then through f
    Stop        nothing more may follow for its level  e | f   through either
    regular     byte by byte, together                 rule    through its body

A stack of Lark's automaton is passed state by state, from the topmost down: how a state can be left
does not depend on what is below it (Finkel, Willems and Wolper 1997), so that stacks which grow for
ever take no longer. Such a way has a third part, what the automaton is about to do then.

What a capture reads is passed without being remembered: where nothing passes then, nothing does,
but something that does may be no text.

A way behind which less is allowed than behind another one is dropped: of the 200 ways through a
comment that .{1,200} tells apart one is left. A search stops at the first way to the end, and goes
on there when the next is asked.

What this module does not know: which text.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, TypeAlias, cast, final

from fairlead.errors import LimitError
from fairlead.lowering.aheads import looking
from fairlead.lowering.expr import EPSILON, ahead, both, concat
from fairlead.lowering.fuel import paying
from fairlead.lowering.lark_automaton import Frame
from fairlead.lowering.lark_contextual import Places
from fairlead.lowering.lark_indentation import Place
from fairlead.lowering.lark_pushdown import DONE, FIRST, Control, Pushdown
from fairlead.lowering.nodes import (
    Ahead,
    Alt,
    Call,
    Capture,
    Concat,
    Expr,
    Repeat,
    Rule,
    Stop,
    Unsure,
)

Leads: TypeAlias = tuple[tuple[int, Expr], ...]  # what is looked ahead for, by level


@final
@dataclass(frozen=True, slots=True)
class _Spot:
    """What an automaton is about to do, on a stack or on one state of it."""

    pushdown: Pushdown
    control: Control
    on: Frame | int


_Place: TypeAlias = tuple[Leads, Expr | _Spot]
_Way: TypeAlias = tuple[Leads, Control]  # the control: DONE where none is left
_Step: TypeAlias = tuple[Leads, Expr]

MOST: Final = 20_000  # ways through all parts together,
FEW: Final = 1_000  # and where the answer is to be had soon, new or not: 1,000 new ones took 1 s,
PARTS: Final = 10_000  # and calls unfolded;
REMEMBERED: Final = 200_000  # parts, before all are forgotten


@final
class Passages:
    """The ways through expressions that look ahead.

    Args:
        arcs: disjoint byte sets and derivatives of a regular expression.
        alive: whether an expression that does not look ahead has a text.
        unfold: what a call stands for.
        within: whether all strings of one expression are strings of another; not if that is not
            soon seen.
        fuel: called with the number of ways found, raises when there are too many.
    """

    def __init__(
        self,
        arcs: Callable[[Expr], list[tuple[int, Expr]]],
        alive: Callable[[Expr], bool],
        unfold: Callable[[Call], Expr],
        within: Callable[[Expr, Expr], bool],
        fuel: Callable[[int], None],
    ) -> None:
        self._arcs, self._alive, self._unfold, self._fuel = arcs, alive, unfold, fuel
        self._within = within
        self._ways: dict[_Place, dict[Control, list[Leads]]] = {}
        self._asking: dict[_Place, set[_Place]] = {}
        self._todo: deque[_Place] = deque()
        self._calls: list[_Place] = []
        self._now: _Place | None = None
        self._found, self._unfolded, self._most, self._captures = 0, 0, MOST, False

    def forget(self) -> None:
        """Drop everything memoised, and who was asking when it broke off."""
        self._ways.clear()
        self._asking.clear()
        self._todo.clear()
        self._calls.clear()
        self._now, self._captures = None, False

    def soon(self, root: Expr) -> bool | None:
        """Whether `root` has a text; None where that takes long, or is not known to end.

        Calls that look ahead may lead to others without end.
        """
        try:
            lives = self._told(root, FEW)
        except LimitError:
            return None
        if lives and self._captures:
            self.forget()  # of which parts they are is not known
            return None
        return lives

    def alive(self, root: Expr) -> bool:
        """Whether `root` has a text.

        Raises:
            LimitError: there are too many ways, while somebody pays for them; or too many calls,
                or it depends on what is captured.
        """
        self._todo.extend(self._calls)
        self._calls.clear()
        lives = self._told(root, MOST)
        if lives and self._captures:
            self.forget()
            raise _undecided("where what is read is remembered", 0)
        return lives

    def _told(self, root: Expr, most: int) -> bool:
        if len(self._ways) > REMEMBERED:
            self.forget()
        self._most = most
        try:
            return self._collected(root)
        except LimitError:  # the next goes on from here
            if self._now is not None:
                self._todo.append(self._now)
                self._now = None
            raise

    def _collected(self, root: Expr) -> bool:
        leads, core = looking(root)
        place = tuple((lead.level, lead.item) for lead in leads), core
        self._found = self._unfolded = 0
        self._ask(place)
        while not self._passes(place):
            if not self._todo and self._calls:
                raise _undecided("soon", 0)
            if not self._todo:
                return False
            self._now = self._todo.popleft()
            found = [*self._on(*self._now)]
            fresh = self._learn(self._ways[self._now], found)
            if fresh:
                self._todo.extend(self._asking.get(self._now, ()))
            self._now = None
            self._count(fresh, len(found))
        return True

    def _passes(self, place: _Place) -> bool:
        """Whether a way through a part is known that leaves nothing to look for."""
        return any(all(i.nullable for _, i in left) for left in self._ways[place].get(DONE, ()))

    def _learn(self, known: dict[Control, list[Leads]], ways: Iterable[_Way]) -> int:
        """Keep the ways that allow more than those that are known; how many."""
        fresh = 0
        for left, control in ways:
            others = known.setdefault(control, [])
            if not self._is_any_within(left, others):
                others.append(left)
                fresh += 1
        return fresh

    def _is_any_within(self, leads: Leads, others: Collection[Leads]) -> bool:
        """Whether one of others allows whatever these allow."""
        return leads in others or any(self._is_within(leads, other) for other in others)

    def _is_within(self, leads: Leads, others: Leads) -> bool:
        mine = dict(leads)
        return all(
            level in mine and (mine[level] is item or self._within(mine[level], item))
            for level, item in others
        )

    def _count(self, fresh: int, found: int) -> None:
        self._fuel(1 + fresh)  # to find that nothing is new takes as long
        brief = self._most < MOST
        self._found += found if brief else fresh
        if self._found > self._most and (brief or paying()):
            raise _undecided(f"after {MOST} ways through its parts", self._found)

    def _ask(self, place: _Place) -> set[Leads]:
        """The ways through a part that are known so far."""
        return {left for left, _ in self._asked(place)}

    def _asked(self, place: _Place) -> set[_Way]:
        """The same, with what comes then; who asks is asked again when there are more."""
        if self._now is not None:
            self._asking.setdefault(place, set()).add(self._now)
        if place not in self._ways:
            self._ways[place] = {}
            self._todo.append(place)
        known = self._ways[place]
        return {(left, control) for control, each in known.items() for left in each}

    def _on(self, leads: Leads, node: Expr | _Spot) -> Iterable[_Way]:
        if not isinstance(node, _Spot):
            return [(left, DONE) for left in self._through(leads, node)]
        if isinstance(node.on, int):
            return self._moved(leads, node, node.on)
        left = self._asked((leads, replace(node, on=node.on.state)))
        return self._behind(left, node.pushdown, node.on.below)

    def _behind(
        self, ways: Iterable[_Way], pushdown: Pushdown, below: Frame | int | None
    ) -> Iterable[_Way]:
        """On with what is below, where that is reached."""
        for leads, control in ways:
            if control is DONE or below is None:
                yield leads, control
            else:
                yield from self._asked((leads, _Spot(pushdown, control, below)))

    def _moved(self, leads: Leads, spot: _Spot, state: int) -> Iterable[_Way]:
        """The ways to leave a state of an automaton, which takes it off the stack."""
        for move in spot.pushdown.moves(spot.control, state):
            ways = {(left, move.after) for left in self._ask((leads, move.text))}
            for each in reversed(move.states):
                ways = {*self._behind(ways, spot.pushdown, each)}
            yield from ways

    def _through(self, leads: Leads, node: Expr) -> Iterable[Leads]:  # noqa: C901, PLR0911  an arm for each node
        if not leads and not node.looks:
            return [()] if self._alive(node) else []
        match node:
            case Concat(head, tail):
                middles = self._ask((leads, head))
                return [way for middle in middles for way in self._ask((middle, tail))]
            case Alt(options):
                return [way for option in options for way in self._ask((leads, option))]
            case Repeat(item, low, high) if not node.regular:
                return self._often(leads, item, low, high)
            case Rule():
                return self._ask((leads, node.body))
            case Call():
                return self._called(leads, node)
            case Ahead(item, level):
                return self._joined(leads, item, level)
            case Stop(level):
                over = all(item.nullable for at, item in leads if at == level)
                return [tuple(lead for lead in leads if lead[0] != level)] if over else []
            case Capture():
                return self._captured(leads, node)
            case Unsure():  # whatever is looked ahead for
                return [()]
            case _:
                return self._together(leads, node)

    def _called(self, leads: Leads, node: Call) -> Iterable[Leads]:
        pushdown = node.template.pushdown if isinstance(node.template, Places) else None
        if pushdown is not None:
            stack = cast("Place", node.argument).stack
            return self._ask((leads, _Spot(pushdown, FIRST, stack)))
        if node.looks and self._most < MOST:  # calls may lead to others without end
            self._calls.append((leads, node))
            return ()
        self._unfolded += 1
        if self._unfolded > PARTS:  # calls may lead to others without end, and none be passed
            raise _undecided(f"after {PARTS} of its parts", self._unfolded, PARTS)
        return self._ask((leads, self._unfold(node)))

    def _captured(self, leads: Leads, node: Capture) -> Iterable[Leads]:
        if node.item is EPSILON and node.read is not None:
            return self._ask((leads, node.template.resume(node.argument, node.read)))
        self._captures = True
        return self._ask((leads, concat(node.item, node.template.resume_any(node.argument))))

    def _joined(self, leads: Leads, item: Expr, level: int) -> Iterable[Leads]:
        met = reduce(both, (other for at, other in leads if at == level), item)
        if not self._alive(met):
            return []
        others = (lead for lead in leads if lead[0] != level)
        return [tuple(sorted((*others, *_lead(met, level)), key=_level))]

    def _often(self, leads: Leads, item: Expr, low: int, high: int | None) -> Iterable[Leads]:
        found, now, before, count = set[Leads](), {leads}, dict[frozenset[Leads], int](), 0
        while now and (high is None or count <= high):
            since = before.setdefault(frozenset(now), count)
            if since < count < low:  # it goes round, and as often as one likes
                skipped = (low - count) // (count - since) * (count - since)
                low, high = low - skipped, None if high is None else high - skipped
            if count >= low and now <= found:
                break
            found |= now if count >= low else set()
            now = {way for begin in now for way in self._ask((begin, item))}
            count += 1
        return found

    def _together(self, leads: Leads, node: Expr) -> Iterable[Leads]:
        """Through a regular expression, byte by byte."""
        found, seen, todo = dict[Leads, None](), {node: [leads]}, [(leads, node)]
        for left, rest in todo:  # grows while we go
            if not left:
                found |= {left: None} if self._alive(rest) else {}
                continue
            if rest.nullable:
                found[left] = None
            for after, target in self._steps(left, rest):
                known = seen.setdefault(target, [])
                if not self._is_any_within(after, known):
                    known.append(after)
                    todo.append((after, target))
            self._count(1, 1)
        return found

    def _steps(self, leads: Leads, node: Expr) -> Iterable[_Step]:
        made: list[tuple[int, Leads, Expr]]
        made = [(members, (), target) for members, target in self._arcs(node)]
        for level, item in leads:
            arcs = [(more, _lead(to, level)) for more, to in self._arcs(item) if self._alive(to)]
            made = [
                (members & more, left + lead, target)
                for members, left, target in made
                for more, lead in arcs
                if members & more
            ]
        return [(left, target) for _, left, target in made if self._alive(target)]


def _lead(item: Expr, level: int) -> Leads:
    """What is looked ahead for, in its normal form; none where anything may follow."""
    lead = ahead(item, level)
    return ((level, lead.item),) if isinstance(lead, Ahead) else ()


def _level(lead: tuple[int, Expr]) -> int:
    return lead[0]


def _undecided(why: str, needed: int, given: int | None = None) -> LimitError:
    return LimitError(
        f"whether a text can end after what is looked ahead for is not known {why}",
        limit="ways through what looks ahead",
        given=MOST if given is None else given,
        needed=needed,
    )
