"""Atoms: opposites of opposites, and what says nothing is no atom."""

import pytest

from guideway.errors import GuidewayError
from guideway.json_schema.discriminators import Like, Unlike
from guideway.json_schema.formula_derivative import Kept, Now, unlike_member
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Among,
    Amount,
    AtLeast,
    AtMost,
    Beside,
    Distinct,
    Flag,
    Found,
    Holding,
    Holds,
    Item,
    Items,
    Longer,
    Matching,
    Named,
    Required,
    Shorter,
    SomeItem,
    Text,
    all_of,
    at_least,
    at_most,
    exact,
    found,
    holding,
    item,
    items,
    leaf,
    longer,
    matching,
    named,
    opposite,
    shorter,
    some_item,
)
from guideway.json_schema.tree import Numbers, Strings
from guideway.language.expr import literal

VALUE = leaf(Holds("#/x"))
KEYS = literal("k")


@pytest.mark.parametrize("atom", [
    Holds("#"), Among(frozenset((exact(1),))), Text(Strings(low=1)), Amount(Numbers(integer=True)),
    Flag(frozenset((True,))), Required("a"), Matching(KEYS, VALUE),
    Found(Beside(frozenset("a"), ()), VALUE),
    AtLeast(2), AtMost(2), Items(1, VALUE), SomeItem(0, VALUE), Longer(1), Shorter(1),
    Distinct(), Holding(VALUE, 0, 3), Holding(VALUE, 2, None),
], ids=str)  # fmt: skip
def test_the_opposite_of_the_opposite_is_the_atom(atom):
    assert opposite(atom.opposite()) is leaf(atom)


def test_a_member_that_does_not_fit_is_there_and_does_not():
    denied = Named("a", VALUE).opposite()
    assert denied is all_of(leaf(Required("a")), leaf(Named("a", opposite(VALUE))))
    assert Named("a", TRUE).opposite() is FALSE
    assert Item(1, VALUE).opposite() is all_of(leaf(Longer(2)), leaf(Item(1, opposite(VALUE))))


def test_what_says_nothing_or_cannot_hold_is_no_atom():
    nothing = (named("a", TRUE), matching(KEYS, TRUE), item(0, TRUE), items(0, TRUE), at_least(0),
               longer(0), holding(VALUE, 0))  # fmt: skip
    assert all(said is TRUE for said in nothing)
    never = (
        found(KEYS, FALSE),
        some_item(0, FALSE),
        at_most(-1),
        shorter(-1),
        holding(VALUE, 2, 1),
    )
    assert all(said is FALSE for said in never)
    assert Flag(frozenset((True, False))).opposite() is FALSE


def test_the_opposite_of_none_of_some_values_is_one_of_them():
    values = frozenset((exact({"a": 1}), exact({})))
    assert Unlike(values).opposite() is leaf(Like(values))
    assert Like(values).opposite() is leaf(Unlike(values))
    assert unlike_member(values, None) is TRUE


@pytest.mark.parametrize("atom", [Now(VALUE), Kept(VALUE)])
def test_what_stands_aside_has_no_opposite(atom):
    with pytest.raises(GuidewayError):
        atom.opposite()
