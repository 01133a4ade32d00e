"""Arguments of the template in `json_members`."""

from typing import final

from guideway.lowering.json_formulas import Formula
from guideway.lowering.json_objects import Extras
from guideway.syntax.frozen import by_value


@final
@by_value
class Rest:
    """State after a value: used names (`place`, -1 at the start), used extra keys, formula left."""

    place: int
    extras: Extras
    said: Formula


@final
@by_value
class Member:
    """State after a key, numbered from 0: names, then classes."""

    rest: Rest
    key: int

    @property
    def extras(self) -> Extras:
        return self.rest.extras
