"""Token budgets against all texts of a few tokens, enumerated without the engine."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from math import inf
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.json_schema import shortest_members as json_members_least
from guideway.language import shortest_string as least

MOST = 5
LETTERS = ["a", "b", "c", "ab", "bc", "cab", "aa"]
PATTERNS = ["a*b", "(ab|c)+", "(a|bc){2,3}c?", "a(b|cab)*c", "(aa|b)*(ca)?", "c|ab{2}a*"]
PIECES = ["{", "}", '"', "a", "b", ":", "1", ",", '{"a":', '"b":1', '1,"', '":1}']
ONE: dict[str, Any] = {"type": "integer"}
OBJECTS: list[dict[str, Any]] = [
    {"required": ["a", "b"]},
    {"minProperties": 1, "additionalProperties": ONE},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": ONE},
    {"anyOf": [{"properties": {"a": False}, "minProperties": 1}, {"required": ["a", "b"]}]},
    {"oneOf": [{"properties": {"a": {"const": 1}, "b": {"type": "string"}}},
               {"properties": {"a": {"const": 11}, "b": ONE}}, {"properties": {"b": ONE}}]},
    {"not": {"additionalProperties": {"type": "string"}}, "properties": {"b": {"type": "null"}}},
]  # fmt: skip


def is_object(schema: dict[str, Any]) -> Callable[[str], bool]:
    check = Draft202012Validator(schema)

    def one_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key comes again")
        return dict(pairs)

    def accepts(text: str) -> bool:
        try:
            return check.is_valid(json.loads(text, object_pairs_hook=one_each))
        except ValueError:
            return False

    return accepts


def needs(tokens: list[str], accepts: Callable[[str], bool], begins: str) -> dict[str, int]:
    """The fewest tokens from each prefix to an accepted text, among texts of up to MOST tokens."""
    found: dict[str, int] = {}
    known: dict[str, bool] = {}
    for count in range(MOST + 1):
        for text in product(tokens, repeat=count):
            whole = "".join(text)
            if whole not in known:
                known[whole] = whole.startswith(begins) and accepts(whole)
            for read in range(count + 1) if known[whole] else ():
                prefix = "".join(text[:read])
                found[prefix] = min(found.get(prefix, count), count - read)
    return found


def states(constraint: CompiledConstraint, tokens: list[str]) -> Iterator[tuple[int, str, Any]]:
    """The states after up to two tokens, with their texts."""
    todo = [("", constraint.start())]
    for count in range(3):
        yield from ((count, text, state) for text, state in todo)
        todo = [
            (text + tokens[token], constraint.advance(state, token))
            for text, state in todo
            for token in unpack(constraint.mask(state)).tolist()
            if token < len(tokens)
        ]


def check(source: Any, tokens: list[str], accepts: Callable[[str], bool], begins: str = "") -> None:
    end = len(tokens)
    vocabulary = gw.Vocabulary([*map(str.encode, tokens), b"<eos>"], {end})
    constraint, needed = gw.compile(source, vocabulary), needs(tokens, accepts, begins)
    for read, text, state in states(constraint, tokens):
        distance = constraint.distance(state)
        mask = {*unpack(constraint.mask(state)).tolist()}
        assert (distance == 0) == accepts(text) == constraint.accepts(state)
        after = [constraint.distance(constraint.advance(state, token)) for token in mask - {end}]
        assert distance == 0 or min(after) < distance
        for left in range(MOST - read + 1):  # beyond, longer texts would have to be listed
            assert constraint.fits(state, left) == (distance <= left)
            if left < distance:
                with pytest.raises(gw.LimitError):
                    constraint.mask_within(state, left)
                continue
            assert needed.get(text, inf) <= left
            within = {*unpack(constraint.mask_within(state, left)).tolist()}
            assert within
            assert within <= mask
            for token in within - {end}:
                assert needed.get(text + tokens[token], inf) < left


@pytest.fixture(params=[False, True], ids=["exactly", "briefly"])
def briefly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(least, "_WORK", 1)
        monkeypatch.setattr(json_members_least, "_IN_ORDER", 1)


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_mask_within_a_budget_of_a_pattern_leaves_enough(pattern: str) -> None:
    check(gw.Regex(pattern), LETTERS, lambda text: bool(re.fullmatch(pattern, text)))


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize("schema", OBJECTS)
def test_a_mask_within_a_budget_of_an_object_leaves_enough(schema: dict[str, Any]) -> None:
    schema = {"type": "object", **schema}
    source = gw.JsonSchema(schema, whitespace="compact", spelling="plain")
    check(source, PIECES, is_object(schema), "{")
