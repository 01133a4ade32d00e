"""Numbers whose digits nobody can write down: told from those that are nearer, not from each other."""

from decimal import Decimal

import pytest

from fairlead.automata.derivative import Derivatives
from fairlead.errors import LimitError
from fairlead.lowering.json_values import exact
from fairlead.lowering.number_far import FAR
from fairlead.lowering.number_others import all_but
from fairlead.lowering.numbers import exactly
from fairlead.syntax.json_text import read_json
from json_schemas import machine, matches

FAR_AWAY = ("1e-999999999", "-1E99999999999999999999", "2.5e401")


@pytest.mark.parametrize("first", FAR_AWAY)
def test_items_that_differ_may_follow_a_number_that_is_far_away(first):
    different = machine({"uniqueItems": True})
    for other in ("1", "-0.5", "1e300", "1e-300", "0e-9999999999999999999", '"1"'):
        assert matches(different, f"[{first},{other}]"), other
    for other in FAR_AWAY[1:]:  # which may be equal
        assert not matches(different, f'[{{"a":{first}}},{{"a":{other}}}]'), other


@pytest.mark.parametrize("first", FAR_AWAY)
def test_a_number_that_is_far_away_is_not_told_to_come_twice(first):
    twice = machine({"type": "array", "not": {"uniqueItems": True}})
    assert not matches(twice, f"[{first},{first}]")
    assert matches(twice, f"[{first},1,1.0]")
    assert matches(twice, f"[{first},0e9999999999999999999,0]")


def test_none_and_all_but_of_what_is_far_away():
    assert not Derivatives(exactly(FAR)).alive(exactly(FAR))
    left = Derivatives(all_but([FAR, Decimal(5)], plain=False))
    for told in ("4", "-0.0", "1" + "0" * 400, "0." + "0" * 399 + "1", "1.5e395", "0.001e-395"):
        assert matches(left, told), told
    for not_told in ("5", "1" + "0" * 401, "0." + "0" * 400 + "1", "1e396", "1e-396"):
        assert not matches(left, not_told), not_told


def test_long_numbers_have_few_places_for_the_point():
    digits = "12345" * 200
    engine = Derivatives(exactly(Decimal(f"0.{digits}")))
    for told in (
        f"0.{digits}",
        f"0.{digits}00",
        f"0.00{digits}e2",
        f"{digits[:3]}.{digits[3:]}e-3",
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
