"""Texts that are known of what is looked over: tried where something else is wanted of it."""

import pytest

from guideway.automata import witnesses
from guideway.automata.witnesses import Witnesses, looked_over
from guideway.lowering.expr import EPSILON, ahead, alt, concat, literal, repeat, stop
from guideway.lowering.nodes import Expr

AS = concat(repeat(literal("a")), stop(1))


def wanting(low: int, high: int, *rest: Expr) -> Expr:
    return concat(ahead(repeat(literal("a"), low, high), 1), *(rest or (AS,)))


def test_a_text_is_tried_at_whatever_else_is_wanted() -> None:
    known = Witnesses()
    assert known.tell(wanting(1, 2)) is None
    for text in (b"a", b"aaa", b"a"):
        known.keep(wanting(5, 6), text)
    assert [known.tell(wanting(n, n)) for n in range(1, 4)] == [b"a", None, b"aaa"]
    known.forget()
    assert known.tell(wanting(1, 1)) is None


def test_the_last_found_of_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witnesses, "_MOST", 2)
    monkeypatch.setattr(witnesses, "_FORGET", 0)  # what is left behind texts is found anew
    known = Witnesses()
    for count in range(1, 5):
        known.keep(wanting(9, 9), b"a" * count)
    assert [known.tell(wanting(n, n)) for n in range(1, 5)] == [None, None, b"aaa", b"aaaa"]


def test_what_is_looked_over_ends_at_its_stop() -> None:
    lower = ahead(literal("a"))
    over = wanting(1, 2, lower, repeat(literal("a")), stop(), stop(1), literal("b"))
    within = concat(lower, repeat(literal("a")), stop(), stop(1))
    assert looked_over(over) == (within, repeat(literal("a"), 1, 2), False)
    known = Witnesses()
    known.keep(over, b"ab")
    assert known.tell(over) is None  # what is read behind the Stop would be taken for part of it


@pytest.mark.parametrize(
    "node", [EPSILON, literal("a"), wanting(1, 2, alt(concat(literal("a"), stop(1)), literal("b")))]
)
def test_where_no_stop_is_in_sight_nothing_is_told(node: Expr) -> None:
    known = Witnesses()
    known.keep(node, b"a")
    assert looked_over(node) is known.tell(node) is None
