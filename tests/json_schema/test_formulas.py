"""Formulas: what is joined stays small, opposites are exact, nothing recurses."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.json_schema.cases import MOST, cases
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Formula,
    Holds,
    Required,
    all_of,
    any_of,
    atoms,
    holds,
    leaf,
    opposite,
    replace,
)
from guideway.language.fuel import metered

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


def test_atoms_are_replaced_everywhere():
    changed = replace(
        any_of(all_of(A, B), C), lambda atom: TRUE if atom == Holds("a") else leaf(atom)
    )
    assert changed is any_of(B, C)


@pytest.mark.untraced
def test_a_formula_nested_deeply_is_read_without_recursion():
    formula = A
    for level in range(5_000):
        formula = all_of(leaf(Holds(f"{level}")), any_of(B, formula))
    assert opposite(opposite(formula)) is formula


def test_what_is_told_of_formulas_is_paid_for_once():
    nest = A
    for n in range(100):
        nest = any_of(all_of(nest, leaf(Required(f"a{n}"))), leaf(Required(f"b{n}")))
    known, paid = dict[Formula, Formula](), list[int]()
    with metered(paid.append):
        turned = opposite(nest, known)
        assert sum(paid) >= 300  # leaves and what joins them
        paid.clear()
        further = opposite(any_of(nest, B), known)
    assert sum(paid) <= 20
    assert (turned, further) == (opposite(nest), opposite(any_of(nest, B)))


def test_many_parts_are_paid_for_as_they_are_joined():
    many, paid = [leaf(Required(f"c{n}")) for n in range(800)], list[int]()
    with metered(paid.append):
        every = all_of(*many)
        paid.clear()
        assert all_of(every, *many) is every
    assert sum(paid) == 100


def test_more_cases_than_few_stay_a_formula():
    pairs = [any_of(leaf(Required(f"a{n}")), leaf(Required(f"b{n}"))) for n in range(5)]
    assert cases(all_of(*pairs[:4])) is not None
    assert cases(all_of(*pairs)) is None


@pytest.mark.parametrize("formula", [FALSE, all_of(leaf(Required("a")), Required("a").opposite())])
def test_contradictions_are_no_case(formula):
    assert cases(formula) == []
