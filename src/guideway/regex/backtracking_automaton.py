"""Backtracking as an automaton over character classes."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

from guideway.errors import LimitError, UnsupportedError
from guideway.language.finite_automata import Automaton, Texts, smallest
from guideway.language.fuel import spend
from guideway.language.nodes import Expr
from guideway.language.utf8 import CodePoints
from guideway.regex.backtracking_program import (
    Ahead,
    Behind,
    Choice,
    Count,
    Program,
    Read,
    Row,
    Step,
    whole_program,
)
from guideway.regex.tree import Pattern
from guideway.sources.reading import where

ALL: Final = 0
NONE: Final = 1
MOST_STATES: Final = 5_000
_STATE: Final = 10  # fuel: a state takes about 10 µs, so a budget of 4 million lasts for 4 s

State = TypeVar("State", bound=Hashable)


class Languages:
    """The known languages: derivatives by atom in `rows`, nullability in `ends`."""

    def __init__(self, atoms: int) -> None:
        self.rows: Sequence[Sequence[int]] = [[ALL] * atoms, [NONE] * atoms]
        self.ends: Sequence[bool] = [True, False]
        self._both: dict[tuple[int, int], int] = {}
        self._not = {ALL: NONE, NONE: ALL}

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
History: TypeAlias = tuple[int, ...]  # numbers of places

_Way: TypeAlias = tuple[int, int, Sequence[int]]  # atoms, next stack, row of guard

_DONE: Final = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """The top of a stack: a step to match, and the stack below.

    `low` and `high` are the rounds of a count that are missing and left. `began_here`: a round
    began at this place, so another would read nothing.
    """

    step: int
    below: int
    low: int = 0
    high: int | None = None
    began_here: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Threads after some text, in order of preference.

    `history` has the places in lookbehinds, two for each if any text may precede: without any, and
    after all of them. `ends` are matches that end here: the number of threads preferred to each,
    and its guard.
    """

    threads: tuple[Thread, ...]
    history: History
    ends: tuple[tuple[int, int], ...]


Watch: TypeAlias = tuple[Place, int]
"""Ways that must not match, in a place without ends, and the guard of texts still possible."""


class Machine:
    """The ways through a program, and the languages that they match."""

    def __init__(self, program: Program) -> None:
        self.languages = Languages(len(program.atoms))
        self._program = program
        self._stacks: list[Frame] = [Frame(-1, _DONE)]
        self._numbers: dict[Frame, int] = {}
        self._resumed = {_DONE: _DONE}
        self._places: dict[tuple[tuple[Thread, ...], History, bool], Place] = {}
        self._pasts: list[Place] = []
        self._numbered: dict[Place, int] = {}
        self._histories: dict[History, Sequence[History]] = {(): [()] * len(program.atoms)}
        self._past_rows: dict[int, list[int]] = {}
        self._known: dict[Watch, int] = {}
        self._aheads: dict[tuple[int, History], int] = {}
        for step in program.steps:  # those without lookbehind, innermost first
            if isinstance(step, Ahead) and not self._history_length(step.item):
                self._ahead(step.item, ())

    def start(
        self, step: int, history: History, *, ordered: bool = True, solid: bool = False
    ) -> Place:
        """The place before any text of a step; with `solid` no match ends here."""
        ways = [(self._pushed(step, _DONE), ALL)]
        return self._place(ways, history, ordered=ordered, solid=solid)

    def _history_length(self, step: int) -> int:
        """The number of first places of the history that a step may depend on."""
        return self._program.asked[step] * self._program.places

    @cached_property
    def pasts(self) -> History:
        """The history where the program starts."""
        found: History = ()
        for step in self._program.pasts:
            place = self.start(step, found[: self._history_length(step)], ordered=False)
            found += (self._past(place),)
            found += () if self._program.begun else (self._past(self._after_all(place)),)
        return found

    def _past(self, place: Place) -> int:
        number = self._numbered.setdefault(place, len(self._pasts))
        if number == len(self._pasts):
            self._pasts.append(place)
        return number

    def _after_all(self, place: Place) -> Place:
        """The place after all texts at once, without lookaround."""
        while True:
            ended = [(_DONE, guard) for _, guard in place.ends]
            read = [(stack, ALL) for _, stack, _ in self._reading(place.threads)]
            after = self._place([*ended, *place.threads, *read], (), ordered=False)
            if after == place:
                return place
            place = after

    def row(self, place: Place, *, ordered: bool = True) -> list[Place]:
        """The places after one more atom, for each atom."""
        ways = self._reading(place.threads)
        return [
            self._cached_place(_advance(ways, atom), history, ordered)
            for atom, history in enumerate(self._following(place.history))
        ]

    def _following(self, history: History) -> Sequence[History]:
        """The histories after one more atom, for each atom."""
        if history not in self._histories:
            spend(len(history))
            numbers = (self._past_row(each) for each in history)
            self._histories[history] = [*zip(*numbers, strict=True)]
        return self._histories[history]

    def _past_row(self, number: int) -> list[int]:
        """The numbers of the places of the past after one more atom."""
        found = self._past_rows.get(number)
        if found is None:
            row = self.row(self._pasts[number], ordered=False)
            found = self._past_rows[number] = [self._past(place) for place in row]
        return found

    def _reading(self, threads: Iterable[Thread]) -> Sequence[_Way]:
        """The atoms that threads read, the stacks after them, and the rows of their guards."""
        left, steps = self.languages.rows, self._program.steps
        frames = [(self._stacks[stack], left[guard]) for stack, guard in threads]
        return [
            (read.atoms, self._advanced(frame.below), row)
            for frame, row in frames
            if isinstance(read := steps[frame.step], Read)
        ]

    def _cached_place(self, ways: tuple[Thread, ...], history: History, ordered: bool) -> Place:
        """The place of these ways, cached."""
        key = ways, history, ordered
        if key not in self._places:
            self._places[key] = self._place(ways, history, ordered=ordered)
        return self._places[key]

    def _place(
        self, ways: Sequence[Thread], history: History, *, ordered: bool, solid: bool = False
    ) -> Place:
        """Follow threads up to a Read, in order of preference, or joining those of equal stacks."""
        languages, todo = self.languages, [*reversed(ways)]
        threads: list[Thread] = []
        ends: list[tuple[int, int]] = []
        seen: dict[int, int] = {}  # guard under which each stack has been tried
        failed = ALL  # language of texts for which no match ended here
        while todo:
            stack, guard = todo.pop()
            before = seen.get(stack, NONE)
            if ordered:
                guard = languages.both(guard, failed)
                guard = languages.both(guard, languages.opposite(before))
            joined = languages.either(before, guard)
            if joined == before:
                continue
            seen[stack] = joined
            spend(1)
            if stack == _DONE:
                ends += [] if solid else [(len(threads), guard)]
                failed = failed if solid else languages.both(failed, languages.opposite(guard))
                continue
            frame = self._stacks[stack]
            step = self._program.steps[frame.step]
            if isinstance(step, Read):
                threads.append((stack, guard))
            else:
                todo += self._opened(step, frame, guard, history)
        if not ordered:
            threads = [(stack, seen[stack]) for stack in sorted({stack for stack, _ in threads})]
            ends = [(0, seen[_DONE])] if ends else []
        return Place(tuple(threads), history if threads else (), tuple(ends))

    def _opened(self, step: Step, frame: Frame, guard: int, history: History) -> list[Thread]:
        """The ways through a step that reads nothing itself, the preferred one last."""
        below = frame.below
        match step:
            case Choice(options):
                stacks = [self._pushed(each, below) for each in reversed(options)]
            case Count():
                stacks = self._rounds(step, frame)
            case Ahead(item, negated):
                wanted = self._ahead(item, history)
                wanted = self.languages.opposite(wanted) if negated else wanted
                return [(below, self.languages.both(guard, wanted))]
            case Behind():
                return [(below, self.languages.both(guard, self._lookbehind(step, history)))]
            case Read() | Row():  # never asked for, and never on a stack
                stacks = []
        return [(stack, guard) for stack in stacks]

    def _rounds(self, count: Count, frame: Frame) -> list[int]:
        """Stacks for another round or none, the preferred one last."""
        if frame.began_here or frame.high == 0:
            return [frame.below]
        high = None if frame.high is None else frame.high - 1
        if frame.low:
            following = Frame(frame.step, frame.below, frame.low - 1, high)
            return [self._pushed(count.item, self._number(following))]
        following = Frame(frame.step, frame.below, 0, high, began_here=True)
        another = self._pushed(count.item, self._number(following))
        return [another, frame.below] if count.lazy else [frame.below, another]

    def _lookbehind(self, step: Behind, history: History) -> int:
        """The language of the following text that a lookbehind allows."""
        size = self._program.places
        known = history[step.past * size : (step.past + 1) * size]
        found = {next((guard for _, guard in self._pasts[n].ends), NONE) for n in known}
        if len(found) == 1:
            (held,) = found
            return self.languages.opposite(held) if step.negated else held
        raise UnsupportedError(
            "lookbehind beyond the beginning of a terminal is not supported here",
            feature="lookbehind",
            **where(self._program.text, step.place),
        )

    def _pushed(self, step: int, below: int) -> int:
        """The stack with this step on top."""
        match self._program.steps[step]:
            case Row(items):
                for item in reversed(items):
                    below = self._pushed(item, below)
                return below
            case Count(_, low, high):
                return self._number(Frame(step, below, low, high))
            case _:
                return self._number(Frame(step, below))

    def _number(self, frame: Frame) -> int:
        number = self._numbers.get(frame)
        if number is None:
            number = self._numbers[frame] = len(self._stacks)
            self._stacks.append(frame)
        return number

    def _advanced(self, stack: int) -> int:
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

    def _ahead(self, item: int, history: History) -> int:
        """The texts that begin with a match of the item of an Ahead."""
        key = item, history[: self._history_length(item)]
        if key not in self._aheads:
            self._aheads[key] = self.begun(item, key[1])
        return self._aheads[key]

    def begun(self, step: int, history: History, *, solid: bool = False) -> int:
        """The texts that begin with a match of a step; with `solid`, a nonempty one."""
        place = self.start(step, history, ordered=False, solid=solid)
        (never,) = self.unmatched([self._watch_at(place, ALL)])
        return self.languages.opposite(never)

    def unmatched(self, starts: Sequence[Watch]) -> Sequence[int]:
        """For each watch, the texts in its guard that have no match of its ways as a prefix."""
        self._known |= self.languages.found(
            starts, self._watched, lambda watch: self.languages.ends[watch[1]], self._language
        )
        return [self._known[each] for each in starts]

    def _language(self, watch: Watch) -> int | None:
        """The known language of a watch; without threads, its guard."""
        place, guard = watch
        return self._known.get(watch) if place.threads else guard

    def _watched(self, watch: Watch) -> Sequence[Watch]:
        """The watch after each atom."""
        places = self.row(watch[0], ordered=False)
        guards = self.languages.rows[watch[1]]
        known: dict[tuple[int, int], Watch] = {}  # many atoms lead to the same
        found: list[Watch] = []
        for place, guard in zip(places, guards, strict=True):
            key = id(place), guard
            if key not in known:
                known[key] = self._watch_at(place, guard)
            found.append(known[key])
        return found

    def _watch_at(self, place: Place, guard: int) -> Watch:
        """The watch at a place: matches that end there leave the guard."""
        for _, other in place.ends:
            guard = self.languages.both(guard, self.languages.opposite(other))
        threads, history = (place.threads, place.history) if guard != NONE else ((), ())
        return Place(threads, history, ()), guard


def _advance(ways: Iterable[_Way], atom: int) -> tuple[Thread, ...]:
    """Advance ways by an atom: the stacks and the derivatives of their guards."""
    return tuple((stack, row[atom]) for atoms, stack, row in ways if atoms >> atom & 1)


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
    machine = Machine(steps)
    found = machine.begun(steps.start, machine.pasts)
    rows, ends = machine.languages.rows, machine.languages.ends
    return Texts(rows, ends, lambda atoms: spell(steps.characters(atoms))).after(found)
