"""What formulas about arrays and objects list, as texts: apart from all else that they say.

Values that are listed are told apart as they are read (`json_listed`); they are those of which the
whole formula holds (`json_given_sets`).

What this module does not know: how what is left is lowered.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, TypeAlias, final

from guideway.lowering.fuel import spend
from guideway.lowering.json_cases import MOST
from guideway.lowering.json_formulas import Atom, Formula, any_of, atoms, replace
from guideway.lowering.json_given import Like, exactly, told_apart
from guideway.lowering.json_given_sets import (
    values_listed,
    values_that_hold,
    where_none_is_listed,
)
from guideway.lowering.json_listed import listed
from guideway.lowering.json_listed_texts import LEVELS
from guideway.lowering.json_meaning import Meaning
from guideway.lowering.json_satisfied import Satisfied, Untold
from guideway.lowering.json_text import JsonStyle
from guideway.lowering.json_values import Exact, levels_of, plain
from guideway.lowering.nodes import Expr
from guideway.syntax.json_schema_tree import Address
from guideway.syntax.json_text import Json

_Places: TypeAlias = dict[Exact, list[Address]]  # where values are listed

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

    def parts(self, said: Formula) -> list[Expr | Formula]:
        """Alternatives that list nothing, some of them lowered; none, where nothing is listed."""
        values = values_listed(said)
        if not values:
            told = told_apart(said)
            return [] if told is said else [told]
        try:
            held = values_that_hold(said, values, self._satisfied.holds)
        except Untold:
            return [self._part_by_part(said)]
        places = self._places(said) if self._style.ordered else {}
        return [self._of(held, places), told_apart(where_none_is_listed(said))]

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

    def _of(self, values: list[Exact], places: _Places) -> Expr | Formula:
        """One of some values."""
        ordered = self._meaning.constants.in_order(values)
        deep = max(map(levels_of, values), default=0) > LEVELS
        if deep:  # each level comes here
            spend(_LEVEL * len(values))
        found: Expr | None = None
        if len(ordered) > MOST and not deep:
            texts = [text for value in ordered for text in self._written(value, places)]
            found = listed(texts, self._style)
        return self._exactly(ordered, places) if found is None else found

    def _written(self, value: Exact, places: _Places) -> list[Json]:
        """A value, its members in the orders in which they may come."""
        here = places.get(value)
        return [*map(self._meaning.constants.written, here)] if here else [plain(value)]

    def _exactly(self, values: Iterable[Exact], places: _Places) -> Formula:
        """One of some values, part by part."""
        return any_of(
            *(
                said
                for value in values
                for said in (
                    [self._meaning.part_by_part(place, value[0]) for place in places.get(value, ())]
                    or [exactly(value)]
                )
            )
        )

    def _part_by_part(self, said: Formula) -> Formula:
        """A formula that says of each value that it lists what its parts are."""

        def told(atom: Atom) -> Formula | None:
            if not isinstance(atom, Like):
                return None
            return self._exactly(atom.values, self._places_in(atom))

        return told_apart(replace(said, told))
