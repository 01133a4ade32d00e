"""Emptiness and shortest texts of expressions with lookahead.

`LookaheadSaturation` decides emptiness, `LookaheadSearch` finds a text.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import itemgetter
from typing import Final, TypeAlias, cast

from guideway.errors import LimitError
from guideway.language.expr import EPSILON, ahead, both, concat, looking
from guideway.language.fuel import paying
from guideway.language.nodes import (
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
from guideway.language.pushdown import DONE, FIRST, Control, Frame, Pushdown, Stacked
from guideway.language.regular import least_byte
from guideway.language.shortest_string import NOTHING, Ways, Word, has_read, nearest, options_of

Leads: TypeAlias = tuple[tuple[int, Expr], ...]  # lookahead by level


@dataclass(frozen=True, slots=True)
class _Spot:
    """Next action of an automaton, on a stack or on one state of it."""

    pushdown: Pushdown
    control: Control
    on: Frame | int


class _Part:
    """An expression or spot with a lookahead. `asking`: its dependents, which get every way.

    `ways`: lookaheads left after it, by the control (DONE for an expression).
    """

    __slots__ = ("asking", "leads", "node", "ways")

    def __init__(self, leads: Leads, node: Expr | _Spot) -> None:
        self.leads, self.node = leads, node
        self.ways: dict[Control, list[Leads]] = {}
        self.asking: dict[_Resumption, None] = {}


@dataclass(frozen=True, slots=True)
class _Resumption:
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
_Task: TypeAlias = tuple[_Part | _Resumption, _Way | None]

MOST: Final = 20_000  # ways through all parts together
FEW: Final = 2_000  # tasks of a quick search (about 20 ms)
PARTS: Final = 10_000  # calls unfolded
REMEMBERED: Final = 200_000  # parts, before all are dropped


class LookaheadSaturation:
    """Ways through expressions with lookahead."""

    def __init__(
        self,
        arcs: Callable[[Expr], list[tuple[int, Expr]]],
        alive: Callable[[Expr], bool],
        unfold: Callable[[Call], Expr],
        fuel: Callable[[int], None],
    ) -> None:
        self._arcs, self._alive, self._unfold, self._fuel = arcs, alive, unfold, fuel
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
            lives = self._has_way(root, FEW)
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
        lives = self._has_way(root, MOST)
        if lives and self._captures:
            self.forget()
            raise _undecided("where what is read is remembered", 0)
        return lives

    def _has_way(self, root: Expr, most: int) -> bool:
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
            fresh = self._run(self._todo[0])
            self._todo.popleft()  # after an error, the next search continues here
            self._count(fresh)
        return True

    def _part(self, leads: Leads, node: Expr | _Spot) -> _Part:
        part = self._parts.get((leads, node))
        if part is None:
            part = self._parts[leads, node] = _Part(leads, node)
            self._todo.append((part, None))
        return part

    def _run(self, task: _Task) -> int:
        """Visit a part, or continue a way; return the number of new ways."""
        who, way = task
        if isinstance(who, _Resumption):
            return self._continue(who, *cast("_Way", way))
        return sum([self._learn(who, *each) for each in self._direct_ways(who)])

    def _learn(self, part: _Part, left: Leads, control: Control) -> int:
        """Add a way that no known one covers, and notify dependents; return the number added."""
        others = part.ways.setdefault(control, [])
        if self._is_any_within(left, others):
            return 0
        others.append(left)
        self._todo.extend((each, (left, control)) for each in part.asking)
        return 1

    def _ask(self, leads: Leads, node: Expr | _Spot, asking: _Resumption) -> None:
        part = self._part(leads, node)
        if asking not in part.asking:
            part.asking[asking] = None
            known = part.ways.items()
            self._todo.extend((asking, (left, at)) for at, each in known for left in each)

    def _continue(self, asking: _Resumption, left: Leads, control: Control) -> int:
        part, node, states = asking.part, asking.part.node, asking.states
        control = control if asking.after is None else asking.after
        if asking.again:
            self._todo.append((part, None))
        elif not isinstance(node, _Spot):
            if asking.tail is EPSILON:
                return self._learn(part, left, DONE)
            self._ask(left, asking.tail, _Resumption(part))
        elif not states or control is DONE:
            return self._learn(part, left, control)
        else:
            on = _Spot(node.pushdown, control, states[0])
            self._ask(left, on, _Resumption(part, states=states[1:]))
        return 0

    def _is_any_within(self, leads: Leads, others: Collection[Leads]) -> bool:
        """Return True if one of `others` allows all that `leads` allow."""
        if leads in others:
            return True
        self._fuel(len(others))
        return any(set(other) <= set(leads) for other in others)

    def _count(self, fresh: int) -> None:
        self._fuel(1 + fresh)  # finding nothing new takes as long
        brief = self._most < MOST
        self._found += 1 if brief else fresh
        if self._found > self._most and (brief or paying()):
            raise _undecided(f"after {MOST} ways through its parts", self._found)

    def _direct_ways(self, part: _Part) -> Iterable[_Way]:
        """The ways through a part that are known at once; others are subscribed to."""
        leads, node = part.leads, part.node
        if not isinstance(node, _Spot):
            return [(left, DONE) for left in self._node_ways(part, leads, node)]
        if isinstance(node.on, Frame):
            top, below = replace(node, on=node.on.state), node.on.below
            self._ask(leads, top, _Resumption(part, states=() if below is None else (below,)))
            return ()
        for move in node.pushdown.moves(node.control, node.on):
            asking = _Resumption(part, states=move.states[::-1], after=move.after)
            self._ask(leads, move.text, asking)
        return ()

    def _node_ways(self, part: _Part, leads: Leads, node: Expr) -> Iterable[Leads]:
        if not leads and not node.looks:
            return [()] if self._alive(node) else []
        match node:
            case Concat(head, tail):
                self._ask(leads, head, _Resumption(part, tail))
            case Alt(options):
                for option in options:
                    self._ask(leads, option, _Resumption(part))
            case Rule():
                self._ask(leads, node.body, _Resumption(part))
            case Call():
                self._call_ways(part, leads, node)
            case Capture():
                self._capture_ways(part, leads, node)
            case _:
                return self._leaf_ways(part, leads, node)
        return ()

    def _leaf_ways(self, part: _Part, leads: Leads, node: Expr) -> Iterable[Leads]:
        match node:
            case Repeat(item, low, high) if not node.regular:
                return self._repeat_ways(part, item, low, high)
            case Ahead(item, level):
                return self._ahead_ways(leads, item, level)
            case Stop(level):
                over = all(item.nullable for at, item in leads if at == level)
                return [tuple(lead for lead in leads if lead[0] != level)] if over else []
            case Unsure():  # with any lookahead
                return [()]
            case _:
                return self._regular_ways(leads, node)

    def _call_ways(self, part: _Part, leads: Leads, node: Call) -> None:
        stacked = node.template if isinstance(node.template, Stacked) else None
        if stacked is not None and stacked.pushdown is not None:
            pushdown, stack = stacked.pushdown, stacked.stack(node.argument)
            self._ask(leads, _Spot(pushdown, FIRST, stack), _Resumption(part))
        elif node.looks and self._most < MOST:  # calls may lead to others without end
            self._calls.append(part)
        else:
            self._unfolded += 1
            if self._unfolded > PARTS:  # calls may lead to others without end and without a way
                raise _undecided(f"after {PARTS} of its parts", self._unfolded, PARTS)
            self._ask(leads, self._unfold(node), _Resumption(part))

    def _capture_ways(self, part: _Part, leads: Leads, node: Capture) -> None:
        if node.item is EPSILON and node.read is not None:
            resumed = node.template.resume(node.argument, node.read)
        else:
            self._captures = True
            resumed = concat(node.item, node.template.resume(node.argument, None))
        self._ask(leads, resumed, _Resumption(part))

    def _ahead_ways(self, leads: Leads, item: Expr, level: int) -> Iterable[Leads]:
        met = reduce(both, (other for at, other in leads if at == level), item)
        if not self._alive(met):
            return []
        others = (lead for lead in leads if lead[0] != level)
        return [tuple(sorted((*others, *_lead(met, level)), key=itemgetter(0)))]

    def _repeat_ways(self, part: _Part, item: Expr, low: int, high: int | None) -> Iterable[Leads]:
        leads, again = part.leads, _Resumption(part, again=True)
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

    def _regular_ways(self, leads: Leads, node: Expr) -> Iterable[Leads]:
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


# Without the early decision, one random grammar in 350 took 100 s to be found empty.
EARLY: Final = 64  # states of a search for any text before a quick decision,
HASTY: Final = 1_000  # and after it
READING: Final = 256  # states of a search that remembers captures, many of them dead
THOROUGH: Final = 10_000  # the same, if the caller waits for the text (.15 ms a state)
GREED: Final = 4  # bytes read that one byte less of the bound outweighs
LONG: Final = 2_000  # states of a search before `decide`
MOST_PLACES: Final = 100_000  # and after it
FARTHEST: Final = 20_000  # bytes of a text that is searched for: the search has as many states

Lines: TypeAlias = Callable[[Expr], tuple[list[tuple[int, Expr]], Iterable[Ways]]]


class LookaheadSearch:
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
        looked = 0

        def goes_on(states: int, _: int) -> bool:
            nonlocal looked
            looked += 1
            self._careful = states > READING // 2
            self._fuel(1)
            return looked < most

        def bound(node: Expr) -> int | None:
            least = self._bound(node)
            return None if least is None else GREED * least

        def ending(node: Expr) -> Word | None:
            return NOTHING if node in self._living else self._ending(node)

        def leading(node: Expr) -> tuple[Ways, Iterable[Ways]]:
            lines, ways = self._leading(node)
            return _alternatives(lines), map(_alternatives, ways)

        words, empty = nearest(root, ending, leading, bound, goes_on)
        self._living.update(words)  # the states on the way live, too
        if not words and looked < most:
            self._known.update(dict.fromkeys(empty))
        return bool(words)

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
        most = reading if self._decide is None else MOST_PLACES
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


def _alternatives(ways: Iterable[tuple[int, Expr]]) -> Ways:
    """Each alternative of the successors by itself."""
    return ((byte, option) for byte, to in ways for option in options_of(to))
