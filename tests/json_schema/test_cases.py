"""A case is found exactly if trying all members finds one."""

import itertools
import json
from itertools import islice, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.json_schema import cases as json_choices
from guideway.json_schema.cases import first_case
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Beside,
    Formula,
    Holds,
    Matching,
    Named,
    Required,
    all_of,
    any_of,
    holds,
    leaf,
    matching,
    named,
)
from guideway.language.fuel import metered
from json_schemas import machine, verdict
from plain_texts import matches

NAMES = "abcde"
HERE = [leaf(Required(name)) for name in NAMES]
GONE = [named(name, FALSE) for name in NAMES]


def formulas() -> st.SearchStrategy[Formula]:
    return st.recursive(
        st.sampled_from([*HERE, *GONE, TRUE, FALSE]),
        lambda inner: st.lists(inner, min_size=2, max_size=4).flatmap(
            lambda parts: st.sampled_from([all_of(*parts), any_of(*parts)])
        ),
        max_leaves=14,
    )


def _is_true(atom: object, there: tuple[str, ...]) -> bool:
    name = getattr(atom, "name", "")
    return (name in there) is isinstance(atom, Required)


@pytest.mark.untraced
@given(formulas())
def test_what_is_accepted_holds(formula):
    seen: list[tuple[object, ...]] = []

    def accept(case: tuple[object, ...]) -> bool:
        seen.append(case)
        return False

    assert first_case(formula, lambda case: True, accept) is False
    for case in seen:
        there = tuple(atom.name for atom in case if isinstance(atom, Required))
        assert holds(formula, lambda atom, there=there: _is_true(atom, there))


def test_too_many_choices_are_refused_while_compiling(monkeypatch):
    monkeypatch.setattr(json_choices, "MOST_TRIED", 2)
    formula = all_of(*(any_of(here, gone) for here, gone in zip(HERE, GONE, strict=True)))
    with metered(lambda parts: None), pytest.raises(LimitError, match="more than 2 choices"):
        first_case(formula, lambda case: True, lambda case: False)
    assert first_case(formula, lambda case: True, lambda case: False) is False


YES, NO = leaf(Holds("is")), Holds("is").opposite()
VALUED = [
    named(name, value) for name in "abc" for value in (YES, NO, all_of(YES, leaf(Holds("b"))))
]
ONLY = [matching(Beside(frozenset(names), ()), FALSE) for names in ("", "a", "ab", "bc")]
CASES = [dict(zip("abc", values, strict=True)) for values in itertools.product("-yn", repeat=3)]


def with_values() -> st.SearchStrategy[Formula]:
    return st.recursive(
        st.sampled_from([*HERE[:3], *GONE[:3], *VALUED, *ONLY]),
        lambda inner: st.lists(inner, min_size=2, max_size=5).flatmap(
            lambda parts: st.sampled_from([all_of(*parts), any_of(*parts)])
        ),
        max_leaves=14,
    )


def is_so(atom: object, members: dict[str, str]) -> bool:
    """Whether an atom holds of members that are absent, or whose value is so or not."""
    match atom:
        case Required(name):
            return members[name] != "-"
        case Named(name, value) if value is FALSE:
            return members[name] == "-"
        case Named(name, value):
            return members[name] == "-" or (members[name] == "n") is (value is NO)
        case Matching(Beside(names), _):
            return all(value == "-" or name in names for name, value in members.items())
        case _:
            raise AssertionError(atom)


@pytest.mark.untraced
@given(with_values())
def test_a_case_is_found_exactly_if_some_members_with_values_make_it_true(formula):
    def accept(case: tuple[object, ...]) -> bool:
        return any(all(is_so(atom, members) for atom in case) for members in CASES)

    possible = any(holds(formula, lambda atom, of=of: is_so(atom, of)) for of in CASES)
    assert first_case(formula, lambda case: True, accept) is possible


def test_contradictions_are_seen_before_a_choice_is_made():
    """Eight values, each so and with one name or not so and with another, in 2^8 closed sets."""
    names, parts = [f"k{n}" for n in range(8)], list[Formula]()
    for name in names:
        so = all_of(named(name, YES), leaf(Required(name)), leaf(Required("a" + name)))
        parts.append(any_of(so, all_of(named(name, NO), leaf(Required("b" + name)))))
    sets: list[Formula] = []
    for signs in itertools.product([True, False], repeat=8):
        held = [name for name, sign in zip(names, signs, strict=True) if sign]
        seen = frozenset(
            (*held, *("ab"[not sign] + name for name, sign in zip(names, signs, strict=True)))
        )
        conditions = [part for name in held for part in (named(name, YES), leaf(Required(name)))]
        sets.append(all_of(*conditions, matching(Beside(seen, ()), FALSE)))
    asked: list[int] = []

    def may_hold(case: tuple[object, ...]) -> bool:
        asked.append(len(case))
        needed = {atom.name for atom in case if isinstance(atom, Required)}
        closed = [atom.keys.names for atom in case if isinstance(atom, Matching)]
        values = {(atom.name, atom.value) for atom in case if isinstance(atom, Named)}
        torn = {name for name, value in values if value is YES and (name, NO) in values}
        return needed.isdisjoint(torn) and all(seen >= needed for seen in closed)

    formula = all_of(*parts, any_of(*sets), leaf(Required("k0")))
    assert first_case(formula, may_hold, may_hold) is True
    assert len(asked) < 100


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


def test_the_order_of_names_is_kept_where_it_matters():
    schema = {
        "properties": {"c": {"type": "string"}, "a": {}},
        "oneOf": [{"required": ["a"]}, {"properties": {"c": {"type": "null"}}, "required": ["b"]}],
    }
    for text in ('{"c":"","a":0}', '{"a":0,"c":""}'):
        inside = machine(schema, whitespace="compact", key_order="declared")
        assert matches(inside, text) == (list(json.loads(text)) == ["c", "a"])


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
