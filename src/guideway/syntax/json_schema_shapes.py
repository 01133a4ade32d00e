"""Facts that depend on the keywords of a part alone, whatever their values.

Cached by keyword list: most of the 3,797 parts of one schema have the keywords of another.
"""

from typing import Final, final

from guideway.syntax.json_schema_later import LATE
from guideway.syntax.json_schema_needs import VALUED, Raw, Said
from guideway.syntax.json_schema_tame_tree import GROUPS
from guideway.syntax.json_schema_tree import OF_SCALARS

_GROUPED: Final = frozenset(GROUPS)
_IDLE: Final = frozenset(("additionalItems", "propertyNames"))


@final
class Shape:
    """Facts about a list of keywords.

    Attributes:
        said: its asserting keywords.
        is_type: `type` is the only one.
        group: the only one if it is in `GROUPS`, else "".
        is_late: one is in `LATE`.
        may_be_idle: one may have no effect, see `in_force`.
        may_be_sure: not for `enum` and `const` together, or with keywords of arrays or objects.
    """

    __slots__ = ("group", "is_late", "is_type", "may_be_idle", "may_be_sure", "said")

    def __init__(self, said: Said) -> None:
        self.said = frozenset(said)
        self.is_type = said == {"type"}
        self.group = next(iter(said), "") if len(said) == 1 and said <= _GROUPED else ""
        self.is_late = not said.isdisjoint(LATE)
        self.may_be_idle = not said.isdisjoint(_IDLE)
        valued = not said.isdisjoint(VALUED)
        self.may_be_sure = not (valued and (said >= VALUED or not said <= OF_SCALARS))


def in_force(raw: Raw, shape: Shape) -> Shape:
    """The shape without keywords that have no effect.

    These are `additionalItems` without a list of items, and `propertyNames` that allow all strings,
    which generators of schemas write for every dictionary.
    """
    idle = set[str]()
    if raw.get("items").__class__ is not list:
        idle.add("additionalItems")
    if raw.get("propertyNames") in ({"type": "string"}, {}):
        idle.add("propertyNames")
    return shape if shape.said.isdisjoint(idle) else Shape(shape.said - idle)
