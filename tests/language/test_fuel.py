"""Work is paid for by the thread that opened the meter, and by nobody else."""

import threading
from decimal import Decimal

import pytest

from guideway.errors import LimitError
from guideway.json_schema.numbers import lower_other_numbers
from guideway.json_schema.tree import Numbers
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


def test_all_numbers_but_many_are_paid_for_one_by_one() -> None:
    amounts = frozenset(Decimal(3 * number) for number in range(700_007, 700_027))
    made: list[int] = []
    with metered(made.append):
        lower_other_numbers(Numbers(values=amounts))
    assert sum(made) > len(amounts)  # 20,000 of them take 0.2 s


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
