"""The spellings of one number are those between two equal bounds."""

from decimal import Decimal

import pytest

from guideway.automata.derivative import Derivatives
from guideway.lowering.expr import alt, both, complement
from guideway.lowering.numbers import exactly, lower_numbers, number_range
from guideway.syntax.json_schema_tree import Bound, Numbers

NUMBERS = (
    *("0", "-0.0", "5", "-1.5", "10.50", "1024", "99999", "100000", "123456", "1234567.5"),
    *("0.001", "0.00001", "0.0000012", "1e-7", "15e-10", "1e10", "-12e20"),
)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_has_the_spellings_between_two_bounds_that_are_this_number(text: str) -> None:
    value = Decimal(text)
    one, between = exactly(value), number_range(Bound(value), Bound(value))
    unlike = alt(both(one, complement(between)), both(between, complement(one)))
    assert not Derivatives(unlike).alive(unlike)


def test_few_numbers_have_the_spellings_of_each() -> None:
    values = frozenset(map(Decimal, ("0", "5", "-1.5", "1e10", "0.001")))
    listed, few = alt(*map(exactly, values)), lower_numbers(Numbers(values=values))
    unlike = alt(both(few, complement(listed)), both(listed, complement(few)))
    assert not Derivatives(unlike).alive(unlike)
