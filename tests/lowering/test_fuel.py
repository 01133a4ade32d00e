"""Work is paid for by the thread that opened the meter, and by nobody else."""

import threading
from decimal import Decimal

import pytest

from fairlead.lowering.expr import literal
from fairlead.lowering.fuel import metered, spend
from fairlead.lowering.numbers import lower_other_numbers
from fairlead.syntax.json_schema_tree import Numbers


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
