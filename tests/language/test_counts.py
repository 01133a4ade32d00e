"""Counts that are put together denote what they denoted apart.

The oracle is sets of strings: each random tree is built twice, by the constructors and by
operations on sets, which know nothing of what the constructors simplify.
"""

from hypothesis import given
from hypothesis import strategies as st

from guideway.language.expr import alt, alt_by_head, byte_set, concat, literal, repeat
from guideway.language.nodes import Expr
from toys import joined, language, repeated

SIZE = 6
A, B = literal("a"), literal("b")
Built = tuple[Expr, frozenset[bytes]]

LOWS = st.integers(0, 4)
RANGES = st.tuples(LOWS, st.one_of(st.none(), LOWS)).map(
    lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
)


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
