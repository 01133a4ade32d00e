"""Formulas about numbers that are told by bounds, as sets of ranges; the oracle is jsonschema."""

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import guideway as gw
from json_branches import tangle

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})
BOUNDS = (-3, -2.5, -1, -0.5, 0, 0.5, 1, 2, 2.25, 3, 10, 99.5)
NUMBERS = (
    -100, -3, -2.75, -2.5, -2, -1.5, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.125,
    2.25, 2.5, 3, 3.5, 9, 9.5, 10, 11, 99, 99.5, 99.75, 100,
)  # fmt: skip


def bounds(rng: random.Random) -> dict[str, Any]:
    """A schema that says which numbers there are."""
    said: dict[str, Any] = {}
    if rng.random() < 0.6:
        said[rng.choice(("minimum", "exclusiveMinimum"))] = rng.choice(BOUNDS)
    if rng.random() < 0.6:
        said[rng.choice(("maximum", "exclusiveMaximum"))] = rng.choice(BOUNDS)
    if rng.random() < 0.3:
        said["type"] = rng.choice(("integer", "number", ["integer", "string"]))
    return said


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("seed", range(30))
def test_a_number_is_allowed_exactly_if_the_validator_takes_it(seed: int, spelling: Any) -> None:
    schema = tangle(random.Random(seed), 3, bounds)
    validator = Draft202012Validator(schema)
    try:
        constraint = gw.compile(gw.JsonSchema(schema, spelling=spelling), BYTES)
    except gw.UnsatisfiableError:
        assert not any(map(validator.is_valid, NUMBERS))
        return
    for number in NUMBERS:
        assert constraint.matches(json.dumps(number)) == validator.is_valid(number), number


@pytest.mark.parametrize("said", [{}, {"type": "integer"}])
def test_exactly_one_of_many_ranges_is_what_one_has(said: dict[str, Any]) -> None:
    branches = [{**said, "minimum": 3 * n, "maximum": 3 * n + 5} for n in range(100)]
    constraint = gw.compile(gw.JsonSchema({"oneOf": branches}), BYTES, gw.Budget.untrusted())
    found = [n for n in range(310) if constraint.matches(str(n))]
    assert found == [0, 1, 2, 300, 301, 302]
    assert constraint.matches("2.5") is (not said)
    assert constraint.matches("-0.5") is False


def test_whole_numbers_and_others_are_told_apart() -> None:
    schema = {"type": "number", "oneOf": [{"type": "integer", "maximum": 5}, {"minimum": 3}]}
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    texts = ("-7", "2", "3", "5", "6", "2.5", "3.5", "5.5", "1e-1")
    assert [constraint.matches(text) for text in texts] == [
        True, True, False, False, True, False, True, True, False,
    ]  # fmt: skip
    denied = gw.compile(gw.JsonSchema({"type": "number", "not": schema}), BYTES)
    assert [denied.matches(text) for text in texts] == [
        False, False, True, True, False, True, False, False, True,
    ]  # fmt: skip


def test_bounds_of_many_digits_are_not_rounded() -> None:
    far = "1" + "0" * 400
    whole = f'{{"type": "integer", "minimum": {far}}}'
    text = f'{{"type": "number", "oneOf": [{whole}, {{"maximum": 5}}]}}'
    constraint = gw.compile(gw.JsonSchema(text), BYTES)
    assert constraint.matches("5")
    assert constraint.matches(far)
    assert not constraint.matches(far + ".5")
    assert not constraint.matches(far[:-1])
