"""What bytes leave of a regular expression, all at once: as one after the other leaves it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import GuidewayError
from guideway.language import regular as linear
from guideway.language.expr import (
    ALL_BYTES,
    EMPTY,
    EPSILON,
    UNSURE,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
)
from guideway.language.nodes import Expr, Rule
from guideway.language.regular import arcs, contains, derivative

LETTERS, TEXTS = b"abc", [bytes(text) for n in range(4) for text in product(b"abc", repeat=n)]


def named(body: Expr) -> Expr:
    if body.nullable or body.yields:  # which a rule's body is not
        return body
    rule = Rule("named", regular=True)
    rule.define(body)
    return rule


LEAVES = st.sampled_from((EMPTY, EPSILON, byte_set(b"ab"), byte_set(b"bc"), literal("abc")))
EXPRS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(concat, inner, inner),
        st.builds(alt, inner, inner, inner),
        st.builds(both, inner, inner),
        st.builds(complement, inner),
        st.builds(repeat, inner, st.integers(0, 2), st.sampled_from((None, 2, 3))),
        st.builds(named, inner),
    ),
    max_leaves=8,
)


@given(EXPRS)
def test_arcs_lead_where_each_byte_does(root: Expr):
    found = arcs(root)
    assert sum(members.bit_count() for members, _ in found) == (
        sum(members for members, _ in found).bit_count()
    )
    for byte in (*LETTERS, 0, 255):
        left = [left for members, left in found if members >> byte & 1] or [EMPTY]
        after = derivative(root, byte)
        assert all(contains(left[0], text) == contains(after, text) for text in TEXTS)
    assert all(members & ALL_BYTES == members for members, _ in found)


def test_what_nests_has_no_arcs():
    with pytest.raises(GuidewayError):
        arcs(UNSURE)


def test_arcs_may_be_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linear, "_REMEMBERED", 0)
    arcs.cache_clear()
    known = arcs(literal("ab")), arcs(concat(literal("b"), repeat(literal("ab"))))
    arcs.cache_clear()
    assert known == (arcs(literal("ab")), arcs(concat(literal("b"), repeat(literal("ab")))))
