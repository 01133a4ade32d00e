"""Objects against plain Python: every sequence of members over a few keys, judged by its pairs."""

import json
import random
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.language.derivative import Derivatives
from json_schemas import machine
from plain_texts import draw, matches
from shares import one_in

KEYS = ("a", "ab", "c", "x", "")
PAIRS = [(key, value) for key in KEYS for value in (1, 2)]


def members(names: str, others: Any, allowed: list[str] | None = None) -> dict[str, Any]:
    """Declared keys in order, each with the value 1; `a!` is required."""
    listed = [name.rstrip("!") for name in names.split()]
    return {
        "type": "object",
        "properties": {name: {"const": 1} for name in listed},
        "required": [name.rstrip("!") for name in names.split() if name.endswith("!")],
        "additionalProperties": others,
        **({} if allowed is None else {"propertyNames": {"enum": allowed}}),
    }


@pytest.mark.untraced
@pytest.mark.parametrize("share", [0.15, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("names", ["", "a ab", "a! ab c", "c a! ab", "a! c! ab!", "x! c a!"])
@pytest.mark.parametrize("others", [False, {"const": 2}])
@pytest.mark.parametrize("allowed", [None, ["a", "c", ""]])
def test_objects_hold_exactly_the_members_they_may(ordered, names, others, allowed, share):
    schema = members(names, others, allowed)
    order = [*schema["properties"], *schema["required"]]
    options = {"whitespace": "compact", "key_order": "declared" if ordered else "any"}
    engine, valid = machine(schema, **options), Draft202012Validator(schema).is_valid
    chance, three = random.Random(names), list(product(PAIRS, repeat=3))
    three = chance.sample(three, int(share * len(three)))
    for pairs in [*(some for n in range(3) for some in product(PAIRS, repeat=n)), *three]:
        places = [order.index(key) if key in order else len(order) for key, _ in pairs]
        text = "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"
        once = len(dict(pairs)) == len(pairs) and (not ordered or places == sorted(places))
        assert matches(engine, text) == (once and valid(dict(pairs))), text


def laws(machine: Derivatives, text: bytes) -> None:
    """Along a text: the shortest rest ends it, and arcs agree with steps."""
    state = machine.start()
    for position, byte in enumerate(text):
        shortest = machine.shortest(state)
        assert matches(machine, text[:position] + shortest)
        for members_, target in machine.arcs(machine.blurred(state)):
            one = (members_ & -members_).bit_length() - 1
            following = machine.step(state, one)
            if not machine.unsure(target):
                assert following is not None
                assert machine.shortest(following) == machine.shortest(target)
        stepped = machine.step(state, byte)
        assert stepped is not None
        if shortest[:1] == bytes((byte,)):
            assert machine.shortest(stepped) == shortest[1:]
        assert len(machine.shortest(stepped)) >= len(shortest) - 1
        state = stepped


@pytest.mark.untraced
@one_in(2)
@given(
    st.lists(st.sampled_from(["a", "a!", "ab", "ab!", "b", "b!"]), max_size=4),
    st.sampled_from([False, {"const": 2}, {"enum": [22, 3]}]),
    st.sampled_from(["any", "declared"]),
    st.integers(0, 2**32),
)
def test_along_any_object_the_shortest_rest_is_right(listed, others, order, seed):
    names = {name.rstrip("!"): name for name in listed}
    schema = members(" ".join(names.values()), others)
    engine = machine(schema, whitespace="compact", key_order=order, spelling="plain")
    text = draw(engine, random.Random(seed), 25)
    laws(engine, text)
    pairs = json.loads(text, object_pairs_hook=list)
    assert len(dict(pairs)) == len(pairs)


# What a vocabulary cannot spell counts as impossible before anything is judged.

NAMES = ["a", "ab", 'é"', "\n", "💩"]
VALUES = ["1", '"b"']
MARKS = [b"\\", b"\xc3", b"\n", b"b", b",", b":", b'"', b"}", b"{", b"[", b"]", b"t", b"\xf0"]


def vocabulary(without: bytes) -> gw.Vocabulary:
    tokens = [bytes((byte,)) for byte in range(256) if byte not in without]
    return gw.Vocabulary([*tokens, b"<eos>"], eos_ids={len(tokens)})


def objects() -> list[str]:
    """Objects of up to two members, compact, each name written as json.dumps writes it."""
    members = [f"{json.dumps(name, ensure_ascii=False)}:{v}" for name in NAMES for v in VALUES]
    pairs = (
        two for two in permutations(members, 2) if two[0].split(":")[0] != two[1].split(":")[0]
    )
    return ["{}", *(f"{{{one}}}" for one in members), *(f"{{{','.join(two)}}}" for two in pairs)]


def arrays() -> list[str]:
    return [f"[{','.join(v)}]" for count in range(3) for v in product(VALUES, repeat=count)]


OBJECTS, ARRAYS = objects(), arrays()
VALUE = st.sampled_from([True, {"type": "boolean"}, {"const": 1}, {"enum": ["b", 1]}, False])
MEMBERS = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
BRANCH = st.fixed_dictionaries(
    {},
    optional={"required": MEMBERS, "minProperties": st.integers(0, 2),
              "maxProperties": st.integers(0, 2)},
)  # fmt: skip
OBJECT = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(NAMES), VALUE)},
    optional={
        "required": MEMBERS,
        "additionalProperties": VALUE,
        "oneOf": st.lists(BRANCH, min_size=2, max_size=2),
        "minProperties": st.integers(0, 2),
        "propertyNames": st.sampled_from([{"maxLength": 1}, {"pattern": "^[a-c]"}]),
    },
)
ARRAY = st.fixed_dictionaries(
    {"type": st.just("array"), "items": VALUE},
    optional={
        "contains": VALUE,
        "uniqueItems": st.just(True),
        "minItems": st.integers(0, 2),
        "prefixItems": st.lists(VALUE, min_size=1, max_size=2),
        "not": st.sampled_from([{"uniqueItems": True}, {"contains": {"const": 1}}]),
    },
)


def check(schema: dict[str, object], texts: list[str], without: bytes) -> None:
    valid = Draft202012Validator(schema).is_valid
    expected = {t for t in texts if valid(json.loads(t)) and not set(t.encode()) & set(without)}
    source = gw.JsonSchema(schema, whitespace="compact", spelling="plain")
    try:
        constraint = gw.compile(source, vocabulary(without))
    except gw.UnsatisfiableError:
        assert not expected
        return
    assert {t for t in texts if constraint.matches(t)} == expected
    walk(constraint)
    example = constraint.example()
    assert valid(json.loads(example)), example
    assert not set(example.encode()) & set(without)


def walk(constraint: CompiledConstraint) -> None:
    """Follow allowed tokens, few of each state: each goes on to an end, and says so."""
    state = constraint.start()
    for step in range(40):
        if (left := constraint.distance(state)) == 0:
            return
        after = [constraint.advance(state, t) for t in unpack(constraint.mask(state)).tolist()]
        assert min(map(constraint.distance, after)) < left
        state = (max if step < 8 else min)(after[:6] + after[-6:], key=constraint.distance)


@settings(max_examples=15, deadline=None)
@given(OBJECT, st.sets(st.sampled_from(MARKS), max_size=4).map(b"".join))
def test_objects_are_those_that_a_vocabulary_can_spell(schema, without):
    check(schema, OBJECTS, without)


@pytest.mark.untraced
@settings(max_examples=15, deadline=None)
@given(ARRAY, st.sets(st.sampled_from(MARKS), max_size=4).map(b"".join))
def test_arrays_are_those_that_a_vocabulary_can_spell(schema, without):
    check(schema, ARRAYS, without)


def test_a_member_that_needs_another_is_not_offered_where_that_cannot_be_spelled():
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["ab"], "minProperties": 2}],
              "properties": {"a": True, "ab": {"type": "boolean"}, 'é"💩': True},
              "additionalProperties": False, "type": "object"}  # fmt: skip
    check(schema, OBJECTS, b"\\" + bytes(range(128, 256)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_names_that_differ_in_bytes_that_do_not_exist_run_out(count):
    schema = {"type": "object", "propertyNames": {"pattern": "^[bé]*$", "maxLength": 2},
              "minProperties": count}  # fmt: skip
    check(schema, [], b"\xc3" + bytes(b for b in b"0123456789abcdef" if b != ord("b")))
    check({**schema, "propertyNames": {"pattern": "^aé*$"}}, [], b"\\\xc3")


def test_where_no_object_can_end_the_shortest_text_is_another():
    needed = {
        "type": "object",
        "required": ["a"],
        "anyOf": [{"required": ["b"]}, {"minProperties": 2}],
    }
    schema = {"anyOf": [needed, {"const": 123}]}
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), vocabulary(b"}"))
    assert constraint.distance(constraint.start()) == len("123")


def test_without_a_comma_an_array_has_one_item():
    for schema in (
        {"type": "array", "contains": {"const": 1}},
        {"type": "array", "contains": {"const": 1}, "uniqueItems": True},
        {"type": "array", "contains": {"const": "b"}, "minItems": 2},
        {"type": "array", "not": {"uniqueItems": True}},
        {"anyOf": [{"type": "array", "contains": {"const": 1}}, {"const": 1}]},
    ):
        check(schema, ARRAYS, b",")
        check(schema, ARRAYS, b"]")
