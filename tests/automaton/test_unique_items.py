"""Items that have to differ, objects or arrays: read as all else, and told apart by their texts."""

import json
import random
from typing import Any

import pytest

import guideway as gw
from guideway.automaton import object_tables as marks
from guideway.automaton.object_tables import last_value
from guideway.automaton.plain_masks import Rows
from guideway.automaton.states import States
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source
from guideway.language.derivative import Derivatives
from guideway.language.expr import alt, concat, literal
from two_engines import compared

TOKENS = [
    b"},{",
    b'{"a":',
    b'"a"',
    b'":',
    b"1,",
    b"]]",
    b"}]",
    b"},",
    b"[1",
    b'"}',
    b'","',
    b"2}]",
    b'":1,"',
    b'":{},"',
    b'":1},"',
    b'":1,"d":1',
    b'":{},"d":{',
    b'c":{},"d":{}',
]
WORDS = gw.Vocabulary(
    [*(bytes((b,)) for b in range(256)), *TOKENS, b"<end>"], eos_ids={256 + len(TOKENS)}
)
OBJECTS = {"type": "object", "properties": {"a": {"enum": [1, "x"]}}, "additionalProperties": False}


def lowered(items: Any) -> Any:
    """Arrays of different items."""
    schema = {"type": "array", "uniqueItems": True, "items": items}
    return lower_source(gw.JsonSchema(schema, whitespace="compact"))


def telling(token: int) -> bool:
    """Longer tokens and what is no string leave more items behind."""
    return token > 255 or chr(token) in '[]{}:,"a1x2'


@pytest.mark.untraced
@pytest.mark.parametrize(
    "items", [OBJECTS, {"type": "array", "uniqueItems": True, "items": OBJECTS}, {"$ref": "#"}]
)
def test_masks(items: Any) -> None:
    assert compared(lowered(items), WORDS, 6, 40, 7, among=telling) > 50


def test_masks_that_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "_KEPT", 1)
    assert compared(lowered({"$ref": "#"}), WORDS, 2, 16, 7, among=telling) > 8


def test_many_that_read_the_same() -> None:
    """Alternatives that are put together still know what is within an item."""
    array = lowered(OBJECTS)
    expr = alt(*(concat(array, literal(end)) for end in "abcdefghi"), literal("[]]"))
    assert compared(expr, WORDS, 2, 12, 7, among=telling) > 15


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ('[{"a":1,"b":2},{"b":2,"a":1}]', False),
        ('[{"a":1},{"a":1.0}]', False),
        ('[{"a":1},{"\\u0061":10e-1}]', False),
        ('[ {"a" : 1} , { } , {"a": "\\\\"}, {"a": "\\""}, {"a": "}, {"}]', True),
        ('[[1,[2]],[[2],1],[1,[2,3]]]', True),
        ('[[1,[2]],[1, [ 2 ]]]', False),
        ('[{"a":[{"b":1},{"b":2}]},{"a":[{"b":2},{"b":1}]}]', True),
    ],
)  # fmt: skip
def test_values_and_not_texts_differ(text: str, valid: bool) -> None:
    constraint = gw.compile(
        gw.JsonSchema({"type": "array", "uniqueItems": True}, whitespace="any"), WORDS
    )
    assert constraint.matches(text) is valid


@pytest.mark.parametrize("moves", [(), (3, 8)])
def test_an_item_that_is_begun_in_a_pda_and_ends_in_another(moves: tuple[int, ...]) -> None:
    """What was read before is the plain engine's capture there, keys within it included."""
    expr = lowered({"type": "object", "additionalProperties": {"type": "object"}})
    plain = Rows(Derivatives(expr, WORDS.spellable), WORDS, gw.Budget())
    fast = States(expr, Derivatives(expr, WORDS.spellable), WORDS, gw.Budget())
    state: Any = fast.start(b"")
    rest: Any = expr
    ends_and_begins = 256 + TOKENS.index(b"},{")
    begun, ended = b'[{"b":{"' + b"c" * 90 + b'":1}', b'"b":{"c":2},"d":{}},{}]'
    for place, token in enumerate([*begun, ends_and_begins, *ended]):
        if place in moves or token == ends_and_begins:
            fast._move(state)
        assert unpack(fast.mask(state)).tolist() == unpack(plain.row(rest)).tolist()
        state, rest = fast.after(state, token), plain.after(rest, token)


def test_ways_apart() -> None:
    """What has been read belongs to a state, not to the place in the grammar."""
    constraint = gw.compile(
        gw.JsonSchema({"type": "array", "uniqueItems": True, "items": OBJECTS}), WORDS
    )

    def after(text: bytes, state: Any = None) -> Any:
        state = constraint.start() if state is None else state
        for byte in text:
            state = constraint.advance(state, byte)
        return state

    one, other = after(b'[{"a":1'), after(b'[{"a":"x"')
    again, more = after(b'},{"a":', one), after(b'},{"a":', other)
    offered = [unpack(constraint.mask(state)).tolist() for state in (again, more)]
    assert [ord("1") in row for row in offered] == [False, True]
    assert [ord('"') in row for row in offered] == [True, False]
    assert after(b'[{"a":1') is one


def test_the_last_value() -> None:
    dice = random.Random(4)

    def value(depth: int) -> Any:
        kind = dice.randrange(7 if depth else 5)
        if kind < 5:
            return dice.choice([1, -2.5e10, None, True, "", 'a"b', "\\", '\\"', "[{", "}]", "é"])
        size = dice.randrange(4)
        if kind == 5:
            return [value(depth - 1) for _ in range(size)]
        return {str(value(0)): value(depth - 1) for _ in range(size)}

    for _ in range(300):
        text = json.dumps(value(3)).encode()
        before = json.dumps([value(2), value(2)])[:-1].encode()
        assert last_value(before + b", " + text) == text
        assert last_value(text) == text
    assert last_value(b"]]") == b"]]"  # nothing has begun


# Some items of one place are regular, others are read by MARKs: those that may come twice or not.
SORTED: Any = {
    "oneOf": [
        {"not": {"type": "array", "items": {"not": {"type": "integer"}}, "maxItems": 2}},
        {"uniqueItems": True},
        {
            "uniqueItems": True,
            "prefixItems": [{"if": {"enum": [[], [0]]}, "then": {"minItems": 1}}],
        },
    ]
}


@pytest.mark.untraced
@pytest.mark.parametrize(
    "text", [b"[4293,0,0]", b"[[],0]", b"[[0],[0]]", b'["a",[],[],"a"]', b"[1,0"]
)
def test_captures_of_one_place_are_read_each_in_its_way(text: bytes) -> None:
    expr = lower_source(gw.JsonSchema(SORTED, whitespace="compact"))
    assert compared(expr, WORDS, texts=12, tokens=9, seed=text.decode()) > 4
    constraint = gw.compile(gw.JsonSchema(SORTED), WORDS)
    oracle, state = Derivatives(constraint._expr), constraint.start()
    plain = oracle.start()
    for byte in text:
        allowed = {token for token in unpack(constraint.mask(state)).tolist() if token < 256}
        assert allowed == {each for each in range(256) if oracle.step(plain, each) is not None}
        if byte not in allowed:
            break
        state, following = constraint.advance(state, byte), oracle.step(plain, byte)
        assert following is not None
        plain = following
