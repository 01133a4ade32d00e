"""Doubles in plain spelling: what `repr` writes is there, and nothing longer."""

import json
import math
import random
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

import guideway as gw
from guideway.json_schema.numbers import doubles
from guideway.language.regular import contains
from random_walks import BYTES, text_of

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def plain(schema: Any) -> Any:
    return gw.compile(gw.JsonSchema(schema, spelling="plain"), BYTES)


@given(FLOATS)
@example(1.7976931348623157e308)
@example(5e-324)
def test_a_float_is_among_them_as_it_is_written(value: float) -> None:
    for text in (repr(value), f"{value:.6g}", f"{value:.3f}" if abs(value) < 1e6 else "0"):
        assert contains(doubles(), text.encode()), text


def test_their_texts_are_short_and_finite() -> None:
    constraint = plain({"type": "number", "format": "double"})
    chance = random.Random(3)
    for _ in range(200):
        text = text_of(constraint, chance, 40).decode()
        digits = text.lower().partition("e")[0].lstrip("-0.").replace(".", "")
        assert len(digits) <= 18, text
        assert math.isfinite(json.loads(text))


@pytest.mark.parametrize("number", ["1.7976931348623158e308", "1e309", "1" * 18, "0.1" + "0" * 17])
def test_what_is_longer_or_greater_is_not(number: str) -> None:
    assert not contains(doubles(), number.encode())


def test_bounds_and_multiples_hold_beside_the_format() -> None:
    share = plain({"type": "number", "format": "double", "minimum": 0, "exclusiveMaximum": 1})
    assert [share.matches(text) for text in ("0", "0.5", "1", "0.33333333333333333333")] == [
        True,
        True,
        False,
        False,
    ]
    half = plain({"type": "number", "format": "double", "multipleOf": 0.5})
    assert half.matches("2.5")
    assert not half.matches("2.3")


def test_the_format_changes_spelling_alone() -> None:
    listed = plain({"format": "double", "enum": [1, 0.1234567890123456789]})
    assert listed.matches("1")
    assert listed.matches("0.12345678901234568")
    free = gw.compile(gw.JsonSchema({"type": "number", "format": "double"}), BYTES)
    assert free.matches("3.14159265358979323846")
    assert plain({"type": "string", "format": "double"}).matches('"a"')
    either = plain({"anyOf": [{"type": "number", "format": "double"}, {"type": "integer"}]})
    assert either.matches("1" * 30)


@pytest.mark.parametrize(
    ("kind", "offered", "beyond"),
    [
        (Decimal, ["1", "-12.50", "1E+3", "0E-7", "0." + "1" * 28], ["1." + "0" * 29, "9" * 29]),
        (Annotated[Decimal, Field(decimal_places=2)], ["1.50", "0"], ["1.500", "1.5000"]),
        (Annotated[Decimal, Field(max_digits=3)], ["1.5", "0.12", "123"], ["1.5000", "1234"]),
        (
            Annotated[Decimal, Field(max_digits=4, decimal_places=2, ge=0)],
            ["12.34", "0.5"],
            ["1.230", "-1"],
        ),
        (Annotated[Decimal, Field(ge=Decimal("0.5"))], ["0.5", "1"], ["0." + "9" * 29]),
        (Annotated[Decimal, Field(max_digits=2, decimal_places=2)], ["0.12"], ["0.120", "1"]),
    ],
)
def test_decimals_end_where_more_digits_tell_nothing_apart(
    kind: Any, offered: list[str], beyond: list[str]
) -> None:
    constraint = gw.compile(gw.source(kind, spelling="plain"), BYTES)
    for text in offered:
        assert constraint.matches(f'"{text}"'), text
    for text in beyond:
        assert not constraint.matches(f'"{text}"'), text
