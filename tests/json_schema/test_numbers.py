"""Ranges of numbers against `Decimal`, whose comparison is exact and shares no code with them."""

import json
import math
import random
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.errors import LimitError, UnsupportedError
from guideway.json_schema.numbers import (
    BEYOND,
    all_but,
    doubles,
    exactly,
    lower_numbers,
    lower_other_numbers,
    multiples,
    number_range,
    one_of,
)
from guideway.json_schema.tree import Bound, Numbers
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr
from guideway.language.regular import contains
from json_schemas import check_texts, machine
from plain_texts import matches
from random_walks import BYTES, text_of
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
    lower: Bound | None = None, upper: Bound | None = None, *, plain: bool = False, **said: bool
) -> Expr:
    lowers, uppers = () if lower is None else (lower,), () if upper is None else (upper,)
    return lower_numbers(Numbers(integer=True, lower=lowers, upper=uppers, **said), plain=plain)


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
            engine = Derivatives(integer_range(lower, upper, digits=True))
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


@one_in(2)
@given(KEYWORDS, st.lists(spellings(), min_size=1))
def test_what_keywords_allow_and_what_they_do_not_are_told_apart(numbers, texts):
    unbounded = not (numbers.lower or numbers.upper)
    ranged = numbers.values is None and not numbers.multiples and not numbers.integer
    for plain in (False, True):
        allowed = Derivatives(lower_numbers(numbers, plain=plain))
        others = Derivatives(lower_other_numbers(numbers, plain=plain))
        for text in texts:
            valid = satisfies(Decimal(text), numbers)
            found = matches(allowed, text), matches(others, text)
            assert found in ((valid, not valid), (valid, False), (False, not valid), (False, False))
            decimal = DECIMAL.fullmatch(text)
            if not plain and decimal:
                assert found == (valid, not valid), text
            elif not plain:
                assert found in ((valid, not valid), (False, False)), text
            elif decimal and not numbers.integer and numbers.values is None:
                assert found[0] == valid, text
            if ranged and (decimal or NORMAL.fullmatch(text) or not plain):
                assert found[0] == (valid and (unbounded or is_told(text))), text


@given(BOUNDS, BOUNDS, st.sampled_from(["1", "0.1", "0.01"]), st.floats(-1e20, 1e20))
def test_bounded_multiples_have_their_plain_spelling(lower, upper, factor, value):
    numbers = Numbers(
        lower=() if lower is None else (lower,),
        upper=() if upper is None else (upper,),
        multiples=(Decimal(factor),),
    )
    engine = Derivatives(lower_numbers(numbers))
    for given_value in (value, float(int(value)), round(value, 2), round(value)):
        found = Decimal(repr(given_value))
        assert matches(engine, f"{found:f}") == satisfies(found, numbers), given_value
        assert satisfies(found, numbers) or not matches(engine, f"{found:e}")


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


@cache
def of_factor(factor: str, *, denied: bool, plain: bool) -> Derivatives:
    return Derivatives(multiples(Decimal(factor), denied=denied, plain=plain))


FACTORED = [
    *("3", "7", "12", "100", "128", "999", "8000", "1e6", "2e20"),
    *("0.01", "0.5", "1.5", "0.0004", "1e-7", "1e-12"),
]  # fmt: skip


@pytest.mark.untraced
@given(
    st.sampled_from(FACTORED), st.integers(-(10**25), 10**25), st.integers(-(10**4), 10**4),
    st.integers(-3, 3),
)  # fmt: skip
def test_multiples_are_those_without_rest(factor, value, count, shift):
    near = Decimal(factor) * count + Decimal(factor).scaleb(shift)
    fives = Decimal(value).scaleb(-5 - 15 * ("." in factor))
    for number in (near, near + 1, Decimal(value), Decimal(value * int(Decimal(factor))), fives):
        text = f"{number:f}"
        divided = divides(Decimal(factor), Decimal(text))
        for plain in (False, True):
            engine, others = (of_factor(factor, denied=d, plain=plain) for d in (False, True))
            if not plain or text != "-0":
                assert matches(engine, text) == divided, text
                assert matches(others, text) != divided, text
        if "." in text:
            assert matches(of_factor(factor, denied=False, plain=False), f"{text}00") == divided


def test_a_multiple_has_no_exponent_unless_all_integers_are_multiples():
    for text, factor in (("1e308", "0.5"), ("3e20", "1e15"), ("4e-2", "0.01"), ("1e20", "3")):
        assert reads(multiples(Decimal(factor)), text) == (factor == "0.5")
        assert not reads(multiples(Decimal(factor), denied=True), text)


def test_a_multiple_with_too_many_rests_is_refused_by_name():
    rests = ("998244353", "1025", "1e-1025", "1e30", "13e-200", "13e200")
    for factor in (*rests, "1.0000001", "1.0000000000000000000000001"):
        with pytest.raises(UnsupportedError) as caught:
            multiples(Decimal(factor))
        assert caught.value.feature == "multipleOf"


@given(st.text(st.sampled_from("01.-+eE"), max_size=7))
def test_without_bounds_any_number_is_jsons_grammar(text):
    assert reads(number_range(), text) == bool(JSON_NUMBER.fullmatch(text))


@pytest.mark.untraced
@given(st.decimals(-(10**6), 10**6, places=3) | st.sampled_from([Decimal("1e20"), Decimal("2e-9")]),
       st.lists(spellings()))  # fmt: skip
def test_one_number_has_all_its_spellings_and_no_other(value, texts):
    engine = Derivatives(exactly(value))
    for text in (f"{value:f}", f"{value:.30f}", f"{value:E}", f"{value:.40e}", *texts):
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


def test_zero_has_every_sign_and_exponent_but_plain_only_one_digit():
    for text in ("0", "-0", "0.00", "-0.0e-7", "0E12"):
        assert reads(exactly(Decimal("-0.0")), text)
        assert reads(number_range(lower=Bound(Decimal(0))), text)
        assert reads(integer_range(upper=Bound(Decimal(0))), text)
        assert not reads(number_range(lower=Bound(Decimal(0), exclusive=True)), text)
    plain_zero = exactly(Decimal(0), plain=True)
    assert [text for text in ("0", "-0", "0.0") if reads(plain_zero, text)] == ["0"]
    assert not reads(integer_range(plain=True), "-0")
    assert reads(number_range(plain=True), "-0.0")


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


def test_factors_with_too_many_rests_together_are_refused() -> None:
    def among(*factors: int) -> Numbers:
        return Numbers(integer=True, multiples=tuple(map(Decimal, factors)))

    met = lower_numbers(among(251, 257))  # 64,507 rests
    for text, is_one in ((b"64507", True), (b"129014.0", True), (b"251", False), (b"257", False)):
        assert contains(met, text) == is_one
    with pytest.raises(LimitError, match=r"multiples of 3 numbers .* 65536 .* of 129014 do"):
        lower_numbers(among(2, 251, 257))


# Doubles in plain spelling: what `repr` writes is there, and nothing longer.

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


@pytest.mark.parametrize(("schema", "right", "wrong"), [
    ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, ["0", "0.5"],
     ["1", "0.33333333333333333333"]),
    ({"type": "number", "multipleOf": 0.5}, ["2.5"], ["2.3"]),
    ({"enum": [1, 0.1234567890123456789]}, ["1", "0.12345678901234568"], []),
    ({"anyOf": [{"type": "number", "format": "double"}, {"type": "integer"}], "format": ""},
     ["1" * 30], []),
])  # fmt: skip
def test_other_keywords_hold_beside_the_format(
    schema: Any, right: list[str], wrong: list[str]
) -> None:
    constraint = plain({"format": "double", **schema})
    assert [text for text in (*right, *wrong) if constraint.matches(text)] == right
    free = gw.compile(gw.JsonSchema({"type": "number", "format": "double"}), BYTES)
    assert free.matches("3.14159265358979323846")  # the format changes plain spelling alone


@pytest.mark.parametrize(("kind", "offered", "beyond"), [
    (Decimal, ["1", "-12.50", "1E+3", "0E-7", "0." + "1" * 28], ["1." + "0" * 29, "9" * 29]),
    (Annotated[Decimal, Field(decimal_places=2)], ["1.50", "0"], ["1.500", "1.5000"]),
    (Annotated[Decimal, Field(max_digits=3)], ["1.5", "0.12", "123"], ["1.5000", "1234"]),
    (Annotated[Decimal, Field(max_digits=4, decimal_places=2, ge=0)], ["12.34", "0.5"],
     ["1.230", "-1"]),
    (Annotated[Decimal, Field(ge=Decimal("0.5"))], ["0.5", "1"], ["0." + "9" * 29]),
])  # fmt: skip
def test_decimals_end_where_more_digits_tell_nothing_apart(
    kind: Any, offered: list[str], beyond: list[str]
) -> None:
    constraint = gw.compile(gw.source(kind, spelling="plain"), BYTES)
    for text in offered:
        assert constraint.matches(f'"{text}"'), text
    for text in beyond:
        assert not constraint.matches(f'"{text}"'), text


# Numbers whose digits nobody can write down: told by their exponents.

FAR_AWAY = ("1e-999999999", "-1E4001", "2.5e99999999999999999999", "-1e-99999999999999999999")
BEYOND_COUNTING = FAR_AWAY[2:]


@pytest.mark.parametrize("first", FAR_AWAY)
def test_items_that_differ_may_follow_a_number_that_is_far_away(first):
    different = machine({"uniqueItems": True})
    for other in ("1", "-0.5", "1e300", "1e-300", "0e-9999999999999999999", '"1"', "1.2e5001"):
        assert matches(different, f"[{first},{other}]"), other
    for other in BEYOND_COUNTING:  # which may be equal, if this is
        told = first not in BEYOND_COUNTING
        assert matches(different, f'[{{"a":{first}}},{{"a":{other}}}]') == told, other
    assert not matches(different, f"[{first},{first}]")


@pytest.mark.parametrize("first", FAR_AWAY)
def test_a_number_that_is_far_away_may_come_twice_if_its_exponent_can_be_counted(first):
    twice = machine({"type": "array", "not": {"uniqueItems": True}})
    assert matches(twice, f"[{first},{first}]") == (first not in BEYOND_COUNTING)
    assert matches(twice, f"[{first},1,1.0]")
    assert matches(twice, f"[{first},0e9999999999999999999,0]")
    assert not matches(twice, f"[{first},1]")


def test_none_and_all_but_of_what_is_far_away():
    assert not Derivatives(exactly(BEYOND)).alive(exactly(BEYOND))
    left = Derivatives(all_but([BEYOND, Decimal(5)], plain=False))
    for told in ("4", "-0.0", "1" + "0" * 4000, "1.5e9999", "1e-9999"):
        assert matches(left, told), told
    for not_told in ("5", "0." + "0" * 4000 + "1", "1e99999999999999999"):
        assert not matches(left, not_told), not_told
    far = Decimal("12e-5000")
    but_far, one = Derivatives(all_but([far], plain=False)), Derivatives(exactly(far))
    for text in ("1.2e-4999", "1.20E-04999"):
        assert matches(one, text)
        assert not matches(but_far, text)
    assert matches(but_far, "1.2e-5000")
    assert not matches(one, "1.2e-5000")


# Number keywords together.


def test_where_no_item_is_left_a_long_exponent_is_not_searched() -> None:
    schema = {"type": "array", "uniqueItems": True, "contains": {"multipleOf": 1},
              "not": {"items": {"type": "integer"}}}  # fmt: skip
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), BYTES)
    state = constraint.start()
    for byte in b"[1E1417":  # a mask took 30 s here
        constraint.mask(state)
        state = constraint.advance(state, byte)
    allowed = unpack(constraint.mask(state)).tolist()
    assert bytes(token for token in allowed if token < 256) == b",0123456789"
    assert constraint.matches("[1E1417,0.5]")
    assert not constraint.matches("[1E1417,5]")


@pytest.mark.parametrize("said", [{}, {"type": "integer"}])
def test_exactly_one_of_many_ranges_is_what_one_has(said: dict[str, Any]) -> None:
    branches = [{**said, "minimum": 3 * n, "maximum": 3 * n + 5} for n in range(100)]
    constraint = gw.compile(gw.JsonSchema({"oneOf": branches}), BYTES, gw.Budget.untrusted())
    found = [n for n in range(310) if constraint.matches(str(n))]
    assert found == [0, 1, 2, 300, 301, 302]
    assert constraint.matches("2.5") is (not said)
    assert constraint.matches("-0.5") is False


def test_bounds_of_many_digits_are_not_rounded() -> None:
    far = "1" + "0" * 400
    whole = f'{{"type": "integer", "minimum": {far}}}'
    schema = f'{{"type": "number", "oneOf": [{whole}, {{"maximum": 5}}]}}'
    check_texts(schema, ["5", far], [far + ".5", far[:-1]], judged=False)
