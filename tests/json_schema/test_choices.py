"""A case is found exactly if trying all members finds one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.json_schema import cases as json_choices
from guideway.json_schema.cases import first_case
from guideway.json_schema.discriminators import Unlike
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
    exact,
    holds,
    leaf,
    matching,
    named,
)
from guideway.language.fuel import metered

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


def is_possible(formula: Formula) -> bool:
    for count in range(len(NAMES) + 1):
        for there in itertools.combinations(NAMES, count):
            if holds(formula, lambda atom, there=there: _is_true(atom, there)):
                return True
    return False


def _is_true(atom: object, there: tuple[str, ...]) -> bool:
    name = getattr(atom, "name", "")
    return (name in there) is isinstance(atom, Required)


@given(formulas())
def test_a_case_is_found_exactly_if_some_members_make_it_true(formula):
    assert first_case(formula, lambda case: True, lambda case: True) is is_possible(formula)


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


def test_a_choice_without_options_excludes_itself():
    formula = all_of(HERE[0], HERE[1], any_of(GONE[0], GONE[1]))
    assert first_case(formula, lambda case: True, lambda case: True) is False


def test_the_last_option_of_a_choice_may_exclude_itself():
    formula = all_of(HERE[0], any_of(GONE[0], all_of(HERE[1], GONE[1])))
    assert first_case(formula, lambda case: True, lambda case: True) is False


def test_unfinished_cases_of_which_nothing_can_come_are_left():
    formula = all_of(*(any_of(here, gone) for here, gone in zip(HERE, GONE, strict=True)))
    asked: list[int] = []

    def viable(case: tuple[object, ...]) -> bool:
        asked.append(len(case))
        return False

    assert first_case(formula, viable, lambda case: True) is False
    assert asked == [0]


def test_who_does_not_know_yet_is_asked_first():
    formula = any_of(HERE[0], HERE[1])
    assert first_case(formula, lambda case: None, lambda case: True) is None
    assert first_case(formula, lambda case: True, lambda case: None) is None


def test_the_plainest_option_comes_first():
    unlike = leaf(Unlike(frozenset((exact({"a": 1}),))))
    formula = any_of(unlike, HERE[0], GONE[1])
    seen: list[tuple[object, ...]] = []
    first_case(formula, lambda case: True, lambda case: bool(seen.append(case)))
    assert [leaf(case[0]) for case in seen] == [GONE[1], HERE[0], unlike]


def test_too_many_choices_are_refused_while_compiling(monkeypatch):
    monkeypatch.setattr(json_choices, "MOST_TRIED", 2)
    formula = all_of(*(any_of(here, gone) for here, gone in zip(HERE, GONE, strict=True)))
    with metered(lambda parts: None), pytest.raises(LimitError, match="more than 2 choices"):
        first_case(formula, lambda case: True, lambda case: False)
    assert first_case(formula, lambda case: True, lambda case: False) is False


def test_what_is_remembered_of_options_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_choices, "_REMEMBERED", 2)
    formula = all_of(*(any_of(all_of(HERE[n], GONE[n - 1]), GONE[n]) for n in range(5)))
    assert first_case(formula, lambda case: True, lambda case: True) is is_possible(formula)
    assert len(json_choices._demanded) <= 2
    assert len(json_choices._singles) <= 2


def test_a_choice_of_which_one_option_holds_already_is_made() -> None:
    first = any_of(all_of(HERE[0], HERE[1]), all_of(HERE[0], HERE[2]))
    assert first_case(all_of(first, any_of(HERE[0], HERE[3])), lambda case: True, lambda case: True)


def test_a_choice_with_one_option_left_is_made_at_once() -> None:
    first = all_of(GONE[2], any_of(all_of(HERE[0], HERE[1]), HERE[2]))
    accepted: list[tuple[object, ...]] = []
    assert first_case(first, lambda case: False, lambda case: not accepted.append(case))
    assert {atom.name for atom in accepted[0] if isinstance(atom, Required)} == {"a", "b"}


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
