"""Regular languages over atoms, numbered as states of one minimal automaton.

Equal languages have one number, so Boolean combinations stay finite, emptiness is a comparison with
NONE, and a derivative is a look at a row.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, TypeVar, final

from guideway.errors import LimitError
from guideway.lowering.circles import circles
from guideway.lowering.equations import Automaton, smallest
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr
from guideway.lowering.regular import derivative

ALL: Final = 0
NONE: Final = 1
MOST_STATES: Final = 5_000
_STATE: Final = 10  # fuel: a state takes about 10 µs, so a budget of 4 million lasts for 4 s

State = TypeVar("State", bound=Hashable)


@final
class Languages:
    """The known languages: derivatives by atom in `rows`, nullability in `ends`."""

    def __init__(self, atoms: int) -> None:
        self.rows: list[Sequence[int]] = [[ALL] * atoms, [NONE] * atoms]
        self.ends = [True, False]
        self._atoms = range(atoms)
        self._alike = {(self.ends[each], tuple(self.rows[each])): each for each in (ALL, NONE)}
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
                [language],
                self.rows.__getitem__,
                lambda each: not self.ends[each],
                self._not.get,
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
        rows, numbers = _explored(starts, following, known)
        seen, met = set[State](numbers), {state: place for place, state in enumerate(rows)}
        for start in met:
            if start not in seen:
                for circle in circles(start, rows.__getitem__, seen):
                    self._settle(sorted(circle, key=met.__getitem__), rows, ends, numbers)
        return numbers

    def _settle(
        self,
        circle: Sequence[State],
        rows: Mapping[State, Sequence[State]],
        ends: Callable[[State], bool],
        numbers: dict[State, int],
    ) -> None:
        """Number the states of a strongly connected component; those it leads to are numbered.

        The first of `circle` was found first. The minimized component is new, or equal to known
        states if its first state is.
        """
        if len(circle) == 1 and circle[0] not in rows[circle[0]]:
            (state,) = circle
            row = [numbers[target] for target in rows[state]]
            found = self._alike.get((ends(state), tuple(row)))
            numbers[state] = self._added(ends(state), row) if found is None else found
            return
        order = {state: place for place, state in enumerate(circle)}
        outside: dict[int, int] = {}
        table = [
            [
                order[target]
                if target in order
                else len(order) + outside.setdefault(numbers[target], len(outside))
                for target in rows[state]
            ]
            for state in order
        ]
        table += [[len(order) + place] * len(self._atoms) for place in range(len(outside))]
        automaton, kinds = smallest(Automaton(table, [*map(ends, order), *(~n for n in outside)]))
        fixed = dict(zip(kinds[len(order) :], outside, strict=True))
        found = self._equal(automaton, kinds[0], fixed)
        if found is None:
            fresh = [kind for kind in dict.fromkeys(kinds) if kind not in fixed]
            found = fixed | {kind: len(self.rows) + n for n, kind in enumerate(fresh)}
            for kind in fresh:
                row = [found[target] for target in automaton.rows[kind]]
                self._added(automaton.marks[kind] is True, row)
        numbers |= {state: found[kinds[place]] for state, place in order.items()}

    def _added(self, ends: bool, row: Sequence[int]) -> int:
        self._alike[ends, tuple(row)] = len(self.rows)
        self.rows.append(row)
        self.ends.append(ends)
        return len(self.rows) - 1

    def _equal(
        self, automaton: Automaton, start: int, fixed: Mapping[int, int]
    ) -> Mapping[int, int] | None:
        """Known languages of the states of an automaton if `start` has one; `fixed` are known."""
        first = [(atom, fixed[to]) for atom, to in enumerate(automaton.rows[start]) if to in fixed]
        for language, row in enumerate(self.rows):
            if all(row[atom] == number for atom, number in first):
                found = self._bisimilar(automaton, start, language, fixed)
                if found is not None:
                    return found
        return None

    def _bisimilar(
        self, automaton: Automaton, start: int, language: int, fixed: Mapping[int, int]
    ) -> Mapping[int, int] | None:
        """The languages of the states if `start` is this language, else None."""
        found, todo = {**fixed, start: language}, [start]
        while todo:
            state = todo.pop()
            if self.ends[found[state]] != automaton.marks[state]:
                return None
            for target, number in zip(automaton.rows[state], self.rows[found[state]], strict=True):
                if target not in found:
                    found[target] = number
                    todo.append(target)
                elif found[target] != number:
                    return None
        return found


def _pair(left: int, right: int) -> tuple[int, int]:
    return (left, right) if left < right else (right, left)


def _explored(
    starts: Sequence[State],
    following: Callable[[State], Sequence[State]],
    known: Callable[[State], int | None],
) -> tuple[dict[State, Sequence[State]], dict[State, int]]:
    """Successors of all reachable unknown states, and the languages of the known ones."""
    rows: dict[State, Sequence[State]] = {}
    numbers: dict[State, int] = {}
    todo = [*starts]
    for state in todo:  # grows while we go
        if state in rows or state in numbers:
            continue
        number = known(state)
        if number is not None:
            numbers[state] = number
            continue
        spend(_STATE)
        rows[state] = following(state)
        todo += dict.fromkeys(rows[state])
        _check_size(len(rows))
    return rows, numbers


def explored(
    starts: Sequence[State],
    following: Callable[[State], Sequence[State]],
    most: int = MOST_STATES,
) -> tuple[Sequence[State], Sequence[Sequence[int]]]:
    """All reachable states, `starts` first, and their successors by atom as numbers."""
    numbers = {state: number for number, state in enumerate(starts)}
    states, rows = [*starts], list[Sequence[int]]()
    for state in states:  # grows while we go
        row: list[int] = []
        for target in following(state):
            number = numbers.setdefault(target, len(states))
            if number == len(states):
                states.append(target)
            row.append(number)
        rows.append(row)
        _check_size(len(states), most)
    return states, rows


def _check_size(states: int, most: int = MOST_STATES) -> None:
    if states > most:
        raise LimitError(
            f"the automaton of a pattern has more than {most} states",
            limit="states of a pattern",
            given=most,
        )
