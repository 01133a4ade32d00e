"""Atoms of formulas about JSON values: about scalars, objects and arrays.

`Named("a", F)`: a member "a", if present, satisfies F. `Matching(keys, F)`: all members with such
keys do; `Found(keys, F)`: some does. Each atom knows its opposite.
"""

from collections.abc import Callable
from typing import TypeAlias, final

from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    Formula,
    all_of,
    any_of,
    leaf,
    opposite,
)
from guideway.lowering.json_values import Exact
from guideway.lowering.nodes import Expr
from guideway.syntax.frozen import by_value
from guideway.syntax.json_schema_tree import Address, Numbers, Strings

# Values


@final
@by_value
class Holds:
    """The schema at an address, or its opposite."""

    schema: Address
    sign: bool = True

    def opposite(self) -> Formula:
        """The same schema, the other sign."""
        return (
            leaf(Holds(self.schema, False), leaf(self)) if self.sign else leaf(Holds(self.schema))
        )


@final
@by_value
class Among:
    """One of some values, or none of them."""

    values: frozenset[Exact]
    sign: bool = True

    def opposite(self) -> Formula:
        """The same values, the other sign."""
        return (
            leaf(Among(self.values, False), leaf(self)) if self.sign else leaf(Among(self.values))
        )


# Scalars


@final
@by_value
class Text:
    """A string as some keywords want it, or not."""

    strings: Strings
    sign: bool = True

    def opposite(self) -> Formula:
        """The other strings."""
        return (
            leaf(Text(self.strings, False), leaf(self)) if self.sign else leaf(Text(self.strings))
        )


@final
@by_value
class Amount:
    """A number as some keywords want it, or not."""

    numbers: Numbers
    sign: bool = True

    def opposite(self) -> Formula:
        """The other numbers."""
        return (
            leaf(Amount(self.numbers, False), leaf(self))
            if self.sign
            else leaf(Amount(self.numbers))
        )


@final
@by_value
class Flag:
    """One of these booleans."""

    values: frozenset[bool]

    def opposite(self) -> Formula:
        """The other booleans."""
        rest = frozenset((True, False)) - self.values
        return leaf(Flag(rest)) if rest else FALSE


# Objects


@final
@by_value
class Beside:
    """All keys but some names, and those that match any of some key languages."""

    names: frozenset[str]
    patterns: tuple[Expr, ...]


Keys: TypeAlias = Expr | Beside


@final
@by_value
class Named:
    """If there is a member `name`, its value satisfies `value`, which may be anything."""

    name: str
    value: Formula

    def opposite(self) -> Formula:
        """There is one, and its value does not."""
        if self.value is TRUE:
            return FALSE
        return all_of(leaf(Required(self.name)), named(self.name, opposite(self.value)))


@final
@by_value
class Required:
    """There is a member `name`."""

    name: str

    def opposite(self) -> Formula:
        """There is none."""
        return named(self.name, FALSE)


@final
@by_value
class Matching:
    """Every member whose key is among `keys` satisfies `value`."""

    keys: Keys
    value: Formula

    def opposite(self) -> Formula:
        """Some such member does not."""
        return found(self.keys, opposite(self.value))


@final
@by_value
class Found:
    """Some member whose key is among `keys` satisfies `value`."""

    keys: Keys
    value: Formula

    def opposite(self) -> Formula:
        """No such member does."""
        return matching(self.keys, opposite(self.value))


@final
@by_value
class AtLeast:
    """So many members or items are still to come, or more."""

    count: int

    def opposite(self) -> Formula:
        """Fewer."""
        return at_most(self.count - 1)


@final
@by_value
class AtMost:
    """So many members or items are still to come, or fewer."""

    count: int

    def opposite(self) -> Formula:
        """More."""
        return at_least(self.count + 1)


# Arrays


@final
@by_value
class Item:
    """If there is an item at `position`, it satisfies `value`."""

    position: int
    value: Formula

    def opposite(self) -> Formula:
        """There is one, and it does not."""
        return all_of(longer(self.position + 1), item(self.position, opposite(self.value)))


@final
@by_value
class Items:
    """Every item from `start` on satisfies `value`."""

    start: int
    value: Formula

    def opposite(self) -> Formula:
        """Some does not."""
        return some_item(self.start, opposite(self.value))


@final
@by_value
class SomeItem:
    """Some item from `start` on satisfies `value`."""

    start: int
    value: Formula

    def opposite(self) -> Formula:
        """None does."""
        return items(self.start, opposite(self.value))


@final
@by_value
class Holding:
    """From `low` to `high` items, of those still to come, satisfy `value`."""

    value: Formula
    low: int
    high: int | None

    def opposite(self) -> Formula:
        """Fewer, or more."""
        fewer = holding(self.value, 0, self.low - 1)
        return fewer if self.high is None else any_of(fewer, holding(self.value, self.high + 1))


@final
@by_value
class Longer:
    """The whole array has so many items, or more."""

    count: int

    def opposite(self) -> Formula:
        """Fewer."""
        return shorter(self.count - 1)


@final
@by_value
class Shorter:
    """The whole array has so many items, or fewer."""

    count: int

    def opposite(self) -> Formula:
        """More."""
        return longer(self.count + 1)


@final
@by_value
class Distinct:
    """No two items are equal, or, with the other sign, some are."""

    sign: bool = True

    def opposite(self) -> Formula:
        """The other sign."""
        return leaf(Distinct(not self.sign))


# What says nothing, or cannot hold, is no atom


def named(name: str, value: Formula) -> Formula:
    """`Named`, unless that says nothing."""
    return TRUE if value is TRUE else leaf(Named(name, value))


def matching(keys: Keys, value: Formula) -> Formula:
    """`Matching`, unless that says nothing."""
    return TRUE if value is TRUE else leaf(Matching(keys, value))


def found(keys: Keys, value: Formula) -> Formula:
    """`Found`, unless that cannot hold."""
    return FALSE if value is FALSE else leaf(Found(keys, value))


def some_item(start: int, value: Formula) -> Formula:
    """`SomeItem`, unless that cannot hold."""
    return FALSE if value is FALSE else leaf(SomeItem(start, value))


def item(position: int, value: Formula) -> Formula:
    """`Item`, unless that says nothing."""
    return TRUE if value is TRUE else leaf(Item(position, value))


def items(start: int, value: Formula) -> Formula:
    """`Items`, unless that says nothing."""
    return TRUE if value is TRUE else leaf(Items(start, value))


def holding(value: Formula, low: int, high: int | None = None) -> Formula:
    """`Holding`, unless that says nothing or cannot hold."""
    if high is not None and high < low:
        return FALSE
    return leaf(Holding(value, low, high)) if low > 0 or high is not None else TRUE


def _lower(make: Callable[[int], Formula], count: int) -> Formula:
    return make(count) if count > 0 else TRUE


def _upper(make: Callable[[int], Formula], count: int) -> Formula:
    return make(count) if count >= 0 else FALSE


def at_least(count: int) -> Formula:
    """`AtLeast`, unless that says nothing."""
    return _lower(lambda number: leaf(AtLeast(number)), count)


def at_most(count: int) -> Formula:
    """`AtMost`, unless that cannot hold."""
    return _upper(lambda number: leaf(AtMost(number)), count)


def longer(count: int) -> Formula:
    """`Longer`, unless that says nothing."""
    return _lower(lambda number: leaf(Longer(number)), count)


def shorter(count: int) -> Formula:
    """`Shorter`, unless that cannot hold."""
    return _upper(lambda number: leaf(Shorter(number)), count)
