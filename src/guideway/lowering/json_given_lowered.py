"""What formulas about arrays and objects list, as texts: apart from all else that they say.

A listed value is kept if it satisfies the whole formula (`json_given_sets`).

What this module does not know: how what is left is lowered.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, TypeAlias, final

from guideway.lowering.fuel import spend
from guideway.lowering.json_formulas import Atom, Formula, any_of, atoms, replace
from guideway.lowering.json_given import Like, exactly, told_apart
from guideway.lowering.json_given_sets import (
    values_listed,
    values_that_hold,
    where_none_is_listed,
)
from guideway.lowering.json_meaning import Meaning
from guideway.lowering.json_satisfied import Satisfied, Untold
from guideway.lowering.json_text import JsonStyle
from guideway.lowering.json_values import Exact, levels_of
from guideway.syntax.json_schema_tree import Address

_Places: TypeAlias = dict[Exact, list[Address]]  # where values are listed

_LEVELS: Final = 64  # each takes some of Python's stack
_LEVEL: Final = 160  # parts for each that is told part by part, .15 ms


@final
class Given:
    """Takes apart what formulas of one document list.

    Args:
        meaning: what its schemas say.
        style: how JSON is written.
    """

    def __init__(self, meaning: Meaning, style: JsonStyle) -> None:
        self._meaning, self._style = meaning, style
        self._satisfied = Satisfied(meaning, style.spelling)

    def parts(self, said: Formula) -> list[Formula]:
        """Alternatives that list nothing; none, where nothing is listed."""
        values = values_listed(said)
        if not values:
            told = told_apart(said)
            return [] if told is said else [told]
        try:
            held = values_that_hold(said, values, self._satisfied.holds)
        except Untold:
            return [self._part_by_part(said)]
        if max(map(levels_of, held), default=0) > _LEVELS:  # each level comes here
            spend(_LEVEL * len(held))
        ordered = self._meaning.constants.in_order(held)
        places = self._places(said) if self._style.ordered else {}
        return [*self._each(ordered, places), told_apart(where_none_is_listed(said))]

    def _places(self, said: Formula) -> _Places:
        """Where values are listed: in the first list that has them."""
        found: _Places = {}
        for atom in atoms(said):
            if isinstance(atom, Like):
                for value, listing in self._places_in(atom).items():
                    found.setdefault(value, listing)
        return found

    def _places_in(self, atom: Like) -> _Places:
        found = defaultdict[Exact, list[Address]](list)
        for place in atom.places:
            found[self._meaning.constants.value(place)].append(place)
        return found

    def _each(self, values: Iterable[Exact], places: _Places) -> list[Formula]:
        """Some values, part by part."""
        return [
            said
            for value in values
            for said in (
                [self._meaning.part_by_part(place, value[0]) for place in places.get(value, ())]
                or [exactly(value)]
            )
        ]

    def _part_by_part(self, said: Formula) -> Formula:
        """A formula that says of each value that it lists what its parts are."""

        def told(atom: Atom) -> Formula | None:
            if not isinstance(atom, Like):
                return None
            return any_of(*self._each(atom.values, self._places_in(atom)))

        return told_apart(replace(said, told))
