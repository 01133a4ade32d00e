"""Numbers whose digits nobody can write down: told by their exponents."""

from decimal import Decimal

import pytest

from guideway.errors import LimitError
from guideway.json_schema.formulas import exact
from guideway.json_schema.numbers import BEYOND, all_but, exactly, within
from guideway.json_schema.text import read_json
from guideway.json_schema.tree import Numbers
from guideway.language.derivative import Derivatives
from json_schemas import machine, matches

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


def test_a_number_that_is_far_away_is_a_multiple_or_not_without_its_zeros():
    thirds = Numbers(multiples=(Decimal("0.3"),))
    for text, divided in (("3e999999999", True), ("1e999999999", False), ("3e-999999999", False)):
        assert within(Decimal(text), thirds) is divided
    for text, divided in (("0e-99", True), ("0.9", True), ("1.20", True), ("0.10", False)):
        assert within(Decimal(text), thirds) is divided


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


def test_long_numbers_are_written_in_two_forms():
    digits = "12345" * 200
    engine = Derivatives(exactly(Decimal(f"0.{digits}")))
    for told in (
        f"0.{digits}",
        f"0.{digits}00",
        f"{digits[:1]}.{digits[1:]}e-1",
    ):
        assert matches(engine, told)
    assert not matches(engine, f"0.{digits}1")


@pytest.mark.parametrize("text", ["1e9999999999999999999", "-1e-9999999999999999999", "1e4001"])
def test_schemas_have_no_number_that_is_far_away(text):
    with pytest.raises(LimitError, match="digits is too long: at most 4000"):
        read_json(f'{{"minimum":{text}}}')


def test_nothing_is_nothing_whatever_its_exponent():
    assert read_json("[0e9999999999999999999, 0.00E-4001, -0.0]") == [0, 0, 0]
    assert exact(read_json("0.0e99999999999999999999")) == exact(0)
