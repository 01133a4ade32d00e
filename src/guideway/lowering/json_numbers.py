"""Merge the number keywords of several schemas."""

from collections.abc import Iterable
from decimal import Decimal
from typing import TypeVar

from guideway.lowering.number_far import BEYOND
from guideway.lowering.numbers import common_multiple
from guideway.syntax.json_schema_tree import Bound, Numbers

_Value = TypeVar("_Value", bound="str | Decimal")


def merged(parts: list[Numbers]) -> Numbers:
    """All keywords as one, with one bound on each side; `values` satisfy the others.

    >>> merged([Numbers(integer=True), Numbers(frozenset({Decimal(1), Decimal("1.5")}))]).values
    frozenset({Decimal('1')})
    """
    lower = [bound for part in parts for bound in part.lower]
    upper = [bound for part in parts for bound in part.upper]
    multiples = dict.fromkeys(value for part in parts for value in part.multiples)
    made = Numbers(
        common(part.values for part in parts),
        any(part.integer for part in parts),
        any(part.digits for part in parts),
        (max(lower, key=lambda bound: (bound.value, bound.exclusive)),) if lower else (),
        (min(upper, key=lambda bound: (bound.value, not bound.exclusive)),) if upper else (),
        tuple(multiples),
        any(part.double for part in parts),
    )
    if made.values is None:
        return made
    kept = frozenset(value for value in made.values if within(value, made))
    return Numbers(kept, made.integer, made.digits)


def no_number(numbers: Numbers) -> bool:
    """Whether merged keywords plainly leave no number."""
    if numbers.values is not None:
        return not numbers.values
    return any(
        low.value > high.value or (low.value == high.value and (low.exclusive or high.exclusive))
        for low in numbers.lower
        for high in numbers.upper
    )


def within(value: Decimal, numbers: Numbers) -> bool:
    """Whether a value satisfies the keywords, or may, as what is beyond counting."""
    return value == BEYOND or (
        not (numbers.integer and value != value.to_integral_value())
        and all(_above(value, bound) for bound in numbers.lower)
        and all(_above(value.copy_negate(), _mirror(bound)) for bound in numbers.upper)
        and all(_divides(multiple, value) for multiple in numbers.multiples)
    )


def implies(first: Numbers, second: Numbers) -> bool:
    """Whether the numbers of merged keywords are plainly among those of others.

    >>> implies(Numbers(multiples=(Decimal(4), Decimal(6))), Numbers(multiples=(Decimal(12),)))
    True
    """
    if second.values is not None:
        return first.values is not None and first.values <= second.values
    return (
        first.digits >= second.digits
        and all(any(_is_tighter(one, bound) for one in first.lower) for bound in second.lower)
        and all(
            any(_is_tighter(_mirror(one), _mirror(bound)) for one in first.upper)
            for bound in second.upper
        )
        and _divide(_factors(second), _factors(first))
    )


def _factors(numbers: Numbers) -> tuple[Decimal, ...]:
    return (*numbers.multiples, Decimal(1)) if numbers.integer else numbers.multiples


def _divide(some: tuple[Decimal, ...], others: tuple[Decimal, ...]) -> bool:
    return not some or (
        bool(others) and all(_divides(one, common_multiple(others)) for one in some)
    )


def _is_tighter(lower: Bound, other: Bound) -> bool:
    alike = lower.value == other.value and lower.exclusive >= other.exclusive
    return lower.value > other.value or alike


def _above(value: Decimal, bound: Bound) -> bool:
    return value > bound.value or (value == bound.value and not bound.exclusive)


def _mirror(bound: Bound) -> Bound:
    return Bound(bound.value.copy_negate(), bound.exclusive)


def _divides(multiple: Decimal, value: Decimal) -> bool:
    """In integers, as Decimals round, and without writing out the zeros of 1e999999999."""
    (_, digits, power), (_, others, unit) = value.as_tuple(), multiple.as_tuple()
    top, bottom, shift = _whole(digits), _whole(others), int(power) - int(unit)
    if shift >= 0:  # the twos and fives in a number are no more than its bits
        return top * 10 ** min(shift, bottom.bit_length()) % bottom == 0
    return not top or (-shift < len(digits) and top % (bottom * 10**-shift) == 0)


def _whole(digits: tuple[int, ...]) -> int:
    return int(Decimal((0, digits, 0)))


def common(sets: "Iterable[frozenset[_Value] | None]") -> "frozenset[_Value] | None":
    """What is in all the sets that are given, None if none is."""
    known = [values for values in sets if values is not None]
    return known[0].intersection(*known[1:]) if known else None
