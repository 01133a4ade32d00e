"""Backtracking as an automaton: all ways through a pattern, in the order in which `re` tries them.

A thread is a stack of steps still to match and a guard, the language of all that follows. A place
is a list of threads in order of preference, as in a Pike machine. Threads after one that matches
here require that its guard fails; if it has no guard, they are cut. A round of a count that reads
nothing is the last, as in `re`. The state of lookbehinds is kept beside the threads.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, assert_never, final

from guideway.errors import UnsupportedError
from guideway.lowering.fuel import spend
from guideway.lowering.preferred_languages import ALL, NONE, Languages
from guideway.lowering.preferred_steps import (
    Ahead,
    Behind,
    Choice,
    Count,
    Guard,
    Program,
    Read,
    Row,
    Seen,
    Silent,
)
from guideway.syntax.source import describe_place

Thread: TypeAlias = tuple[int, int]  # numbers of a stack with a Read on top, and of a guard
History: TypeAlias = "tuple[tuple[int, int] | Place, ...]"  # languages or a place

_Way: TypeAlias = tuple[int, int, Sequence[int]]  # atoms, next stack, row of guard

_DONE: Final = 0
_WAY: Final = 5  # fuel: a way takes about 5 µs, so a budget of 4 million lasts for 4 s


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """The top of a stack: a step to match, and the stack below.

    `low` and `high` are the rounds of a count that are missing and left; for a row, `low` is the
    number of items done. `began_here`: a round began at this place, so another would read nothing.
    """

    step: int
    below: int
    low: int = 0
    high: int | None = None
    began_here: bool = False


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Threads after some text, in order of preference.

    `history` is the state of lookbehinds; `ends` are matches that end here: the number of threads
    preferred to each, and its guard.
    """

    threads: tuple[Thread, ...]
    history: History
    ends: tuple[tuple[int, int], ...]


@final
class Machine:
    """The ways through a program; `cuts` is True if a preferred match cut a way.

    `begins` gives the language of texts that begin with a match of the step of an Ahead.
    """

    def __init__(self, program: Program, begins: Callable[[int, History], int]) -> None:
        self.languages = Languages(len(program.atoms))
        self.cuts = False
        self._program, self._begins = program, begins
        self._stacks: list[Frame] = [Frame(-1, _DONE)]
        self._numbers: dict[Frame, int] = {}
        self._resumed = {_DONE: _DONE}
        self._places: dict[tuple[tuple[Thread, ...], History, bool], Place] = {}

    def start(self, step: int, history: History, *, solid: bool = False) -> Place:
        """The place before any text of a step; with `solid` no match ends here."""
        return self._settled([(self._entered(step, _DONE), ALL)], history, solid=solid)

    def unordered(self, step: int, history: History) -> Place:
        """The place before any text of a step, without order of preference."""
        return self._gathered([(self._entered(step, _DONE), ALL)], history)

    @cached_property
    def pasts(self) -> History:
        """The history where the program starts."""
        found, number = (), self.languages.number
        for past in self._program.pasts:
            if isinstance(past, Seen):
                found += (self.unordered(past.step, found),)
            else:
                found += ((number(past.surely), number(past.perhaps)),)
        return found

    def row(self, place: Place, *, ordered: bool = True) -> list[Place]:
        """The places after one more atom, for each atom."""
        ways = self._reading(place.threads)
        return [
            self._after(_over(ways, atom), self._remembered(place.history, atom), ordered)
            for atom in range(len(self._program.atoms))
        ]

    def _reading(self, threads: Iterable[Thread]) -> Sequence[_Way]:
        """The atoms that threads read, the stacks after them, and the rows of their guards."""
        left, steps = self.languages.rows, self._program.steps
        frames = [(self._stacks[stack], left[guard]) for stack, guard in threads]
        return [
            (read.atoms, self._again(frame.below), row)
            for frame, row in frames
            if isinstance(read := steps[frame.step], Read)
        ]

    def _remembered(self, history: History, atom: int) -> History:
        """The history after one more atom."""
        left, found = self.languages.rows, ()
        for known in history:
            if isinstance(known, Place):
                ways = _over(self._reading(known.threads), atom)
                found += (self._after(ways, found, ordered=False),)
            else:
                found += ((left[known[0]][atom], left[known[1]][atom]),)
        return found

    def _after(self, ways: tuple[Thread, ...], history: History, ordered: bool) -> Place:
        """The place of these ways, cached."""
        key = ways, history, ordered
        if key not in self._places:
            put = self._settled if ordered else self._gathered
            self._places[key] = put(ways, history)
        return self._places[key]

    def _gathered(self, ways: Iterable[Thread], history: History) -> Place:
        """Follow threads up to a Read, without order; equal stacks join their guards."""
        either, todo = self.languages.either, [*ways]
        guards: dict[int, int] = {}
        reading: list[int] = []
        while todo:
            stack, guard = todo.pop()
            before = guards.get(stack, NONE)
            guards[stack] = either(before, guard)
            if guards[stack] == before:
                continue
            spend(_WAY)
            frame = self._stacks[stack]
            step = self._program.steps[frame.step] if stack != _DONE else None
            if isinstance(step, Read):
                reading += [stack] if before == NONE else []
            elif step is not None:
                todo += self._opened(step, frame, guards[stack], history)
        threads = tuple((stack, guards[stack]) for stack in sorted(reading))
        ends = ((0, guards[_DONE]),) if guards.get(_DONE, NONE) != NONE else ()
        return Place(threads, history if threads else (), ends)

    def _settled(self, ways: Iterable[Thread], history: History, *, solid: bool = False) -> Place:
        """Follow threads up to a Read, in order of preference."""
        languages, todo = self.languages, [*ways]
        todo.reverse()
        threads: list[Thread] = []
        ends: list[tuple[int, int]] = []
        seen: dict[int, int] = {}  # guard under which each stack has been tried
        failed = ALL  # language of texts for which no match ended here
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
        """The ways through a step that reads nothing itself, the preferred one last."""
        below = frame.below
        match step:
            case Row():
                stacks = [self._next(step, frame)]
            case Choice(options):
                stacks = [self._entered(each, below) for each in reversed(options)]
            case Count():
                stacks = self._rounds(step, frame)
            case Ahead() | Guard():
                return [(below, self.languages.both(guard, self._wanted(step, history)))]
            case Behind():
                return [(below, self.languages.both(guard, self._behind(step, history)))]
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

    def _wanted(self, step: Ahead | Guard, history: History) -> int:
        """The language that a lookahead requires."""
        if isinstance(step, Guard):
            return self.languages.number(step.rest)
        begins = self._begins(step.item, history)
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

    def _behind(self, step: Behind, history: History) -> int:
        """The language of what follows that a lookbehind allows."""
        known, languages = history[step.past], self.languages
        if isinstance(known, Place):
            found = NONE
            for _, guard in known.ends:
                found = languages.either(found, guard)
            return languages.opposite(found) if step.negated else found
        surely, perhaps = (languages.ends[each] for each in known)
        if surely == perhaps:
            return ALL if surely != step.negated else NONE
        text, at = self._program.text, step.place
        raise UnsupportedError(
            "lookbehind beyond the beginning of a terminal is not supported here",
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
        """The stack one atom later, with `began_here` cleared."""
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


def _over(ways: Iterable[_Way], atom: int) -> tuple[Thread, ...]:
    """Advance ways by an atom: the stacks and the derivatives of their guards."""
    return tuple((stack, row[atom]) for atoms, stack, row in ways if atoms >> atom & 1)
