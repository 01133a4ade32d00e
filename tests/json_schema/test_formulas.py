"""Formulas: what is joined stays small, opposites are exact, nothing recurses."""

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guideway.json_schema.cases import MOST, cases
from guideway.json_schema.formula_derivative import Now, Progress, now
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Holds,
    Required,
    all_of,
    any_of,
    atoms,
    holds,
    leaf,
    opposite,
    read_exact,
)

NAMES = ("a", "b", "c")
A, B, C = (leaf(Holds(name)) for name in NAMES)


def formulas() -> st.SearchStrategy[Formula]:
    return st.recursive(
        st.sampled_from([A, B, C, opposite(A), TRUE, FALSE]),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: all_of(*parts)),
            st.lists(inner, max_size=3).map(lambda parts: any_of(*parts)),
            inner.map(opposite),
        ),
        max_leaves=10,
    )


def table(formula: Formula) -> list[bool]:
    """What it says for each way that schemas may hold."""
    worlds = [
        {n for n, on in zip(NAMES, ons, strict=True) if on} for ons in product((0, 1), repeat=3)
    ]

    def judged(world: set[str]) -> bool:
        return holds(formula, lambda atom: (atom.schema in world) == atom.sign)  # type: ignore[attr-defined]

    return [judged(world) for world in worlds]


@given(formulas(), formulas())
def test_joining_and_opposites_mean_what_they_say(first, second):
    left, right = table(first), table(second)
    assert table(all_of(first, second)) == [a and b for a, b in zip(left, right, strict=True)]
    assert table(any_of(first, second)) == [a or b for a, b in zip(left, right, strict=True)]
    assert table(opposite(first)) == [not a for a in left]


@given(formulas())
def test_cases_are_the_formula_multiplied_out(formula):
    listed = cases(formula)
    if listed is not None:
        assert len(listed) <= MOST
        assert table(any_of(*(all_of(*map(leaf, case)) for case in listed))) == table(formula)


def test_equal_formulas_are_the_same_and_absorb_what_adds_nothing():
    assert all_of(A, all_of(B, A)) is all_of(A, B)
    assert any_of(A, all_of(A, B)) is A
    assert all_of(A, any_of(A, B)) is A
    assert all_of(A, opposite(A)) is FALSE
    assert any_of(A, opposite(A)) is TRUE
    assert atoms(any_of(all_of(A, B), all_of(A, C))) == [Holds("a"), Holds("b"), Holds("c")]


@pytest.mark.untraced
def test_a_formula_nested_deeply_is_read_without_recursion():
    formula = A
    for level in range(5_000):
        formula = all_of(leaf(Holds(f"{level}")), any_of(B, formula))
    assert opposite(opposite(formula)) is formula


# Reading a part: the alternatives mean what the formula means when its atoms have been read.

VALUES, RESTS = ("A", "B", "C"), ("a", "b", "c", "d", "e")
DERIVATIVE_A, DERIVATIVE_B, DERIVATIVE_C = (leaf(Holds(name)) for name in VALUES)
REST = {name: leaf(Required(name)) for name in RESTS}
READ: dict[str, Formula] = {
    "a": now(DERIVATIVE_A),
    "b": any_of(now(DERIVATIVE_B), REST["b"]),
    "c": any_of(now(DERIVATIVE_C), all_of(REST["c"], REST["d"])),
    "d": REST["d"],
    "e": any_of(
        all_of(now(DERIVATIVE_A), REST["d"]), all_of(now(opposite(DERIVATIVE_A)), REST["e"])
    ),
}
WORLDS = [
    {name for name, on in zip(VALUES + RESTS, ons, strict=True) if on}
    for ons in product((0, 1), repeat=len(VALUES + RESTS))
]


def true_in(world: set[str], formula: Formula) -> bool:
    def judge(atom: Atom) -> bool:
        match atom:
            case Now(value):
                return true_in(world, value)
            case Holds(name, sign):
                return (name in world) == sign
            case Required(name):
                return name in world
            case _:
                raise AssertionError(atom)

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
        return value is TRUE


def read(atom: Atom) -> Formula:
    assert isinstance(atom, Required)
    return READ[atom.name]


def formulas_of_derivative() -> st.SearchStrategy[Formula]:
    return st.recursive(
        st.sampled_from([*REST.values(), TRUE, FALSE]),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=4).map(lambda parts: all_of(*parts)),
            st.lists(inner, min_size=1, max_size=4).map(lambda parts: any_of(*parts)),
        ),
        max_leaves=12,
    )


a, b, c, d, e = REST.values()
MANY = all_of(any_of(a, b, c), any_of(b, all_of(c, d)), any_of(a, e), any_of(c, e, b))


@pytest.mark.untraced
@settings(max_examples=30)
@example(MANY, Exactly(True))
@example(all_of(MANY, any_of(b, all_of(d, any_of(c, e)))), Never())
@example(all_of(any_of(a, d), any_of(b, d), any_of(c, all_of(d, e)), any_of(e, d)), Never())
@example(any_of(all_of(a, b), c, e), Exactly(True))
@given(formulas_of_derivative(), st.sampled_from([Exactly(True), Exactly(False), Never()]))
def test_the_alternatives_are_what_becomes_of_the_formula(formula, judge):
    pairs = Progress(read, judge).pairs(formula)
    for world in WORLDS:
        kept = {name: true_in(world, READ[name]) for name in RESTS}
        expected = true_in({name for name, on in kept.items() if on}, formula)
        found = any(true_in(world, all_of(rest, value)) for rest, value in pairs.items())
        assert found == expected, world


# Values as hashable ones: equal exactly where JSON Schema calls them equal.

PAIRS = [
    ('{"a":1,"b":[0,-0]}', '{"b": [0.0, 0e5], "a": 10e-1}', True),
    ('{"a":100}', '{"a":1e2}', True),
    ('{"a":-1.50}', '{"a":-15e-1}', True),
    ('{"a":"1"}', '{"a":1}', False),
    ('{"a":true}', '{"a":1}', False),
    ('[null,"\\u0061"]', '[null,"a"]', True),
    ("[1,2]", "[2,1]", False),
    ("[[]]", "[{}]", False),
]


@pytest.mark.untraced
@pytest.mark.parametrize("depth", [0, 98, 150, 3_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("left", "right", "equal"), PAIRS)
def test_equal_values_have_equal_forms_however_deep(left, right, equal, depth):
    first, second = (
        read_exact(("[" * depth + text + "]" * depth).encode()) for text in (left, right)
    )
    assert (first == second) is equal
    assert not equal or hash(first) == hash(second)


def test_many_small_values_are_no_deep_one():
    wide = b"[" + b",".join([b"[1]"] * 500) + b"]"
    assert read_exact(wide) == read_exact(wide.replace(b"1", b"1.0"))
