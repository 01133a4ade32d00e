"""Nodes are interned and simplified, and stay what they denote."""

import gc
import weakref
from collections.abc import Sequence
from functools import reduce
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from guideway.language.expr import (
    ANYTHING,
    EMPTY,
    EPSILON,
    all_of,
    alt,
    alt_by_head,
    both,
    byte_set,
    call,
    capture,
    complement,
    concat,
    either,
    literal,
    optional,
    repeat,
)
from guideway.language.nodes import Expr, Interned, Rule, _Entry
from toys import ALPHABET, Distinct, expressions, joined, language, repeated, unfolded

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


# Alternatives share their beginnings and keep their language.

WORDS = st.lists(
    st.binary(max_size=5).map(lambda word: bytes(ALPHABET[byte % len(ALPHABET)] for byte in word)),
    max_size=8,
)


@given(WORDS)
def test_words_are_the_language_whatever_they_come_as(words: list[bytes]) -> None:
    found = either(words)
    assert found is either(map(literal, words))
    assert found is either(reversed([*words, *words]))
    assert language(found, 5) == frozenset(words)


@given(st.lists(expressions(), max_size=4))
def test_a_shared_beginning_does_not_change_the_language(options) -> None:
    assert language(either(options), 4) == language(alt(*options), 4)


@given(st.lists(st.tuples(expressions(), st.booleans()), min_size=1, max_size=4))
def test_what_meets_is_in_each_and_in_none_that_is_denied(parts) -> None:
    exprs = [complement(expr) if denied else expr for expr, denied in parts]
    assert language(all_of(exprs), 3) == language(reduce(both, exprs), 3)


def test_an_entry_of_which_nobody_has_been_told_is_replaced():
    """Its callback comes when a thread goes on; what has taken its place meanwhile stays."""
    table, gone = Interned[Rule](), Rule("gone")
    late = _Entry(gone)
    late.key = "a"
    table.nodes["a"] = late
    del gone
    gc.collect()
    following = Rule("following")
    assert table.intern("a", following) is following
    table._forget(late)
    assert table.intern("a", Rule("other")) is following
    del following
    gc.collect()
    assert not table.nodes


# Counts that are put together denote what they denoted apart.

SIZE = 6
Built = tuple[Expr, frozenset[bytes]]
RANGES = st.tuples(st.integers(0, 4), st.none() | st.integers(0, 4)).map(
    lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
)


def chain(parts: Sequence[frozenset[bytes]]) -> frozenset[bytes]:
    return frozenset(reduce(lambda found, part: joined(found, set(part), SIZE), parts, {b""}))


def union(parts: Sequence[frozenset[bytes]]) -> frozenset[bytes]:
    return frozenset().union(*parts)


JOINS = [
    (lambda parts: concat(*parts), chain), (lambda parts: alt(*parts), union), (alt_by_head, union),
]  # fmt: skip


def join(ways: tuple[Any, Any], parts: list[Built]) -> Built:
    exprs, strings = zip(*parts, strict=True)
    return ways[0](exprs), ways[1](strings)


def counted(part: Built, bounds: tuple[int, int | None]) -> Built:
    return repeat(part[0], *bounds), frozenset(repeated(set(part[1]), *bounds, SIZE))


BUILT = st.recursive(
    st.sampled_from([(literal(text), frozenset({text})) for text in (b"a", b"b", b"ab", b"")]
                    + [(byte_set(b"ab"), frozenset({b"a", b"b"}))]),
    lambda inner: st.builds(join, st.sampled_from(JOINS), st.lists(inner, min_size=2, max_size=4))
    | st.builds(counted, inner, RANGES),
    max_leaves=12,
)  # fmt: skip


@given(BUILT)
def test_what_is_simplified_denotes_the_same(built: Built) -> None:
    expr, strings = built
    assert language(expr, SIZE) == {s for s in strings if len(s) <= SIZE}
    assert expr.nullable == (b"" in strings)
    assert expr.inhabited
