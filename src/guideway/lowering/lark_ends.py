"""How texts may go on from a stack of Lark's automaton so that they surely come to an end.

Where nothing is ignored everywhere (`lark_freedom`), each stack has to be judged by itself. A text
to the end is mostly found at once: of the terminals that bring the automaton nearer to the end,
one of the shortest texts each, and between two of them nothing or what is ignored. Each has to be
what it is whatever comes behind the one that follows it; where a stack is known to come to an end,
the first one is enough, and what is looked for in all that follows may let one of these ends
pass (`Freedom.lasts`):

    beginnings(stack)   texts, each of some terminal or of what is ignored and then of one; behind
                        each of them a text comes to its end, whatever came before the stack

So what is read at the moment is alive if it can be ended before one of them. It is dead if nothing
that may follow begins with a byte that has to, however it ends, or if the automaton comes to no end
from the stack by any terminals (`lark_completions`). Elsewhere nothing is said.

What this module does not know: what is read at the moment, indentation.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias, final

from guideway.lowering.expr import ALL_BYTES, ANYTHING, EMPTY, EPSILON, concat
from guideway.lowering.fuel import spend
from guideway.lowering.lark_automaton import Automaton, Frame
from guideway.lowering.lark_completions import Completions
from guideway.lowering.lark_freedom import Freedom
from guideway.lowering.lark_scanners import Scanners, Way
from guideway.lowering.lark_straight import Straight
from guideway.lowering.lark_words import shortest_word
from guideway.lowering.nodes import Ahead, Alt, Concat, Expr
from guideway.lowering.regular import Remainders, byte_classes, derivative, least_byte

END: Final = None
"""Instead of a beginning, where the text may end."""

_FEW: Final = 3  # terminals of which there are beginnings of a stack,
_MOST: Final = 24  # beginnings of a stack,
_TRIED: Final = 8  # and terminals that are tried for them
_LINE: Final = b"\n"
_LOOKED_AT: Final = 256  # stacks, before only the nearest way is gone,
_FARTHEST: Final = 1 << 14  # and stacks on that
_READ: Final = 256  # ways to read on (with 96 no name of Python was seen to end),
_REMEMBERED: Final = 100_000  # and answers, before all are forgotten

Beginning: TypeAlias = bytes | None
_Step: TypeAlias = tuple[Way, Frame]  # a terminal, and the stack behind it
_Reading: TypeAlias = tuple[Expr, frozenset[Expr]]  # what is left, and what is looked ahead for


@final
class Ends:
    """The ends of one grammar.

    Args:
        automaton: what reads terminals.
        scanners: what they match.
        spellable: the bytes that there are.
        level: at which it looks ahead.
        free: behind what stacks have a text to the end, if that is known.
    """

    def __init__(
        self,
        automaton: Automaton,
        scanners: Scanners,
        spellable: int,
        level: int = 0,
        free: Freedom | None = None,
    ) -> None:
        self._automaton, self._scanners, self._spellable = automaton, scanners, spellable
        self._level, self._free = level, free
        self._found: dict[Frame, Sequence[Beginning]] = {}
        self._others: dict[Frame, Sequence[Beginning]] = {}
        self._after = Remainders()
        self._spaces: dict[int, Sequence[tuple[Way, bytes]]] = {}
        self._ended: dict[tuple[Expr, tuple[Beginning, ...], bool], bytes | None] = {}
        self._stands: dict[tuple[Way, bytes, Beginning], bool] = {}
        self._firsts: dict[Expr, int] = {}
        self._stuck: dict[tuple[Expr, Frame], bool] = {}
        self._possible: Completions | None = None
        self._straight = None if free is None else Straight(automaton, scanners, free)

    def beginnings(self, stack: Frame) -> Sequence[Beginning]:
        """Some of them, those first that are nearest to the end."""
        todo, left = [stack], _LOOKED_AT
        while todo and left:
            frame = todo[-1]
            steps = [] if self._is_known(frame) else self._nearer(frame)
            missing = [after for _, after in steps if not self._is_known(after)]
            if missing:
                todo += missing
                left -= 1
                continue
            todo.pop()
            if frame not in self._found:
                self._found[frame] = self._settled(frame, steps, _FEW)
        if stack not in self._found:
            self._go_straight(stack)
        return self._found[stack]

    def _go_straight(self, stack: Frame) -> None:
        """The same by the nearest way alone, which may be long: 3,000 terminals in a row."""
        way: list[tuple[Frame, list[_Step]]] = []
        frame = stack
        while not self._is_known(frame) and len(way) < _FARTHEST:
            spend(1)
            way.append((frame, self._nearer(frame)[:1]))
            if not way[-1][1]:
                break
            frame = way[-1][1][0][1]
        for frame, steps in reversed(way):
            self._found[frame] = self._settled(frame, steps, _FEW)

    def _is_known(self, stack: Frame) -> bool:
        if stack not in self._found:
            if self._free is not None and self._free.completes(stack):
                self._found[stack] = self._freely(stack, self._free)
            elif self._possible is not None and not self._possible.completes(stack):
                self._found[stack] = ()
        return stack in self._found

    def _is_dead(self, stack: Frame) -> bool:
        """Whether no terminals lead to the end, if all could be written.

        So it is where Lark has resolved a conflict for what is read next, as behind "between some"
        in FEEL, where "and" is what "some" goes on with: one such stack took 23 s to search.
        """
        if self._possible is None:  # made once a stack has no beginnings: few grammars have such
            table = self._automaton.table
            everything = [(1 << len(table.terminals)) - 1] * len(table.shifts)
            self._possible = Completions(table, everything, frozenset(table.terminals))
        return not self._possible.completes(stack)

    def _freely(self, stack: Frame, free: Freedom) -> Sequence[Beginning]:
        """The same where behind these stacks have a text to the end."""
        words = dict.fromkeys((free.spacer,))
        for way in self._ways(stack.state):
            word = free.word(way)
            after = None if word is None else self._automaton.feed(stack, way.terminal)
            if word is not None and after is not None and free.completes(after):
                words[word] = None
        return [*([END] if self._automaton.ends(stack) else []), *words]

    def ends(self, read: Expr, stack: Frame) -> bool | None:
        """Whether what is read at the moment comes to its end, and then the text; None if unseen.

        Args:
            read: what is looked ahead for, what is left to read, and what has to follow that.
            stack: what the text goes on from then.
        """
        for known in (self._found, self._others, self._firsts, self._stuck):
            if len(known) > _REMEMBERED:
                known.clear()
        if self._is_stuck(read, stack):
            return False
        if self.surely_ends(read, stack):
            return True
        return False if not self.beginnings(stack) and self._is_dead(stack) else None

    def texts(self, read: Expr, stack: Frame, least: int = 0) -> Iterator[bytes]:
        """Texts that bring what is read to its end, and then the stack: some, if seen at once.

        Args:
            read: as in `ends`.
            stack: as there.
            least: a text that is shorter is filled up to so many bytes, if that can be.
        """
        straight, free = self._straight, self._free
        if straight is None or free is None:
            return
        if self._automaton.ends(stack):
            begun = self.read_on(read, (END,))
            if begun is not None:
                yield begun
        begun = self.read_on(read, (free.spacer,))
        rest = None if begun is None else straight.text(stack)
        if begun is not None and rest is not None:
            missing = least - len(begun) - len(rest)
            count = max(1, -(-missing // len(free.spacer)))
            if count == 1 or straight.fills(stack, rest, count):
                yield begun + free.spacer * count + rest

    def surely_ends(self, read: Expr, stack: Frame) -> bool:
        """Whether it is seen that what is read comes to its end, and then the text."""
        return self._may_end(read, self.beginnings(stack), self._free) or self._may_end(
            read, self._more(stack), None
        )

    def _is_stuck(self, read: Expr, stack: Frame) -> bool:
        """Whether something has to follow what is read, and no text from the stack begins so."""
        last = read
        while isinstance(last, Concat):
            last = last.tail
        if not isinstance(last, Ahead) or last.level != self._level:
            return False
        key = last, stack
        found = self._stuck.get(key)
        if found is None:
            found = self._stuck[key] = not self._may_follow(last.item, stack)
        return found

    def _may_follow(self, after: Expr, stack: Frame) -> bool:
        if after.nullable and self._automaton.ends(stack):
            return True
        wanted = self._begun(after)
        return any(
            wanted & self._begun(leaving.text)
            for way in self._scanners.ways(self._automaton.terminals(stack.state))
            if way.ignored or self._automaton.feed(stack, way.terminal) is not None
            for leaving in way.exits
        )

    def _begun(self, expr: Expr) -> int:
        """The bytes with which its texts may begin."""
        found = self._firsts.get(expr)
        if found is None:
            found = self._firsts[expr] = sum(
                members
                for members in byte_classes(expr)
                if derivative(expr, least_byte(members)) is not EMPTY
            )
        return found

    def _may_end(self, read: Expr, beginnings: Sequence[Beginning], free: Freedom | None) -> bool:
        """Whether it can before one of these; `free` knows how texts may go on behind them."""
        return self.read_on(read, tuple(beginnings), free) is not None

    def read_on(
        self, read: Expr, beginnings: tuple[Beginning, ...], free: Freedom | None = None
    ) -> bytes | None:
        """The bytes that bring what is read to its end before one of these; None if not seen.

        Args:
            read: as in `ends`.
            beginnings: of what is behind it, whatever follows then.
            free: knows how texts may go on behind them.
        """
        key = read, beginnings, free is None
        if key not in self._ended:
            for known in (self._ended, self._after):
                if len(known) > _REMEMBERED:
                    known.clear()
            self._ended[key] = self._search(read, beginnings, free)
        return self._ended[key]

    def _search(
        self, read: Expr, beginnings: Sequence[Beginning], free: Freedom | None
    ) -> bytes | None:
        begin = read, frozenset[Expr]()
        todo, seen = [begin], {begin: b""}
        for reading in todo:  # grows while we go
            expr, guards = reading
            if expr is EPSILON:
                if any(self._hold(guards, each, free) for each in beginnings):
                    return seen[reading]
                continue
            for byte, following in self._following(expr, guards):
                if following not in seen and len(seen) < _READ:
                    seen[following] = seen[reading] + byte
                    todo.append(following)
        return None

    def _hold(self, guards: frozenset[Expr], beginning: Beginning, free: Freedom | None) -> bool:
        """Whether all that has to follow does, with this beginning of it."""
        if beginning is None:
            return all(guard.nullable for guard in guards)
        left = frozenset(self._after(guard, beginning) for guard in guards) - {ANYTHING}
        return not left or (free is not None and free.lasts(left))

    def _following(self, expr: Expr, guards: frozenset[Expr]) -> Iterator[tuple[bytes, _Reading]]:
        """One byte or none, and what is left then, where that is plain to see."""
        head, tail = (expr.head, expr.tail) if isinstance(expr, Concat) else (expr, EPSILON)
        if isinstance(head, Ahead):
            if head.level == self._level:
                yield b"", (tail, guards | {head.item})
        elif isinstance(head, Alt) and head.looks:
            for option in head.options:
                yield b"", (concat(option, tail), guards)
        elif head.regular:
            if head.nullable:
                yield b"", (tail, guards)
            for members in _told_apart([head, *guards]):
                byte = self._byte(members)
                after = EMPTY if byte is None else derivative(head, byte)
                left = frozenset(EMPTY if byte is None else derivative(g, byte) for g in guards)
                if byte is not None and after is not EMPTY and EMPTY not in left:
                    yield bytes((byte,)), (concat(after, tail), left - {ANYTHING})

    def _byte(self, members: int) -> int | None:
        members &= self._spellable
        return least_byte(members) if members else None

    def holds(self, expr: Expr, beginning: Beginning) -> bool:
        """Whether what has to follow does, with this beginning of it."""
        if beginning is None:
            return expr.nullable
        return self._after(expr, beginning) is ANYTHING

    def _more(self, stack: Frame) -> Sequence[Beginning]:
        """Beginnings that lead away from the end at first."""
        found = self._others.get(stack)
        if found is None:
            steps: list[_Step] = []
            for way in self._ways(stack.state):
                after = self._automaton.feed(stack, way.terminal)
                if after is not None and self.beginnings(after):
                    steps.append((way, after))
            found = self._others[stack] = self._settled(stack, steps, _MOST)
        return found

    def _settled(self, frame: Frame, steps: Iterable[_Step], most: int) -> Sequence[Beginning]:
        """What can be taken so that it surely goes on, and the same behind what is ignored."""
        found: dict[Beginning, None] = {}
        if self._automaton.ends(frame):
            found[END] = None
        for way, after in steps:
            word = self._word(way) if len(found) < most else None
            if word is not None and any(
                self._is_taken(way, word, each) for each in self._found.get(after, ())
            ):
                found[word] = None
        plain = [*found]
        for way, space in self._ignored(frame.state):
            for word in plain:
                if len(found) < _MOST and self._is_taken(way, space, word):
                    found[space if word is None else space + word] = None
        return [*found]

    def _is_taken(self, way: Way, word: bytes, beginning: Beginning) -> bool:
        """Whether a word is taken so, where this follows, and then whatever."""
        key = way, word, beginning
        found = self._stands.get(key)
        if found is None:
            guard = way.guard
            whole = word if beginning is None else word + beginning
            held = not isinstance(guard, Ahead) or (
                self._after(guard.item, whole).nullable
                if beginning is None
                else self._after(guard.item, whole) is ANYTHING
            )
            found = self._stands[key] = held and any(
                self._after(each.text, word).nullable and self.holds(each.after, beginning)
                for each in way.exits
            )
        return found

    def _nearer(self, frame: Frame) -> list[_Step]:
        """The terminals that bring a stack nearer to the end, the nearest first."""
        needs = self._automaton.needs(frame)
        if not needs:  # nothing is nearer
            return []
        found: list[tuple[int, int, Way, Frame]] = []
        behind = self._automaton.behind
        for number, way in enumerate(self._ways(frame.state)):
            if behind.get(way.terminal, needs) >= needs:  # whatever stack that is
                continue
            after = self._automaton.feed(frame, way.terminal)
            needed = None if after is None else self._automaton.needs(after)
            if after is not None and needed is not None and needed < needs:
                found.append((needed, number, way, after))
        found.sort(key=lambda each: each[:2])
        return [each[2:] for each in found[:_TRIED]]

    def _ways(self, state: int) -> Sequence[Way]:
        """The terminals that may be taken in a state."""
        ways = self._scanners.ways(self._automaton.terminals(state))
        return [way for way in ways if not way.ignored]

    def _ignored(self, state: int) -> Sequence[tuple[Way, bytes]]:
        found = self._spaces.get(state)
        if found is None:
            ways = self._scanners.ways(self._automaton.terminals(state))
            found = self._spaces[state] = [
                (way, word) for way in ways if way.ignored for word in self._blanks(way)
            ]
        return found

    def _blanks(self, way: Way) -> Sequence[bytes]:
        """Texts of what is ignored: a comment goes on over a blank, and ends where a line does."""
        lines = [
            _LINE
            for leaving in way.exits
            if self._spellable >> _LINE[0] & 1 and self._after(leaving.text, _LINE).nullable
        ]
        word = self._word(way)
        return [*lines[:1], *([] if word is None else [word])]

    def _word(self, way: Way) -> bytes | None:
        """One of the shortest texts of a terminal."""
        return shortest_word((leaving.text for leaving in way.exits), self._spellable)


def _told_apart(exprs: Iterable[Expr]) -> list[int]:
    """Disjoint sets of bytes, all bytes, with the same derivatives of each."""
    classes = [ALL_BYTES]
    for expr in exprs:
        classes = [both for part in byte_classes(expr) for one in classes if (both := part & one)]
    return classes
