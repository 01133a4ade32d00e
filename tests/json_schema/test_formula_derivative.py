"""Reading a part: the alternatives mean what the formula means when its atoms have been read."""

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guideway.errors import GuidewayError, LimitError
from guideway.json_schema import formula_derivative as json_progress
from guideway.json_schema.formula_derivative import Kept, Now, Progress, now
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Holds,
    Required,
    all_of,
    any_of,
    holds,
    leaf,
    opposite,
)
from guideway.language.fuel import metered

VALUES, RESTS = ("A", "B", "C"), ("a", "b", "c", "d", "e")
A, B, C = (leaf(Holds(name)) for name in VALUES)
REST = {name: leaf(Required(name)) for name in RESTS}
READ: dict[str, Formula] = {
    "a": now(A),
    "b": any_of(now(B), REST["b"]),
    "c": any_of(now(C), all_of(REST["c"], REST["d"])),
    "d": REST["d"],
    "e": any_of(all_of(now(A), REST["d"]), all_of(now(opposite(A)), REST["e"])),
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


def formulas() -> st.SearchStrategy[Formula]:
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
@given(formulas(), st.sampled_from([Exactly(True), Exactly(False), Never()]))
def test_the_alternatives_are_what_becomes_of_the_formula(formula, judge):
    pairs = Progress(read, judge).pairs(formula)
    for world in WORLDS:
        kept = {name: true_in(world, READ[name]) for name in RESTS}
        expected = true_in({name for name, on in kept.items() if on}, formula)
        found = any(true_in(world, all_of(rest, value)) for rest, value in pairs.items())
        assert found == expected, world


def test_products_are_split_by_what_holds_for_the_value(monkeypatch):
    monkeypatch.setattr(json_progress, "_FEW", 1)
    shared = any_of(a, c)
    within = all_of(shared, any_of(b, all_of(shared, d)))
    for formula in (MANY, all_of(a, any_of(b, c), any_of(c, e)), within):
        for judge in (Exactly(True), Never()):
            found = Progress(read, judge).pairs(formula)
            for world in WORLDS:
                kept = {name for name in RESTS if true_in(world, READ[name])}
                told = any(true_in(world, all_of(*pair)) for pair in found.items())
                assert told == true_in(kept, formula), world
    monkeypatch.setattr(json_progress, "MOST_PAIRS", 3)
    with pytest.raises(LimitError, match="more than 3"), metered(lambda parts: None):
        Progress(read, Never()).pairs(MANY)


def test_what_was_found_may_be_forgotten(monkeypatch):
    kept = Progress(read, Never())
    expected = [kept.pairs(part) for part in (MANY, all_of(a, b), MANY)]
    monkeypatch.setattr(json_progress, "_MOST_KNOWN", 0)
    forgetful = Progress(read, Never())
    assert [forgetful.pairs(part) for part in (MANY, all_of(a, b), MANY)] == expected


def test_what_an_atom_becomes_has_a_limit_too(monkeypatch):
    monkeypatch.setattr(json_progress, "MOST_PAIRS", 3)
    many = all_of(*(any_of(now(leaf(Holds(f"{n}"))), leaf(Required(f"{n}"))) for n in range(2)))
    with pytest.raises(LimitError, match="more than 3"), metered(lambda parts: None):
        Progress(lambda _: many, Never()).pairs(a)


@pytest.mark.parametrize("atom", [Now(TRUE), Kept(TRUE)])
def test_what_is_read_once_has_no_opposite(atom):
    with pytest.raises(GuidewayError, match="has no opposite"):
        atom.opposite()
