"""All numbers but some, against `Decimal`."""

import random
from decimal import Decimal

import pytest

from fairlead.automata.derivative import Derivatives
from fairlead.lowering.number_forms import ANY_NUMBER, PLAIN_NUMBER
from fairlead.lowering.number_others import all_but
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
