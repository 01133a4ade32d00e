"""What a vocabulary cannot spell counts as impossible before anything is judged.

The oracle shares no code with the engine: all small instances, written in all ways that matter,
those left out that have a byte the vocabulary does not have; jsonschema says which are valid.
"""

import json
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.constraint.compiled import CompiledConstraint
from guideway.json_schema.formulas import FALSE, Required, all_of, at_most, leaf
from guideway.json_schema.objects import bounded, room

NAMES = ["a", "ab", 'é"', "\n", "💩"]
VALUES = ["1", '"b"']
MARKS = [b"\\", b"\xc3", b"\n", b"b", b",", b":", b'"', b"}", b"{", b"[", b"]", b"t", b"\xf0"]


def vocabulary(without: bytes) -> gw.Vocabulary:
    tokens = [bytes((byte,)) for byte in range(256) if byte not in without]
    return gw.Vocabulary([*tokens, b"<eos>"], eos_ids={len(tokens)})


def written(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def objects() -> list[str]:
    """Objects of up to two members, compact, each name written as json.dumps writes it."""
    found = ["{}"]
    for count in (1, 2):
        for names in permutations(NAMES, count):
            for values in product(VALUES, repeat=count):
                pairs = zip(map(written, names), values, strict=True)
                found.append("{" + ",".join(map(":".join, pairs)) + "}")
    return found


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
        left = constraint.distance(state)
        if left == 0:
            return
        row = constraint.mask(state)
        allowed = [t for t in range(constraint.vocabulary.width) if row[t >> 5] >> (t & 31) & 1]
        after = [constraint.advance(state, token) for token in allowed[:6] + allowed[-6:]]
        distances = [constraint.distance(one) for one in after]
        assert min(constraint.distance(constraint.advance(state, t)) for t in allowed) < left
        state = (
            after[distances.index(max(distances))]
            if step < 8
            else after[distances.index(min(distances))]
        )


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
    unbounded = {**schema, "propertyNames": {"pattern": "^aé*$"}, "minProperties": count}
    source = gw.JsonSchema(unbounded)
    without = vocabulary(b"\\\xc3")
    if count == 1:
        assert json.loads(gw.compile(source, without).example()).keys() == {"a"}
    else:
        with pytest.raises(gw.UnsatisfiableError):
            gw.compile(source, without)


@pytest.mark.parametrize(
    ("place", "without", "expected"),
    [(-1, "", None), (0, "", None), (-1, ",", 1), (0, ",", 0), (-1, "{", -1), (0, "{", None),
     (0, "}", -1)],
)  # fmt: skip
def test_without_a_mark_there_is_less_room(place, without, expected):
    assert room(place, "{}", lambda mark: mark not in without) == expected


def test_no_more_is_said_to_come_than_there_is_room_for():
    said = leaf(Required("a"))
    assert bounded(said, 0, "{}", lambda mark: True) is said
    assert bounded(said, -1, "{}", lambda mark: mark != ",") is all_of(said, at_most(1))
    assert bounded(said, 0, "{}", lambda mark: mark != "}") is FALSE


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
