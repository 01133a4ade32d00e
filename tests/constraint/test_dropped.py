"""What is dropped is gone: nothing waits for the collector, and kept states stay good."""

import gc
import json
import weakref
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.object_tables import MemberNodes
from guideway.constraint.compiled import CompiledConstraint
from guideway.json_schema.lowering import Lowering, TameLowering, told_apart
from guideway.json_schema.members import MembersTemplate
from guideway.json_schema.objects import ObjectTemplate
from guideway.json_schema.satisfiability.lazy_parts import _Check
from guideway.language.derivative import Derivatives

ENDS = {260}
WORDS = [*(bytes([byte]) for byte in range(256)), b'":', b'},{"', b"],[", b'","', b"<end>"]
VOCABULARY = gw.Vocabulary(WORDS, eos_ids=ENDS)
LIST = {
    "$ref": "#/$defs/list",
    "$defs": {
        "list": {
            "type": "object",
            "properties": {"value": {"type": "integer"}, "next": {"type": ["null", "object"]}},
        }
    },
}
PEOPLE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
        "home": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
    "required": ["name"],
}
SOURCES = [
    (gw.Regex(r"(ab|cd)*\d+"), "abcd12"),
    (gw.Choice(["yes", "no"]), "yes"),
    (gw.JsonSchema({"type": "array", "items": {"type": "number"}}), "[1,2]"),
    (gw.JsonSchema(LIST), '{"value":1,"next":{"x":[]}}'),
    (gw.JsonSchema(PEOPLE), json.dumps({"name": "ada", "home": {"city": "x"}, "tags": ["a"]})),
    (gw.JsonSchema(PEOPLE, key_order="declared", whitespace="compact"), '{"name":"ada"}'),
]


@contextmanager
def collector_off() -> Generator[None]:
    """No garbage is collected meanwhile."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read(constraint: CompiledConstraint, state: object, text: str) -> object:
    """The state after a text, read byte by byte, all masks on the way asked for."""
    for byte in text.encode():
        constraint.mask(state)
        state = constraint.advance(state, byte)
    return state


@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_a_constraint_is_gone_when_it_is_dropped(number: int) -> None:
    source, text = SOURCES[number]
    gw.clear_cache()
    gc.collect()
    with collector_off():
        constraint = gw.compile(source, VOCABULARY)
        for _ in range(2):
            state = read(constraint, constraint.start(), text)
            assert constraint.accepts(state)
            constraint.advance(state, 260)
        pda = state.pda
        parts = [weakref.ref(part) for part in (constraint, pda, constraint._machine, state)]
        del constraint, state, pda
        gw.clear_cache()
        assert [part() for part in parts] == [None] * len(parts)


@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_a_state_that_is_kept_stays_good(number: int) -> None:
    source, text = SOURCES[number]
    gw.clear_cache()
    first = gw.compile(source, VOCABULARY)
    kept = [first.start()]
    for byte in text.encode():
        kept.append(first.advance(kept[-1], byte))
    masks = [first.mask(state).tolist() for state in kept]
    del first
    gw.clear_cache()
    again = gw.compile(source, VOCABULARY)
    own = again.start()
    for place, state in enumerate(kept):
        assert again.mask(state).tolist() == again.mask(own).tolist() == masks[place]
        assert again.distance(state) == again.distance(own)
        if place < len(text):
            following = again.advance(state, text.encode()[place])
            own = again.advance(own, text.encode()[place])
            assert again.mask(following).tolist() == again.mask(own).tolist()
    assert again.advance(kept[-1], 260).ended


KINDS = {TameLowering, Lowering, MembersTemplate, ObjectTemplate, MemberNodes, _Check}
NODES = {"a": {"$ref": "#/$defs/x"}, "b": {"not": {"$ref": "#/$defs/x"}}}
MANY = [
    {"properties": NODES, "required": ["b"]},  # read by kernels, but for what waits
    {"properties": {"a": {"allOf": [{"$ref": "#/$defs/x"}, {"minProperties": 1}]}}},
    {"properties": NODES, "minProperties": 1, "not": {"required": ["a", "b"]}},  # by a formula
    {"allOf": [{"not": {"required": ["a"]}}, {"not": {"required": ["b"]}}], "type": "object"},
    {"not": {"type": "object"}},
    {"not": {"pattern": "a"}, "type": "string"},
    {"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}, {"$ref": "#/$defs/y"}]},
    {"enum": [{"b": 1}, {"a": 1}, {"b": 2}], "properties": {"a": {"$ref": "#/$defs/x"}}},
    {"patternProperties": {"^a": {"type": "array"}, "b$": {"$ref": "#/$defs/x"}}, "minItems": 1},
]
BEGUN = ['{"b":[', '{"b":1', '{"a":[', '{"c":[', "[1", '"b', '"cab', '{"b":1', '{"b":[']
TEXTS = [b"{}", b'{"b":1}', b'{"a":[3]}', b'{"a":[3],"b":1}', b'"b"', b'"abc"', b"[]", b'{"b":[1]}']
ARRAY = {"type": "array", "items": {"type": "integer", "multipleOf": 3}}


def living() -> Counter[str]:
    """How many there are of what may lead to itself."""
    return Counter(type(one).__name__ for one in gc.get_objects() if type(one) in KINDS)


@pytest.mark.parametrize("whitespace", ["any", "compact"])
@pytest.mark.parametrize("number", range(len(MANY)))
def test_what_lowers_a_schema_is_gone_with_it(number: int, whitespace: Any) -> None:
    schema = {"$defs": {"x": ARRAY, "y": {"pattern": "c"}}, **MANY[number]}
    source = gw.JsonSchema(schema, whitespace=whitespace)
    counts: list[Counter[str]] = []
    for _ in range(3):  # the first makes what is kept process-wide
        gw.clear_cache()
        gc.collect()
        with collector_off():
            constraint = gw.compile(source, VOCABULARY)
            read(constraint, constraint.start(), BEGUN[number])
            del constraint
            gw.clear_cache()
            counts.append(living())
    # Without white space a value may be the whole text, and what lowers it waits for the collector.
    assert whitespace == "compact" or counts[1] == counts[2]


@pytest.mark.parametrize("number", range(len(MANY)))
def test_what_was_forgotten_is_made_again(number: int) -> None:
    schema = {"$defs": {"x": ARRAY, "y": {"pattern": "c"}}, **MANY[number]}
    lowering = told_apart(gw.JsonSchema(schema))
    assert lowering is not None
    made = []
    for _ in range(2):
        value = lowering.value(lowering._schema.root)
        machine = Derivatives(value)
        made.append([machine.accepts(reduce(machine.after, text, value)) for text in TEXTS])
        lowering.forget()
    assert made[0] == made[1]
    assert any(made[0])


def test_a_long_text_is_dropped_without_recursion() -> None:
    gw.clear_cache()
    gc.collect()
    with collector_off():
        constraint = gw.compile(gw.Regex("(a|b){40000}"), VOCABULARY)
        state = constraint.start()
        for _ in range(30_000):
            state = constraint.advance(state, 97)
        states = [weakref.ref(state), weakref.ref(constraint.start())]
        del constraint
        gw.clear_cache()
        assert states[0]() is not None
        del state
        assert [known() for known in states] == [None, None]
