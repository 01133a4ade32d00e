"""Whole masks of the compiled engine are those of the plain one (see `two_engines`)."""

import json
import threading
from typing import Any

import numpy as np
import pytest

import guideway as gw
from guideway.automaton import arena
from guideway.automaton import lexer_dfa as dfa
from guideway.automaton import token_mask_cache as mask_cache
from guideway.automaton.kernels.layout import BITS
from guideway.automaton.plain_masks import Rows
from guideway.automaton.token_mask_cache import MaskStore
from two_engines import Both, explored, vocabulary

TEXT = {"type": "string"}


def closed(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, **parts}


OBJECTS: dict[str, Any] = {
    "open": {"type": "object"},
    "declared": closed(properties={"a": {"enum": [1, 10]}, "ab": TEXT, "é💩": {"type": "null"}}),
    "required": closed(
        properties={"id": {"type": "integer"}, "name": TEXT, "na": {"type": "boolean"}},
        required=["na", "name"],
    ),
    "declared and others": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, 'q"\\\n': {"const": "x"}},
        "additionalProperties": {"type": "boolean"},
        "required": ["a"],
    },
    "one of two": {
        "anyOf": [
            closed(properties={"kind": {"const": "a"}, "x": {"type": "integer"}}),
            {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]},
        ]
    },
    "names of a kind": closed(
        properties={"b": TEXT}, patternProperties={"^a[a-z]*$": {"type": "integer"}}
    ),
    "nested": closed(
        properties={"in": {"type": "array", "maxItems": 3, "items": {"$ref": "#"}}, "n": TEXT}
    ),
}
COUNTS: dict[str, Any] = {
    "length": {"type": "string", "minLength": 4, "maxLength": 9},
    "length at most": {"type": "string", "maxLength": 5},
    "length at least": {"type": "string", "minLength": 6},
    "pattern": {"type": "string", "pattern": r"^[a-c]{5,8}-(?:x[0-9]){4,}$"},
    "pattern and length": {
        "type": "string",
        "pattern": r"^\S+( \S+){0,3}$",
        "minLength": 4,
        "maxLength": 12,
    },
    "words of a length": {
        "type": "array",
        "maxItems": 5,
        "items": {"type": "string", "pattern": "^(ab|c*)x", "maxLength": 7},
    },
    "items": {"type": "array", "items": {"type": "boolean"}, "minItems": 4, "maxItems": 6},
    "distinct": {"type": "array", "items": {"enum": [1, 12, "a"]}, "uniqueItems": True},
    "distinct texts": {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "string", "maxLength": 3},
    },
    "distinct objects": {
        "type": "array",
        "uniqueItems": True,
        "items": {"properties": {"a": {"enum": [1, "x"]}}, "additionalProperties": {"const": 1}},
    },
    "names": {"type": "object", "propertyNames": {"maxLength": 4}, "maxProperties": 2},
}
SCHEMAS = {**OBJECTS, **COUNTS}


def compared(names: list[str], texts: int, tokens: int, **options: Any) -> int:
    seen: set[tuple[str, Any]] = set()
    for name in names:
        both = Both(gw.JsonSchema(SCHEMAS[name], **options), vocabulary())
        for at in explored(both, name, texts, tokens):
            if (name, at[0]) not in seen:
                seen.add((name, at[0]))
                both.check(at)
    return len(seen)


@pytest.mark.untraced
@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_those_of_the_plain_engine(name: str, order: Any) -> None:
    assert compared([name], 2, 14, key_order=order) >= 2


@pytest.mark.slow
def test_two_thousand_masks_are_those_of_the_plain_engine() -> None:
    assert compared(list(SCHEMAS), 30, 30) >= 2000


@pytest.mark.parametrize("left", range(6))
def test_counters_at_their_edges(left: int) -> None:
    both = Both(gw.JsonSchema({"type": "string", "minLength": 5, "maxLength": 8}), vocabulary())
    for text in ("é" * (5 - left), "a" * (8 - left), "\\n" * (8 - left)):
        *_, at = both.read(f'"{text}'.encode())
        both.check(at)


ESCAPES = [rb"\u00", rb"\u002", rb"\u002d", rb"\u006", rb"\u0061", rb"\\", rb"\u005c"]


@pytest.mark.parametrize("items", ["[a-c]{4,6}", "[a-c]{5}", r"[a-c\\]{4,6}", "[a-c-]{0,4}"])
@pytest.mark.parametrize("behind", ["-", "-c{4}", r"\\"])
def test_counted_items_and_what_follows_them_may_both_be_escaped(items: str, behind: str) -> None:
    between = [a + e for a in (b"", b"a", b"-", b"ab", b"abca") for e in ESCAPES]
    over = [*between, *(e + z for e in ESCAPES for z in (b"a", b"-", b'"', b"-c"))]
    tokens = [*(bytes((b,)) for b in range(256)), *sorted({*over}), b"<end>"]
    words = gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})
    both = Both(gw.JsonSchema({"type": "string", "pattern": f"^{items}{behind}$"}), words)
    for text in (b'"abcabca', rb'"ab\u0061cab\u002d', rb'"abcab\u005c\\', b'"abc-ab-'):
        at = both.begin
        for byte in text:
            if not both.check(at)[byte >> 5] >> np.uint32(byte & 31) & 1:
                break
            at = both.after(at, byte)
        both.check(at)


KEYS = ["é", "é", "e", "💩", 'q"', "b\\", "n\n"]
SPELLED = [
    r"\u00e9",
    r"\u00E9",
    r"\ud83d\udca9",
    r"\uD83D\uDCA9",
    r"\"",
    r"\\",
    r"\n",
    r"\u000a",
    r"\/",
]


@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("escapes", ["any", "plain"])
def test_keys_however_they_are_spelled(others: bool, escapes: str) -> None:
    schema = {
        "type": "object",
        "properties": {key: {"const": index} for index, key in enumerate(dict.fromkeys(KEYS))},
        "additionalProperties": {"const": 99} if others else False,
    }
    both = Both(gw.JsonSchema(schema, spelling=escapes), vocabulary(400))
    for spelled in [*SPELLED, *KEYS, r"\u0065", r"q\u0022", r"b\u005c", r"n\u000A"]:
        at = both.begin
        for byte in f'{{"{spelled}"'.encode():
            if not both.check(at)[byte >> 5] >> np.uint32(byte & 31) & 1:
                break
            at = both.after(at, byte)
        both.check(at)


def test_the_same_keys_in_every_order_and_others_that_repeat() -> None:
    schema = {"type": "object", "properties": {"a": True, "b": {"const": 1}}, "required": ["b"]}
    both = Both(gw.JsonSchema(schema), vocabulary(400))
    for names in ("ab", "ba", "xb", "bx", "axb", "xya", "yx"):
        text = "{" + ", ".join(f'"{name}": 1' for name in names)
        for at in both.read(text.encode()):
            both.check(at)
        for more in (b', "', b', "x', b', "y', b', "a', b', "\\u0078'):
            following = at
            for byte in more:
                both.check(following)
                following = both.after(following, byte)
            both.check(following)


def test_what_a_walk_cannot_know_behind_white_space_is_stepped() -> None:
    # The plain engine once lost this token: behind the comma only the name could tell what follows.
    over = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b'":"","', b"<end>"], eos_ids={257})
    both = Both(gw.JsonSchema(SCHEMAS["names"]), over)
    *_, at = both.read(b'{"ab')
    assert both.check(at)[8] & 1


def test_masks_that_found_no_room_on_a_mask_store_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MaskStore, "put", lambda *_: 0)
    over = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b"1,", b"<end>"], eos_ids={257})
    few = gw.compile(gw.JsonSchema(SCHEMAS["names"]), over, budget=gw.Budget(rows=1))
    plain = Rows(few._states._machine, over, gw.Budget())
    for _ in range(2):
        state, misses = few.start(), few._states.held().misses
        for byte in b'{"a':
            assert few.mask(state).tobytes() == plain.row(few._states.rest(state)).tobytes()
            state = few.advance(state, byte)
        assert few._states.held().rows == 1
        assert few._states.held().misses == misses + 3


def test_masks_are_the_same_warm_cold_and_in_two_threads() -> None:
    source = gw.JsonSchema(SCHEMAS["declared and others"])
    both = Both(source, vocabulary())
    text = json.dumps({"a": 12, "zz": True, 'q"\\\n': "x"}).encode()

    def masks(constraint: Any) -> list[bytes]:
        state, found = constraint.start(), []
        for byte in text:
            found.append(constraint.mask(state).tobytes())
            state = constraint.advance(state, byte)
        return found

    cold = masks(both.fast)
    assert cold == [both.plain.row(rest).tobytes() for _, rest in both.read(text)][:-1]
    assert masks(both.fast) == cold
    kept = both.fast.start()
    gw.clear_cache()
    assert both.fast.mask(kept).tobytes() == cold[0]
    assert masks(both.fast) == cold
    found: list[list[bytes]] = []
    gw.clear_cache()
    threads = [threading.Thread(target=lambda: found.append(masks(both.fast))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [cold, cold]


def test_without_room_for_state_masks_masks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask_cache, "MOST_PICTURES", 1)
    monkeypatch.setattr(mask_cache, "_mask_caches", {})
    words = gw.Vocabulary(vocabulary(300).tokens, eos_ids=vocabulary(300).eos_ids)
    for schema in (SCHEMAS["open"], SCHEMAS["length"], SCHEMAS["distinct texts"]):
        both = Both(gw.JsonSchema(schema), words)
        for at in explored(both, "no room", 2, 10):
            both.check(at)


def test_a_dfa_that_has_grown_is_left_to_those_who_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = gw.Vocabulary(vocabulary(300).tokens, eos_ids=vocabulary(300).eos_ids)
    old = Both(gw.Regex("[ab]{3,9}c"), words)
    for at in explored(old, "old", 1, 4):
        old.check(at)
    monkeypatch.setattr(dfa, "RENEW_AT", 1)
    new = Both(gw.Regex("[ab]{3,9}d"), words)
    for both in (old, new):
        for at in explored(both, "both", 2, 8):
            both.check(at)


def test_arrays_that_grow_keep_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {
        number: (64 if number == BITS else 16, arrays)
        for number, (_, arrays) in arena.GROWING.items()
    }
    monkeypatch.setattr(arena, "GROWING", small)
    words = vocabulary(400)
    for name in ("declared and others", "distinct texts", "nested", "one of two"):
        both = Both(gw.JsonSchema(SCHEMAS[name]), words)
        for at in explored(both, f"grow {name}", 3, 12):
            both.check(at)
