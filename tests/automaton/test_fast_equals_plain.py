"""Whole masks of the compiled engine are those of the plain one (see `two_engines`)."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any

import pytest

import guideway as gw
from guideway.automaton import arena
from guideway.automaton import lexer_dfa as dfa
from guideway.automaton.kernels.layout import BITS
from json_mixtures import Mixture
from two_engines import Both, explored, vocabulary

TEXT = {"type": "string"}


def closed(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, **parts}


def keys(patterns: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"type": "object", "patternProperties": patterns, **parts}


def closed_keys(patterns: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return keys(patterns, additionalProperties=False, **parts)


OBJECTS: dict[str, Any] = {
    "open": {"type": "object"},
    "declared": closed(properties={"a": {"enum": [1, 10]}, "ab": TEXT, "é💩": {"type": "null"}}),
    "required": closed(properties={"id": {"type": "integer"}, "name": TEXT,
                                   "na": {"type": "boolean"}},
                       required=["na", "name"]),
    "declared and others": {"type": "object",
                            "properties": {"a": {"type": "integer"}, 'q"\\\n': {"const": "x"}},
                            "additionalProperties": {"type": "boolean"}, "required": ["a"]},
    "one of two": {"anyOf": [closed(properties={"kind": {"const": "a"}, "x": {"type": "integer"}}),
                             {"type": "object", "properties": {"kind": {"const": "b"}},
                              "required": ["kind"]}]},
    "names of a kind": closed(properties={"b": TEXT},
                              patternProperties={"^a[a-z]*$": {"type": "integer"}}),
    "nested": closed(properties={"in": {"type": "array", "maxItems": 3, "items": {"$ref": "#"}},
                                 "n": TEXT}),
}  # fmt: skip
COUNTS: dict[str, Any] = {
    "length": {"type": "string", "minLength": 4, "maxLength": 9},
    "pattern": {"type": "string", "pattern": r"^[a-c]{5,8}-(?:x[0-9]){4,}$"},
    "words of a length": {"type": "array", "maxItems": 5,
                          "items": {"type": "string", "pattern": "^(ab|c*)x", "maxLength": 7}},
    "items": {"type": "array", "items": {"type": "boolean"}, "minItems": 4, "maxItems": 6},
    "distinct objects": {"type": "array", "uniqueItems": True,
                         "items": {"properties": {"a": {"enum": [1, "x"]}},
                                   "additionalProperties": {"const": 1}}},
    "names": {"type": "object", "propertyNames": {"maxLength": 4}, "maxProperties": 2},
}  # fmt: skip
INT, BOOL = {"type": "integer"}, {"type": "boolean"}
MEMBERS: dict[str, Any] = {
    "members, one of two": {"type": "object", "properties": {"a": INT, "ab": BOOL, 'é"💩': INT},
                            "oneOf": [{"required": ["a"]},
                                      {"required": ["ab"], "minProperties": 2}],
                            "additionalProperties": False},
    "members, none left": {"type": "object",
                           "properties": {"a": INT, "b": {"not": {}}, "n\n": BOOL},
                           "additionalProperties": False, "minProperties": 1},
    "others": {"type": "object", "properties": {"a": INT, "x": BOOL},
               "anyOf": [{"minProperties": 2}, {"required": ["x"]}],
               "additionalProperties": {"type": "null"}},
    "others of a kind": {"type": "object", "properties": {"a": INT},
                         "patternProperties": {"^x": BOOL, "y$": INT}, "maxProperties": 3},
    "others that cannot be": {"type": "object", "properties": {"a": INT}, "required": ["a"],
                              "maxProperties": 1},
    "members, nested": {"type": "object",
                        "properties": {"a": {"$ref": "#"},
                                       "b": {"type": "array", "items": {"$ref": "#"}}},
                        "additionalProperties": False, "maxProperties": 1},
}  # fmt: skip
KINDS: dict[str, Any] = {
    "two kinds": keys({"^x": BOOL}, properties={"a": INT, "x1": BOOL, 'é"💩': INT}),
    "overlapping kinds": keys(
        {"^x": {"minimum": 3}, "y$": INT, "^[^xy]*$": {"type": "null"}},
        properties={"x": INT, "ab": BOOL, "n\n": {"not": {}}}, required=["xy", "q"]),
    "no others": closed_keys({"^[a-c]+$": INT, "^é": BOOL, "^z": {"not": {}}, "^d[xy]*$": BOOL}),
    "one kind": closed_keys(
        {"^[c-e]+$": {"$ref": "#"}}, properties={"a": INT, "cd": BOOL}, required=["a"]),
    "names of a kind alone": closed_keys({"^b[0-9]*$|^/": INT, "^c": BOOL}),
    "a few words": closed_keys(
        {"^[ab]$": INT, "^c$": INT, "^x": BOOL, "^(a|xy)z$": {"type": "null"}}, required=["b"]),
    "others than a few words": keys(
        {"^[a-c]$": {"maximum": 9}, "^(x|y)$": BOOL},
        properties={"b": INT}, additionalProperties={"type": "null"}),
    "languages": keys({"^(d|n)_([A-Za-z]{2}(-[a-z]{2,3})*|x-y)(-z(-w){1,2})*$": INT}),
    "keys that run out": closed_keys({"^[a-z][0-9]$": INT, "^x": BOOL}),
    "keys that run out behind some": closed_keys({"^(a|bb*)$": INT, "^x": BOOL}),
    "keys of some length": closed_keys({"^[a-c]{1,4}$": INT}),
    "keys of many kinds": closed_keys({f"^{chr(0x61 + n)}": {"const": n} for n in range(17)}),
    "keys that no pattern tells": keys({"^a": INT}, propertyNames={"maxLength": 3}),
    "keys of which one pattern tells": closed_keys(
        {"^a": {"type": "integer"}, "^b": {"type": "integer"}}, propertyNames={"maxLength": 3}),
}  # fmt: skip
STRINGS: dict[str, Any] = {
    "any": {"items": TEXT},
    "not empty": {"items": {"type": "string", "minLength": 1}},
    "one at least": {"items": TEXT, "minItems": 1},
    "words": {"items": {"enum": ["a", "ab", 'é"', ""]}},
    "one of the words": {"items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
    "no more than a word": {"items": {"const": "x"}, "minItems": 0},
    "of a kind": {"items": {"type": "string", "pattern": "^[ab]?$"}},
    "of a length": {"items": {"type": "string", "maxLength": 2}},
    "escaped": {"items": {"type": "string", "pattern": r'^["\\\n/]{1,2}$'}},
    "one way": {"items": {"type": "string", "pattern": "^ab:[ab]{1,2}$"}},
    "near in hex": {"items": {"type": "string", "pattern": "^b(?:a|q|é|ß|💩|💪)?$"}},
    "digits": {"items": {"type": "string", "pattern": "^[0-9]$"}, "minItems": 1},
    "two at least": {"items": TEXT, "minItems": 2},
    "two at most": {"items": TEXT, "maxItems": 2},
    "two or three": {"items": {"type": "string", "maxLength": 2}, "minItems": 2, "maxItems": 3},
    "all of three": {"items": {"type": "string", "pattern": "^[ab]?$"}, "minItems": 3},
    "within members": {
        "items": TEXT,
        "type": ["array", "object"],
        "additionalProperties": {"items": {"enum": ["u", "v"]}, "uniqueItems": True},
    },
    "words that are counted": {"items": {"enum": ["a", "ab", ""]}, "minItems": 2},
    "not strings alone": {"items": {"enum": ["a", 1]}},
    "anything": {},
    "one at least of anything": {"minItems": 1},
    "two kinds": {"prefixItems": [TEXT], "items": {"type": "null"}},
    "within others": {"items": {"type": "array", "items": TEXT}},
}

DIFFERENT = {
    f"different, {k}": {"type": "array", "uniqueItems": True, **v} for k, v in STRINGS.items()
}
SCHEMAS = {**OBJECTS, **COUNTS, **MEMBERS, **KINDS, **DIFFERENT}
WAYS: list[Any] = [
    {},
    {"key_order": "declared"},
    {"spelling": "plain"},
    {"key_order": "declared", "whitespace": "compact", "spelling": "plain"},
]


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("texts", "tokens"), [(3, 12), pytest.param(30, 30, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_those_of_the_plain_engine(
    name: str, options: Any, texts: int, tokens: int
) -> None:
    both, seen = Both(gw.JsonSchema(SCHEMAS[name], **options), vocabulary(400)), set[Any]()
    for at in explored(both, name, texts, tokens):
        if at[0] not in seen:
            seen.add(at[0])
            both.check(at)
    assert len(seen) >= 2


@pytest.mark.parametrize(("name", "text"), [
    ("different, any", r'["a", "\u0061'),
    ("different, any", r'["", "a", "b", "'),
    ("different, any", r'[ "\ud83d\udca9" ,"💩'),
    ("different, any", r'["\"", "\\", "\u0022'),
    ("different, not empty", r'["aa", "a", "aa'),
    ("different, words", r'["ab", "", "\u00e9\"", "a"'),
    ("different, words", r'["ab", "", "é\u0022", "\u0061'),
    ("different, one at least", r"[ "),
    ("different, of a kind", '["b","","a"]'),
    ("different, of a kind", r'["","\u0061","b"]'),
    ("different, of a length", r'["aa","a\u0062","aé","é\u00e9","a","\ud83d\udca9💩","'),
    ("different, escaped", r'["\"","\"\n","\\\u000a","\/","//","\u002f\\","\u005c'),
    ("different, one way", r'["ab:a","ab:b","ab:aa","ab:ab","ab:ba","ab:\u0062b"]'),
    ("different, near in hex", r'["ba","b\u0071","b\u00df","bé","b\ud83d\udca9","b\u'),
    ("different, near in hex", r'["bß","ba","bq","b💪","b\ud83d\udca9","b\u00e9","b"]'),
    ("different, near in hex", r'["ba","b","bß","bé","b💪","b\u007'),
    ("different, two at least", '["a", "b","'),
    ("different, two at most", '["a", "b"]'),
    ("different, two or three", '["a","b","c"]'),
    ("different, all of three", '["","b","a"]'),
    ("different, digits", '["1","2","3","4","5","6","7","8","9","0"]'),
    ("two kinds", r'{"\u0061": 1, "a'),
    ("two kinds", r'{"x2": true, "x2'),
    ("two kinds", r'{"x2": true, "x\u00'),
    ("two kinds", r'{"\u0078": true, "x1": true, "b": [], "x1'),
    ("two kinds", r'{"é\"\ud83d\udca9" : 7, "é", "q": 1}'),
    ("members, one of two", r'{"\u0061": 1, "ab": true}'),
    ("members, one of two", r'{"é\"\ud83d\udca9" : 7, "ab":false, "a"'),
    ("members, none left", r'{ "n\u000a":true, "a":1 }'),
    ("others", r'{"x": true, "b": null, "c": null, "x'),
    ("others of a kind", r'{"xy": 1, "y": 2, "xa": true}'),
    ("members, nested", r'{"b": [{"a": {}}, {}]}'),
])  # fmt: skip
def test_names_and_strings_however_they_are_spelled(name: str, text: str) -> None:
    Both(gw.JsonSchema(SCHEMAS[name], whitespace="any"), vocabulary(400)).along(text.encode())


def test_where_bytes_are_lacking_objects_and_arrays_are_read_letter_by_letter() -> None:
    for lacking in (b"\\", b""):
        spelled = [bytes((byte,)) for byte in range(0x20, 0x7F) if byte not in lacking]
        words = gw.Vocabulary([*spelled, b'{"', b'"a', b'","', b"<end>"], {len(spelled) + 3})
        names = ["members, nested", "different, any", "different, words that are counted"]
        for name in (*names, "keys that run out behind some", "keys of some length"):
            both = Both(gw.JsonSchema(SCHEMAS[name]), words)
            for at in explored(both, "lacking", 2, 10):
                both.check(at)


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(40))
def test_masks_of_random_schemas_are_those_of_the_plain_engine(seed: int) -> None:
    source = gw.JsonSchema(Mixture(seed, 2020, most=8).schema, **WAYS[seed % len(WAYS)])
    try:
        both = Both(source, vocabulary(300))
    except gw.GuidewayError:  # test_applicators looks into these
        return
    for at in explored(both, str(seed), 3, 15):
        both.check(at)


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
        both.along(text)


KEYS = ["é", "é", "e", "💩", 'q"', "b\\", "n\n"]
SPELLED = [
    r"\u00e9", r"\u00E9", r"\ud83d\udca9", r"\uD83D\uDCA9", r"\"", r"\\", r"\n", r"\u000a", r"\/",
]  # fmt: skip


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
        both.along(f'{{"{spelled}"'.encode())


def test_the_same_keys_in_every_order_and_others_that_repeat() -> None:
    schema = {"type": "object", "properties": {"a": True, "b": {"const": 1}}, "required": ["b"]}
    both = Both(gw.JsonSchema(schema), vocabulary(400))
    for names in ("ab", "ba", "xb", "bx", "axb", "xya", "yx"):
        text = "{" + ", ".join(f'"{name}": 1' for name in names)
        for more in ("", ', "x', ', "y', ', "a', ', "\\u0078'):
            assert both.along((text + more).encode()) is not None


def test_what_a_walk_cannot_know_behind_white_space_is_stepped() -> None:
    # The plain engine once lost this token: behind the comma only the name could tell what follows.
    over = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b'":"","', b"<end>"], eos_ids={257})
    both = Both(gw.JsonSchema(SCHEMAS["names"]), over)
    *_, at = both.read(b'{"ab')
    assert both.check(at)[8] & 1


def test_masks_that_two_threads_make_are_those_of_the_plain_engine() -> None:
    both = Both(gw.JsonSchema(SCHEMAS["declared and others"]), vocabulary())
    text = json.dumps({"a": 12, "zz": True, 'q"\\\n': "x"}).encode()
    expected = [both.plain.row(rest).tobytes() for _, rest in both.read(text)][:-1]

    def masks() -> list[bytes]:
        states = accumulate(text[:-1], both.fast.advance, initial=both.fast.start())
        return [both.fast.mask(state).tobytes() for state in states]

    gw.clear_cache()
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(masks) for _ in range(2)]
        assert [each.result() for each in asked] == [expected, expected]


def test_a_dfa_that_has_grown_is_left_to_those_who_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
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
    for name in ("declared and others", "different, of a length", "nested", "one of two"):
        both = Both(gw.JsonSchema(SCHEMAS[name]), words)
        for at in explored(both, f"grow {name}", 3, 12):
            both.check(at)
