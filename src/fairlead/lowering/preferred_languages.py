"""Regular languages over atoms as numbers: equal ones have one number, whatever they came from.

What looks ahead has to hold for all that follows, and where backtracking goes on only if that
fails, its opposite: both, and "both hold", are languages again. As the states of one smallest
automaton they stay finitely many, they are empty exactly where they have the number of the empty
one, and what is left of one after an atom is a look into its row.

What this module does not know: what they are needed for.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeVar, final

from fairlead.errors import LimitError
from fairlead.lowering.equations import Automaton, smallest
from fairlead.lowering.nodes import Expr
from fairlead.lowering.regular import derivative

ALL: Final = 0
NONE: Final = 1
MOST_STATES: Final = 5_000

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
        self._numbers = dict[Expr, int]()
        self._both = dict[tuple[int, int], int]()
        self._not = {ALL: NONE, NONE: ALL}

    def number(self, expr: Expr) -> int:
        """The language of an expression of the core, in which the byte b is the atom b."""
        if expr not in self._numbers:
            (self._numbers[expr],) = self.found(
                [expr],
                lambda each: [derivative(each, atom) for atom in self._atoms],
                lambda each: each.nullable,
            )
        return self._numbers[expr]

    def both(self, left: int, right: int) -> int:
        """What is in both."""
        if left in (right, NONE) or right == ALL:
            return left
        if right == NONE or left == ALL:
            return right
        pair = (left, right) if left < right else (right, left)
        if pair not in self._both:
            (self._both[pair],) = self.found(
                [pair],
                lambda each: [*zip(self.rows[each[0]], self.rows[each[1]], strict=True)],
                lambda each: self.ends[each[0]] and self.ends[each[1]],
            )
        return self._both[pair]

    def opposite(self, language: int) -> int:
        """What is not in it."""
        if language not in self._not:
            (found,) = self.found(
                [language], self.rows.__getitem__, lambda each: not self.ends[each]
            )
            self._not[language], self._not[found] = found, language
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
    ) -> Sequence[int]:
        """The languages from some states of an automaton.

        Args:
            starts: the states, all different.
            following: where a state leads, by each atom.
            ends: whether a text may end in a state.
        """
        states, rows = explored(starts, following)
        before = len(self.rows)
        shifted = [[before + target for target in row] for row in rows]
        marks = [*self.ends, *map(ends, states)]
        _, kinds = smallest(Automaton([*self.rows, *shifted], marks))
        numbers = {kind: number for number, kind in enumerate(kinds[:before])}
        new = list[int]()
        for state, kind in enumerate(kinds[before:]):
            if numbers.setdefault(kind, before + len(new)) == before + len(new):
                new.append(state)
        self.rows += [[numbers[kinds[target]] for target in shifted[state]] for state in new]
        self.ends += [marks[before + state] for state in new]
        return [numbers[kinds[before + number]] for number in range(len(starts))]


def explored(
    starts: Sequence[State], following: Callable[[State], Sequence[State]]
) -> tuple[Sequence[State], Sequence[Sequence[int]]]:
    """All states that can be reached, the first ones first, and where each leads by each atom.

    Raises:
        LimitError: they are too many.
    """
    numbers = {state: number for number, state in enumerate(starts)}
    states, rows = [*starts], list[Sequence[int]]()
    for state in states:  # grows while we go
        row = list[int]()
        for target in following(state):
            number = numbers.setdefault(target, len(states))
            if number == len(states):
                states.append(target)
            row.append(number)
        rows.append(row)
        if len(states) > MOST_STATES:
            raise LimitError(
                f"the automaton of a terminal has more than {MOST_STATES} states",
                limit="states of a terminal",
                given=MOST_STATES,
            )
    return states, rows
