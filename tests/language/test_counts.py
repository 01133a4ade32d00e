"""Counts that are put together denote what they denoted apart.

The oracle is sets of strings: each random tree is built twice, by the constructors and by
operations on sets, which know nothing of what the constructors simplify.
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.language.expr import (
    EPSILON,
    alt,
    alt_by_head,
    byte_set,
    concat,
    literal,
    optional,
    repeat,
    superfluous,
)
from guideway.language.nodes import (
    Alt,
    Concat,
    Expr,
    Range,
    Repeat,
    added,
    contains,
    multiplied,
    united,
)
from toys import distinct, joined, language, repeated

SIZE = 6
A, B = literal("a"), literal("b")
Built = tuple[Expr, frozenset[bytes]]

LOWS = st.integers(0, 4)
RANGES = st.tuples(LOWS, st.one_of(st.none(), LOWS)).map(
    lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
)


def numbers(counts: Range, most: int = 60) -> set[int]:
    low, high = counts
    return set(range(low, (most if high is None else min(high, most)) + 1))


def built() -> st.SearchStrategy[Built]:
    leaves = st.sampled_from(
        [(literal(text), frozenset({text})) for text in (b"a", b"b", b"ab", b"")]
        + [(byte_set(b"ab"), frozenset({b"a", b"b"}))]
    )
    return st.recursive(leaves, combined, max_leaves=12)


def combined(inner: st.SearchStrategy[Built]) -> st.SearchStrategy[Built]:
    several = st.lists(inner, min_size=2, max_size=4)
    return st.one_of(
        several.map(lambda parts: (concat(*(e for e, _ in parts)), chain([s for _, s in parts]))),
        several.map(
            lambda parts: (
                alt(*(e for e, _ in parts)),
                frozenset().union(*(s for _, s in parts)),
            )
        ),
        several.map(
            lambda parts: (
                alt_by_head([e for e, _ in parts]),
                frozenset().union(*(s for _, s in parts)),
            )
        ),
        st.tuples(inner, RANGES).map(
            lambda p: (
                repeat(p[0][0], *p[1]),
                frozenset(repeated(set(p[0][1]), p[1][0], p[1][1], SIZE)),
            )
        ),
    )


def chain(parts: list[frozenset[bytes]]) -> frozenset[bytes]:
    found = {b""}
    for part in parts:
        found = joined(found, set(part), SIZE)
    return frozenset(found)


@given(built())
def test_what_is_simplified_denotes_the_same(pair: Built) -> None:
    expr, strings = pair
    assert language(expr, SIZE) == {s for s in strings if len(s) <= SIZE}
    assert expr.nullable == (b"" in strings)
    assert expr.inhabited


POSITIVE = RANGES.filter(lambda counts: counts[1] != 0)


@given(POSITIVE, POSITIVE)
def test_products_of_ranges_are_ranges_exactly_where_they_have_no_gap(inner, outer) -> None:
    rounds, found = numbers(outer), multiplied(inner, outer)
    reached = set()
    for count in rounds:
        low, high = inner
        last = 60 if high is None and count else count * (high or 0)
        reached |= set(range(count * low, min(last, 60) + 1))
    if found is not None:
        assert {n for n in numbers(found, 24) if n <= 24} == {n for n in reached if n <= 24}
    else:
        assert any(n not in reached for n in range(min(reached), max(reached)))


@given(st.lists(RANGES, max_size=5))
def test_united_ranges_have_the_same_numbers_and_do_not_touch(ranges) -> None:
    found = united(ranges)
    assert set().union(*map(numbers, found)) == set().union(*map(numbers, ranges))
    for (_, high), (low, _) in itertools.pairwise(found):
        assert high is not None
        assert high + 1 < low


@given(RANGES, RANGES)
def test_a_range_contains_the_ranges_whose_numbers_it_has(outer, inner) -> None:
    assert contains(outer, inner) == (numbers(inner) <= numbers(outer))
    assert numbers(added(outer, inner)) == {
        n + m for n, m in itertools.product(numbers(outer), numbers(inner)) if n + m <= 60
    }


def test_products_that_no_register_holds_stay_two_counts() -> None:
    huge = 1 << 31
    assert multiplied((1, huge), (1, huge)) is None
    assert multiplied((huge, None), (huge, None)) is None
    nested = repeat(repeat(A, 1, huge), 1, huge)
    assert isinstance(nested, Repeat)
    assert isinstance(nested.item, Repeat)


def test_counts_of_counts_are_one_count() -> None:
    found = A
    for _ in range(4):
        found = repeat(found, 1, 30)
    assert found is repeat(A, 1, 810_000)
    assert repeat(concat(*[optional(A)] * 64), 50, 50) is repeat(A, 0, 3200)
    assert repeat(repeat(repeat(A))) is repeat(A)
    assert repeat(alt(repeat(A), repeat(B, 1))) is repeat(byte_set(b"ab"))
    assert repeat(alt(literal("ab"), EPSILON, B), 2, 3) is repeat(alt(literal("ab"), B), 0, 3)
    gaps = repeat(repeat(A, 2, 2), 1, 5)
    assert isinstance(gaps, Repeat)
    assert gaps.item is repeat(A, 2, 2)


def test_counts_in_a_row_are_one_count() -> None:
    assert concat(repeat(A, 1, 2), repeat(A, 3, 4)) is repeat(A, 4, 6)
    assert concat(A, repeat(A)) is repeat(A, 1)
    assert concat(optional(A), A, A, B) is concat(repeat(A, 2, 3), B)
    assert isinstance(concat(A, A), Concat)
    listed = distinct()
    assert isinstance(concat(listed, repeat(listed)), Concat)


def test_alternative_counts_are_one_count_where_they_meet() -> None:
    assert alt(repeat(A, 0, 5), repeat(A, 0, 7)) is repeat(A, 0, 7)
    assert alt(repeat(A, 2, 3), A, EPSILON) is repeat(A, 0, 3)
    assert alt(concat(repeat(A, 1), B), B) is concat(repeat(A), B)
    assert alt(concat(repeat(A, 2, 3), B), concat(A, B)) is concat(repeat(A, 1, 3), B)
    nested = repeat(distinct(), 2, 3)
    assert isinstance(alt(nested, A, repeat(nested, 4, 4)), Alt)
    apart = alt(repeat(A, 5, 6), repeat(A, 2, 3), EPSILON)
    assert isinstance(apart, Alt)
    assert len(apart.options) == 3
    assert alt(concat(repeat(A, 2, 3), repeat(B, 1, 2)), repeat(B, 1, 2), repeat(B, 3, 4)) is alt(
        concat(repeat(A, 2, 3), repeat(B, 1, 2)), repeat(B, 1, 4)
    )


def test_of_many_options_those_contained_in_another_go() -> None:
    def option(low: int, high: int, more: int | None) -> Expr:
        return concat(repeat(A, low, high), literal("x"), repeat(B, 0, more))

    wide = option(0, 9, 9)
    narrow = [option(0, i, i) for i in range(2, 9)] + [option(1, 8, 3)]
    unbounded = option(0, 2, None)
    assert set(superfluous([*narrow, wide, unbounded, literal("y")])) == set(narrow)
    assert alt(*narrow, wide, unbounded) is alt(wide, unbounded)


def test_so_many_alike_are_not_compared() -> None:
    options = [concat(repeat(A, 0, i), B, repeat(A, 0, i)) for i in range(2, 300)]
    assert superfluous(options) == []


@pytest.mark.parametrize("depth", [3, 1000])
def test_options_with_a_common_head_are_put_together_one_part_deep(depth: int) -> None:
    left, right = concat(*[A] * depth, B), concat(*[A] * depth, literal("c"))
    found = alt_by_head([left, right, EPSILON])
    assert isinstance(found, Alt)
    assert found is alt(concat(A, alt(left.tail, right.tail)), EPSILON)  # type: ignore[union-attr]


def test_a_word_that_begins_with_a_count_counts_once_beside_its_repetition() -> None:
    word = concat(repeat(A, 4), B)
    found = alt(word, repeat(word, 2, 2), repeat(word, 3, 3))
    assert found is repeat(word, 1, 3)
