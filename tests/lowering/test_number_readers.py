"""What readers say without what is past, against readers that keep all of it; what ranges share."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.automata.derivative import Derivatives
from guideway.lowering import number_machines
from guideway.lowering.expr import EMPTY
from guideway.lowering.nodes import Expr
from guideway.lowering.number_readers import POINT, Comparison, Multiple, Reader
from guideway.lowering.numbers import integer_range, number_range
from guideway.syntax.json_schema_tree import Bound
from json_schemas import matches

BOUNDS = st.builds(
    lambda digits, last, exponent, exclusive, upper: Comparison(
        (*digits, last), exponent, exclusive, upper
    ),
    st.lists(st.integers(1, 9), max_size=3),
    st.integers(1, 9),
    st.integers(-8, 8),
    st.booleans(),
    st.booleans(),
)
FACTORS = st.builds(
    Multiple,
    st.sampled_from([1, 2, 3, 7, 12]),
    st.integers(0, 3),
    st.none() | st.integers(3, 8),
    st.booleans(),
)
MANTISSAS = st.from_regex(
    r"[1-9][0-9]{0,9}(\.[0-9]{1,9})?|0\.0{0,9}[1-9][0-9]{0,5}", fullmatch=True
)


@given(BOUNDS | FACTORS, MANTISSAS)
def test_a_reader_says_the_same_without_what_is_past(reader: Reader, text: str):
    state, bare = reader.start, (reader, reader.start)
    for character in text.removeprefix("0"):
        symbol = POINT if character == "." else int(character)
        state = reader.step(state, symbol)
        bare = bare[0].bare(bare[0].step(bare[1], symbol))
        if state is False:  # nothing belongs, and nobody asks
            assert bare[1] is False
            return
        said = bare[0].more(bare[1]), bare[0].window(bare[1]), {*bare[0].cuts(bare[1])}
        assert said == (reader.more(state), reader.window(state), {*reader.cuts(state)})
    assert bare[0].ending(bare[1]) == reader.ending(state)


@given(BOUNDS | FACTORS, st.from_regex(r"[1-9][0-9]{0,9}", fullmatch=True))
def test_a_point_and_a_zero_change_nothing(reader: Reader, text: str):
    state = reader.start
    for symbol in map(int, text):
        state = reader.step(state, symbol)
    before = reader.ending(state)
    for symbol in (POINT, 0):
        state = reader.step(state, symbol)
        if state is False:
            assert not before.plain
            assert not before.told
            return
    after = reader.ending(state)
    assert (after.plain, after.told) == (before.plain, before.told)
    assert not before.told or after == before


def _behind(expr: Expr, text: bytes) -> Expr:
    engine = Derivatives(expr)
    for byte in text:
        expr = engine.step(expr, byte) or EMPTY
    return expr


def test_ranges_share_what_is_the_same_behind_some_digits():
    one = integer_range(Bound(Decimal(0)), Bound(Decimal(65535)))
    other = integer_range(Bound(Decimal(0)), Bound(Decimal(72001)))
    assert one is not other
    assert _behind(one, b"3") is _behind(other, b"3")
    assert _behind(one, b"6") is not _behind(other, b"6")
    assert _behind(one, b"64") is _behind(other, b"71")


def test_many_places_are_not_shared_with_more(monkeypatch: pytest.MonkeyPatch):
    before = number_range(Bound(Decimal("17.5")), Bound(Decimal("31.5")))
    monkeypatch.setattr(number_machines, "_MOST_PLACES", 0)
    after = number_range(Bound(Decimal("17.5")), Bound(Decimal("32.5")))
    assert _behind(before, b"2") is not _behind(after, b"2")
    for expr, most in ((before, 315), (after, 325)):
        texts = [f"{value / 10}" for value in range(150, 350)]
        expected = [text for text in texts if 175 <= float(text) * 10 <= most]
        assert [text for text in texts if matches(Derivatives(expr), text)] == expected
