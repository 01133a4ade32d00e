"""Nodes are interned and simplified, and stay what they denote."""

import gc
import weakref

import pytest
from hypothesis import given

from guideway.errors import GuidewayError
from guideway.language.expr import (
    ANYTHING,
    EMPTY,
    EPSILON,
    UNSURE,
    alt,
    both,
    byte_set,
    call,
    capture,
    complement,
    concat,
    literal,
    optional,
    repeat,
)
from guideway.language.nodes import Rule
from toys import Distinct, distinct, expressions, language, unfolded

A, B = literal("a"), literal("b")


def test_equal_structure_is_the_same_object():
    assert concat(A, concat(B, A)) is concat(concat(A, B), A)
    assert alt(A, concat(A, B)) is alt(concat(A, B), A)
    assert repeat(A, 1, 3) is repeat(A, 1, 3)
    assert both(repeat(A), repeat(B)) is both(repeat(B), repeat(A))
    assert complement(A) is complement(A)
    assert literal("é") is literal(b"\xc3\xa9")


def test_the_empty_language_and_the_empty_string_disappear():
    assert concat(A, EMPTY) is EMPTY
    assert concat(EPSILON, A, EPSILON) is A
    assert alt(A, EMPTY) is A
    assert alt() is EMPTY
    assert alt(EPSILON, repeat(A)) is repeat(A)
    assert alt(A, B) is byte_set(b"ab")
    assert repeat(EMPTY) is EPSILON
    assert repeat(EMPTY, 1) is EMPTY
    assert repeat(A, 0, 0) is EPSILON
    assert repeat(A, 2, 1) is EMPTY
    assert repeat(A, 1, 1) is A
    assert repeat(optional(A), 2, 3) is repeat(optional(A), 0, 3)
    assert byte_set([]) is EMPTY
    assert capture(EMPTY, b"", Distinct(), None) is EMPTY


def test_both_and_complement_simplify():
    assert both(A, A) is A
    assert both(A, ANYTHING) is A
    assert both(ANYTHING, A) is A
    assert both(A, EMPTY) is EMPTY
    assert both(EMPTY, A) is EMPTY
    assert both(EPSILON, repeat(A)) is EPSILON
    assert both(repeat(A), EPSILON) is EPSILON
    assert both(A, EPSILON) is EMPTY
    assert both(byte_set(b"ab"), byte_set(b"bc")) is B
    assert complement(complement(repeat(A))) is repeat(A)


def test_unsure_decides_for_all_options():
    assert alt(A, UNSURE) is UNSURE
    assert concat(UNSURE, A) is UNSURE


def test_only_regular_expressions_intersect_and_have_a_complement():
    with pytest.raises(GuidewayError, match="intersect"):
        both(distinct(), A)
    with pytest.raises(GuidewayError, match="complement"):
        complement(distinct())


def test_a_rule_is_defined_once_and_never_nullable():
    rule = Rule("r")
    with pytest.raises(GuidewayError, match="no body yet"):
        _ = rule.body
    with pytest.raises(GuidewayError, match="nullable"):
        rule.define(EPSILON)
    rule.define(A)
    assert rule.body is A
    with pytest.raises(GuidewayError, match="already"):
        rule.define(B)


@given(expressions())
def test_nullable_is_whether_the_empty_string_belongs(expr):
    assert expr.nullable == (b"" in language(expr, 0))


def test_what_nobody_holds_is_forgotten_recursive_rules_and_templates_too():
    template, rule = Distinct(), Rule("loop")
    words = call(template, frozenset())
    rule.define(alt(literal("x"), concat(literal("["), rule, words, literal("]"))))
    body = unfolded(words)
    assert concat(words, A) is concat(words, A)
    watched = [weakref.ref(node) for node in (rule, rule.body, words, body)]
    del template, rule, words, body
    gc.collect()
    assert [node() for node in watched] == [None] * 4
