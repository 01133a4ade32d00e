"""Masks against oracles that share no code: partial matching, and lists of all valid texts."""

import itertools
import json
import random

import jsonschema
import pytest

import guideway as gw
import regex
from guideway.automaton.token_tries import unpack
from real_tokenizers import real_vocabulary

# Without \w and \s, where `regex` and `re` differ (U+001C is white space to `re` alone).
PATTERNS = [
    r"\d{3}-\d{4}",
    r"(yes|no|maybe)( indeed)*",
    r"[A-Z][a-z]+(, [A-Z][a-z]+){0,3}\.",
    r"(?:[a-z0-9]+@[a-z0-9]+\.(?:com|org)|none)",
    r"a*b+c?|(xy){2,3}",
    r"[^aeiou \n]{4,9}",
    r"(?i:hello) (?:world|there)!?",
    r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?",
    r"[αβγ]{2}é.{3}",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_token_is_allowed_exactly_if_the_text_may_still_match(pattern):
    vocabulary = real_vocabulary("gpt2")
    constraint = gw.compile(gw.Regex(pattern), vocabulary)
    compiled = regex.compile(pattern)
    chosen = random.Random(pattern)
    whole = {}
    for token, spelling in enumerate(vocabulary.tokens):
        try:
            whole[token] = (spelling or b"").decode()
        except UnicodeDecodeError:
            continue  # a part of a character: the laws of the walk cover it
    state, text = constraint.start(), ""
    for _ in range(6):
        allowed = set(unpack(constraint.mask(state)).tolist())
        expected = {t for t, s in whole.items() if s and compiled.fullmatch(text + s, partial=True)}
        assert allowed & whole.keys() - vocabulary.eos_ids == expected
        assert constraint.accepts(state) == bool(compiled.fullmatch(text))
        assert constraint.accepts(state) == (vocabulary.eos_ids <= allowed)
        if not expected:
            break
        token = chosen.choice(sorted(expected))
        state, text = constraint.advance(state, token), text + whole[token]


LEAVES = [0, 1, 12, "a", "b", "ab", None, True]
SCHEMAS = [
    {"enum": LEAVES},
    {"type": ["integer", "null"], "enum": LEAVES},
    {"type": "array", "items": {"enum": [0, 12]}, "minItems": 1, "maxItems": 3},
    {"type": "array", "prefixItems": [{"const": "a"}, {"enum": [0, 1]}], "items": False},
    {"type": "object", "properties": {"a": {"enum": [0, 1]}}, "additionalProperties": False},
    {"type": "object",
     "properties": {"a": {"const": 0}, "b": {"enum": ["a", None]}, "ab": {"type": "boolean"}},
     "required": ["b"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"const": 0}, "b": {"const": 1}, "ab": {"const": 12}},
     "required": ["ab", "a"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"anyOf": [{"const": 0}, {"enum": [[0], {"b": 1}]}]}},
     "required": ["a"], "additionalProperties": False},
    {"type": "string", "enum": ["a", "ab"], "minLength": 2},
    {"type": "string", "pattern": "^[ab]*$", "maxLength": 2},
    {"type": "integer", "minimum": -1, "maximum": 12},
    {"anyOf": [{"type": "integer", "minimum": 10, "maximum": 12}, {"enum": ["b", None]}]},
]  # fmt: skip
NUMBERS = list(range(-20, 30))
TEXTS = ["".join(letters) for n in range(4) for letters in itertools.product("ab", repeat=n)]


def instances():
    """More than any of the schemas allows."""
    yield from [*LEAVES, False, *NUMBERS, *TEXTS]
    small = [0, 1, 12, "a", "ab", None, True, False, [0], {"b": 1}]
    for count in range(4):
        yield from map(list, itertools.product(small, repeat=count))
    for count in range(4):
        for keys in itertools.permutations(["a", "b", "ab"], count):
            for values in itertools.product(small, repeat=count):
                yield dict(zip(keys, values, strict=True))


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_a_token_is_allowed_exactly_if_some_valid_text_goes_on_so(schema, order):
    validator = jsonschema.Draft202012Validator(schema)
    declared = list(schema.get("properties", ()))
    valid = {
        json.dumps(value, separators=(",", ":"))
        for value in instances()
        if validator.is_valid(value)
        and (order == "any" or not isinstance(value, dict) or in_order(value, declared))
    }
    pieces = {text[i : i + n] for text in valid for i in range(len(text)) for n in (1, 2, 4)}
    tokens = sorted({*map(chr, range(32, 127)), *pieces})
    vocabulary = gw.Vocabulary([token.encode() for token in tokens])
    source = gw.JsonSchema(schema, key_order=order, whitespace="compact", spelling="plain")
    constraint = gw.compile(source, vocabulary)
    beginnings = {text[:n] for text in valid for n in range(len(text) + 1)}
    sample = random.Random(0).sample(sorted(beginnings), min(len(beginnings), 60))
    for text in ["", *sample]:
        state = constraint.start()
        for character in text:
            state = constraint.advance(state, tokens.index(character))
        allowed = {tokens[t] for t in unpack(constraint.mask(state))}
        assert allowed == {token for token in tokens if text + token in beginnings}
        assert constraint.accepts(state) == (text in valid)


def in_order(value, declared):
    return list(value) == sorted(value, key=declared.index)
