"""One of many numbers, and all numbers but some, against `Decimal`."""

import random
from decimal import Decimal

import pytest

from guideway.automata.derivative import Derivatives
from guideway.lowering.expr import alt, both, complement
from guideway.lowering.number_forms import ANY_NUMBER, PLAIN_NUMBER
from guideway.lowering.number_others import all_but, one_of
from guideway.lowering.numbers import exactly, lower_numbers
from guideway.syntax.json_schema_tree import Numbers
from json_schemas import matches

KNOWN = ["0", "1", "12", "1000", "0.5", "25", "-25", "1e10", "101", "1.25", "1e-9"]


def text(chance: random.Random) -> str:
    """A number in some spelling, up to 5 digits before the point, or zeros behind it."""
    whole = chance.choice(["0", str(chance.randint(1, 130)), chance.choice("12") + "0" * 4])
    zeros = "0" * chance.choice([0, 0, 1, 3])
    fraction = f".{zeros}{chance.choice([0, 1, 12, 25])}{chance.choice(['', '0'])}"
    exponent = f"{chance.choice('eE')}{chance.choice(['', '+', '-'])}0{chance.randint(0, 8)}"
    parts = ["-", whole, fraction, exponent]
    return "".join(part for part in parts if part is whole or chance.random() < 0.5)


@pytest.mark.untraced
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_number_is_left_unless_it_is_one_of_some(seed, plain):
    chance = random.Random(seed)
    taken = [Decimal(text(chance)) for _ in range(chance.randint(0, 8))]
    taken += map(Decimal, chance.sample(KNOWN, 3))
    every, left = Derivatives(ANY_NUMBER), Derivatives(all_but(taken, plain=plain))
    allowed = Derivatives(PLAIN_NUMBER) if plain else every
    texts = [text(chance) for _ in range(40)] + [str(value) for value in taken]
    for one in texts:
        assert matches(left, one) == (matches(allowed, one) and Decimal(one) not in taken), one


def test_long_numbers_without_exponents_are_told_and_with_exponents_neither_way():
    left = Derivatives(all_but([Decimal(10**9), Decimal("1e-9")], plain=False))
    assert matches(left, "1000000001")
    assert matches(left, "0.0000000010000001")
    for one in ("1000000000", "1000000000.0", "0.000000001", "1e9", "1000000e5", "0.0000001e5"):
        assert not matches(left, one)


def test_a_place_that_nobody_enters_is_not_made():
    assert matches(Derivatives(all_but(map(Decimal, range(20_000)), plain=False)), "20000")


VALUES = ["0", "1", "-1", "25", "2.5", "120", "1e10", "-3e7", "1e-9", "-0.01", "1e300", "2e4100"]


@pytest.mark.parametrize("values", [VALUES, VALUES[1:3], VALUES[9:], VALUES[11:], VALUES[:1]])
def test_one_of_many_numbers_has_the_spellings_that_each_has(values):
    listed = [Decimal(value) for value in values]
    many, each = one_of(listed), alt(*map(exactly, listed))
    for left, right in ((many, each), (each, many)):
        beyond = both(left, complement(right))
        assert not Derivatives(beyond).alive(beyond)


def test_of_many_numbers_no_place_is_made_that_nobody_enters():
    many = Derivatives(one_of(map(Decimal, range(20_000))))
    assert matches(many, "1.5e1")
    assert not matches(many, "20000")


@pytest.mark.parametrize("plain", [False, True])
def test_many_numbers_are_told_from_others(plain):
    values = frozenset(Decimal(number) / 4 for number in range(-150, 150))
    many = Derivatives(lower_numbers(Numbers(values=values), plain=plain))
    texts = {"0": True, "-0.25": True, "37.25": True, "37.5": False, "0.3": False, "-38": False}
    assert {text: matches(many, text) for text in texts} == texts
    assert matches(many, "1.250") is not plain


@pytest.mark.parametrize("values", [VALUES, VALUES[3:7], VALUES[8:]])
def test_places_that_are_said_to_lead_to_a_number_do(values):
    machine = Derivatives(one_of(map(Decimal, values)))
    chance, said = random.Random(1), 0
    for _ in range(20):
        state = machine.start()
        for _ in range(12):
            arcs = machine.arcs(state)
            if not arcs:
                break
            state = chance.choice(arcs)[1]
            said += state.inhabited
            assert machine.shortest_length(state) < 5000  # which is found in the bodies of rules
    assert said


def test_numbers_of_many_digits_are_spelled_out():
    long, huge = "12345678901234567890123", "12345678901234567890123" + "0" * 9
    many = Derivatives(one_of([Decimal(long), Decimal(huge), Decimal(7)]))
    for one in (long, huge, f"{long}.0", "7"):
        assert matches(many, one)
    for other in (long[:-1], f"{long}0", f"{huge}0", f"{long}5"):
        assert not matches(many, other)
