"""Names of objects that are read against a formula: whole masks are those of the plain engine."""

from typing import Any

import pytest

import fairlead as fl
from fairlead.masks.members import MemberNodes
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


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The nodes of states whose names the kernels read."""
    fl.clear_cache()  # what another test has compiled is described already
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
    both = Both(fl.JsonSchema(WILD[name], key_order=order, spelling=spelling), vocabulary(400))
    for at in explored(both, name, 3, 12):
        both.check(at)
    assert described


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
    both = Both(fl.JsonSchema(WILD[name]), vocabulary(400))
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
    words = fl.Vocabulary([*spelled, b'{"', b'"a', b"<end>"], eos_ids={len(spelled) + 2})
    both = Both(fl.JsonSchema(WILD["nested"]), words)
    for at in explored(both, "spelled", 3, 12):
        both.check(at)
    assert not described
