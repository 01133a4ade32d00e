"""Expressions as values: what operators make of them, and how they are printed."""

import itertools

import pytest

import guideway as gw
from guideway.logits.classifier import ClassifierTerm
from guideway.logits.expr import (
    Farthest,
    GediTerm,
    Guided,
    Leaf,
    Linear,
    Maximum,
    Minimum,
    Nucleus,
    Plausible,
    guided,
    inside,
    leaves,
    mapped,
    normalized,
    number,
    show,
    total,
    walk,
)

A, B, C = Leaf("a", "base"), Leaf("b", "expert"), Leaf("c", "anti")


class Nothing:
    def log_probs(self, texts):
        raise NotImplementedError


def test_sums_are_flat_and_equal_leaves_are_added_up():
    node = total([(1, A), (1.5, total([(1, B), (-1, C)])), (0.5, C)])
    assert node == Linear(((1.0, A), (1.5, B), (-1.0, C)))


def test_a_coefficient_of_zero_and_what_cancels_leave_no_trace():
    assert total([(1, A), (0, B)]) is A
    assert total([(1, A), (2, total([(1, B), (-1, B), (1, C)])), (-2, C)]) is A


def test_what_cancels_itself_is_zero_which_can_be_added():
    zero = total([(1, A), (-1, A)])
    assert zero == Linear(())
    assert show(zero) == "0"
    assert total([(1, B), (3, zero)]) is B


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -2e6, True])
def test_a_coefficient_is_a_number_within_range(bad):
    with pytest.raises(gw.SourceError, match="a coefficient is"):
        total([(bad, A)])


def test_coefficients_that_grow_out_of_range_are_refused():
    with pytest.raises(gw.SourceError, match="a coefficient"):
        total([(1e6, total([(1e6, A)]))])


def test_normal_forms_have_coefficients_that_sum_to_one():
    node = normalized(total([(1, A), (-0.6, B)]))
    assert node == Linear(((2.5, A), (-1.5, B)))
    assert normalized(A) is A
    term = ClassifierTerm(Nothing(), 3)
    halved = normalized(guided(Linear(((2.0, A),)), [term]))
    assert isinstance(halved, Guided)
    assert (halved.inner, [each.alpha for each in halved.terms]) == (A, [1.5])


def test_a_normal_form_needs_a_sum():
    with pytest.raises(gw.SourceError, match="sum to 0"):
        normalized(total([(1, A), (-1, B)]))


def test_classifier_terms_are_scaled_with_what_they_are_added_to():
    term = ClassifierTerm(Nothing(), 3)
    node = total([(2, guided(A, [term])), (1, B)])
    assert isinstance(node, Guided)
    assert node.inner == Linear(((2.0, A), (1.0, B)))
    assert [each.alpha for each in node.terms] == [6]
    assert guided(guided(A, [term]), [term]).terms == (term, term)
    assert total([(0, guided(A, [term])), (1, B)]) is B


def test_leaves_are_told_once_in_the_order_of_writing():
    pair = GediTerm(B, C, 30, 0.2, 0.8)
    node = guided(Maximum((Nucleus(A, 0.9), Minimum((B, A)))), [pair])
    assert leaves(node) == [A, B, C]
    assert set(walk(node)) == {node, node.inner, Nucleus(A, 0.9), Minimum((B, A)), A, B, C}
    assert inside(Farthest(A, (B, C))) == (A, B, C)


def test_leaves_can_be_changed_everywhere_but_in_classifiers():
    def change(leaf):
        return Leaf(leaf.source + "!", leaf.name)

    kinds = [
        total([(1, A), (2, B)]),
        Maximum((A, B)),
        Minimum((A, B)),
        Nucleus(A, 0.5, "pre_mask"),
        Plausible(A, 0.1),
        Farthest(A, (B,)),
        guided(A, [GediTerm(B, C, 1, 0, 1)]),
    ]
    for node in kinds:
        changed = mapped(node, change)
        assert type(changed) is type(node)
        assert show(changed) == show(node)
        assert Leaf("a!", "base") in leaves(changed)
    assert leaves(mapped(kinds[-1], change))[1:] == [B, C]


@pytest.mark.parametrize(("node", "text"), [
    (total([(1, A), (1.5, B), (-1.5, C)]), "base + 1.5*expert - 1.5*anti"),
    (total([(-1, A), (1, B)]), "-base + expert"),
    (total([(-2, A)]), "-2*base"),
    (Maximum((A, B)), "maximum(base, expert)"),
    (Minimum((A, B)), "minimum(base, expert)"),
    (Plausible(total([(1, A), (1, B)]), 0.1), "(base + expert).plausible(0.1)"),
    (Nucleus(A, 0.9, "pre_mask"), "base.nucleus(0.9, 'pre_mask')"),
    (Farthest(A, (B, C)), "farthest(base, expert, anti)"),
    (guided(A, [GediTerm(B, C, 30, 0, 1)]), "base + gedi(expert, anti, alpha=30)"),
])  # fmt: skip
def test_expressions_are_printed_as_they_would_be_written(node, text):
    assert show(node) == text


def test_numbers_are_checked_against_their_range():
    assert number(1, "x") == 1.0
    for bad, (low, high) in itertools.product(["1", None, True, 3], [(0.0, 2.0)]):
        with pytest.raises(gw.SourceError, match="from 0 to 2"):
            number(bad, "x", low, high)
