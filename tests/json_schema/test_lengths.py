"""Formulas about strings that are told by lengths, as sets of ranges; the oracle is jsonschema."""

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.json_schema.formulas import Text, all_of, any_of, leaf, opposite
from guideway.json_schema.scalars import in_lengths
from guideway.json_schema.tree import Strings
from guideway.language.fuel import metered
from guideway.language.regular import contains
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from json_branches import tangle

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})
A = lower_regex(parse_regex("a"))


def lengths(rng: random.Random) -> dict[str, Any]:
    """A schema that says how long a string may be."""
    said: dict[str, Any] = {"type": "string"} if rng.random() < 0.5 else {}
    if rng.random() < 0.7:
        said["minLength"] = rng.randint(0, 9)
    if rng.random() < 0.7:
        said["maxLength"] = rng.randint(0, 12)
    return said


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("seed", range(30))
def test_a_string_is_allowed_exactly_if_the_validator_takes_it(seed: int, spelling: Any) -> None:
    schema = tangle(random.Random(seed), 3, lengths)
    validator = Draft202012Validator(schema)
    texts = ["é" * length for length in range(16)]
    try:
        constraint = gw.compile(gw.JsonSchema(schema, spelling=spelling), BYTES)
    except gw.UnsatisfiableError:
        assert not any(map(validator.is_valid, texts))
        return
    for text in texts:
        written = json.dumps(text, ensure_ascii=False)
        assert constraint.matches(written) == validator.is_valid(text), text


@pytest.mark.parametrize("seed", range(60))
def test_ranges_are_those_of_the_formula(seed: int) -> None:
    rng = random.Random(seed)
    some = [
        Strings(low=rng.randint(0, 9), high=rng.choice((None, rng.randint(0, 12))))
        for _ in range(rng.randint(2, 6))
    ]
    pieces = [(leaf(Text(one)), {n for n in range(20) if holds(one, n)}) for one in some]
    while len(pieces) > 1:
        (first, left), (second, right) = pieces.pop(), pieces.pop()
        joined = rng.choice(((all_of, left & right), (any_of, left | right)))
        made, kept = joined[0](first, second), joined[1]
        denied = rng.random() < 0.4
        pieces.insert(0, (opposite(made), {*range(20)} - kept) if denied else (made, kept))
    (formula, kept) = pieces[0]
    found = in_lengths(formula, A)
    if found is None:  # what is one range, or all
        assert not formula.parts
        return
    assert {n for n in range(20) if contains(found, b"a" * n)} == kept


def holds(strings: Strings, length: int) -> bool:
    return strings.low <= length and (strings.high is None or length <= strings.high)


@pytest.mark.parametrize(
    "said", [Strings(values=frozenset("a")), Strings(pattern=parse_regex("a", "ecma")),
             Strings(format="date", low=2)]
)  # fmt: skip
def test_what_says_more_than_lengths_is_not_told_so(said: Strings) -> None:
    formula = any_of(leaf(Text(said)), opposite(leaf(Text(Strings(low=3)))))
    assert in_lengths(formula, A) is None


def test_exactly_one_of_many_lengths_makes_few_records() -> None:
    # 100 made 2.6 million records for one mask, and 120 had no room: their mask took minutes.
    branches = [{"type": "string", "minLength": n, "maxLength": 2 * n + 3} for n in range(150)]
    validator = Draft202012Validator({"oneOf": branches})

    gw.clear_cache()
    before = gw.cache_info().state_bytes  # of what others still hold
    constraint = gw.compile(gw.JsonSchema({"oneOf": branches}), BYTES, gw.Budget.untrusted())
    constraint.mask(constraint.advance(constraint.start(), ord('"')))
    assert gw.cache_info().state_bytes - before < 16 << 20  # of .5 GB
    for length in (0, 1, 2, 3, 4, 5, 149, 150, 200, 297, 298, 299, 300, 301, 302):
        text = "b" * length
        assert constraint.matches(f'"{text}"') == validator.is_valid(text), length


def test_work_is_paid_for() -> None:
    paid: list[int] = []
    formula = any_of(leaf(Text(Strings(low=3))), opposite(leaf(Text(Strings(low=1)))))
    with metered(paid.append):
        in_lengths(formula, A)
    assert sum(paid) > 0
