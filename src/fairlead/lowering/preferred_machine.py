r"""Backtracking as an automaton: how `re` tries the ways through a pattern, all at once.

A thread is one way that has come so far: what it still has to match, as a stack of steps, and its
guard, the language in which all that follows has to be. A place holds the threads in the order in
which `re` would try them, so the match of the first that comes to an end is the one it prefers
(as in a Pike machine). A thread behind one that matches here goes on where the guard of that fails;
behind one without a guard it is never tried.

A round of a count that read nothing is the last, as in `re`. What a lookbehind asks about is kept
beside the threads; if that depends on what stands before the start, it is refused.

What this module does not know: characters, bytes. It reads atoms (`lowering.preferred_program`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never, final

from fairlead.errors import UnsupportedError
from fairlead.lowering.fuel import spend
from fairlead.lowering.preferred_languages import ALL, NONE, Languages
from fairlead.lowering.preferred_program import (
    Ahead,
    Behind,
    Choice,
    Count,
    Guard,
    Program,
    Read,
    Row,
    Silent,
)
from fairlead.syntax.source import describe_place

Thread: TypeAlias = tuple[int, int]  # the numbers of a stack, which begins with a Read, and a guard
History: TypeAlias = tuple[tuple[int, int], ...]  # of each past, surely and perhaps

_DONE: Final = 0


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """What is to be matched at the top of a stack.

    Attributes:
        step: which step.
        below: the stack below.
        low: of a count, the rounds that are missing; of a row, the items that are done.
        high: of a count, the rounds that are left (None: any number).
        began_here: a round of the count began at this place: another would read nothing.
    """

    step: int
    below: int
    low: int = 0
    high: int | None = None
    began_here: bool = False


@final
@dataclass(frozen=True, slots=True)
class Place:
    """All ways after some text, in the order in which they are tried.

    Attributes:
        threads: those that read on.
        history: what lookbehinds know.
        ends: matches that end here: how many threads are preferred to each, and its guard.
    """

    threads: tuple[Thread, ...]
    history: History
    ends: tuple[tuple[int, int], ...]


@final
class Machine:
    """The ways through a program; places are values.

    Args:
        program: what is matched.

    Attributes:
        languages: those that guards and pasts are.
        cuts: whether a way was given up because a match was preferred to it.
    """

    def __init__(self, program: Program) -> None:
        self.languages = Languages(len(program.atoms))
        self.cuts = False
        self._program = program
        self._stacks: list[Frame] = [Frame(-1, _DONE)]
        self._numbers: dict[Frame, int] = {}
        self._resumed = {_DONE: _DONE}
        self._begins: dict[int, int] = {}
        self._places: dict[tuple[tuple[Thread, ...], History], Place] = {}
        number = self.languages.number
        self._pasts = tuple((number(p.surely), number(p.perhaps)) for p in program.pasts)

    def start(self, step: int, *, solid: bool = False) -> Place:
        """Before any text of this step; no match ends here, if it has to be `solid`."""
        return self._settled([(self._entered(step, _DONE), ALL)], self._pasts, solid=solid)

    def looks_for(self, step: int, begins: int) -> None:
        """Tell the language of all texts that begin with a match of the step of an Ahead."""
        self._begins[step] = begins

    def row(self, place: Place) -> list[Place]:
        """The places after one more atom, for each atom."""
        left, steps = self.languages.rows, self._program.steps
        frames = [(self._stacks[stack], left[guard]) for stack, guard in place.threads]
        ways = [
            (read.atoms, self._again(frame.below), row)
            for frame, row in frames
            if isinstance(read := steps[frame.step], Read)
        ]
        return [
            self._after(
                tuple((stack, row[atom]) for atoms, stack, row in ways if atoms >> atom & 1),
                tuple((left[a][atom], left[b][atom]) for a, b in place.history),
            )
            for atom in range(len(self._program.atoms))
        ]

    def _after(self, ways: tuple[Thread, ...], history: History) -> Place:
        """The place where stacks begin so, made once."""
        key = ways, history
        if key not in self._places:
            self._places[key] = self._settled(ways, history)
        return self._places[key]

    def _settled(self, ways: Iterable[Thread], history: History, *, solid: bool = False) -> Place:
        """The place where stacks begin: every thread as far as it comes without reading."""
        languages, todo = self.languages, [*ways]
        todo.reverse()
        threads: list[Thread] = []
        ends: list[tuple[int, int]] = []
        seen: dict[int, int] = {}  # where each stack has been tried
        failed = ALL  # where no match has ended here
        while todo:
            stack, guard = todo.pop()
            if failed != ALL:
                self.cuts = True
                guard = languages.both(guard, failed)
            before = seen.get(stack, NONE)
            if before != NONE:
                guard = languages.both(guard, languages.opposite(before))
            if guard == NONE:
                continue
            seen[stack] = languages.either(before, guard)
            spend(1)
            if stack == _DONE and solid:
                continue
            if stack == _DONE:
                ends.append((len(threads), guard))
                failed = languages.both(failed, languages.opposite(guard))
                continue
            frame = self._stacks[stack]
            step = self._program.steps[frame.step]
            if isinstance(step, Read):
                threads.append((stack, guard))
            else:
                todo += self._opened(step, frame, guard, history)
        return Place(tuple(threads), history if threads else (), tuple(ends))

    def _opened(self, step: Silent, frame: Frame, guard: int, history: History) -> list[Thread]:
        """The ways on through a step that reads nothing itself, the preferred one last."""
        below = frame.below
        match step:
            case Row():
                stacks = [self._next(step, frame)]
            case Choice(options):
                stacks = [self._entered(each, below) for each in reversed(options)]
            case Count():
                stacks = self._rounds(step, frame)
            case Ahead() | Guard():
                return [(below, self.languages.both(guard, self._wanted(step)))]
            case Behind():
                stacks = [below] if self._is_behind(step, history) else []
            case _:
                assert_never(step)
        return [(stack, guard) for stack in stacks]

    def _next(self, row: Row, frame: Frame) -> int:
        """The stack for the next item of a row."""
        done = frame.low
        if done == len(row.items):
            return frame.below
        is_last = done + 1 == len(row.items)
        rest = frame.below
        if not is_last:
            rest = self._number(Frame(frame.step, rest, done + 1))
        return self._entered(row.items[done], rest)

    def _wanted(self, step: Ahead | Guard) -> int:
        """The language of all that follows."""
        if isinstance(step, Guard):
            return self.languages.number(step.rest)
        begins = self._begins[step.item]
        return self.languages.opposite(begins) if step.negated else begins

    def _rounds(self, count: Count, frame: Frame) -> list[int]:
        """Stacks for another round or none, the preferred one last."""
        if frame.began_here or frame.high == 0:
            return [frame.below]
        high = None if frame.high is None else frame.high - 1
        if frame.low:
            following = Frame(frame.step, frame.below, frame.low - 1, high)
            return [self._entered(count.item, self._number(following))]
        following = Frame(frame.step, frame.below, 0, high, began_here=True)
        another = self._entered(count.item, self._number(following))
        return [another, frame.below] if count.lazy else [frame.below, another]

    def _is_behind(self, step: Behind, history: History) -> bool:
        surely, perhaps = (self.languages.ends[each] for each in history[step.past])
        if surely == perhaps:
            return surely != step.negated
        text, at = self._program.text, step.place
        raise UnsupportedError(
            "what stands before a terminal is not known where it is read, and this looks there",
            feature="lookbehind",
            place=describe_place(text, at),
            text=text,
            position=at,
        )

    def _entered(self, step: int, below: int) -> int:
        """The stack with this step on top."""
        found = self._program.steps[step]
        if isinstance(found, Count):
            return self._number(Frame(step, below, found.low, found.high))
        return self._number(Frame(step, below))

    def _number(self, frame: Frame) -> int:
        number = self._numbers.get(frame)
        if number is None:
            number = self._numbers[frame] = len(self._stacks)
            self._stacks.append(frame)
        return number

    def _again(self, stack: int) -> int:
        """The stack one place further on: no round began there."""
        path: list[int] = []
        while stack not in self._resumed:
            path.append(stack)
            stack = self._stacks[stack].below
        below = self._resumed[stack]
        for each in reversed(path):
            frame = self._stacks[each]
            again = Frame(frame.step, below, frame.low, frame.high)
            below = self._resumed[each] = self._number(again)
        return below
