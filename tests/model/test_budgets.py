"""Budgets: a random-weights model at temperature 1 closes every object in the tokens it has.

Noise is the worst model there is: it opens strings and never closes them, and prefers no key. What
it writes is judged by jsonschema and by jsonschema_rs, offline, formats included: they share no
code with guideway or with each other.
"""

import json
import random
import re
from functools import cache
from typing import Any, Final

import jsonschema_rs
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry

from guideway.automaton.token_tries import unpack
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import LimitError
from guideway.generation.row.request import Request
from guideway.json_schema.source import JsonSchema
from guideway.models.fake import FakeModel
from guideway.sampling.settings import Sampling
from guideway.vocabulary.vocabulary import Vocabulary
from real_tokenizers import real_vocabulary
from whole_batches import generate

EXTRA: Final = (0, 1, 2, 5, 20)
REAL: Final = ("object", "any of", "nested", "uuid and time")  # with real tokens too
PAIRS: Final = (
    b'{"', b'":', b'",', b'"}', b"},", b"]}", b", ", b"\n ", b"00", b"-0", b"true", b"e",
)  # fmt: skip

PERSON: Final = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "object": PERSON,
    "open object": {"type": "object", "required": ["id"], "properties": {"id": {"type": "null"}}},
    "optional": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": ["string", "null"]}},
        "additionalProperties": False,
    },
    "nested": {
        "type": "object",
        "properties": {"outer": {"type": "object", "properties": {"person": PERSON}}},
        "required": ["outer"],
    },
    "array": {"type": "array", "items": PERSON, "minItems": 1, "maxItems": 3},
    "long array": {"type": "array", "items": {"type": "boolean"}, "minItems": 12},
    "tuple": {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": False,
        "minItems": 2,
    },
    "enum": {"enum": ["red", "green", "dark blue", 12.5, None, {"mixed": [1, 2]}]},
    "const": {"const": {"kind": "fixed", "values": [1, True, "ü"]}},
    "any of": {"anyOf": [PERSON, {"type": "array", "items": {"type": "string", "minLength": 2}}]},
    "lengths": {"type": "string", "minLength": 7, "maxLength": 9},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}(/[a-z]+)?$"},
    "integer bounds": {"type": "integer", "minimum": 1234, "maximum": 56789},
    "number bounds": {"type": "number", "exclusiveMinimum": 10.25, "maximum": 11},
    "date": {"type": "string", "format": "date"},
    "date-time": {"type": "string", "format": "date-time"},
    "uuid and time": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "at": {"type": "string", "format": "time"},
        },
        "required": ["id", "at"],
        "additionalProperties": False,
    },
    "email and address": {
        "type": "array",
        "prefixItems": [
            {"type": "string", "format": "email"},
            {"type": "string", "format": "ipv4"},
        ],
        "minItems": 2,
        "items": False,
    },
    "dictionary": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
    },
    "recursion": {
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {
                    "value": {"type": "integer"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                },
                "required": ["value", "children"],
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/tree",
    },
}


@cache
def vocabulary(words: str) -> Vocabulary:
    if words == "smollm2":
        return real_vocabulary(words)
    spelled = [bytes([byte]) for byte in range(256)] + list(PAIRS)
    return Vocabulary([*spelled, b"<eos>"], eos_ids={len(spelled)})


@cache
def constraint(name: str, words: str) -> CompiledConstraint:
    """On bytes in any spelling, order and whitespace; on SmolLM2 as `generate` wants it."""
    schema = SCHEMAS[name]
    plain = JsonSchema(schema, key_order="declared", whitespace="natural", spelling="plain")
    return compile_source(JsonSchema(schema) if words == "bytes" else plain, vocabulary(words))


def shortest(name: str, words: str) -> int:
    compiled = constraint(name, words)
    return compiled.distance(compiled.start())


def request(name: str, words: str, most: int, seed: int = 7) -> Request:
    sampling = Sampling(temperature=1.0, seed=seed, max_new_tokens=most)
    return Request((0,), constraint(name, words), sampling)


def parse(text: str) -> Any:
    """The value of a JSON text in which no key stands twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique)


def faults(name: str, text: str) -> list[str]:
    """What two validators have against a text."""
    first = Draft202012Validator(
        SCHEMAS[name], format_checker=Draft202012Validator.FORMAT_CHECKER, registry=Registry()
    )
    second = jsonschema_rs.Draft202012Validator(SCHEMAS[name], validate_formats=True)
    value = parse(text)
    # The first one does not know the leap seconds of RFC 3339; the second one does, exactly.
    usual = json.loads(re.sub(r"(?<=\d\d:\d\d:)60", "59", json.dumps(value)))
    found = [*first.iter_errors(usual), *second.iter_errors(value)]
    return [error.message for error in found]


CASES: Final = [(name, "bytes") for name in SCHEMAS] + [(name, "smollm2") for name in REAL]


@pytest.mark.parametrize("extras", [EXTRA, pytest.param((100,), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize(("name", "words"), CASES)
def test_noise_writes_a_valid_text_within_the_minimum_and_a_little_more(
    name: str, words: str, extras: tuple[int, ...]
) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    least = shortest(name, words)
    model = FakeModel.random(vocabulary(words), seed=1)
    done = generate(model, [request(name, words, least + extra) for extra in extras])
    for extra, completion in zip(extras, done, strict=True):
        assert completion.finish_reason in {"stop", "length"}
        assert len(completion.tokens) <= least + extra
        assert faults(name, completion.text) == []


@pytest.mark.parametrize(("name", "words"), CASES)
def test_one_token_less_than_the_minimum_is_refused_with_both_numbers(name: str, words: str):
    least = shortest(name, words)
    with pytest.raises(LimitError) as raised:
        generate(FakeModel.random(vocabulary(words)), [request(name, words, least - 1)])
    assert (raised.value.limit, raised.value.given) == ("max_new_tokens", least - 1)
    if least > 1:  # no text of 0 tokens can be asked for, whatever the constraint
        assert raised.value.needed == least


@pytest.mark.parametrize(("name", "words"), CASES)
def test_wherever_chance_leads_an_end_can_be_reached(name: str, words: str) -> None:
    compiled, chance = constraint(name, words), random.Random(3)
    ends = compiled.vocabulary.eos_ids
    state = compiled.start()
    for _ in range(12):
        allowed: list[int] = unpack(compiled.mask(state)).tolist()
        assert allowed
        assert compiled.accepts(state) == (not ends.isdisjoint(allowed))
        further = [token for token in allowed if token not in ends]
        if not further:
            break
        state = compiled.advance(state, chance.choice(further))
    for left in range(compiled.distance(state), 0, -1):  # one token nearer with each
        following = (compiled.advance(state, t) for t in unpack(compiled.mask(state)).tolist())
        state = next(s for s in following if compiled.distance(s) == left - 1)
    assert compiled.accepts(state)
