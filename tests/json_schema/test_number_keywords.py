"""Number keywords together."""

import random
from decimal import Decimal
from fractions import Fraction

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.json_schema.numbers import implies, merged, no_number, within
from guideway.json_schema.tree import Bound, Numbers


def bound(value: str, exclusive: bool = False) -> tuple[Bound, ...]:
    return (Bound(Decimal(value), exclusive),)


@pytest.mark.parametrize(("numbers", "empty"), [
    (Numbers(lower=bound("2"), upper=bound("1")), True),
    (Numbers(lower=bound("2"), upper=bound("2", True)), True),
    (Numbers(lower=bound("2"), upper=bound("2")), False),
    (Numbers(frozenset()), True),
    (Numbers(frozenset((Decimal(1),)), lower=bound("2")), True),
    (Numbers(), False),
])  # fmt: skip
def test_what_plainly_leaves_no_number_is_seen(numbers, empty):
    assert no_number(merged([numbers])) == empty


def test_values_have_to_be_multiples_exactly():
    said = Numbers(multiples=(Decimal("0.1"), Decimal(3)))
    assert within(Decimal("0.3") * 10, said)
    assert not within(Decimal("3.1"), said)
    assert not within(Decimal(10) ** 40 + 1, said)


def test_the_tightest_bounds_stay():
    parts = [Numbers(lower=bound("1"), upper=bound("5")), Numbers(lower=bound("1", True))]
    both = merged(parts)
    assert (both.lower, both.upper) == (bound("1", True), bound("5"))


BYTES = [bytes([byte]) for byte in range(256)]
FACTORS = [Decimal(text) for text in ("0.5", "1", "1.5", "2", "3", "4", "6")]
VALUES = [Decimal(count) / 4 for count in range(-48, 49)]


def drawn(dice: random.Random) -> Numbers:
    low, high = dice.choice(VALUES), dice.choice(VALUES)
    return merged(
        [
            Numbers(
                frozenset(dice.sample(VALUES, 3)) if dice.random() < 0.1 else None,
                dice.random() < 0.4,
                dice.random() < 0.1,
                (Bound(low, dice.random() < 0.5),) if dice.random() < 0.4 else (),
                (Bound(high, dice.random() < 0.5),) if dice.random() < 0.4 else (),
                tuple(dice.sample(FACTORS, dice.choice([0, 0, 1, 2]))),
            )
        ]
    )


def allows(numbers: Numbers, value: Decimal) -> bool:
    """The keywords in fractions, which share nothing with what is tested."""
    factors = [*numbers.multiples, *([Decimal(1)] if numbers.integer else [])]
    return (
        (numbers.values is None or value in numbers.values)
        and all((Fraction(value) / Fraction(factor)).denominator == 1 for factor in factors)
        and all(value > b.value or (value == b.value and not b.exclusive) for b in numbers.lower)
        and all(value < b.value or (value == b.value and not b.exclusive) for b in numbers.upper)
    )


def test_what_implies_other_keywords_has_no_number_beside_theirs() -> None:
    dice, told = random.Random(5), [0, 0]
    for _ in range(4000):
        first, second = drawn(dice), drawn(dice)
        found = implies(first, second)
        told[found] += 1
        if found:
            left = [v for v in VALUES if allows(first, v) and not allows(second, v)]
            assert not left, (first, second)
    assert min(told) > 100


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Numbers(multiples=(Decimal(1),)), Numbers(integer=True)),
        (Numbers(integer=True), Numbers(multiples=(Decimal("0.5"),))),
        (Numbers(integer=True, lower=(Bound(Decimal(3)),)), Numbers(lower=(Bound(Decimal(3)),))),
        (Numbers(upper=(Bound(Decimal(3), True),)), Numbers(upper=(Bound(Decimal(3)),))),
        (Numbers(frozenset({Decimal(2)})), Numbers(frozenset({Decimal(1), Decimal(2)}))),
    ],
)
def test_keywords_that_say_less_are_implied_and_imply_nothing(first: Numbers, second: Numbers):
    assert implies(first, second)
    assert implies(first, first)
    assert implies(second, first) == (second == Numbers(integer=True))


def test_where_no_item_is_left_a_long_exponent_is_not_searched() -> None:
    schema = {
        "type": "array",
        "uniqueItems": True,
        "contains": {"multipleOf": 1},
        "not": {"items": {"type": "integer"}},
    }
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), gw.Vocabulary(BYTES))
    state = constraint.start()
    for byte in b"[1E1417":  # a mask took 30 s here
        constraint.mask(state)
        state = constraint.advance(state, byte)
    assert bytes(unpack(constraint.mask(state)).tolist()) == b",0123456789"
    assert constraint.matches("[1E1417,0.5]")
    assert not constraint.matches("[1E1417,5]")
