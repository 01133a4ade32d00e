"""Strings of an enum are read like names: whole masks equal those of the plain engine."""

import json

import pytest

import guideway as gw
from guideway.masks.rows import Rows

PARTS = [
    b'"a',
    b'b"',
    b'ab"',
    b'a"}',
    b'"]',
    b'",',
    b'","',
    b"\\u",
    b"0061",
    b'\\"',
    b"null",
    b"\xc3\xbc",
]
EVERY = [*(bytes((byte,)) for byte in range(256)), *PARTS, b"<end>"]
FEW = [bytes((byte,)) for byte in b'"abnul,[]{}:0123456789 '] + [b'"ab', b'b"', b"<end>"]
WORDS = ["a", "ab", "", 'a"b', "b/", "\u00fc", "a\n"]
SCHEMAS = [
    ({"enum": WORDS}, WORDS),
    ({"enum": [*WORDS, None, 10, "ab"]}, ["ab", None, 10]),
    ({"type": "string", "enum": ["a", None]}, ["a"]),
    ({"const": 'a"b'}, ['a"b']),
    ({"type": "array", "items": {"enum": ["a", "ab"]}}, [["a", "ab", "a"]]),
    ({"properties": {"a": {"enum": ["b", "ab"]}}, "additionalProperties": False}, [{"a": "ab"}]),
]


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("tokens", [EVERY, FEW])
@pytest.mark.parametrize(("schema", "values"), SCHEMAS)
def test_masks_of_strings_of_an_enum_are_those_of_the_plain_engine(
    schema, values, tokens, spelling
) -> None:
    vocabulary = gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})
    known = {token: number for number, token in enumerate(tokens)}
    try:
        source = gw.JsonSchema(schema, spelling=spelling, whitespace="compact")
        constraint = gw.compile(source, vocabulary)
    except gw.UnsatisfiableError:
        assert tokens is FEW
        return
    plain = Rows(constraint._machine, vocabulary, gw.Budget())
    for text in [json.dumps(value, ensure_ascii=escaped) for value in values for escaped in (0, 1)]:
        state = constraint.start()
        for byte in text.replace(" ", "").encode():
            row = constraint.mask(state)
            assert row.tolist() == plain.row(constraint._states.rest(state)).tolist()
            token = known.get(bytes((byte,)), len(tokens))
            if token >= 32 * len(row) or not int(row[token >> 5]) >> (token & 31) & 1:
                assert spelling == "plain" or tokens is FEW
                break
            state = constraint.advance(state, token)
        else:
            assert constraint.accepts(state)
