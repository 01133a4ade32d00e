"""Work is paid for by the thread that opened the meter, and by nobody else."""

import threading

import pytest

from guideway.errors import LimitError
from guideway.language.budget import Budget, Meter
from guideway.language.expr import literal
from guideway.language.fuel import attempt, metered, spend


def test_constructors_pay_for_the_nodes_they_make() -> None:
    made: list[int] = []
    with metered(made.append):
        kept = literal("xqz7!kwv")
    assert sum(made) >= len("xqz7!kwv") - 2
    literal("not paid for")
    assert kept.inhabited


def test_meters_nest_and_end_with_their_block() -> None:
    outer, inner = list[int](), list[int]()
    with metered(outer.append):
        with pytest.raises(ZeroDivisionError), metered(lambda made: inner.append(made // 0)):
            spend(1)
        with metered(inner.append):
            spend(1)
        spend(2)
    spend(4)
    assert (outer, inner) == ([2], [1])


def test_other_threads_do_not_pay() -> None:
    made: list[int] = []
    with metered(made.append):
        thread = threading.Thread(target=spend, args=(5,))
        thread.start()
        thread.join()
    assert made == []


def test_an_attempt_costs_whoever_pays_and_does_not_refuse_what_is_not_paid_for() -> None:
    paid: list[int] = []

    def refused() -> bool:
        raise LimitError("too much", limit="parts", given=1, needed=2)

    def worked() -> bool:
        spend(2)
        spend(2)
        return True

    assert not attempt(refused, 1)
    assert attempt(worked, 4)
    assert not attempt(worked, 3)
    with metered(paid.append):
        assert attempt(worked, 4)
        assert not attempt(worked, 3)
        with pytest.raises(LimitError, match="too much"):
            attempt(refused, 1)
    assert paid == [2, 2, 2, 2]


# Budgets are counted, enforced while compiling, and only then.


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


LIMITS = [("fuel", 0), ("fuel", True), ("token_fuel", -1), ("table_bytes", 2.5), ("rows", "10")]


@pytest.mark.parametrize(("name", "given"), LIMITS)
def test_limits_are_positive_integers(name, given):
    with pytest.raises(LimitError, match=f"{name} must be a positive integer"):
        Budget(**{name: given})


def test_strangers_get_less():
    strict, default = Budget.untrusted(), Budget.default()
    assert strict.fuel < default.fuel
    assert strict.table_bytes < default.table_bytes
