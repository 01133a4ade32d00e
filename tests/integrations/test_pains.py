"""What users of structured output report elsewhere, as tests of ours: one for each thread.

Those that need a running engine are in `tests/engines`, by the same names.
"""

import json
import re
from typing import Any

import pytest

import guideway as gw
from guideway.integrations.requests import Compiler, read_request

BYTES = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), None], {256})
LONGEST = 70  # bytes of natural whitespace: a line break and eight levels of eight blanks, at most


def compiled(schema: Any) -> Any:
    return Compiler(BYTES, 257).compile({"json": schema})


def preferring(schema: Any, wanted: bytes, most: int = 4000) -> str:
    """The text of a model that writes one of `wanted` wherever it may, else the least byte."""
    constraint = compiled(schema)
    state, text = constraint.start(), bytearray()
    for _ in range(most):
        mask = constraint.mask(state)
        allowed = [byte for byte in range(257) if mask[byte >> 5] >> (byte & 31) & 1]
        byte = next((each for each in wanted if each in allowed), allowed[-1])
        if byte == 256:
            return text.decode()
        text.append(byte)
        state = constraint.advance(state, byte)
    raise AssertionError(f"no end: {text[-200:]!r}")


@pytest.mark.parametrize("space", [b" \n\t\r", b"\n \t\r", b"\t\r\n "])
def test_whitespace_ends(space: bytes):
    """vllm#38696, omlx#2990: blanks until max_tokens."""
    listed = {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2}
    schema = {"type": "object", "properties": {"a": listed}, "required": ["a"]}
    text = preferring(schema, space)
    assert len(json.loads(text)["a"]) == 2
    assert max(map(len, re.findall(r"\s+", text))) <= LONGEST


def test_an_empty_schema_ends_within_a_limit():
    """vllm#52011: digits without end for the schema {}."""
    constraint = compiled({})
    state, text = constraint.start(), bytearray()
    for left in range(40, 0, -1):
        mask = constraint.mask_within(state, left)
        byte = next((b for b in b"7" if mask[b >> 5] >> (b & 31) & 1), 256)
        if byte == 256:
            break
        text.append(byte)
        state = constraint.advance(state, byte)
    assert constraint.accepts(state)
    json.loads(text)


A = {"required": ["a"]}
B = {"required": ["b"]}
NAMED = {"patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": False}
# A schema, an instance, and one that must not pass.
KEPT: dict[str, tuple[Any, Any, Any]] = {
    "xgrammar#858: keywords beside anyOf":
        ({"properties": {"a": {"type": "integer"}, "b": True}, "anyOf": [A, B]}, {"a": 1},
         {"a": "x"}),
    "vllm#45592: pattern and maxLength":
        ({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}, "abc", "abcd"),
    "sglang#37839: contains": ({"type": "array", "contains": {"const": 3}}, [1, 3], [1]),
    "sglang#37839: uniqueItems": ({"type": "array", "uniqueItems": True}, [1, 2], [1, 1]),
    "sglang#37839: if and then":
        ({"if": A, "then": B, "type": "object"}, {"a": 1, "b": 2}, {"a": 1}),
    "llguidance#265: patternProperties": ({"type": "object", **NAMED}, {"n": 1}, {"n": "x"}),
    "lmstudio#2168: a pattern without anchors": ({"type": "string", "pattern": "\\S"}, " x ", " "),
}  # fmt: skip


@pytest.mark.parametrize("thread", KEPT)
def test_keywords_are_kept(thread: str):
    schema, instance, wrong = KEPT[thread]
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    assert constraint.matches(json.dumps(instance))
    assert not constraint.matches(json.dumps(wrong))


@pytest.mark.parametrize("text", ['"', "::= |", "\\", "{" * 9, "\n", "root", "é" * 300])
def test_descriptions_change_nothing(text: str):
    """llama.cpp#27619: a crash that depended on the text of a description."""
    plain: Any = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}
    said = json.loads(json.dumps(plain))
    said["properties"]["a"]["description"] = said["description"] = said["title"] = text
    assert compiled(said).equivalent(read_request({"json": plain}))


def test_what_cannot_be_enforced_is_refused_and_not_dropped():
    """llama.cpp#19051, ollama#17183: 200, and a text without any constraint."""
    for wrong in ({"json": {"$ref": "#/nowhere"}}, {"grammar": "root ::= x"}, {"regex": "(?<a"}):
        with pytest.raises(gw.GuidewayError):
            Compiler(BYTES, 257).compile(wrong)


def test_a_token_that_spells_json_but_is_special_is_not_text():
    """xgrammar PR#737: Kimi's atomic tokens were read as their bytes."""
    tokens = [*(bytes([byte]) for byte in range(256)), None, None]
    vocabulary = gw.Vocabulary(tokens, {256}, special={'{"a": 1}': 257})
    constraint = gw.compile(gw.JsonSchema({"type": "object"}), vocabulary)
    assert not constraint.mask(constraint.start())[257 >> 5] >> (257 & 31) & 1
