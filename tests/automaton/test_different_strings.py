"""Arrays of different strings, read as keys are: whole masks are those of the plain engine."""

import json
import random
from typing import Any

import jsonschema
import pytest

import guideway as gw
from guideway.automaton import object_tables as objects
from guideway.automaton.token_tries import unpack
from two_engines import Both, explored, vocabulary

STRING = {"type": "string"}
READ: dict[str, dict[str, Any]] = {
    "any": {"items": STRING},
    "not empty": {"items": {"type": "string", "minLength": 1}},
    "one at least": {"items": STRING, "minItems": 1},
    "words": {"items": {"enum": ["a", "ab", 'é"', ""]}},
    "one of the words": {"items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
    "no more than a word": {"items": {"const": "x"}, "minItems": 0},
    "of a kind": {"items": {"type": "string", "pattern": "^[ab]?$"}},
    "of a length": {"items": {"type": "string", "maxLength": 2}},
    "escaped": {"items": {"type": "string", "pattern": r'^["\\\n/]{1,2}$'}},
    "one way": {"items": {"type": "string", "pattern": "^ab:[ab]{1,2}$"}},
    "near in hex": {"items": {"type": "string", "pattern": "^b(?:a|q|é|ß|💩|💪)?$"}},
    "digits": {"items": {"type": "string", "pattern": "^[0-9]$"}, "minItems": 1},
    "two at least": {"items": STRING, "minItems": 2},
    "two at most": {"items": STRING, "maxItems": 2},
    "two or three": {"items": {"type": "string", "maxLength": 2}, "minItems": 2, "maxItems": 3},
    "all of three": {"items": {"type": "string", "pattern": "^[ab]?$"}, "minItems": 3},
    "within members": {
        "items": STRING,
        "type": ["array", "object"],
        "additionalProperties": {"items": {"enum": ["u", "v"]}, "uniqueItems": True},
    },
}  # fmt: skip
OTHERS: dict[str, dict[str, Any]] = {
    "words that are counted": {"items": {"enum": ["a", "ab", ""]}, "minItems": 2},
    "not strings alone": {"items": {"enum": ["a", 1]}},
    "anything": {},
    "one at least of anything": {"minItems": 1},
    "two kinds": {"prefixItems": [STRING], "items": {"type": "null"}},
    "within others": {"items": {"type": "array", "items": STRING}},
}


def schema(parts: dict[str, Any]) -> gw.JsonSchema:
    return gw.JsonSchema({"type": "array", "uniqueItems": True, **parts}, whitespace="any")


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The nodes of such arrays."""
    gw.clear_cache()
    made: list[int | None] = []
    real = objects.describe_strings

    def describe(*given: Any) -> int | None:
        made.append(real(*given))
        return made[-1]

    monkeypatch.setattr(objects, "describe_strings", describe)
    return made


@pytest.mark.parametrize("options", [{}, {"whitespace": "compact"}, {"spelling": "plain"}])
@pytest.mark.parametrize("name", [*READ, *OTHERS])
def test_masks_are_those_of_the_plain_engine(
    name: str, options: Any, described: list[int | None]
) -> None:
    parts = {"type": "array", "uniqueItems": True, **(READ | OTHERS)[name]}
    both = Both(gw.JsonSchema(parts, **options), vocabulary(400))
    for at in explored(both, name, 3, 12):
        both.check(at)
    assert any(node is not None for node in described) == (name in READ)


@pytest.mark.parametrize(("name", "text"), [
    ("any", r'["a", "\u0061'),
    ("any", r'["", "a", "b", "'),
    ("any", r'[ "\ud83d\udca9" ,"💩'),
    ("any", r'["\"", "\\", "\u0022'),
    ("not empty", r'["aa", "a", "aa'),
    ("words", r'["ab", "", "\u00e9\"", "a"'),
    ("words", r'["ab", "", "é\u0022", "\u0061'),
    ("one at least", r"[ "),
    ("of a kind", '["b","","a"]'),
    ("of a kind", r'["","\u0061","b"]'),
    ("of a length", r'["aa","a\u0062","aé","é\u00e9","a","\ud83d\udca9💩","'),
    ("escaped", r'["\"","\"\n","\\\u000a","\/","//","\u002f\\","\u005c'),
    ("one way", r'["ab:a","ab:b","ab:aa","ab:ab","ab:ba","ab:\u0062b"]'),
    ("near in hex", r'["ba","b\u0071","b\u00df","bé","b\ud83d\udca9","b\u'),
    ("near in hex", r'["bß","ba","bq","b💪","b\ud83d\udca9","b\u00e9","b"]'),
    ("near in hex", r'["ba","b","bß","bé","b💪","b\u007'),
    ("two at least", '["a", "b","'),
    ("two at most", '["a", "b"]'),
    ("two or three", '["a","b","c"]'),
    ("all of three", '["","b","a"]'),
    ("digits", '["1","2","3","4","5","6","7","8","9","0"]'),
])  # fmt: skip
def test_strings_that_came_come_no_more_however_they_are_spelled(name: str, text: str) -> None:
    both = Both(schema(READ[name]), vocabulary(400))
    at = both.begin
    for byte in text.encode():
        assert both.check(at)[byte >> 5] >> (byte & 31) & 1
        at = both.after(at, byte)
    both.check(at)


@pytest.mark.parametrize("name", READ)
def test_texts_are_those_that_a_validator_takes(name: str) -> None:
    """Of any strings, each token may come if the text that it leads to has different items."""
    source, dice = schema(READ[name]), random.Random(name)
    judge = jsonschema.Draft202012Validator({"type": "array", "uniqueItems": True, **READ[name]})
    words = ["a", "ab", "", 'é"', "b", "x", "ab:a", "ab:ab", "b💩", "ba", "\n/", "\\", "1", "2"]
    constraint = gw.compile(source, vocabulary(300))
    for _ in range(200):
        value = dice.choices(words, k=dice.randint(0, 4))
        text = json.dumps(value, ensure_ascii=dice.random() < 0.5).encode()
        assert _accepts(constraint, text) == judge.is_valid(value), value


def _accepts(constraint: Any, text: bytes) -> bool:
    state = constraint.start()
    for byte in text:
        if byte not in unpack(constraint.mask(state)).tolist():
            return False
        state = constraint.advance(state, byte)
    return bool(constraint.accepts(state))


def test_where_bytes_are_lacking_they_are_read_item_by_item(
    described: list[int | None],
) -> None:
    for lacking in (b"\\", b""):
        spelled = [bytes((byte,)) for byte in range(0x20, 0x7F) if byte not in lacking]
        words = gw.Vocabulary([*spelled, b'","', b"<end>"], eos_ids={len(spelled) + 1})
        for items in (STRING, {"enum": ["a", "b"]}):
            both = Both(schema({"items": items}), words)
            for at in explored(both, "lacking", 2, 10):
                both.check(at)
    assert [node is None for node in described] == [True, True, True, False]
