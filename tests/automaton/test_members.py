"""Names of objects that are read against a formula: whole masks are those of the plain engine."""

import random
from typing import Any

import pytest

import guideway as gw
from guideway.automaton import object_tables as members
from guideway.automaton import object_tables as objects
from guideway.automaton.object_tables import MemberNodes, describe_members
from two_engines import Both, explored, vocabulary

INT, BOOL = {"type": "integer"}, {"type": "boolean"}
WILD: dict[str, dict[str, Any]] = {
    "one of two": {
        "type": "object",
        "properties": {"a": INT, "ab": BOOL, 'é"💩': INT},
        "oneOf": [{"required": ["a"]}, {"required": ["ab"], "minProperties": 2}],
        "additionalProperties": False,
    },
    "none left": {
        "type": "object",
        "properties": {"a": INT, "b": {"not": {}}, "n\n": BOOL},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "others": {
        "type": "object",
        "properties": {"a": INT, "x": BOOL},
        "anyOf": [{"minProperties": 2}, {"required": ["x"]}],
        "additionalProperties": {"type": "null"},
    },
    "others of a kind": {
        "type": "object",
        "properties": {"a": INT},
        "patternProperties": {"^x": BOOL, "y$": INT},
        "maxProperties": 3,
    },
    "others that cannot be": {
        "type": "object",
        "properties": {"a": INT},
        "required": ["a"],
        "maxProperties": 1,
    },
    "nested": {
        "type": "object",
        "properties": {"a": {"$ref": "#"}, "b": {"type": "array", "items": {"$ref": "#"}}},
        "additionalProperties": False,
        "maxProperties": 1,
    },
}

ALONE: dict[str, dict[str, Any]] = {
    "two kinds": {
        "type": "object",
        "properties": {"a": INT, "x1": BOOL, 'é"💩': INT},
        "patternProperties": {"^x": BOOL},
    },
    "overlapping kinds": {
        "type": "object",
        "properties": {"x": INT, "ab": BOOL, "n\n": {"not": {}}},
        "patternProperties": {"^x": {"minimum": 3}, "y$": INT, "^[^xy]*$": {"type": "null"}},
        "required": ["xy", "q"],
    },
    "no others": {
        "type": "object",
        "patternProperties": {"^[a-c]+$": INT, "^é": BOOL, "^z": {"not": {}}, "^d[xy]*$": BOOL},
        "additionalProperties": False,
    },
    "one kind": {
        "type": "object",
        "properties": {"a": INT, "cd": BOOL},
        "patternProperties": {"^[c-e]+$": {"$ref": "#"}},
        "additionalProperties": False,
        "required": ["a"],
    },
    "names of a kind alone": {
        "type": "object",
        "patternProperties": {"^b[0-9]*$|^/": INT, "^c": BOOL},
        "additionalProperties": False,
    },
    "a few words": {
        "type": "object",
        "patternProperties": {"^[ab]$": INT, "^c$": INT, "^x": BOOL, "^(a|xy)z$": {"type": "null"}},
        "additionalProperties": False,
        "required": ["b"],
    },
    "others than a few words": {
        "type": "object",
        "properties": {"b": INT},
        "patternProperties": {"^[a-c]$": {"maximum": 9}, "^(x|y)$": BOOL},
        "additionalProperties": {"type": "null"},
    },
    "languages": {
        "type": "object",
        "patternProperties": {"^(d|n)_([A-Za-z]{2}(-[a-z]{2,3})*|x-y)(-z(-w){1,2})*$": INT},
    },
}
FINITE: dict[str, dict[str, Any]] = {
    "keys that run out": {
        "type": "object",
        "patternProperties": {"^[a-z][0-9]$": INT, "^x": BOOL},
        "additionalProperties": False,
    },
    "keys that run out behind some": {
        "type": "object",
        "patternProperties": {"^(a|bb*)$": INT, "^x": BOOL},
        "additionalProperties": False,
    },
    "keys of some length": {
        "type": "object",
        "patternProperties": {"^[a-c]{1,4}$": INT},
        "additionalProperties": False,
    },
    "keys of many kinds": {
        "type": "object",
        "patternProperties": {f"^{chr(0x61 + n)}": {"const": n} for n in range(17)},
        "additionalProperties": False,
    },
    "keys that no pattern tells": {
        "type": "object",
        "propertyNames": {"maxLength": 3},
        "patternProperties": {"^a": INT},
    },
    "keys of which one pattern tells": {
        "type": "object",
        "propertyNames": {"maxLength": 3},
        "patternProperties": {"^a": {"type": "integer"}, "^b": {"type": "integer"}},
        "additionalProperties": False,
    },
}


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The nodes of states whose names the kernels read."""
    gw.clear_cache()  # what another test has compiled is described already
    made: list[int] = []
    real = MemberNodes._named

    def named(self: MemberNodes, rest: Any) -> int:
        made.append(real(self, rest))
        return made[-1]

    monkeypatch.setattr(MemberNodes, "_named", named)
    return made


@pytest.mark.untraced
@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("name", WILD)
def test_masks_are_those_of_the_plain_engine(
    name: str, order: Any, spelling: Any, described: list[int]
) -> None:
    both = Both(gw.JsonSchema(WILD[name], key_order=order, spelling=spelling), vocabulary(400))
    for at in explored(both, name, 3, 12):
        both.check(at)
    assert described


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The nodes of objects with classes of keys that the kernels read."""
    gw.clear_cache()
    made: list[int] = []

    def describe(*given: Any) -> int:
        made.append(describe_members(*given))
        return made[-1]

    for module in (members, objects):
        monkeypatch.setattr(module, "describe_members", describe)
    return made


@pytest.mark.untraced
@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("name", [*ALONE, *FINITE])
def test_so_they_are_where_no_member_hangs_on_another(
    name: str, spelling: Any, whole: list[int]
) -> None:
    both = Both(gw.JsonSchema((ALONE | FINITE)[name], spelling=spelling), vocabulary(400))
    for at in explored(both, name, 6, 25):
        both.check(at)
    assert bool(whole) == (name in ALONE and name != "others than a few words")


@pytest.mark.parametrize("name", [*ALONE, *FINITE])
def test_so_are_the_first_of_them(name: str, whole: list[int]) -> None:
    both = Both(gw.JsonSchema((ALONE | FINITE)[name]), vocabulary(300))
    for at in explored(both, name, 2, 8):
        both.check(at)
    assert bool(whole) == (name in ALONE and name != "others than a few words")


@pytest.mark.parametrize("name", ALONE)
def test_in_declared_order_they_are_read_by_a_formula(name: str, whole: list[int]) -> None:
    both = Both(gw.JsonSchema(ALONE[name], key_order="declared"), vocabulary(300))
    for at in explored(both, name, 2, 12):
        both.check(at)
    assert not whole


def _of_kinds(dice: random.Random) -> dict[str, Any]:
    patterns = ["^a", "b$", "^[ab]+$", "^é", "a.*b", "^[^a]", "^(a|bc)*$", "", "^ab?$", "^x{2,}$"]
    patterns += ["^[ab]$", "^(a|é)?$", "^[a-z]{1,3}$"]
    values = [INT, BOOL, {}, {"type": "null"}, False, {"enum": ["a"]}]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {n: dice.choice(values[:4]) for n in dice.sample(["a", "ab", "é", "b"], 2)},
        "patternProperties": {p: dice.choice(values) for p in dice.sample(patterns, 3)},
    }
    if dice.random() < 0.6:
        schema["additionalProperties"] = dice.choice([False, INT])
    if dice.random() < 0.5:
        schema["required"] = dice.sample(["a", "ba", "é", "xx"], dice.choice((1, 2)))
    return schema


@pytest.mark.untraced
def test_masks_of_objects_with_keys_of_random_kinds(whole: list[int]) -> None:
    dice = random.Random(11)
    for number in range(40):
        try:
            both = Both(gw.JsonSchema(_of_kinds(dice)), vocabulary(300))
        except gw.GuidewayError:  # a required one that may not be
            continue
        for at in explored(both, str(number), 3, 15):
            both.check(at)
    assert len(whole) > 15


@pytest.mark.parametrize("text", [
    r'{"\u0061": 1, "a',
    r'{"x2": true, "x2',
    r'{"x2": true, "x\u00',
    r'{"\u0078": true, "x1": true, "b": [], "x1',
    r'{"é\"\ud83d\udca9" : 7, "é", "q": 1}',
])  # fmt: skip
def test_keys_of_kinds_however_they_are_spelled(text: str) -> None:
    both = Both(gw.JsonSchema(ALONE["two kinds"]), vocabulary(400))
    at = both.begin
    for byte in text.encode():
        if not both.check(at)[byte >> 5] >> (byte & 31) & 1:
            break
        at = both.after(at, byte)
    both.check(at)


TEXTS = [
    (r'{"\u0061": 1, "ab": true}', "one of two"),
    (r'{"é\"\ud83d\udca9" : 7, "ab":false, "a"', "one of two"),
    (r'{ "n\u000a":true, "a":1 }', "none left"),
    (r'{"x": true, "b": null, "c": null, "x', "others"),
    (r'{"xy": 1, "y": 2, "xa": true}', "others of a kind"),
    (r'{"b": [{"a": {}}, {}]}', "nested"),
]


@pytest.mark.parametrize(("text", "name"), TEXTS)
def test_names_however_they_are_spelled(text: str, name: str) -> None:
    both = Both(gw.JsonSchema(WILD[name]), vocabulary(400))
    at = both.begin
    for byte in text.encode():
        if not both.check(at)[byte >> 5] >> (byte & 31) & 1:
            break
        at = both.after(at, byte)
    both.check(at)


def test_names_that_cannot_be_spelled_in_every_way_are_read_letter_by_letter(
    described: list[int],
) -> None:
    spelled = [bytes((byte,)) for byte in range(0x20, 0x7F) if byte != 0x5C]
    words = gw.Vocabulary([*spelled, b'{"', b'"a', b"<end>"], eos_ids={len(spelled) + 2})
    both = Both(gw.JsonSchema(WILD["nested"]), words)
    for at in explored(both, "spelled", 3, 12):
        both.check(at)
    assert not described
