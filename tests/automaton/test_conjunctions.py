"""Counts are found beside what else holds, and made one where both count the same."""

from itertools import product

import pytest

from guideway.automaton.regex_records import counted_apart, holds, operands
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY, alt, both, byte_set, complement, concat, literal, repeat
from guideway.language.nodes import And, Expr, Repeat

ANY, FEW = byte_set(b"abc"), byte_set(b"ab")
MACHINE = Derivatives(EMPTY)


def long_enough(count: Repeat) -> bool:
    return max(count.low, count.high or 0) >= 3


def texts(expr: Expr, longest: int = 6) -> set[str]:
    found: set[str] = set()
    for length in range(longest + 1):
        for letters in product("abc", repeat=length):
            state: Expr | None = expr
            for letter in letters:
                state = None if state is None else MACHINE.step(state, ord(letter))
            if state is not None and state.nullable:
                found.add("".join(letters))
    return found


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        (repeat(ANY, 0, 5), repeat(FEW, 2), (None, (2, 5))),
        (repeat(ANY, 3), repeat(FEW, 1, 4), (None, (3, 4))),
        (repeat(FEW, 1, 4), repeat(ANY, 3, 6), (None, (3, 4))),
        (repeat(ANY, 3), repeat(ANY, 4), (None, (4, None))),
        (repeat(ANY, 0, 4), concat(FEW, repeat(ANY)), (1, (0, 4))),
        (repeat(ANY, 0, 4), repeat(literal("ab")), (1, (0, 4))),
        (repeat(ANY, 0, 4), both(complement(literal("a")), repeat(FEW)), (1, (0, 4))),
        (repeat(ANY, 0, 5), repeat(both(ANY, complement(literal("c"))), 1, 3), (None, (1, 3))),
    ],
)
def test_what_counts_the_same_is_counted_once(
    left: Expr, right: Expr, apart: tuple[int | None, tuple[int, int | None]]
) -> None:
    whole = both(left, right)
    assert isinstance(whole, And)
    found = counted_apart(whole, long_enough, MACHINE.alive)
    assert found is not None
    rest, count = found
    assert (count.low, count.high) == apart[1]
    assert (rest is None) == (apart[0] is None)
    assert texts(count if rest is None else both(rest, count)) == texts(whole)


def test_without_a_count_nothing_is_apart() -> None:
    few = both(repeat(ANY, 0, 2), complement(literal("a")))
    assert isinstance(few, And)
    assert counted_apart(few, long_enough, MACHINE.alive) is None


def test_operands_are_those_of_all_conjunctions_within() -> None:
    parts = [repeat(ANY), complement(literal("a")), complement(literal("b"))]
    assert operands(both(both(parts[0], parts[1]), parts[2])) == parts
    assert operands(ANY) == [ANY]


def test_what_is_wanted_is_found_wherever_it_is_but_in_operands() -> None:
    quote, counted = literal("q"), repeat(ANY, 0, 4)
    inside = concat(counted, quote)
    known: dict[Expr, bool] = {}

    def wanted(head: Expr) -> bool:
        return head is counted

    for expr in (
        inside,
        concat(literal("x"), inside, literal("y")),
        alt(literal("xyz"), inside),
        repeat(concat(inside, literal("yz")), 0, 2),
    ):
        assert holds(expr, wanted, quote, known)
    for expr in (quote, counted, concat(counted, literal("x")), complement(inside)):
        assert not holds(expr, wanted, quote, known)
