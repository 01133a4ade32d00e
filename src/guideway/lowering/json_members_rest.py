"""Arguments of the template in `json_members`."""

from typing import final

from guideway.lowering.json_formulas import Formula
from guideway.lowering.json_objects import Extras
from guideway.syntax.frozen import by_value


@final
@by_value
class Rest:
    """Behind a value: which keys are used, and what the rest satisfies; `place` -1 is the start."""

    place: int
    extras: Extras
    said: Formula


@final
@by_value
class Member:
    """Behind a key, the number of which is counted from 0 for names, then for classes."""

    rest: Rest
    key: int

    @property
    def extras(self) -> Extras:
        """The keys that are used."""
        return self.rest.extras
