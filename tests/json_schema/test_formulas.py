"""Formulas: joined ones stay small, opposites are exact, members are found, nothing recurses."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guideway.json_schema import formulas
from guideway.json_schema.cases import MOST, cases
from guideway.json_schema.formula_derivative import Now, Progress, holds_at_end, now
from guideway.json_schema.formulas import FALSE, Formula, Required, all_of, any_of, holds, leaf
from guideway.json_schema.key_classes import KeyClass
from guideway.json_schema.objects import read_member
from guideway.json_schema.shortest_members import Words, first_members
from guideway.language.expr import ANYTHING
from json_schemas import check_texts, check_values

NAMES = ("a", "b", "c")
A, B, C = (leaf(formulas.Holds(name)) for name in NAMES)


def joined(leaves: Sequence[Formula], most: int) -> st.SearchStrategy[Formula]:
    """Formulas of some others, with opposites."""
    return st.recursive(
        st.sampled_from([*leaves, formulas.TRUE, FALSE]),
        lambda inner: st.lists(inner, min_size=1, max_size=5).flatmap(
            lambda parts: st.sampled_from([all_of(*parts), any_of(*parts)])
        ),
        max_leaves=most,
    )


def table(formula: Formula) -> list[bool]:
    """What it says for each way that schemas may hold."""
    worlds = [
        {n for n, on in zip(NAMES, ons, strict=True) if on} for ons in product((0, 1), repeat=3)
    ]

    def judged(world: set[str]) -> bool:
        return holds(formula, lambda atom: (atom.schema in world) == atom.sign)  # type: ignore[attr-defined]

    return [judged(world) for world in worlds]


FORMULAS = joined([A, B, C, formulas.opposite(A), any_of(formulas.opposite(B), C)], 10)


@given(FORMULAS, FORMULAS)
def test_joining_opposites_and_cases_mean_what_they_say(first, second):
    left, right = table(first), table(second)
    assert table(all_of(first, second)) == [a and b for a, b in zip(left, right, strict=True)]
    assert table(any_of(first, second)) == [a or b for a, b in zip(left, right, strict=True)]
    assert table(formulas.opposite(first)) == [not a for a in left]
    listed = cases(first)
    if listed is not None:
        assert len(listed) <= MOST
        assert table(any_of(*(all_of(*map(leaf, case)) for case in listed))) == left


def test_equal_formulas_are_the_same_and_absorb_what_adds_nothing():
    assert all_of(A, all_of(B, A)) is all_of(A, B)
    assert any_of(A, all_of(A, B)) is A
    assert all_of(A, any_of(A, B)) is A
    assert all_of(A, formulas.opposite(A)) is FALSE
    assert any_of(A, formulas.opposite(A)) is formulas.TRUE
    assert formulas.atoms(any_of(all_of(A, B), all_of(A, C))) == [
        formulas.Holds("a"),
        formulas.Holds("b"),
        formulas.Holds("c"),
    ]


# Reading a part: the alternatives mean what the formula means when its atoms have been read.

RESTS = ("d", "e", "f", "g", "h")
REST = {name: leaf(Required(name)) for name in RESTS}
d, e, f, g, h = REST.values()
READ: dict[str, Formula] = {
    "d": now(A),
    "e": any_of(now(B), e),
    "f": any_of(now(C), all_of(f, g)),
    "g": g,
    "h": any_of(all_of(now(A), g), all_of(now(formulas.opposite(A)), h)),
}
WORLDS = [
    {name for name, on in zip(NAMES + RESTS, ons, strict=True) if on}
    for ons in product((0, 1), repeat=len(NAMES + RESTS))
]


def true_in(world: set[str], formula: Formula) -> bool:
    def judge(atom: formulas.Atom) -> bool:
        if isinstance(atom, Now):
            return true_in(world, atom.value)
        if isinstance(atom, formulas.Holds):
            return (atom.schema in world) == atom.sign
        return atom.name in world

    return holds(formula, judge)


class Exactly:
    """Judges by looking at all worlds."""

    def __init__(self, simple: bool) -> None:
        self._simple = simple

    def impossible(self, value: Formula) -> bool:
        return not any(true_in(world, value) for world in WORLDS[:: 2 ** len(RESTS)])

    def simple(self, value: Formula) -> bool:
        return self._simple


class Never:
    """Finds nothing impossible, and nothing simple."""

    def impossible(self, value: Formula) -> bool:
        return value is FALSE

    def simple(self, value: Formula) -> bool:
        return value is formulas.TRUE


MANY = all_of(any_of(d, e, f), any_of(e, all_of(f, g)), any_of(d, h), any_of(f, h, e))


@pytest.mark.untraced
@settings(max_examples=30)
@example(MANY, Exactly(True))
@example(all_of(MANY, any_of(e, all_of(g, any_of(f, h)))), Never())
@example(all_of(any_of(d, g), any_of(e, g), any_of(f, all_of(g, h)), any_of(h, g)), Never())
@example(any_of(all_of(d, e), f, h), Exactly(True))
@given(joined([*REST.values()], 12), st.sampled_from([Exactly(True), Exactly(False), Never()]))
def test_the_alternatives_are_what_becomes_of_the_formula(formula, judge):
    pairs = Progress(lambda atom: READ[atom.name], judge).pairs(formula)
    for world in WORLDS:
        kept = {name for name in RESTS if true_in(world, READ[name])}
        found = any(true_in(world, all_of(rest, value)) for rest, value in pairs.items())
        assert found == true_in(kept, formula), world


# Members are found exactly if trying all members finds some.

YES, NO = leaf(formulas.Holds("is")), formulas.Holds("is").opposite()
PARTS = [
    *(leaf(Required(name)) for name in NAMES),
    *(formulas.named(name, value) for name in NAMES for value in (FALSE, YES, NO, all_of(YES, B))),
    *(
        formulas.matching(formulas.Beside(frozenset(names), ()), FALSE)
        for names in ("", "a", "ab", "bc")
    ),
]
CASES = [dict(zip(NAMES, values, strict=True)) for values in product("-yn", repeat=3)]


def is_so(atom: Any, members: dict[str, str]) -> bool:
    """Whether an atom holds of members that are absent, or whose value is so or not."""
    if isinstance(atom, formulas.Matching):
        return all(value == "-" or name in atom.keys.names for name, value in members.items())
    absent = members[atom.name] == "-"
    if isinstance(atom, Required):
        return not absent
    return absent or (atom.value is not FALSE and (members[atom.name] == "n") is (atom.value is NO))


KEYS = [KeyClass(name, ANYTHING, frozenset()) for name in NAMES]
AFTER = [Progress(partial(read_member, key=key), Never()).pairs for key in KEYS]


def values_of(value: Formula) -> str:
    """Which values a formula of values allows."""
    says = {"y": True, "n": False}
    return "".join(
        v
        for v, so in says.items()
        if holds(value, lambda atom, so=so: atom.sign is (so or atom.schema != "is"))
    )


def write(key: int, value: Formula, used: frozenset[str | None]) -> Any:
    return (b"", used) if values_of(value) else None


@pytest.mark.untraced
@given(joined(PARTS, 14))
def test_members_are_found_exactly_if_some_make_it_true(formula):
    def so(of: dict[str, str]) -> bool:
        return holds(formula, lambda atom: is_so(atom, of))

    words = Words(
        KEYS,
        [0, 1, 2],
        lambda rest, key: AFTER[key](rest),
        lambda rest: holds(rest, holds_at_end),
        ordered=False,
    )
    found = first_members(words, formula, frozenset(), write)
    assert (found is not None) is any(map(so, CASES))
    if found is not None:
        absent = dict.fromkeys(NAMES, "-")
        choices = [[(NAMES[one.key], v) for v in values_of(one.value)] for one in found]
        assert all(so(absent | dict(choice)) for choice in product(*choices))


def test_the_order_of_names_is_kept_where_it_matters():
    schema = {
        "properties": {"c": {"type": "string"}, "a": {}},
        "oneOf": [{"required": ["a"]}, {"properties": {"c": {"type": "null"}}, "required": ["b"]}],
    }
    check_texts(schema, ['{"c":"","a":0}'], ['{"a":0,"c":""}'], key_order="declared")


def test_ten_conditions_that_evaluate_members_are_read():
    rules = [
        {
            "if": {"properties": {f"a{n}": {"const": 1}}, "required": [f"a{n}"]},
            "then": {"properties": {f"b{n}": {}}},
        }
        for n in range(10)
    ]
    check_values({"type": "object", "unevaluatedProperties": False, "allOf": rules}, (
        {}, {"a0": 1}, {"a0": 2}, {"b0": 1}, {"a0": 1, "b0": 2}, {"a0": 1, "b1": 2}, {"c": 1},
        {"a9": 1, "b9": 2, "a3": 1}, {"a9": 1, "b9": 2, "a3": 2}, {"b3": 0, "a3": 1, "b9": 0},
    ))  # fmt: skip


# Values as hashable ones: equal exactly where JSON Schema calls them equal.

PAIRS = [
    ('{"a":1,"b":[0,-0]}', '{"b": [0.0, 0e5], "a": 10e-1}', True),
    ('{"a":100}', '{"a":1e2}', True), ('{"a":-1.50}', '{"a":-15e-1}', True),
    ('{"a":"1"}', '{"a":1}', False), ('{"a":true}', '{"a":1}', False),
    ('[null,"\\u0061"]', '[null,"a"]', True), ("[1,2]", "[2,1]", False), ("[[]]", "[{}]", False),
    ("[[1]" + ",[1]" * 500 + "]", "[[1.0]" + ",[1.0]" * 500 + "]", True),
]  # fmt: skip


@pytest.mark.untraced
@pytest.mark.parametrize("depth", [0, 98, 150, 3_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("left", "right", "equal"), PAIRS)
def test_equal_values_have_equal_forms_however_deep(left, right, equal, depth):
    first, second = (
        formulas.read_exact(("[" * depth + text + "]" * depth).encode()) for text in (left, right)
    )
    assert (first == second) is equal
    assert not equal or hash(first) == hash(second)
