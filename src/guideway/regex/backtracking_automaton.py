"""Backtracking as an automaton over character classes."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, TypeVar, assert_never, final

from guideway.errors import LimitError, UnsupportedError
from guideway.language.finite_automata import Automaton, Texts, smallest
from guideway.language.fuel import spend
from guideway.language.nodes import Expr
from guideway.language.regular import derivative
from guideway.language.utf8 import CodePoints
from guideway.regex.backtracking_program import (
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
    Step,
    whole_program,
)
from guideway.regex.tree import Pattern
from guideway.sources.values import describe_place

ALL: Final = 0
NONE: Final = 1
MOST_STATES: Final = 5_000
_STATE: Final = 10  # fuel: a state takes about 10 µs, so a budget of 4 million lasts for 4 s

State = TypeVar("State", bound=Hashable)


@final
class Languages:
    """The known languages: derivatives by atom in `rows`, nullability in `ends`."""

    def __init__(self, atoms: int) -> None:
        self.rows: Sequence[Sequence[int]] = [[ALL] * atoms, [NONE] * atoms]
        self.ends: Sequence[bool] = [True, False]
        self._atoms = range(atoms)
        self._numbers: dict[Expr, int] = {}
        self._both: dict[tuple[int, int], int] = {}
        self._not = {ALL: NONE, NONE: ALL}

    def number(self, expr: Expr) -> int:
        """The language of an expression in which byte b is atom b."""
        if expr not in self._numbers:
            self._numbers |= self.found(
                [expr],
                lambda each: [derivative(each, atom) for atom in self._atoms],
                lambda each: each.nullable,
                self._numbers.get,
            )
        return self._numbers[expr]

    def both(self, left: int, right: int) -> int:
        """Intersection."""
        pair = _pair(left, right)
        found = self._known_both(pair)
        if found is None:
            self._both |= self.found(
                [pair],
                lambda each: [*map(_pair, self.rows[each[0]], self.rows[each[1]])],
                lambda each: self.ends[each[0]] and self.ends[each[1]],
                self._known_both,
            )
            found = self._both[pair]
        return found

    def _known_both(self, pair: tuple[int, int]) -> int | None:
        left, right = pair
        if left in (right, ALL):
            return right
        return NONE if NONE in pair else self._both.get(pair)

    def opposite(self, language: int) -> int:
        """Complement."""
        if language not in self._not:
            found = self.found(
                [language], self.rows.__getitem__, lambda each: not self.ends[each], self._not.get
            )
            self._not |= found
            self._not |= {other: each for each, other in found.items()}
        return self._not[language]

    def either(self, left: int, right: int) -> int:
        """Union."""
        if left == NONE or right == NONE:
            return right if left == NONE else left
        return self.opposite(self.both(self.opposite(left), self.opposite(right)))

    def found(
        self,
        starts: Sequence[State],
        following: Callable[[State], Sequence[State]],
        ends: Callable[[State], bool],
        known: Callable[[State], int | None],
    ) -> Mapping[State, int]:
        """Languages of the states of an automaton, from `starts` on.

        `following` gives the successors by atom, `known` the language of a state if it has one.
        """
        numbers: dict[State, int] = {}

        def unknown(state: State) -> Sequence[State]:
            number = known(state)
            if number is None:
                spend(_STATE)
                return following(state)
            numbers[state] = number
            return ()

        rows = explored(starts, unknown)
        fresh = [state for state in rows if state not in numbers]
        places = numbers | {state: len(self.rows) + n for n, state in enumerate(fresh)}
        table = [*self.rows, *([places[target] for target in rows[state]] for state in fresh)]
        automaton, kinds = smallest(Automaton(table, [*self.ends, *map(ends, fresh)]))
        # Known languages differ from one another and come first, so they keep their numbers.
        self.rows, self.ends = automaton.rows, [mark is True for mark in automaton.marks]
        return {state: kinds[place] for state, place in places.items()}


def _pair(left: int, right: int) -> tuple[int, int]:
    return (left, right) if left < right else (right, left)


def explored(
    starts: Sequence[State], following: Callable[[State], Sequence[State]]
) -> dict[State, Sequence[State]]:
    """The successors of all reachable states, in the order in which the states are found."""
    rows: dict[State, Sequence[State]] = {}
    todo = [*starts]
    for state in todo:  # grows while we go
        if state not in rows:
            rows[state] = following(state)
            todo += dict.fromkeys(rows[state])
        if len(rows) > MOST_STATES:
            raise LimitError(
                f"the automaton of a pattern has more than {MOST_STATES} states",
                limit="states of a pattern",
                given=MOST_STATES,
            )
    return rows


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
    """The ways through a program.

    `begins` gives the language of texts that begin with a match of the step of an Ahead.
    """

    def __init__(self, program: Program, begins: Callable[[int, History], int]) -> None:
        self.languages = Languages(len(program.atoms))
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
                return [(below, self.languages.both(guard, self._lookbehind(step, history)))]
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

    def _lookbehind(self, step: Behind, history: History) -> int:
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


@final
@dataclass(frozen=True, slots=True)
class Watch:
    """Ways that must not match, and the guard of texts that are still possible."""

    threads: tuple[Thread, ...]
    history: History
    guard: int


@final
class Watches:
    """Languages of what ways through a program match."""

    def __init__(self, program: Program) -> None:
        self.machine = Machine(program, self._ahead)
        self._languages = self.machine.languages
        self._known: dict[Watch, int] = {}
        self._aheads: dict[tuple[int, History], int] = {}
        self._asked = _asked(program)
        for step in program.steps:  # those without lookbehind, innermost first
            if isinstance(step, Ahead) and not self._asked[step.item]:
                self._ahead(step.item, ())

    def _ahead(self, item: int, history: History) -> int:
        """The texts that begin with a match of the item of an Ahead."""
        key = item, history[: self._asked[item]]
        if key not in self._aheads:
            self._aheads[key] = self.begun(item, key[1])
        return self._aheads[key]

    def begun(self, step: int, history: History, *, solid: bool = False) -> int:
        """The texts that begin with a match of a step; with `solid`, a nonempty one."""
        place = self.machine.unordered(step, history)
        start = Place(place.threads, place.history, ()) if solid else place
        (never,) = self.unmatched([self._on(start, ALL)])
        return self._languages.opposite(never)

    def unmatched(self, starts: Sequence[Watch]) -> Sequence[int]:
        """For each watch, the texts in its guard that have no match of its ways as a prefix."""
        self._known |= self._languages.found(
            starts, self._watched, self._holds, self._known_language
        )
        return [self._known[each] for each in starts]

    def _known_language(self, watch: Watch) -> int | None:
        """The known language of a watch; without threads, its guard."""
        return self._known.get(watch) if watch.threads else watch.guard

    def _holds(self, watch: Watch) -> bool:
        return self._languages.ends[watch.guard]

    def _watched(self, watch: Watch) -> Sequence[Watch]:
        """The watch after each atom."""
        places = self.machine.row(Place(watch.threads, watch.history, ()), ordered=False)
        guards = self._languages.rows[watch.guard]
        known: dict[tuple[int, int], Watch] = {}  # many atoms lead to the same
        found: list[Watch] = []
        for place, guard in zip(places, guards, strict=True):
            key = id(place), guard
            if key not in known:
                known[key] = self._on(place, guard)
            found.append(known[key])
        return found

    def _on(self, place: Place, guard: int) -> Watch:
        """The watch at a place: matches that end there leave the guard."""
        languages = self._languages
        for _, other in place.ends:
            guard = languages.both(guard, languages.opposite(other))
        return Watch((), (), NONE) if guard == NONE else Watch(place.threads, place.history, guard)


def _asked(program: Program) -> Sequence[int]:
    """For each step, how many of the first pasts it depends on."""
    found: list[int] = []
    for step in program.steps:  # parts come first
        asked = step.past + 1 if isinstance(step, Behind) else 0
        found.append(max((found[part] for part in _substeps(step)), default=asked))
    return found


def _substeps(step: Step) -> Sequence[int]:
    match step:
        case Row(items):
            return items
        case Choice(options):
            return options
        case Count(item) | Ahead(item):
            return (item,)
        case _:
            return ()


@final
class NotByParts(Exception):  # noqa: N818  it says how to go on, and is no error
    """A pattern cannot be put together from its parts."""


def whole_matches(pattern: Pattern, search: bool, spell: Callable[[CodePoints], Expr]) -> Expr:
    """The texts that `pattern` matches as a whole, or (`search`) in which it matches somewhere.

    >>> from guideway.language.utf8 import character
    >>> from guideway.regex.parser import parse_regex
    >>> texts = whole_matches(parse_regex("(?:ab(?=ba)|ba)*"), False, character)
    >>> from guideway.language.regular import contains
    >>> contains(texts, b"abba"), contains(texts, b"abab")
    (True, False)

    The pattern has no back references. `spell` gives one character out of a set as bytes. Raises
    UnsupportedError for lookaround nested more than 12 deep, LimitError for a large automaton.
    """
    steps = whole_program(pattern, search)
    watches = Watches(steps)
    machine = watches.machine
    found = watches.begun(steps.start, machine.pasts)
    rows, ends = machine.languages.rows, machine.languages.ends
    return Texts(rows, ends, lambda atoms: spell(steps.characters(atoms))).after(found)
