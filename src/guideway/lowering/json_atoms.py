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
        return (
            leaf(Among(self.values, False), leaf(self)) if self.sign else leaf(Among(self.values))
        )


# Scalars


@final
@by_value
class Text:
    """The strings that some keywords allow, or all others."""

    strings: Strings
    sign: bool = True

    def opposite(self) -> Formula:
        return (
            leaf(Text(self.strings, False), leaf(self)) if self.sign else leaf(Text(self.strings))
        )


@final
@by_value
class Amount:
    """The numbers that some keywords allow, or all others."""

    numbers: Numbers
    sign: bool = True

    def opposite(self) -> Formula:
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
        rest = frozenset((True, False)) - self.values
        return leaf(Flag(rest)) if rest else FALSE


# Objects


@final
@by_value
class Beside:
    """All keys except some names and the keys of some languages."""

    names: frozenset[str]
    patterns: tuple[Expr, ...]


Keys: TypeAlias = Expr | Beside


@final
@by_value
class Named:
    """The value of the member `name`, if there is one, satisfies `value`."""

    name: str
    value: Formula

    def opposite(self) -> Formula:
        if self.value is TRUE:
            return FALSE
        return all_of(leaf(Required(self.name)), named(self.name, opposite(self.value)))


@final
@by_value
class Required:
    """There is a member `name`."""

    name: str

    def opposite(self) -> Formula:
        return named(self.name, FALSE)


@final
@by_value
class Matching:
    """Every member whose key is among `keys` satisfies `value`."""

    keys: Keys
    value: Formula

    def opposite(self) -> Formula:
        return found(self.keys, opposite(self.value))


@final
@by_value
class Found:
    """Some member whose key is among `keys` satisfies `value`."""

    keys: Keys
    value: Formula

    def opposite(self) -> Formula:
        return matching(self.keys, opposite(self.value))


@final
@by_value
class AtLeast:
    """At least `count` members or items are still to come."""

    count: int

    def opposite(self) -> Formula:
        return at_most(self.count - 1)


@final
@by_value
class AtMost:
    """At most `count` members or items are still to come."""

    count: int

    def opposite(self) -> Formula:
        return at_least(self.count + 1)


# Arrays


@final
@by_value
class Item:
    """The item at `position`, if there is one, satisfies `value`."""

    position: int
    value: Formula

    def opposite(self) -> Formula:
        return all_of(longer(self.position + 1), item(self.position, opposite(self.value)))


@final
@by_value
class Items:
    """Every item from `start` on satisfies `value`."""

    start: int
    value: Formula

    def opposite(self) -> Formula:
        return some_item(self.start, opposite(self.value))


@final
@by_value
class SomeItem:
    """Some item from `start` on satisfies `value`."""

    start: int
    value: Formula

    def opposite(self) -> Formula:
        return items(self.start, opposite(self.value))


@final
@by_value
class Holding:
    """`low` to `high` of the items still to come satisfy `value`."""

    value: Formula
    low: int
    high: int | None

    def opposite(self) -> Formula:
        fewer = holding(self.value, 0, self.low - 1)
        return fewer if self.high is None else any_of(fewer, holding(self.value, self.high + 1))


@final
@by_value
class Longer:
    """The whole array has at least `count` items."""

    count: int

    def opposite(self) -> Formula:
        return shorter(self.count - 1)


@final
@by_value
class Shorter:
    """The whole array has at most `count` items."""

    count: int

    def opposite(self) -> Formula:
        return longer(self.count + 1)


@final
@by_value
class Distinct:
    """All items are distinct, or, with sign False, some are equal."""

    sign: bool = True

    def opposite(self) -> Formula:
        return leaf(Distinct(not self.sign))


# Constructors that return TRUE or FALSE for trivial atoms


def named(name: str, value: Formula) -> Formula:
    """`Named`, or TRUE."""
    return TRUE if value is TRUE else leaf(Named(name, value))


def matching(keys: Keys, value: Formula) -> Formula:
    """`Matching`, or TRUE."""
    return TRUE if value is TRUE else leaf(Matching(keys, value))


def found(keys: Keys, value: Formula) -> Formula:
    """`Found`, or FALSE."""
    return FALSE if value is FALSE else leaf(Found(keys, value))


def some_item(start: int, value: Formula) -> Formula:
    """`SomeItem`, or FALSE."""
    return FALSE if value is FALSE else leaf(SomeItem(start, value))


def item(position: int, value: Formula) -> Formula:
    """`Item`, or TRUE."""
    return TRUE if value is TRUE else leaf(Item(position, value))


def items(start: int, value: Formula) -> Formula:
    """`Items`, or TRUE."""
    return TRUE if value is TRUE else leaf(Items(start, value))


def holding(value: Formula, low: int, high: int | None = None) -> Formula:
    """`Holding`, TRUE or FALSE."""
    if high is not None and high < low:
        return FALSE
    return leaf(Holding(value, low, high)) if low > 0 or high is not None else TRUE


def _lower(make: Callable[[int], Formula], count: int) -> Formula:
    return make(count) if count > 0 else TRUE


def _upper(make: Callable[[int], Formula], count: int) -> Formula:
    return make(count) if count >= 0 else FALSE


def at_least(count: int) -> Formula:
    """`AtLeast`, or TRUE."""
    return _lower(lambda number: leaf(AtLeast(number)), count)


def at_most(count: int) -> Formula:
    """`AtMost`, or FALSE."""
    return _upper(lambda number: leaf(AtMost(number)), count)


def longer(count: int) -> Formula:
    """`Longer`, or TRUE."""
    return _lower(lambda number: leaf(Longer(number)), count)


def shorter(count: int) -> Formula:
    """`Shorter`, or FALSE."""
    return _upper(lambda number: leaf(Shorter(number)), count)
