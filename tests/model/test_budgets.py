"""Budgets: a random-weights model at temperature 1 closes every object in the tokens it has.

Noise is the worst model there is: it opens strings and never closes them, and prefers no key. What
it writes is judged by jsonschema and by jsonschema_rs, offline, formats included: they share no
code with guideway or with each other.
"""

import json
import re
from functools import cache
from typing import Any, Final

import jsonschema_rs
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry

from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint
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


def closed(**properties: Any) -> dict[str, Any]:
    """The schema of objects with these properties, all required, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def row_of(*items: dict[str, Any]) -> dict[str, Any]:
    """The schema of arrays of just these items."""
    return {"type": "array", "prefixItems": [*items], "minItems": len(items), "items": False}


def text(form: str) -> dict[str, Any]:
    return {"type": "string", "format": form}


INTEGER: Final = {"type": "integer"}
PERSON: Final = closed(name={"type": "string"}, age={"type": "integer", "minimum": 0})
TREE: Final = closed(value=INTEGER, children={"type": "array", "items": {"$ref": "#/$defs/tree"}})
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
    "tuple": row_of({"type": "string"}, INTEGER),
    "enum": {"enum": ["red", "green", "dark blue", 12.5, None, {"mixed": [1, 2]}]},
    "const": {"const": {"kind": "fixed", "values": [1, True, "ü"]}},
    "any of": {"anyOf": [PERSON, {"type": "array", "items": {"type": "string", "minLength": 2}}]},
    "lengths": {"type": "string", "minLength": 7, "maxLength": 9},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}(/[a-z]+)?$"},
    "integer bounds": {"type": "integer", "minimum": 1234, "maximum": 56789},
    "number bounds": {"type": "number", "exclusiveMinimum": 10.25, "maximum": 11},
    "date": text("date"),
    "date-time": text("date-time"),
    "uuid and time": closed(id=text("uuid"), at=text("time")),
    "email and address": row_of(text("email"), text("ipv4")),
    "dictionary": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": INTEGER, "minItems": 1},
    },
    "recursion": {"$defs": {"tree": TREE}, "$ref": "#/$defs/tree"},
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
    compiled = constraint(name, words)
    least = compiled.distance(compiled.start())
    requests = [
        Request((0,), compiled, Sampling(temperature=1.0, seed=7, max_new_tokens=least + extra))
        for extra in extras
    ]
    done = generate(FakeModel.random(vocabulary(words), seed=1), requests)
    for extra, completion in zip(extras, done, strict=True):
        assert completion.finish_reason in {"stop", "length"}
        assert len(completion.tokens) <= least + extra
        assert faults(name, completion.text) == []
