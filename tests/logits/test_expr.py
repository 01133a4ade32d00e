"""Expressions as values: what operators make of them, and how they are printed."""

import itertools
from functools import partial

import pytest

import guideway as gw
from guideway.logits.classifier import ClassifierTerm
from guideway.logits.expr import (
    Extreme,
    Farthest,
    Filtered,
    GediTerm,
    Guided,
    Leaf,
    Linear,
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

Maximum, Minimum = partial(Extreme, "maximum"), partial(Extreme, "minimum")
A, B, C = Leaf("a", "base"), Leaf("b", "expert"), Leaf("c", "anti")


class Nothing:
    def log_probs(self, texts):
        raise NotImplementedError


def test_normal_forms_have_coefficients_that_sum_to_one():
    node = normalized(total([(1, A), (-0.6, B)]))
    assert node == Linear(((2.5, A), (-1.5, B)))
    assert normalized(A) is A
    term = ClassifierTerm(Nothing(), 3)
    halved = normalized(guided(Linear(((2.0, A),)), [term]))
    assert isinstance(halved, Guided)
    assert (halved.inner, [each.alpha for each in halved.terms]) == (A, [1.5])


def test_leaves_are_told_once_in_the_order_of_writing():
    pair = GediTerm(B, C, 30, 0.2, 0.8)
    parts = Filtered("nucleus", A, 0.9), Minimum((B, A))
    node = guided(Maximum(parts), [pair])
    assert leaves(node) == [A, B, C]
    assert set(walk(node)) == {node, node.inner, *parts, A, B, C}
    assert inside(Farthest(A, (B, C))) == (A, B, C)


def test_leaves_can_be_changed_everywhere_but_in_classifiers():
    def change(leaf):
        return Leaf(leaf.source + "!", leaf.name)

    kinds = [
        total([(1, A), (2, B)]),
        Maximum((A, B)),
        Minimum((A, B)),
        Filtered("nucleus", A, 0.5, "pre_mask"),
        Filtered("plausible", A, 0.1),
        Farthest(A, (B,)),
        guided(A, [GediTerm(B, C, 1, 0, 1)]),
    ]
    for node in kinds:
        changed = mapped(node, change)
        assert type(changed) is type(node)
        assert show(changed) == show(node)
        assert Leaf("a!", "base") in leaves(changed)
    assert leaves(mapped(kinds[-1], change))[1:] == [B, C]


def test_numbers_are_checked_against_their_range():
    assert number(1, "x") == 1.0
    for bad, (low, high) in itertools.product(["1", None, True, 3], [(0.0, 2.0)]):
        with pytest.raises(gw.SourceError, match="from 0 to 2"):
            number(bad, "x", low, high)
