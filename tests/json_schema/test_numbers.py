"""Ranges of numbers against `Decimal`, whose comparison is exact and shares no code with them."""

import json
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guideway.errors import LimitError, UnsupportedError
from guideway.json_schema.numbers import (
    all_but,
    exactly,
    exponents,
    lower_numbers,
    lower_other_numbers,
    multiples,
    number_range,
    one_of,
)
from guideway.json_schema.tree import Bound, Numbers
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY
from guideway.language.nodes import Expr
from guideway.language.regular import contains
from json_schemas import matches
from shares import one_in

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


def integer_range(
    lower: Bound | None = None, upper: Bound | None = None, *, plain: bool = False
) -> Expr:
    lowers, uppers = () if lower is None else (lower,), () if upper is None else (upper,)
    return lower_numbers(Numbers(integer=True, lower=lowers, upper=uppers), plain=plain)


def digits_range(lower: Bound | None, upper: Bound | None) -> Expr:
    lowers, uppers = () if lower is None else (lower,), () if upper is None else (upper,)
    return lower_numbers(Numbers(integer=True, digits=True, lower=lowers, upper=uppers))


def is_told(text: str) -> bool:
    return bool(DECIMAL.fullmatch(text) or NORMAL.fullmatch(text)) or not Decimal(text)


def reads(expr: Expr, text: str) -> bool:
    return matches(Derivatives(expr), text)


@pytest.mark.parametrize("limit", [-11, -10, -1, 0, 1, 9, 10])
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


FACTORS = st.sampled_from(
    [Decimal(n) for n in ("1", "2", "3", "0.5", "0.01", "7", "0.25", "10", "128", "1.5", "1e-7")]
)
KEYWORDS = st.builds(
    lambda lower, upper, integer, factors, values: Numbers(
        values=values,
        integer=integer,
        lower=() if lower is None else (lower,),
        upper=() if upper is None else (upper,),
        multiples=tuple(factors),
    ),
    BOUNDS,
    BOUNDS,
    st.booleans(),
    st.lists(FACTORS, max_size=2),
    st.none() | st.frozensets(st.sampled_from([Decimal(n) for n in (0, 1, -1, 25, 3000)])),
)


def satisfies(value: Decimal, numbers: Numbers) -> bool:
    return (
        (not numbers.integer or value == value.to_integral_value())
        and (numbers.values is None or value in numbers.values)
        and all(inside(value, bound, None) for bound in numbers.lower)
        and all(inside(value, None, bound) for bound in numbers.upper)
        and all(divides(factor, value) for factor in numbers.multiples)
    )


def divides(factor: Decimal, value: Decimal) -> bool:
    return (Fraction(value) / Fraction(factor)).denominator == 1


@pytest.mark.untraced
@one_in(2)
@given(KEYWORDS, st.lists(spellings(), min_size=1))
def test_what_keywords_allow_and_what_they_do_not_are_told_apart(numbers, texts):
    allowed, others = Derivatives(lower_numbers(numbers)), Derivatives(lower_other_numbers(numbers))
    for text in texts:
        valid = satisfies(Decimal(text), numbers)
        found = matches(allowed, text), matches(others, text)
        if DECIMAL.fullmatch(text):
            assert found == (valid, not valid), text
        else:
            assert found in ((valid, not valid), (False, False)), text


@one_in(2)
@given(KEYWORDS, st.lists(spellings(), min_size=1))
def test_plain_numbers_satisfy_the_keywords_too(numbers, texts):
    allowed = Derivatives(lower_numbers(numbers, plain=True))
    others = Derivatives(lower_other_numbers(numbers, plain=True))
    for text in texts:
        valid = satisfies(Decimal(text), numbers)
        assert not matches(allowed, text) or valid, text
        assert not matches(others, text) or not valid, text
        if DECIMAL.fullmatch(text) and not numbers.integer and numbers.values is None:
            assert matches(allowed, text) == valid, text


@pytest.mark.untraced
@given(BOUNDS, BOUNDS, st.lists(spellings(), min_size=1))
def test_numbers_between_bounds_have_an_exponent_behind_one_digit(lower, upper, texts):
    for plain in (False, True):
        engine = Derivatives(number_range(lower, upper, plain=plain))
        for text in texts:
            told = lower is upper is None or is_told(text)
            if not plain or (told and (DECIMAL.fullmatch(text) or NORMAL.fullmatch(text))):
                valid = told and inside(Decimal(text), lower, upper)
                assert matches(engine, text) == valid, text


@given(BOUNDS, BOUNDS, st.sampled_from(["1", "0.1", "0.01"]), st.floats(-1e20, 1e20))
def test_bounds_and_few_places_have_what_repr_writes(lower, upper, factor, value):
    numbers = Numbers(
        lower=() if lower is None else (lower,),
        upper=() if upper is None else (upper,),
        multiples=(Decimal(factor),),
    )
    engine = Derivatives(lower_numbers(numbers))
    for given_value in (value, float(int(value)), round(value, 2), round(value)):
        found = Decimal(repr(given_value))
        assert matches(engine, repr(given_value)) == satisfies(found, numbers), given_value


@pytest.mark.untraced
@given(st.lists(spellings(), min_size=1), st.sets(spellings().map(Decimal), max_size=30))
def test_one_of_some_numbers_and_all_but_them(texts, values):
    for plain in (False, True):
        some = Derivatives(one_of(values, plain=plain))
        others = Derivatives(all_but(values, plain=plain))
        for text in texts:
            found = matches(some, text), matches(others, text)
            valid = Decimal(text) in values
            assert found in ((valid, not valid), (False, False)), text
            if not plain and is_told(text):
                assert found == (valid, not valid), text


@pytest.mark.untraced
@given(st.lists(spellings(), min_size=1))
def test_short_integers_have_all_exponents(texts):
    engine = Derivatives(integer_range())
    for text in texts:
        value = Decimal(text)
        assert matches(engine, text) == (value == value.to_integral_value()), text


@pytest.mark.parametrize("text", ["3e1", "3.0E+01", "3", "3.0"])
def test_every_told_spelling_of_a_number_is_in_its_ranges(text):
    value = Decimal(text)
    assert reads(integer_range(Bound(Decimal(0)), Bound(Decimal(100))), text)
    assert reads(exactly(value), text)


@cache
def of_factor(factor: int, *, denied: bool) -> Derivatives:
    return Derivatives(multiples(Decimal(factor), denied=denied))


@pytest.mark.untraced
@given(
    st.sampled_from([3, 7, 12, 100, 128, 999, 8000, 10**6]),
    st.lists(st.integers(0, 10**25), min_size=1),
)
def test_multiples_of_whole_numbers_are_those_without_rest(factor, values):
    engine, others = of_factor(factor, denied=False), of_factor(factor, denied=True)
    for value in [*values, *(value * factor for value in values)]:
        assert matches(engine, str(value)) == (value % factor == 0)
        assert matches(others, f"-{value}") == (value % factor != 0)


@given(st.sampled_from(["0.01", "0.5", "1.5", "0.0004"]), st.decimals(-1000, 1000, places=5))
def test_multiples_of_fractions_are_those_without_rest(factor, value):
    engine = Derivatives(multiples(Decimal(factor), plain=True))
    assert matches(engine, f"{value:f}") == divides(Decimal(factor), value)
    assert reads(multiples(Decimal(factor)), f"{value:f}00") == divides(Decimal(factor), value)


@pytest.mark.parametrize(("text", "factor", "told"), [
    ("1e308", "0.5", True), ("3e20", "1e15", True), ("1.5e30", "8000", True),
    ("4e-2", "0.01", True), ("1.25e3", "1", False), ("1e20", "3", False),
])  # fmt: skip
def test_an_exponent_may_make_a_number_a_multiple(text, factor, told):
    assert reads(multiples(Decimal(factor)), text) is told
    assert not reads(multiples(Decimal(factor), denied=True), text)


@pytest.mark.parametrize("factor", ["1e6", "8000", "1e-7", "12", "1e-12", "2e20"])
@given(st.integers(-(10**4), 10**4), st.integers(-3, 3))
def test_multiples_beside_powers_of_ten_are_those_without_rest(factor, count, shift):
    value = Decimal(factor) * count + Decimal(factor).scaleb(shift)
    for text in (f"{value:f}", f"{value + 1:f}"):
        divided = divides(Decimal(factor), Decimal(text))
        assert reads(multiples(Decimal(factor)), text) == divided
        assert reads(multiples(Decimal(factor), denied=True), text) != divided


def test_a_multiple_with_too_many_rests_is_refused_by_name():
    for factor in (
        "998244353",
        "1025",
        "1e-1025",
        "1e30",
        "1.0000001",
        "1.0000000000000000000000001",
        "13e-200",
        "13e200",
    ):
        with pytest.raises(UnsupportedError) as caught:
            multiples(Decimal(factor))
        assert caught.value.feature == "multipleOf"


def test_draft_4_tells_integers_from_whole_numbers_in_other_forms():
    digits = Numbers(integer=True, digits=True, lower=(Bound(Decimal(2)),))
    assert reads(lower_numbers(digits), "12")
    assert not reads(lower_numbers(digits), "12.0")
    others = lower_other_numbers(digits)
    assert [text for text in ("12", "1", "12.0", "12e0", "1.2e1") if reads(others, text)] == [
        "1", "12.0", "12e0", "1.2e1"]  # fmt: skip


@given(st.text(st.sampled_from("01.-+eE"), max_size=7))
def test_without_bounds_any_number_is_jsons_grammar(text):
    assert reads(number_range(), text) == bool(JSON_NUMBER.fullmatch(text))


@pytest.mark.untraced
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


@example(6.1e-05)
@example(0.00012)
@example(1e16)
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


@pytest.mark.untraced
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


def test_there_is_no_exponent_between_ends_that_are_the_wrong_way_round():
    assert exponents(3, 2) is EMPTY


def test_factors_with_too_many_rests_together_are_refused() -> None:
    def among(*factors: int) -> Numbers:
        return Numbers(integer=True, multiples=tuple(map(Decimal, factors)))

    met = lower_numbers(among(251, 257))  # 64,507 rests
    for text, is_one in ((b"64507", True), (b"129014.0", True), (b"251", False), (b"257", False)):
        assert contains(met, text) == is_one
    with pytest.raises(LimitError, match=r"multiples of 3 numbers .* 65536 .* of 129014 do"):
        lower_numbers(among(2, 251, 257))
