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

Thread: TypeAlias = tuple[int, int]  # the numbers of a stack, which begins with a Read, and a guard
History: TypeAlias = "tuple[tuple[int, int] | Place, ...]"  # each past: surely, perhaps; or ways

_Way: TypeAlias = tuple[int, int, Sequence[int]]  # atoms to read, a stack, the row of a guard

_DONE: Final = 0
_WAY: Final = (
    5  # of fuel: a way takes about 5 µs, so that a budget of 4 million lasts for 4 s of them
)


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
        begins: the language of all texts that begin with a match of the step of an Ahead.

    Attributes:
        languages: those that guards and pasts are.
        cuts: whether a way was given up because a match was preferred to it.
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
        """Before any text of this step; no match ends here, if it has to be `solid`."""
        return self._settled([(self._entered(step, _DONE), ALL)], history, solid=solid)

    def unordered(self, step: int, history: History) -> Place:
        """The same for whoever asks what matches, not what is preferred."""
        return self._gathered([(self._entered(step, _DONE), ALL)], history)

    @cached_property
    def pasts(self) -> History:
        """What lookbehinds know where the program starts."""
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
        """What threads read, the stacks behind, and the rows of their guards."""
        left, steps = self.languages.rows, self._program.steps
        frames = [(self._stacks[stack], left[guard]) for stack, guard in threads]
        return [
            (read.atoms, self._again(frame.below), row)
            for frame, row in frames
            if isinstance(read := steps[frame.step], Read)
        ]

    def _remembered(self, history: History, atom: int) -> History:
        """What lookbehinds know after one more atom."""
        left, found = self.languages.rows, ()
        for known in history:
            if isinstance(known, Place):
                ways = _over(self._reading(known.threads), atom)
                found += (self._after(ways, found, ordered=False),)
            else:
                found += ((left[known[0]][atom], left[known[1]][atom]),)
        return found

    def _after(self, ways: tuple[Thread, ...], history: History, ordered: bool) -> Place:
        """The place where stacks begin so, made once."""
        key = ways, history, ordered
        if key not in self._places:
            put = self._settled if ordered else self._gathered
            self._places[key] = put(ways, history)
        return self._places[key]

    def _gathered(self, ways: Iterable[Thread], history: History) -> Place:
        """Each thread as far as it comes without reading; those with one stack are put together."""
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
        """The place where stacks begin: each thread as far as it comes without reading."""
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
        """The language of all that follows."""
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
        """The language of all that follows if what has been read is to be what it asks for."""
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


def _over(ways: Iterable[_Way], atom: int) -> tuple[Thread, ...]:
    """The stacks, and what is left of their guards, over an atom."""
    return tuple((stack, row[atom]) for atoms, stack, row in ways if atoms >> atom & 1)
