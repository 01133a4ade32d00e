"""Counts that are put together denote what they denoted apart.

The oracle is sets of strings: each random tree is built twice, by the constructors and by
operations on sets, which know nothing of what the constructors simplify.
"""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from guideway.language.expr import alt, alt_by_head, byte_set, concat, literal, repeat
from guideway.language.nodes import Expr, Range, added, contains, multiplied, united
from toys import joined, language, repeated

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
            lambda parts: (alt(*(e for e, _ in parts)), frozenset().union(*(s for _, s in parts)))
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
