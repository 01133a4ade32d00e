"""Where keys or items must not come again, a mask within a budget leaves enough of it."""

import random
import string
from itertools import product
from typing import Any, Literal

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from json_tangles import Tangle

MORE = [
    '{"', '":', '","', '"}', '"]', "],", "},", "[]", "{}", "[1", "1,", "12", ",1", '":1', '1,"',
    '":1,"', '{"a', 'a":', '"a"', '"b"', "ab", "true", "null", '{"a":1', ',"b":', "0.", "00", "e1",
    "E-1", '"a":1}', '":0}', '":0,"', "1]", "1}", "[[", "]]", "  ", "\n\n", ', "', '": ',
]  # fmt: skip
BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, *(text.encode() for text in MORE), b"<eos>"]
END = len(TOKENS) - 1
VOCABULARY = gw.Vocabulary(TOKENS, {END})
SCHEMAS: list[Any] = [
    {"type": "object", "required": ["c", "b"]},
    {"type": "object", "required": ["a", "b"], "minProperties": 2},
    {"type": "object", "properties": {"a": {"type": ["null", "boolean"]}}, "required": ["a", "c"]},
    {"type": "array", "uniqueItems": True, "minItems": 4, "maxItems": 4,
     "items": {"type": "integer", "minimum": 0, "maximum": 255}},
    {"type": "array", "uniqueItems": True, "items": {"type": "string"}, "minItems": 2},
    {"type": "array", "minItems": 2, "uniqueItems": True,
     "items": {"type": "object", "required": ["c", "b"]}},
    {"type": "array", "minItems": 2, "uniqueItems": True,
     "prefixItems": [{"type": "object", "minProperties": 3, "maxProperties": 4,
                      "patternProperties": {"^a": {"type": "array", "items": {"type": "boolean"}}},
                      "additionalProperties": {"type": "array", "minItems": 2}}]},
    {"type": "object", "minProperties": 3, "propertyNames": {"maxLength": 1}},
]  # fmt: skip


@pytest.mark.parametrize("count", [3, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_after_each_token_within_a_budget_the_rest_suffices(schema: Any, count: int) -> None:
    constraint, dice = gw.compile(gw.JsonSchema(schema), VOCABULARY), random.Random(5)
    for _ in range(count):
        _close(constraint, dice)


@pytest.mark.untraced
@pytest.mark.parametrize(
    "seeds",
    [
        range(12),
        pytest.param(range(12, 40), marks=pytest.mark.slow),
        *(pytest.param(range(n, n + 500), marks=pytest.mark.slow) for n in range(1000, 4000, 500)),
    ],
    ids=str,
)
def test_after_each_token_of_entangled_schemas_the_rest_suffices(seeds: range) -> None:
    for seed in seeds:
        tangle = Tangle(seed)
        try:
            constraint = gw.compile(gw.JsonSchema(tangle.schema), VOCABULARY)
        except (gw.UnsatisfiableError, gw.SourceError):  # test_json_tangles looks into these
            continue
        for _ in range(6):
            _close(constraint, tangle.chance)


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_behind_its_first_byte_a_shortest_text_is_the_shortest_rest(
    schema: Any, order: Literal["any", "declared"]
) -> None:
    machine = gw.compile(gw.JsonSchema(schema, key_order=order), VOCABULARY)._machine
    dice = random.Random(6)
    for begun in range(12):
        state = machine.start()
        for _ in range(begun):
            after = [machine.step(state, byte) for byte in range(256)]
            state = dice.choice([one for one in after if one is not None] or [state])
        text = machine.shortest(state)
        for at, byte in enumerate(text):
            following = machine.step(state, byte)
            assert following is not None
            assert machine.shortest(following) == text[at + 1 :]
            state = following


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"reason": {"enum": [0, 1000]}, "b": {"type": "array"}}, "required": ["b"]},
        {"oneOf": [{"required": ["reason"]}, {"required": ["b"]}], "type": "object"},
        {"patternProperties": {"^a": {"type": "null"}}, "required": ["b"], "not": {"const": 1}},
    ],
)
def test_where_nothing_has_to_differ_all_tokens_after_which_enough_are_left_are_in_it(
    schema: Any,
) -> None:
    pairs = ["".join(pair) for pair in product(string.ascii_lowercase, repeat=2)]
    words = [*pairs, *(f"{pair}x" for pair in pairs), "reas", "reason", 'reason"', '"b']
    vocabulary = gw.Vocabulary([*BYTES, *(w.encode() for w in words), b"<eos>"], {256 + len(words)})
    constraint = gw.compile(gw.JsonSchema({"type": "object", **schema}), vocabulary)
    for text in (b"", b"{", b'{"', b'{"c":3,"', b'{"rea', b'{"b":[],"'):
        state = constraint.start()
        for byte in text:
            state = constraint.advance(state, byte)
        after = {
            token: constraint.distance(constraint.advance(state, token))
            for token in unpack(constraint.mask(state)).tolist()
            if token < 256 + len(words)
        }
        for left in range(constraint.distance(state) or 1, 14):
            within = {*unpack(constraint.mask_within(state, left)).tolist()} - {256 + len(words)}
            assert within == {token for token, needed in after.items() if needed < left}


@pytest.mark.parametrize("bounds", [{}, {"maxItems": 2, "items": {"type": "integer"}}])
def test_what_takes_fewer_tokens_behind_one_item_than_behind_another_is_in_it(bounds):
    few = [b"{", b"}", b"[", b"]", b'"', b":", b",", b"a", b"0", b"1", b"0,", b",1", b"1]", b"[["]
    schema = {"type": "array", "minItems": 2, "uniqueItems": True, **bounds}
    source = gw.JsonSchema(schema, whitespace="compact")
    constraint = gw.compile(source, gw.Vocabulary([*few, None], {len(few)}))
    state = constraint.advance(constraint.start(), few.index(b"["))
    after = {
        token: constraint.distance(constraint.advance(state, token))
        for token in unpack(constraint.mask(state)).tolist()
    }
    for left in range(2, 7):  # behind 0, ",1" and "]" suffice; behind 1 no two do
        found = unpack(constraint.mask_within(state, left)).tolist()
        assert found == [token for token, rest in after.items() if rest < left]


def _close(constraint: CompiledConstraint, dice: random.Random) -> None:
    """Some tokens at will, then to the end within a budget that is hardly enough."""
    state = constraint.start()
    for _ in range(dice.randrange(7)):
        allowed = [each for each in unpack(constraint.mask(state)).tolist() if each != END]
        state = constraint.advance(state, _chosen(allowed, dice)) if allowed else state
    left = constraint.distance(state)
    while left and constraint.fits(state, left - 1):
        left -= 1
    left += dice.randrange(4)
    while not (constraint.accepts(state) and dice.random() < 0.3):
        assert constraint.fits(state, left)
        within = unpack(constraint.mask_within(state, left)).tolist()
        assert within
        within = [token for token in within if token != END]
        if not within:
            break
        state, left = constraint.advance(state, _chosen(within, dice)), left - 1


def _chosen(tokens: list[int], dice: random.Random) -> int:
    """A token of several bytes now and then, as those cross the ends of keys and items."""
    several = [token for token in tokens if len(TOKENS[token]) > 1]
    return dice.choice(several if several and dice.random() < 0.5 else tokens or [END])
