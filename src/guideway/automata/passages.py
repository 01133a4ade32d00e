"""Emptiness of expressions with lookahead, decided by saturation."""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import itemgetter
from typing import Final, TypeAlias, cast, final

from guideway.errors import LimitError
from guideway.lowering.aheads import looking
from guideway.lowering.expr import ANYTHING, EPSILON, ahead, both, concat, superfluous
from guideway.lowering.fuel import paying
from guideway.lowering.lark_contextual import Place, Places
from guideway.lowering.lark_plans import Frame
from guideway.lowering.lark_scanners import DONE, FIRST, Control, Pushdown
from guideway.lowering.nodes import (
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

Leads: TypeAlias = tuple[tuple[int, Expr], ...]  # lookahead by level


@final
@dataclass(frozen=True, slots=True)
class _Spot:
    """Next action of an automaton, on a stack or on one state of it."""

    pushdown: Pushdown
    control: Control
    on: Frame | int


@final
class _Part:
    """An expression or spot with a lookahead. `asking`: its dependents, which get every way.

    `ways`: lookaheads left after it, by the control (DONE for an expression).
    """

    __slots__ = ("asking", "leads", "node", "ways")

    def __init__(self, leads: Leads, node: Expr | _Spot) -> None:
        self.leads, self.node = leads, node
        self.ways: dict[Control, list[Leads]] = {}
        self.asking: dict[_Asking, None] = {}


@final
@dataclass(frozen=True, slots=True)
class _Asking:
    """Continuation of a way through another part, which then is a way of `part`.

    `tail` is the rest of a sequence, `states` the rest of a stack from the top, and `after` the
    control after the way, if not its own. `again`: visit the part anew instead.
    """

    part: _Part
    tail: Expr = EPSILON
    states: tuple[Frame | int, ...] = ()
    after: Control | None = None
    again: bool = False


_Way: TypeAlias = tuple[Leads, Control]  # control: DONE if none is left
_Step: TypeAlias = tuple[Leads, Expr]
_Task: TypeAlias = tuple[_Part | _Asking, _Way | None]

MOST: Final = 20_000  # ways through all parts together
FEW: Final = 2_000  # tasks of a quick search (about 20 ms)
PARTS: Final = 10_000  # calls unfolded
REMEMBERED: Final = 200_000  # parts, before all are dropped


@final
class Passages:
    """Ways through expressions with lookahead."""

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
        self._parts: dict[tuple[Leads, Expr | _Spot], _Part] = {}
        self._todo: deque[_Task] = deque()
        self._calls: list[_Part] = []
        self._found, self._unfolded, self._most, self._captures = 0, 0, MOST, False

    def forget(self) -> None:
        """Drop all caches, and the dependents of an interrupted search."""
        self._parts.clear()
        self._todo.clear()
        self._calls.clear()
        self._captures = False

    def soon(self, root: Expr) -> bool | None:
        """Return True if `root` has a text; None if that takes long or may not end."""
        try:
            lives = self._told(root, FEW)
        except LimitError:
            return None
        if lives and self._captures:
            self.forget()  # the parts with captures are not known
            return None
        return lives

    def alive(self, root: Expr) -> bool:
        """Return True if `root` has a text; raises LimitError if that cannot be decided."""
        self._todo.extend((part, None) for part in self._calls)
        self._calls.clear()
        lives = self._told(root, MOST)
        if lives and self._captures:
            self.forget()
            raise _undecided("where what is read is remembered", 0)
        return lives

    def _told(self, root: Expr, most: int) -> bool:
        if len(self._parts) > REMEMBERED:
            self.forget()
        self._most = most
        leads, core = looking(root)
        part = self._part(tuple((lead.level, lead.item) for lead in leads), core)
        self._found = self._unfolded = 0
        while not _passes(part):
            if not self._todo and self._calls:
                raise _undecided("soon", 0)
            if not self._todo:
                return False
            fresh = self._do(self._todo[0])
            self._todo.popleft()  # after an error, the next search continues here
            self._count(fresh)
        return True

    def _part(self, leads: Leads, node: Expr | _Spot) -> _Part:
        part = self._parts.get((leads, node))
        if part is None:
            part = self._parts[leads, node] = _Part(leads, node)
            self._todo.append((part, None))
        return part

    def _do(self, task: _Task) -> int:
        """Visit a part, or continue a way; return the number of new ways."""
        who, way = task
        if isinstance(who, _Asking):
            return self._go_on(who, *cast("_Way", way))
        return sum([self._learn(who, *each) for each in self._on(who)])

    def _learn(self, part: _Part, left: Leads, control: Control) -> int:
        """Add a way that no known one covers, and notify dependents; return the number added."""
        others = part.ways.setdefault(control, [])
        if self._is_any_within(left, others):
            return 0
        others.append(left)
        self._todo.extend((each, (left, control)) for each in part.asking)
        return 1

    def _ask(self, leads: Leads, node: Expr | _Spot, asking: _Asking) -> None:
        part = self._part(leads, node)
        if asking not in part.asking:
            part.asking[asking] = None
            known = part.ways.items()
            self._todo.extend((asking, (left, at)) for at, each in known for left in each)

    def _go_on(self, asking: _Asking, left: Leads, control: Control) -> int:
        part, node, states = asking.part, asking.part.node, asking.states
        control = control if asking.after is None else asking.after
        if asking.again:
            self._todo.append((part, None))
        elif not isinstance(node, _Spot):
            if asking.tail is EPSILON:
                return self._learn(part, left, DONE)
            self._ask(left, asking.tail, _Asking(part))
        elif not states or control is DONE:
            return self._learn(part, left, control)
        else:
            on = _Spot(node.pushdown, control, states[0])
            self._ask(left, on, _Asking(part, states=states[1:]))
        return 0

    def _is_any_within(self, leads: Leads, others: Collection[Leads]) -> bool:
        """Return True if one of `others` allows all that `leads` allow."""
        return leads in others or any(self._is_within(leads, other) for other in others)

    def _is_within(self, leads: Leads, others: Leads) -> bool:
        mine = dict(leads)
        return all(
            level in mine and (mine[level] is item or self._within(mine[level], item))
            for level, item in others
        )

    def _count(self, fresh: int) -> None:
        self._fuel(1 + fresh)  # finding nothing new takes as long
        brief = self._most < MOST
        self._found += 1 if brief else fresh
        if self._found > self._most and (brief or paying()):
            raise _undecided(f"after {MOST} ways through its parts", self._found)

    def _on(self, part: _Part) -> Iterable[_Way]:
        """The ways through a part that are known at once; others are subscribed to."""
        leads, node = part.leads, part.node
        if not isinstance(node, _Spot):
            return [(left, DONE) for left in self._through(part, leads, node)]
        if isinstance(node.on, Frame):
            top, below = replace(node, on=node.on.state), node.on.below
            self._ask(leads, top, _Asking(part, states=() if below is None else (below,)))
            return ()
        for move in node.pushdown.moves(node.control, node.on):
            asking = _Asking(part, states=move.states[::-1], after=move.after)
            self._ask(leads, move.text, asking)
        return ()

    def _through(self, part: _Part, leads: Leads, node: Expr) -> Iterable[Leads]:
        if not leads and not node.looks:
            return [()] if self._alive(node) else []
        match node:
            case Concat(head, tail):
                self._ask(leads, head, _Asking(part, tail))
            case Alt(options):
                for option in options:
                    self._ask(leads, option, _Asking(part))
            case Rule():
                self._ask(leads, node.body, _Asking(part))
            case Call():
                self._called(part, leads, node)
            case Capture():
                self._captured(part, leads, node)
            case _:
                return self._passed(part, leads, node)
        return ()

    def _passed(self, part: _Part, leads: Leads, node: Expr) -> Iterable[Leads]:
        match node:
            case Repeat(item, low, high) if not node.regular:
                return self._often(part, item, low, high)
            case Ahead(item, level):
                return self._joined(leads, item, level)
            case Stop(level):
                over = all(item.nullable for at, item in leads if at == level)
                return [tuple(lead for lead in leads if lead[0] != level)] if over else []
            case Unsure():  # with any lookahead
                return [()]
            case _:
                return self._together(leads, node)

    def _called(self, part: _Part, leads: Leads, node: Call) -> None:
        pushdown = node.template.pushdown if isinstance(node.template, Places) else None
        if pushdown is not None:
            stack = cast("Place", node.argument).stack
            self._ask(leads, _Spot(pushdown, FIRST, stack), _Asking(part))
        elif node.looks and self._most < MOST:  # calls may lead to others without end
            self._calls.append(part)
        else:
            self._unfolded += 1
            if self._unfolded > PARTS:  # calls may lead to others without end and without a way
                raise _undecided(f"after {PARTS} of its parts", self._unfolded, PARTS)
            self._ask(leads, self._unfold(node), _Asking(part))

    def _captured(self, part: _Part, leads: Leads, node: Capture) -> None:
        if node.item is EPSILON and node.read is not None:
            behind = node.template.resume(node.argument, node.read)
        else:
            self._captures = True
            behind = concat(node.item, node.template.resume_any(node.argument))
        self._ask(leads, behind, _Asking(part))

    def _joined(self, leads: Leads, item: Expr, level: int) -> Iterable[Leads]:
        met = reduce(both, (other for at, other in leads if at == level), item)
        if not self._alive(met):
            return []
        others = (lead for lead in leads if lead[0] != level)
        return [tuple(sorted((*others, *_lead(met, level)), key=itemgetter(0)))]

    def _often(self, part: _Part, item: Expr, low: int, high: int | None) -> Iterable[Leads]:
        leads, again = part.leads, _Asking(part, again=True)
        found, now, before, count = set[Leads](), {leads}, dict[frozenset[Leads], int](), 0
        while now and (high is None or count <= high):
            since = before.setdefault(frozenset(now), count)
            if since < count < low:  # a cycle: skip whole rounds
                skipped = (low - count) // (count - since) * (count - since)
                low, high = low - skipped, None if high is None else high - skipped
            if count >= low and now <= found:
                break
            found |= now if count >= low else set()
            for begin in now:
                self._ask(begin, item, again)
            now = {way for begin in now for way in self._parts[begin, item].ways.get(DONE, ())}
            count += 1
        return found

    def _together(self, leads: Leads, node: Expr) -> Iterable[Leads]:
        """Pass a regular expression byte by byte."""
        found, seen, todo = dict[Leads, None](), {node: [leads]}, [(leads, node)]
        for left, rest in todo:  # grows while it is read
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
            self._count(1)
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


def _passes(part: _Part) -> bool:
    return any(all(item.nullable for _, item in left) for left in part.ways.get(DONE, ()))


def _lead(item: Expr, level: int) -> Leads:
    """Normal form of a lookahead; empty if anything may follow."""
    lead = ahead(item, level)
    return ((level, lead.item),) if isinstance(lead, Ahead) else ()


def _undecided(why: str, needed: int, given: int | None = None) -> LimitError:
    return LimitError(
        f"whether a text can end after what is looked ahead for is not known {why}",
        limit="ways through what looks ahead",
        given=MOST if given is None else given,
        needed=needed,
    )


_PAIRS: Final = 200  # pairs of expressions in one comparison
_PAIR: Final = 4  # fuel per pair: 150,000 parts take a second

Arcs: TypeAlias = list[tuple[int, Expr]]


@final
class Inclusion:
    """Inclusion between regular expressions; each pair is compared once."""

    def __init__(
        self,
        arcs: Callable[[Expr], Arcs],
        alive: Callable[[Expr], bool],
        fuel: Callable[[int], None],
    ) -> None:
        self._arcs, self._alive, self._fuel = arcs, alive, fuel
        self._tables: dict[Expr, Arcs] = {}
        self._within: dict[tuple[Expr, Expr], bool] = {}

    def forget(self) -> None:
        self._tables.clear()
        self._within.clear()

    def table(self, expr: Expr) -> Arcs:
        """Byte sets to each live target of an expression."""
        found = self._tables.get(expr)
        if found is None:
            made: dict[Expr, int] = {}
            for members, target in self._arcs(expr):
                made[target] = made.get(target, 0) | members
            found = [(members, to) for to, members in made.items() if self._alive(to)]
            self._tables[expr] = found
        return found

    def both(self, one: Expr, other: Expr) -> list[tuple[Expr, Expr]]:
        """Pairs of states that two expressions reach by the same byte."""
        others = self.table(other)
        return [
            (after, target)
            for members, after in self.table(one)
            for more, target in others
            if members & more
        ]

    def is_within(self, one: Expr, other: Expr) -> bool:
        """Return True if `one` is known to be included in `other`."""
        if one is ANYTHING or other is ANYTHING:
            return other is ANYTHING
        key = one, other
        found = self._within.get(key)
        if found is None:
            counted = one in superfluous((one, other))
            found = self._within[key] = counted or self._contained(one, other)
        return found

    def _contained(self, one: Expr, other: Expr) -> bool:
        first = one, other
        came: dict[tuple[Expr, Expr], tuple[Expr, Expr] | None] = {first: None}
        todo = [first]
        for pair in todo:  # grows while it is read
            self._fuel(_PAIR)
            if len(todo) > _PAIRS:
                return False
            if not self._may_hold(*pair):
                way: tuple[Expr, Expr] | None = pair
                while way is not None:  # the pairs before it are refuted, too
                    self._within[way], way = False, came[way]
                return False
            for after in self.both(*pair):
                if after not in came:
                    came[after] = pair
                    todo.append(after)
        self._within.update(dict.fromkeys(came, True))
        return True

    def _may_hold(self, left: Expr, right: Expr) -> bool:
        """Return False if the first byte refutes the inclusion."""
        if (left.nullable and not right.nullable) or self._within.get((left, right)) is False:
            return False
        every = sum(members for members, _ in self.table(right))
        return not any(members & ~every for members, _ in self.table(left))
