"""Ranges of numbers against `Decimal`, whose comparison is exact and shares no code with them."""

import json
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.automata.derivative import Derivatives
from fairlead.lowering.expr import EMPTY
from fairlead.lowering.nodes import Expr
from fairlead.lowering.numbers import digits_range, exactly, integer_range, number_range
from fairlead.syntax.json_schema_tree import Bound
from json_schemas import matches

JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
NORMAL = re.compile(r"-?[1-9](\.\d+)?[eE][+-]?(\d+)")
BOUNDS = st.none() | st.builds(
    Bound,
    st.sampled_from(
        [Decimal(n).scaleb(-e) for n in (0, 1, -1, 25, -125, 999, 1000) for e in range(4)]
    )
    | st.integers(-12, 12).map(Decimal)
    | st.sampled_from([Decimal("1e5"), Decimal("-1e-5"), Decimal("12345.678")]),
    st.booleans(),
)
DIGITS = st.text(st.sampled_from("0123459"), max_size=4)


def spellings() -> st.SearchStrategy[str]:
    """Numbers near the bounds, in all forms of JSON."""
    whole = st.sampled_from(["0", "1", "9", "10", "12", "25", "99", "100", "125", "1000", "12345"])
    fraction = st.just("") | st.builds(".{}{}".format, st.sampled_from("012569"), DIGITS)
    signs, ends = (
        st.sampled_from(["", "+", "-"]),
        st.sampled_from(["0", "1", "2", "3", "5", "05", "00"]),
    )
    exponent = st.just("") | st.builds("{}{}{}".format, st.sampled_from("eE"), signs, ends)
    return st.builds("{}{}{}{}".format, st.sampled_from(["", "-"]), whole, fraction, exponent)


def inside(value: Decimal, lower: Bound | None, upper: Bound | None) -> bool:
    above = lower is None or value > lower.value or (value == lower.value and not lower.exclusive)
    below = upper is None or value < upper.value or (value == upper.value and not upper.exclusive)
    return above and below


def reads(expr: Expr, text: str) -> bool:
    return matches(Derivatives(expr), text)


@pytest.mark.parametrize("limit", range(-11, 12))
def test_every_bound_admits_exactly_the_integers_on_its_side(limit):
    texts = [(value, str(value)) for value in range(-200, 201)]
    for exclusive in (False, True):
        bound = Bound(Decimal(limit), exclusive)
        for lower, upper in ((bound, None), (None, bound)):
            expected = [text for value, text in texts if inside(Decimal(value), lower, upper)]
            for make in (integer_range, number_range):
                for plain in (False, True):
                    engine = Derivatives(make(lower, upper, plain=plain))
                    assert [text for _, text in texts if matches(engine, text)] == expected
            engine = Derivatives(digits_range(lower, upper))
            assert [text for _, text in texts if matches(engine, text)] == expected


@given(BOUNDS, BOUNDS, st.lists(spellings(), min_size=1))
def test_numbers_between_bounds_are_those_in_the_promised_forms(lower, upper, texts):
    engines = [Derivatives(number_range(lower, upper, plain=plain)) for plain in (False, True)]
    bounded = lower is not None or upper is not None
    for text in texts:
        value, normal = Decimal(text), NORMAL.fullmatch(text)
        good = inside(value, lower, upper)
        decimal = DECIMAL.fullmatch(text) is not None
        any_form = not bounded or decimal or normal is not None or value == 0
        plain_form = decimal or (normal is not None and len(normal[2]) <= 3)
        assert matches(engines[0], text) == (good and any_form), text
        assert matches(engines[1], text) == (good and plain_form), text


@given(BOUNDS, BOUNDS, st.lists(spellings(), min_size=1))
def test_integers_between_bounds_are_those_in_the_promised_forms(lower, upper, texts):
    engines = [Derivatives(integer_range(lower, upper, plain=plain)) for plain in (False, True)]
    digits = Derivatives(digits_range(lower, upper))
    bounded = lower is not None or upper is not None
    for text in texts:
        value = Decimal(text)
        good = inside(value, lower, upper) and value == value.to_integral_value()
        shifted = re.search(r"e-0*[1-9]", text.lower()) is None or value == 0
        any_form = not bounded or DECIMAL.fullmatch(text) or NORMAL.fullmatch(text) or value == 0
        assert matches(engines[0], text) == bool(good and shifted and any_form), text
        assert matches(engines[1], text) == (good and bool(re.fullmatch(r"0|-?[1-9]\d*", text)))
        assert matches(digits, text) == (good and bool(re.fullmatch(r"-?(0|[1-9]\d*)", text)))


@given(st.text(st.sampled_from("01.-+eE"), max_size=7))
def test_without_bounds_any_number_is_jsons_grammar(text):
    assert reads(number_range(), text) == bool(JSON_NUMBER.fullmatch(text))


@given(st.decimals(-(10**6), 10**6, places=3) | st.sampled_from([Decimal("1e20"), Decimal("2e-9")]),
       st.lists(spellings()))  # fmt: skip
def test_one_number_has_all_its_spellings_and_no_other(value, texts):
    engine = Derivatives(exactly(value))
    for text in (f"{value:f}", f"{value:.30f}", f"{value:E}", f"{value:.40e}"):
        if NORMAL.fullmatch(text) or DECIMAL.fullmatch(text):
            assert matches(engine, text) == (Decimal(text) == value)
    for text in texts:
        if NORMAL.fullmatch(text) or DECIMAL.fullmatch(text):
            assert matches(engine, text) == (Decimal(text) == value)


@given(st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_plain_number_is_what_json_dumps_writes(value):
    plain = json.dumps(value)
    if value == int(value) and "e" not in plain:
        plain = plain.removesuffix(".0")
    if plain == "-0":
        plain = "0"
    assert reads(exactly(Decimal(plain), plain=True), plain)
    assert reads(number_range(plain=True), plain)


@given(st.floats(allow_nan=False, allow_infinity=False).map(lambda f: float(int(f))))
def test_a_whole_float_is_an_integer_however_python_writes_it(value):
    assert reads(integer_range(), repr(value))


def test_zero_has_every_sign_and_exponent_but_plain_only_one_digit():
    for text in ("0", "-0", "0.00", "-0.0e-7", "0E12"):
        assert reads(exactly(Decimal("-0.0")), text)
        assert reads(number_range(lower=Bound(Decimal(0))), text)
        assert reads(integer_range(upper=Bound(Decimal(0))), text)
        assert not reads(number_range(lower=Bound(Decimal(0), exclusive=True)), text)
    assert [
        text for text in ("0", "-0", "0.0") if reads(exactly(Decimal(0), plain=True), text)
    ] == ["0"]
    assert not reads(integer_range(plain=True), "-0")
    assert reads(number_range(plain=True), "-0.0")


def test_a_fraction_that_the_exponent_shifts_away_leaves_an_integer():
    assert reads(integer_range(), "1.25e2")
    assert reads(integer_range(), "1.2500e+02")
    assert not reads(integer_range(), "1.25e1")
    assert not reads(integer_range(), "1.25")


def test_bounds_of_hundreds_of_digits_are_exact():
    edge = Decimal("9" * 300 + "." + "9" * 60 + "8")
    expr = number_range(lower=Bound(edge, exclusive=True))
    assert not reads(expr, f"{edge:f}")
    assert reads(expr, f"{edge:f}"[:-1] + "9")
    assert reads(expr, f"{edge:f}" + "01")
    assert reads(expr, "1e300")
    assert not reads(expr, "9.9e299")
    small = number_range(Bound(Decimal(0), True), Bound(Decimal("1e-200")), plain=True)
    assert reads(small, "1e-200")
    assert not reads(small, "1.1e-200")
    assert reads(small, "0." + "0" * 200 + "1")


def test_crossed_bounds_leave_nothing():
    assert number_range(Bound(Decimal(1)), Bound(Decimal(-1))) is EMPTY
    assert number_range(None, Bound(Decimal(0), exclusive=True)) is not EMPTY
    engine = Derivatives(integer_range(Bound(Decimal(5)), Bound(Decimal(3)), plain=True))
    assert not engine.alive(engine.start())
