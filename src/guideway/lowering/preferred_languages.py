"""Regular languages over atoms as numbers: equal ones have one number, whatever they came from.

What looks ahead has to hold for all that follows, and where backtracking goes on only if that
fails, its opposite: both, and "both hold", are languages again. As the states of one smallest
automaton they stay finitely many, they are empty exactly where they have the number of the empty
one, and what is left of one after an atom is a look into its row.

What this module does not know: what they are needed for.
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
_STATE: Final = (
    10  # of fuel: a state takes about 10 µs, so that a budget of 4 million lasts for 4 s
)

State = TypeVar("State", bound=Hashable)


@final
class Languages:
    """The languages that are known.

    Args:
        atoms: how many atoms there are.

    Attributes:
        rows: what is left of each after each atom.
        ends: whether the empty text is in each.
    """

    def __init__(self, atoms: int) -> None:
        self.rows: list[Sequence[int]] = [[ALL] * atoms, [NONE] * atoms]
        self.ends = [True, False]
        self._atoms = range(atoms)
        self._alike = {(self.ends[each], tuple(self.rows[each])): each for each in (ALL, NONE)}
        self._numbers: dict[Expr, int] = {}
        self._both: dict[tuple[int, int], int] = {}
        self._not = {ALL: NONE, NONE: ALL}

    def number(self, expr: Expr) -> int:
        """The language of an expression of the core, in which the byte b is the atom b."""
        if expr not in self._numbers:
            self._numbers |= self.found(
                [expr],
                lambda each: [derivative(each, atom) for atom in self._atoms],
                lambda each: each.nullable,
                self._numbers.get,
            )
        return self._numbers[expr]

    def both(self, left: int, right: int) -> int:
        """What is in both."""
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
        """What is not in it."""
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
        """What is in one of them."""
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
        """The languages from some states of an automaton, and from all that they lead to.

        Args:
            starts: the states.
            following: where a state leads, by each atom.
            ends: whether a text may end in a state.
            known: the language from a state, where it is known already.
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
        """The languages from states that lead to each other; those that they lead out to are known.

        The first of them is the one that was met first.
        One state alone is the language of its row. Several are made one where they are equal, and
        then are new, or are those that one state of theirs is equal to.
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
        """The known languages that the states of an automaton have, if the first has one.

        Args:
            automaton: the smallest one.
            start: the first of its states.
            fixed: states whose languages are known.
        """
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
        """What the states are if the start is this language; None if it is not."""
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
    """Where the states lead that can be reached, and the languages of those that are known."""
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
    """All states that can be reached, the first ones first, and where each leads by each atom.

    Args:
        starts: the first.
        following: where a state leads, by each atom.
        most: how many there may be.

    Raises:
        LimitError: they are too many.
    """
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
