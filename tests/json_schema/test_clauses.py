"""Formulas about objects made shorter: they hold of the same objects, and of fewer cases."""

import json
from itertools import islice, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guideway.json_schema import cases as json_clauses
from guideway.json_schema.cases import Clauses, cases
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Among,
    AtLeast,
    AtMost,
    Atom,
    Beside,
    Formula,
    Found,
    Matching,
    Named,
    Required,
    all_of,
    any_of,
    exact,
    found,
    holds,
    leaf,
    matching,
    named,
    opposite,
)
from guideway.json_schema.source import JsonSchema
from guideway.language.fuel import metered
from json_schemas import machine, matches, verdict

NAMES = ("a", "b", "z")
VALUES = ("s", 1, None)
OBJECTS = [
    {name: value for name, value in zip(NAMES, values, strict=True) if value != "none"}
    for values in product((*VALUES, "none"), repeat=3)
]


def value_holds(said: Formula, value: Any) -> bool:
    return holds(said, lambda atom: (exact(value) in atom.values) == atom.sign)  # type: ignore[attr-defined]


def impossible(said: Formula) -> bool:
    return not any(value_holds(said, value) for value in VALUES)


def holds_of(said: Formula, value: dict[str, Any]) -> bool:
    def judge(atom: Atom) -> bool:
        match atom:
            case Required(name):
                return name in value
            case Named(name, one):
                return name not in value or value_holds(one, value[name])
            case Matching(Beside(names, _), one):
                return all(value_holds(one, value[name]) for name in value if name not in names)
            case Found(Beside(names, _), one):
                return any(value_holds(one, value[name]) for name in value if name not in names)
            case AtLeast(count):
                return len(value) >= count
            case AtMost(count):
                return len(value) <= count
            case _:
                raise AssertionError(atom)

    return holds(said, judge)


ONES = [leaf(Among(frozenset(map(exact, some)))) for some in (("s",), (1,), ("s", None))]
SAID = [TRUE, FALSE, *ONES, *map(opposite, ONES)]
BESIDE = [Beside(frozenset(names), ()) for names in ("a", "ab", "abz", "b")]


def simple() -> st.SearchStrategy[Formula]:
    name, value, keys = map(st.sampled_from, (NAMES[:2], SAID, BESIDE))
    return st.one_of(
        st.builds(lambda one: leaf(Required(one)), st.sampled_from(NAMES)),
        st.builds(named, name, value),
        st.builds(matching, keys, value),
        st.builds(found, keys, value),
        st.just(leaf(AtLeast(2))),
    )


def formulas() -> st.SearchStrategy[Formula]:
    return st.recursive(
        simple(),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda parts: all_of(*parts)),
            st.lists(inner, max_size=4).map(lambda parts: any_of(*parts)),
            inner.map(opposite),
        ),
        max_leaves=16,
    )


@given(formulas())
@settings(max_examples=300)
def test_it_holds_of_the_same_objects(said):
    made = Clauses(impossible).shortened(said)
    assert [holds_of(made, one) for one in OBJECTS] == [holds_of(said, one) for one in OBJECTS]


A, B, STRING = leaf(Required("a")), leaf(Required("b")), ONES[0]


def shortened(*parts: Formula) -> Formula:
    return Clauses(impossible).shortened(all_of(*parts))


def test_what_is_excluded_is_no_alternative():
    string = named("a", STRING)
    no_string = all_of(A, named("a", opposite(STRING)))
    assert shortened(string, any_of(named("b", FALSE), no_string)) is all_of(
        string, named("b", FALSE)
    )
    assert shortened(A, B, any_of(named("b", FALSE), named("a", FALSE))) is FALSE
    assert shortened(B, string, any_of(no_string, named("z", TRUE), A)) is all_of(B, string)


def test_a_choice_that_is_settled_settles_others():
    first, second = any_of(named("b", FALSE), leaf(AtLeast(3))), any_of(named("a", FALSE), B)
    assert shortened(A, first, second) is all_of(A, leaf(AtLeast(3)), B)


def test_with_a_member_or_without_it_is_one_alternative():
    either = any_of(all_of(A, named("a", ONES[1])), named("a", FALSE), leaf(AtLeast(2)))
    assert shortened(B, either) is all_of(B, any_of(named("a", ONES[1]), leaf(AtLeast(2))))


def test_a_key_beside_some_is_one_of_those_that_may_come():
    closed = matching(BESIDE[1], FALSE)
    assert shortened(closed, any_of(found(BESIDE[1], TRUE), A)) is all_of(closed, A)
    assert shortened(closed, any_of(found(BESIDE[0], TRUE), leaf(Required("z")))) is all_of(
        closed, B
    )
    wide = matching(Beside(frozenset(map(str, range(20))), ()), FALSE)
    kept = all_of(wide, any_of(found(BESIDE[0], TRUE), leaf(AtLeast(2))))
    assert shortened(kept) is kept


def test_what_says_too_much_is_left_as_it_is(monkeypatch):
    said = all_of(A, any_of(named("a", FALSE), B))
    assert shortened(said) is all_of(A, B)
    monkeypatch.setattr(json_clauses, "_MOST", 1)
    assert shortened(said) is said
    assert shortened(A) is A


def one_of(count: int) -> dict[str, Any]:
    """At most one of some members, as schemas of Prometheus have it."""
    names = [f"k{number}" for number in range(count)]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "allOf": [
            {
                "if": {"properties": {name: {"type": "null"}}},
                "else": {"properties": {o: {"type": "null"} for o in names if o != name}},
            }
            for name in names
        ],
    }  # fmt: skip


SCHEMAS: tuple[dict[str, Any], ...] = (
    one_of(6),
    {"oneOf": [
        {"properties": {"a": {"type": "string"}, "b": {"type": "object"}}, "required": ["a"]},
        {"properties": {"b": {"properties": {"a": {"const": 1}}}}, "required": ["b"]},
    ]},
    {"oneOf": [
        {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
        {"properties": {"b": {}, "c": {}}, "additionalProperties": False},
        {"properties": {"c": {}, "a": {}}, "required": ["a"], "additionalProperties": False},
    ]},
)  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_instances_are_those_of_the_validators(schema):
    engine = machine(schema, whitespace="compact")
    names = sorted({"a", "b", "c", *schema.get("properties", ())})[:4]
    every = product(("none", "x", None, {}, {"a": 1}, {"a": 2}), repeat=len(names))
    for values in islice(every, 0, None, 5):  # 5 and 6 have no common factor
        value = {n: one for n, one in zip(names, values, strict=True) if one != "none"}
        assert matches(engine, json.dumps(value, separators=(",", ":"))) == verdict(
            schema, value
        ), value


def test_one_of_six_kinds_takes_seven_cases():
    from guideway.json_schema.formulas import Holds
    from guideway.json_schema.lowering import Lowering

    lowering = Lowering(JsonSchema(one_of(6)))
    said = lowering.meaning.of(leaf(Holds(lowering.document.root)), "object")
    assert cases(said) is None
    found = cases(Clauses(lowering.meaning.impossible).shortened(said))
    assert found is not None
    assert len(found) == 7


def test_the_order_of_names_is_kept_where_it_matters():
    schema = {
        "properties": {"c": {"type": "string"}, "a": {}},
        "oneOf": [{"required": ["a"]}, {"properties": {"c": {"type": "null"}}, "required": ["b"]}],
    }
    for text in ('{"c":"","a":0}', '{"a":0,"c":""}'):
        inside = machine(schema, whitespace="compact", key_order="declared")
        assert matches(inside, text) == (list(json.loads(text)) == ["c", "a"])


def test_it_ends_before_all_is_settled_where_that_takes_long(monkeypatch):
    first, second = any_of(named("b", FALSE), leaf(AtLeast(3))), any_of(named("a", FALSE), B)
    monkeypatch.setattr(json_clauses, "_ROUNDS", 1)
    assert shortened(A, first, second) is all_of(A, first, B)


def test_a_member_that_has_to_come_twice_over_has_to_come_once():
    closed = matching(BESIDE[1], FALSE)
    either = any_of(all_of(A, leaf(AtLeast(2))), all_of(leaf(Required("z")), B))
    assert shortened(A, closed, either) is all_of(A, closed, leaf(AtLeast(2)))


def test_what_is_said_of_keys_that_do_not_come_holds():
    closed, value = matching(BESIDE[1], FALSE), all_of(ONES[0], ONES[2])
    assert shortened(closed, any_of(matching(BESIDE[2], value), A)) is closed
    kept = all_of(closed, any_of(matching(BESIDE[0], value), A))
    assert shortened(kept) is kept


def test_ten_conditions_that_evaluate_members_are_read():
    schema = {
        "type": "object",
        "unevaluatedProperties": False,
        "allOf": [
            {
                "if": {"properties": {f"a{n}": {"const": 1}}, "required": [f"a{n}"]},
                "then": {"properties": {f"b{n}": {}}},
            }
            for n in range(10)
        ],
    }
    engine = machine(schema, whitespace="compact")
    for value in (
        {}, {"a0": 1}, {"a0": 2}, {"b0": 1}, {"a0": 1, "b0": 2}, {"a0": 1, "b1": 2}, {"c": 1},
        {"a9": 1, "b9": 2, "a3": 1}, {"a9": 1, "b9": 2, "a3": 2}, {"b3": 0, "a3": 1, "b9": 0},
    ):  # fmt: skip
        text = json.dumps(value, separators=(",", ":"))
        assert matches(engine, text) == verdict(schema, value), text


def test_looking_through_alternatives_within_alternatives_is_paid_for() -> None:
    """66 events, each of several kinds, took 15 s until another limit refused them."""
    texts = [leaf(Required(f"k{place}")) for place in range(40)]
    parts = [any_of(all_of(one, leaf(Required("x"))), leaf(Required("y"))) for one in texts]
    made: list[int] = []
    with metered(made.append):
        Clauses(impossible).shortened(all_of(*parts))
    assert sum(made) > 20 * len(parts)
