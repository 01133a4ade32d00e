"""Decimals with counts and bounds, against pydantic itself."""

import re
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError

from guideway.python_types.formats import decimal_patterns

COUNTS = st.fixed_dictionaries(
    {},
    optional={
        "max_digits": st.sampled_from([1, 2, 3, 5, 8, 28, 29, 40]),
        "decimal_places": st.sampled_from([0, 1, 2, 3, 8, 9, 12, 30]),
    },
)
BOUNDS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("ge", "gt", "le", "lt"), st.just(Decimal(0)) | st.decimals(-50, 50, places=1)
    ),
)
ZEROS = st.sampled_from(["0", "-0", "0.0", "0.000", "0E-10", "0E+5", "-0E+1"])
NINES = st.builds(
    lambda n, m: "9" * n + ("." + "9" * m if m else ""), st.integers(1, 32), st.integers(0, 9)
)
AMOUNTS = st.decimals(-1000, 1000, allow_nan=False).filter(lambda d: len(str(d)) < 16)
SCIENTIFIC = st.builds(
    lambda sign, digits, exponent: str(Decimal((sign, tuple(map(int, str(digits))), exponent))),
    st.integers(0, 1),
    st.integers(1, 9999),
    st.integers(-14, 14),
)


def on_offer(core: dict[str, Any], text: str) -> bool:
    return all(re.search(p, text) for p in decimal_patterns(core, infinite=False))


def is_read(constraints: dict[str, Any], text: str) -> bool:
    try:
        TypeAdapter(Annotated[Decimal, Field(**constraints)]).validate_json(f'"{text}"')
    except ValidationError:
        return False
    return True


@given(COUNTS, BOUNDS, ZEROS | NINES | AMOUNTS.map(str) | SCIENTIFIC)
def test_what_is_on_offer_is_read_and_what_is_read_is_on_offer(
    counts: dict[str, int], bounds: dict[str, Decimal], text: str
) -> None:
    offered, read = on_offer({**counts, **bounds}, text), is_read({**counts, **bounds}, text)
    if offered:
        assert read
    exponent_beside_a_bound = "E" in text and any(bounds.values())
    many_digits = len(Decimal(text).as_tuple().digits) > 28
    if read and not exponent_beside_a_bound and not ("max_digits" in counts and many_digits):
        assert offered


@pytest.mark.parametrize("text", ["Infinity", "-Infinity", "NaN"])
def test_infinity_is_on_offer_where_it_is_allowed_and_nothing_else_is_asked(text: str) -> None:
    assert re.search(decimal_patterns({}, infinite=True)[0], text)
    assert not re.search(decimal_patterns({"ge": 0}, infinite=True)[0], text)
    assert not re.search(decimal_patterns({"max_digits": 3}, infinite=True)[0], text)
    assert not on_offer({}, text)
