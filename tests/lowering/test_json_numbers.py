"""Number keywords together."""

from decimal import Decimal

import pytest

from fairlead.lowering.json_numbers import merged, no_number, within
from fairlead.syntax.json_schema_tree import Bound, Numbers


def bound(value: str, exclusive: bool = False) -> tuple[Bound, ...]:
    return (Bound(Decimal(value), exclusive),)


@pytest.mark.parametrize(("numbers", "empty"), [
    (Numbers(lower=bound("2"), upper=bound("1")), True),
    (Numbers(lower=bound("2"), upper=bound("2", True)), True),
    (Numbers(lower=bound("2"), upper=bound("2")), False),
    (Numbers(frozenset()), True),
    (Numbers(frozenset((Decimal(1),)), lower=bound("2")), True),
    (Numbers(), False),
])  # fmt: skip
def test_what_plainly_leaves_no_number_is_seen(numbers, empty):
    assert no_number(merged([numbers])) == empty


def test_values_have_to_be_multiples_exactly():
    said = Numbers(multiples=(Decimal("0.1"), Decimal(3)))
    assert within(Decimal("0.3") * 10, said)
    assert not within(Decimal("3.1"), said)
    assert not within(Decimal(10) ** 40 + 1, said)


def test_the_tightest_bounds_stay():
    parts = [Numbers(lower=bound("1"), upper=bound("5")), Numbers(lower=bound("1", True))]
    both = merged(parts)
    assert (both.lower, both.upper) == (bound("1", True), bound("5"))
