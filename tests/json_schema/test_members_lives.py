"""That something has a text is told exactly when a shortest one is found; members run out."""

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.json_schema import cases as json_cases
from guideway.json_schema import formula_derivative as json_progress
from guideway.json_schema import members as json_members
from guideway.json_schema import shortest_members as json_members_found
from guideway.json_schema import shortest_members as json_members_lives
from guideway.json_schema.lowering import lower_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives, read_byte
from guideway.language.expr import ALL_BYTES
from guideway.language.fuel import metered
from guideway.language.shortest_string import Least
from json_applicators import Applicators
from json_schemas import machine, matches, write


def least(expr) -> Least:
    return Least(ALL_BYTES, Derivatives(expr)._disjoint, lambda made: None)


@pytest.mark.untraced
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(st.integers(0, 2**32))
def test_whatever_lives_has_a_shortest_text_and_nothing_else_has(seed):
    drawn, chance = Applicators(seed), random.Random(seed)
    expr = lower_json_schema(JsonSchema(drawn.document()))
    engine, shortest = Derivatives(expr), least(expr)
    assert engine.alive(expr) == (shortest.word(expr) is not None)
    if not engine.alive(expr):
        return
    state = expr
    for byte in write(drawn.instance(), chance).encode():
        following = read_byte(state, byte, engine._derive)
        assert engine.alive(following) == (shortest.word(following) is not None)
        if not engine.alive(following):
            break
        state = following


def lives(schema) -> bool:
    engine = machine(schema)
    return engine.alive(engine.start())


def names(count: int) -> dict[str, object]:
    return {"propertyNames": {"pattern": f"^[a-{chr(96 + count)}]$"}, "type": "object"}


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"minProperties": 3}, True),
        ({"minProperties": 4}, False),
        ({"minProperties": 3, "required": ["b"]}, True),
        ({"minProperties": 3, "properties": {"b": False}}, False),
        ({"minProperties": 2, "properties": {"b": False}}, True),
        ({"minProperties": 1, "maxProperties": 1, "required": ["a", "b"]}, False),
        ({"minProperties": 2, "required": ["d"]}, False),
        ({"minProperties": 2, "additionalProperties": {"$ref": "#"}}, False),
        ({"minProperties": 1, "additionalProperties": {"anyOf": [{"$ref": "#"}, True]}}, True),
        ({"not": {"additionalProperties": {"type": "string"}}, "minProperties": 3}, True),
        ({"not": {"additionalProperties": {"type": "string"}}, "minProperties": 4}, False),
        ({"not": {"properties": {"a": {"const": 1}}}, "properties": {"a": {"const": 1}}}, False),
        ({"not": {"const": {"a": 1}}, "properties": {"a": {"const": 1}}, "required": ["a"]}, True),
        ({"not": {"const": {"a": 1}}, "properties": {"a": {"const": 1}}, "required": ["a"],
          "maxProperties": 1}, False),
    ],
)  # fmt: skip
def test_members_that_run_out_are_counted(extra, expected):
    assert lives({**names(3), **extra}) is expected


@pytest.mark.parametrize(("keys", "kept"), [({}, {0}), (names(3), set[int]())])
def test_of_classes_those_are_kept_whose_keys_do_not_run_out(monkeypatch, keys, kept):
    told: list[set[int]] = []

    def keep(ways: object, cases: object, keys: set[int]) -> None:
        told.append(keys)

    monkeypatch.setattr(json_members_found.Completions, "keep", keep)
    schema = {"type": "object", "not": {"additionalProperties": {"type": "string"}}}
    assert lives({**schema, **keys})
    assert told == [kept]


def test_the_last_name_of_a_class_is_offered_and_no_more():
    engine = machine({**names(2), "minProperties": 2}, whitespace="compact")
    assert matches(engine, '{"a":1,"b":2}')
    assert matches(engine, '{"\\u0062":1,"a":2}')
    assert not matches(engine, '{"a":1,"\\u0061":2}')
    engine = machine({**names(2), "minProperties": 3, "properties": {"zz": {}}})
    assert not engine.alive(engine.start())


def test_in_order_a_name_that_is_passed_over_does_not_come_back():
    schema = {"properties": {"a": {}, "b": {}}, "minProperties": 1, "additionalProperties": False,
              "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"}  # fmt: skip
    engine = machine(schema, key_order="declared", whitespace="compact")
    assert matches(engine, '{"a":1,"b":1}')
    assert matches(engine, '{"b":1}')
    assert not matches(engine, '{"b":1,"a":1}')


def test_a_search_that_takes_too_many_tries_is_refused(monkeypatch):
    schema = {"type": "object", "patternProperties": {"^.$": {"type": "integer"}},
              "additionalProperties": False, "not": {"const": {}},
              "allOf": [{"not": {"additionalProperties": {"maximum": 3}}}]}  # fmt: skip
    assert lives(schema)
    monkeypatch.setattr(json_members_lives, "MOST_LOOKED_AT", 0)
    with metered(lambda parts: None), pytest.raises(LimitError, match="more than 0 tries"):
        lives(schema)


def test_an_example_of_what_lives_is_valid():
    schema = {**names(3), "minProperties": 3}
    engine = machine(schema, whitespace="compact")
    assert set(json.loads(engine.shortest(engine.start()))) == {"a", "b", "c"}


def test_many_tests_of_one_member_are_tried_when_compiling(monkeypatch):
    monkeypatch.setattr(json_members, "_FEW_TESTS", 3)
    monkeypatch.setattr(json_progress, "MOST_PAIRS", 3)
    monkeypatch.setattr(json_cases, "MOST", 0)
    branches = [
        {"properties": {"a": {"maximum": n}, f"b{n}": {"minimum": n}}, "required": [f"b{n}"]}
        for n in range(4)
    ]
    read_now = {"unevaluatedItems": True}
    schema = {"type": "object", "anyOf": branches, "minProperties": 1, **read_now}
    with metered(lambda parts: None), pytest.raises(LimitError, match="more than 3") as caught:
        machine({**schema, "allOf": [{"anyOf": branches[1:]}]}).settle()
    assert caught.value.place.endswith("/properties/a")
    with metered(lambda parts: None):
        machine({**schema, "anyOf": branches[:1]}).settle()


def test_counts_that_exclude_each_other_leave_nothing(monkeypatch):
    monkeypatch.setattr(json_cases, "MOST", 0)
    fewest = {"anyOf": [{"minProperties": 3}, {"minProperties": 4}]}
    most = [{"anyOf": [{"maxProperties": count}, {"maxProperties": 2}]} for count in (1, 3)]
    assert not lives({"type": "object", "allOf": [fewest, most[0]]})
    assert lives({"type": "object", "allOf": [fewest, most[1]]})


def test_items_in_another_order_are_looked_at_once():
    schema = {"type": "array", "allOf": [{"contains": {"const": number}} for number in (1, 2, 3)]}
    engine = machine(schema, whitespace="compact")
    assert engine.shortest(engine.start()) == b"[1,2,3]"


def test_where_one_value_cannot_be_written_the_next_is_taken() -> None:
    options = [{"additionalProperties": {"const": "x"}, "minProperties": 1}]
    options.append({"additionalProperties": {"const": "y"}})
    schema = {"type": "object", "maxProperties": 2, "anyOf": options}
    lowered = lower_json_schema(JsonSchema(schema, spelling="plain"))
    engine = Derivatives(lowered, ALL_BYTES & ~(1 << ord("x")))
    state = engine.start()
    for byte in b'{"a":"y"':
        after = engine.step(state, byte)
        assert after is not None
        state = after
    assert engine.shortest(state) == b"}"
