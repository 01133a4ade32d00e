"""Ranges as patterns against plain comparison, with `re` to match."""

import re
from datetime import date, timedelta
from decimal import Decimal

from hypothesis import assume, given
from hypothesis import strategies as st

from guideway.json_schema.numerals import decimals, integers, numerals, ordered

COUNTS = st.integers(0, 40) | st.integers(0, 3000)
AMOUNTS = st.decimals(-300, 300, places=2) | st.sampled_from([Decimal(0), Decimal("-0.0")])


def matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


@given(COUNTS, st.none() | COUNTS, COUNTS)
def test_numerals_lie_between_their_bounds(low: int, high: int | None, value: int) -> None:
    inside = low <= value and (high is None or value <= high)
    for near in (value, low):
        inside = low <= near and (high is None or near <= high)
        assert matches(numerals(low, high), str(near)) is inside


@given(st.none() | st.integers(-300, 300), st.none() | st.integers(-300, 300), st.data())
def test_integers_lie_between_their_bounds_and_have_so_many_digits(
    low: int | None, high: int | None, data: st.DataObject
) -> None:
    value = data.draw(st.integers(-1200, 1200) | st.sampled_from([low or 0, high or 0, 0]))
    above, below = low is None or low <= value, high is None or value <= high
    inside = above and below and abs(value) < 1000
    assert matches(integers(low, high, 3), str(value)) is inside
    assert not matches(integers(low, high, 3), "-0")
    assert not matches(integers(low, high, 3), f"0{value}")


@given(st.none() | AMOUNTS, st.none() | AMOUNTS, st.booleans(), st.booleans(), st.data())
def test_decimals_lie_between_their_bounds(
    low: Decimal | None, high: Decimal | None, open_low: bool, open_high: bool, data: st.DataObject
) -> None:
    value = data.draw(AMOUNTS | st.sampled_from([low or Decimal(0), high or Decimal(0)]))
    above = low is None or value > low or (value == low and not open_low)
    below = high is None or value < high or (value == high and not open_high)
    parts = [] if low is None else [decimals(low, least=True, exclusive=open_low)]
    parts += [] if high is None else [decimals(high, least=False, exclusive=open_high)]
    for text in (f"{value:f}", f"{value:f}0" if "." in f"{value:f}" else f"{value:f}.00"):
        assert all(matches(part, text) for part in parts) is (above and below)


@given(st.dates(), st.integers(-800, 800), st.booleans(), st.booleans())
def test_dates_are_in_order(day: date, shift: int, least: bool, exclusive: bool) -> None:
    other = day.toordinal() + shift
    assume(1 <= other <= date.max.toordinal())
    near = day + timedelta(shift)
    pattern = ordered(day.isoformat(), least=least, exclusive=exclusive)
    inside = (near > day if least else near < day) or (near == day and not exclusive)
    assert matches(pattern, near.isoformat()) is inside
