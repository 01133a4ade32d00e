"""Budgets are counted, enforced while compiling, and only then."""

import pytest

from guideway.errors import LimitError
from guideway.language.budget import Budget, Meter


def test_fuel_runs_out_as_an_error_that_says_how_much_there_was():
    meter = Meter(Budget(fuel=5))
    meter.tick(3)
    meter.tick(2)
    with pytest.raises(LimitError, match="more than 5 parts") as error:
        meter.tick(1)
    assert (error.value.limit, error.value.given) == ("fuel", 5)


def test_after_compiling_nothing_runs_out():
    meter = Meter(Budget(fuel=1))
    meter.release()
    meter.tick(100)


@pytest.mark.parametrize("given", [0, -1, 2.5, True, "10"])
@pytest.mark.parametrize("name", ["fuel", "table_bytes", "rows"])
def test_limits_are_positive_integers(name, given):
    with pytest.raises(LimitError, match=f"{name} must be a positive integer"):
        Budget(**{name: given})


def test_strangers_get_less():
    strict, default = Budget.untrusted(), Budget.default()
    assert strict.fuel < default.fuel
    assert strict.table_bytes < default.table_bytes
