"""Bounds and multiples of numbers and dates, with pydantic as the oracle."""

import datetime as dt
import re
import sys
from decimal import Decimal
from math import inf, nan
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter

from guideway.errors import SourceError, UnsupportedError
from guideway.python_types.adapter import read_core
from guideway.python_types.formats import outer_bound
from guideway.python_types.place import Place
from guideway.python_types.source import type_schema
from type_oracle import check_offers

NUMBER = int | float
EXACT = int | Decimal
ONE_AND_A_BIT = '"1.10000000000000005"'  # between 1.1 and the float of that name
BIG = 2**53 + 1  # no float


def told(type_: Any, **constraints: Any) -> Any:
    return Annotated[type_, Field(**constraints)]


@pytest.mark.parametrize(
    ("type_", "offered", "beyond"),
    [
        (
            told(told(int, multiple_of=2) | told(int, multiple_of=5), multiple_of=3),
            ["6", "15", "0"],
            ["3", "9", "2", "5"],
        ),
        (told(told(int, ge=0) | int, multiple_of=-3), ["3", "-3"], ["2", "4"]),
        (told(int, multiple_of="2"), ["2"], ["3"]),
        (told(int, ge="2"), ["2"], ["1"]),
        (told(Decimal, ge="2"), ['"2"'], ['"1"']),
        (told(Decimal, le=1.1), ['"1.1"'], [ONE_AND_A_BIT]),
        (told(EXACT, le=1.1), ["1", ONE_AND_A_BIT], ["2", '"1.1000000000000001"']),
        (told(told(Decimal, le=1.1) | int, le=1.1), ['"1.1"'], [ONE_AND_A_BIT]),
        (told(EXACT, gt=1.5), ["2", '"1.6"'], ["1", '"1.5"']),
        (told(EXACT, ge=Decimal("-1.5")), ["-1", '"-1.5"'], ["-2", '"-1.6"']),
        (told(EXACT, lt=Decimal("1.5")), ["1", '"1.4"'], ["2", '"1.5"']),
        (told(NUMBER, ge=Decimal("1.1")), ["2", "1.1"], ["1", "1.0999999999999999"]),
        (told(NUMBER, le=Decimal("1.1")), ["1", "1.0999999999999999"], ["2", "1.1"]),
        (told(NUMBER, gt=BIG), [f"{BIG + 1}"], [f"{BIG}", f"{BIG - 1}.0"]),
        (told(NUMBER, lt=BIG), [f"{BIG - 1}.0"], [f"{BIG}", f"{BIG + 1}.0"]),
        (told(NUMBER, ge=BIG), [f"{BIG}", f"{BIG + 1}.0"], [f"{BIG - 1}.0"]),
        (told(NUMBER, le=10**400), ["1", "1.5"], []),
        (told(float, ge=BIG), [f"{BIG - 1}.0"], [f"{BIG - 3}.0"]),
        (told(float, le=inf), ["1.5"], []),
        (told(Decimal, lt=Decimal("Infinity")), ['"1"'], ['"Infinity"']),
        (told(Decimal, lt=inf, ge=-inf, allow_inf_nan=True), ['"1"'], ['"Infinity"']),
        (told(EXACT, le=inf), ["1", '"-1"'], []),
        (
            told(told(dt.date, ge=dt.date(2020, 1, 1)) | None, le=dt.date(2021, 1, 1)),
            ["null", '"2020-01-01"'],
            ['"2019-12-31"', '"2021-01-02"'],
        ),
        (dict[told(int, gt="1", lt=4.0), int], ['{"2":1,"3":1}'], ['{"1":1}', '{"4":1}']),
    ],
)
def test_bounds_hold_as_pydantic_compares(
    type_: Any, offered: list[str], beyond: list[str]
) -> None:
    check_offers(type_, offered, beyond)


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (told(float, ge=nan), "ge=nan is not a bound: no number compares with it"),
        (told(float, lt=nan), "lt=nan is not a bound"),
        (told(Decimal, ge=Decimal("NaN")), "ge=NaN is not a bound"),
        (told(EXACT, le=Decimal("sNaN")), "le=sNaN is not a bound"),
        (told(float, ge=inf), "ge=inf leaves no finite number"),
        (told(float, gt=sys.float_info.max), "a float above 1.7976931348623157e+308 is not finite"),
        (told(float, lt=-sys.float_info.max), "a float below -1.7976931348623157e+308"),
        (told(NUMBER, ge=10**400), "ge=inf leaves no finite number"),
        (told(Decimal, lt=-inf), "lt=-inf leaves no finite number"),
        (told(Decimal, le=Decimal("1e5000")), "le with 4000 digits or more is not supported"),
        (told(Decimal, ge=Decimal("1e-5000")), "ge with 4000 digits or more is not supported"),
        (told(Decimal, le=Decimal("1e600")), "le with more than 500 digits is not supported"),
        (told(EXACT, ge=5e-324), "ge with more than 500 digits is not supported"),
        (told(dt.date | int, ge=2), "ge=2 is not supported for date"),
        (told(dt.date, ge="2020-01-05"), "ge='2020-01-05' is not supported for date"),
        (
            told(dt.date | int, ge=dt.datetime(2020, 1, 1)),
            "ge=datetime.datetime(2020, 1, 1, 0, 0) is not supported for date",
        ),
        (told(EXACT, ge="a"), "ge='a' is not supported for int"),
        (told(int | bool, multiple_of=0.1), "multiple_of=0.1 is not supported for int"),
        (told(Decimal, max_digits=0), "max_digits=0 allows no number: even 0 has a digit"),
        (told(Decimal, decimal_places=10**9), "decimal_places of more than 4000 is not supported"),
    ],
)
def test_bounds_that_cannot_be_honoured_are_refused_by_name(type_: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        type_schema(type_)


@pytest.mark.parametrize("inner", [int | Decimal, str | Decimal])
def test_numbers_that_python_cannot_write_are_refused(inner: Any) -> None:
    """pydantic itself cannot name such a type, so the core schema is made from another."""
    core: Any = TypeAdapter(told(inner, ge=1)).core_schema
    core["function"]["function"].keywords["ge"] = 10**5000
    with pytest.raises(UnsupportedError, match=r"^ge(=an int of 16610 bits| with 4000)"):
        read_core(core, Place("T"))
    with pytest.raises(
        SourceError, match=r"pydantic failed on \w+ \| Decimal with ValueError: Exceeds"
    ):
        type_schema(told(inner, ge=10**5000))


BOUND = st.floats(-3, 3) | st.decimals(-3, 3, places=2) | st.integers(-3, 3)


@given(st.sampled_from(["ge", "gt", "le", "lt"]), BOUND, st.integers(-4, 4), st.floats(-4, 4))
def test_a_bound_of_a_kind_says_the_same_of_its_numbers(
    name: str, bound: Any, whole: int, real: float
) -> None:
    for kind, value in (("int", whole), ("float", real)):
        moved = outer_bound(kind, name, bound, Place("T"))
        compare = f"__{name}__"
        assert getattr(Decimal(value), compare)(Decimal(bound)) is getattr(Decimal(value), compare)(
            Decimal(moved)
        )
