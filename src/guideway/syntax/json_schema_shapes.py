"""What the keywords of a part of a JSON Schema say of it, whatever they hold.

Of the 3,797 parts of one schema most have the keywords of another, in the same order, so this is
told once for each list of them.

What this module does not know: what keywords hold.
"""

from typing import Final, final

from guideway.syntax.json_schema_later import LATE
from guideway.syntax.json_schema_needs import VALUED, Raw, Said
from guideway.syntax.json_schema_parts import OF_SCALARS
from guideway.syntax.json_schema_tame_tree import GROUPS

_GROUPED: Final = frozenset(GROUPS)
_IDLE: Final = frozenset(("additionalItems", "propertyNames"))


@final
class Shape:
    """What some keywords, in their order, say of a part.

    Attributes:
        said: those that assert something.
        is_type: whether that is the type alone.
        group: the one of `GROUPS` that it is, if it is one of these alone; or "".
        is_late: whether others have to look at it.
        may_be_idle: whether one of those may say nothing: see `in_force`.
        may_be_sure: not where `enum` or `const` stand beside each other or parts.
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
    """The shape of a part without keywords that say nothing there.

    Those are `additionalItems` beside no list, and that the names of members are strings, which
    schemas made from types say of all that are dictionaries.
    """
    idle = set[str]()
    if raw.get("items").__class__ is not list:
        idle.add("additionalItems")
    if raw.get("propertyNames") in ({"type": "string"}, {}):
        idle.add("propertyNames")
    return shape if shape.said.isdisjoint(idle) else Shape(shape.said - idle)
