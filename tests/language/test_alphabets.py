"""What is told apart by its bytes has no string in common; formats and patterns among it."""

import random

import pytest

import guideway as gw
from guideway.errors import UnsatisfiableError
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    EMPTY,
    EPSILON,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
)
from guideway.language.nodes import Expr, Rule
from guideway.language.regular import apart_by_bytes

BYTES = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), None], {256})


def drawn(dice: random.Random, depth: int = 3) -> Expr:
    if not depth or dice.random() < 0.2:
        letters = bytes(dice.sample(b"abcd", dice.choice([1, 1, 2])))
        return dice.choice([byte_set(letters)] * 6 + [EPSILON, EMPTY])
    one, other = drawn(dice, depth - 1), drawn(dice, depth - 1)
    made = [concat(one, other)] * 4 + [alt(one, other), repeat(one, dice.choice([0, 1, 2]))]
    return dice.choice([*made, both(one, other), complement(one)])


def test_what_is_told_apart_has_no_string_in_common() -> None:
    dice, told = random.Random(3), [0, 0]
    for _ in range(1500):
        first, second = drawn(dice), drawn(dice)
        meet = both(first, second)
        found = apart_by_bytes(first, second)
        told[found] += 1
        assert not (found and Derivatives(meet).alive(meet)), (first, second)
    assert min(told) > 300


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        (literal("a"), repeat(literal("b"), 1), True),
        (literal("a"), repeat(literal("b")), True),  # without a byte, but "a" has one
        (repeat(literal("a")), repeat(literal("b")), False),
        (literal("ab"), literal("ba"), False),  # of the same bytes
        (literal("a"), complement(literal("b")), False),
        (literal("a"), Rule("numbers"), False),
        (both(repeat(byte_set(b"ab")), repeat(byte_set(b"bc"), 1)), literal("d"), True),
        (both(repeat(byte_set(b"ab")), complement(literal("a"))), literal("c"), False),
    ],
)
def test_that_bytes_are_missing_is_plain_to_see(first: Expr, second: Expr, apart: bool) -> None:
    assert apart_by_bytes(first, second) == apart_by_bytes(second, first) == apart


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize(
    ("name", "pattern"),
    [("time", "/"), ("date-time", " "), ("date-time", "^[^:]+$"), ("hostname", "_"), ("uuid", "é")],
)
def test_a_format_that_never_matches_a_pattern_is_seen(name: str, pattern: str, spelling) -> None:
    # It was searched for until all was spent, 3 to 5 s, and refused what it stood beside.
    never = {"type": "string", "format": name, "pattern": pattern}
    with pytest.raises(UnsatisfiableError, match=r"format .* and pattern "):
        gw.compile(gw.JsonSchema(never, spelling=spelling), BYTES)
    beside = gw.JsonSchema({"anyOf": [never, {"const": "x"}]}, spelling=spelling)
    assert gw.compile(beside, BYTES).example() == '"x"'
    denied = gw.compile(gw.JsonSchema({"not": never}, spelling=spelling), BYTES)
    assert denied.matches('"23:59:59Z"')
