"""What formulas about arrays and objects list, as texts: apart from all else that they say.

Values that are listed are told apart as they are read (`json_listed`); they are those of which the
whole formula holds (`json_given_sets`).

What this module does not know: how what is left is lowered.
"""

from typing import Final, final

from fairlead.lowering.fuel import spend
from fairlead.lowering.json_cases import MOST
from fairlead.lowering.json_formulas import Atom, Formula, any_of, leaf, replace
from fairlead.lowering.json_given import Like, exactly, told_apart
from fairlead.lowering.json_given_sets import (
    values_listed,
    values_that_hold,
    where_none_is_listed,
)
from fairlead.lowering.json_listed import listed
from fairlead.lowering.json_listed_texts import LEVELS
from fairlead.lowering.json_meaning import Meaning
from fairlead.lowering.json_satisfied import Satisfied, Untold
from fairlead.lowering.json_text import JsonStyle
from fairlead.lowering.json_values import Exact, levels_of, plain
from fairlead.lowering.nodes import Expr

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
        if self._style.ordered:
            return [_part_by_part(said)]
        try:
            held = values_that_hold(said, values, self._satisfied.holds)
        except Untold:
            return [_part_by_part(said)]
        return [self._of(held), told_apart(where_none_is_listed(said))]

    def _of(self, values: list[Exact]) -> Expr | Formula:
        """One of some values."""
        ordered = self._meaning.constants.in_order(values)
        deep = max(map(levels_of, values), default=0) > LEVELS
        if deep:  # each level comes here
            spend(_LEVEL * len(values))
        several = len(ordered) > MOST and not deep
        found = listed([*map(plain, ordered)], self._style) if several else None
        return any_of(*map(exactly, ordered)) if found is None else found


def _part_by_part(said: Formula) -> Formula:
    """A formula that says of each value that it lists what its parts are."""

    def told(atom: Atom) -> Formula:
        return any_of(*map(exactly, atom.values)) if isinstance(atom, Like) else leaf(atom)

    return told_apart(replace(said, told))
