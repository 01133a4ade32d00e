"""What begins, or ends, in some way is cut out exactly, whatever is remembered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.lowering import edges
from guideway.lowering.edges import NEWLINE, NOTHING, OTHER, WORD, Edge
from guideway.lowering.expr import alt, byte_set, concat, literal, optional, repeat
from guideway.lowering.fuel import metered
from guideway.lowering.regex import lower_regex
from guideway.syntax.regex import parse_regex
from toys import expressions, language

KINDS = {WORD: byte_set(b"a"), OTHER: byte_set(b"b"), NEWLINE: byte_set(b",")}
ANY = repeat(byte_set(b"ab,"))
SHAPES = st.sets(st.sampled_from([NOTHING, *KINDS])).map(sum)
SIZE = 4


def edge(at_end: bool, known: bool) -> Edge:
    """Of texts over three letters, one of each kind."""
    shapes = {s: concat(ANY, kind) if at_end else concat(kind, ANY) for s, kind in KINDS.items()}
    plain = {WORD: 1 << 97, OTHER: 1 << 98, NEWLINE: 1 << 44}
    whole = {alt(*KINDS.values()): KINDS}
    return Edge(at_end, shapes, whole if known else {}, plain if known else {})


@given(expressions(), SHAPES, st.booleans(), st.booleans())
def test_strings_are_cut_by_how_they_begin_or_end(expr, shapes, at_end, known) -> None:
    found = language(edge(at_end, known).restrict(expr, shapes), SIZE)
    kinds = {b"": NOTHING, b"a": WORD, b"b": OTHER, b",": NEWLINE}
    expected = {
        text for text in language(expr, SIZE) if kinds[text[-1:] if at_end else text[:1]] & shapes
    }
    assert found == expected


@pytest.mark.parametrize("at_end", [False, True])
def test_parts_that_may_all_be_missing_are_cut_one_by_one(at_end: bool) -> None:
    expr = concat(optional(literal("a")), optional(literal("b")))
    found = edge(at_end, known=True).restrict(expr, WORD)
    assert language(found, SIZE) == ({b"a"} if at_end else {b"a", b"ab"})


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "_MOST_KNOWN", 2)
    here = edge(at_end=False, known=False)
    for text in (b"aaa", b"bbb", b"a,b", b"ba", b"ab", b"ba"):
        assert here.restrict(literal(text), WORD).nullable is False
        assert (here.restrict(literal(text), WORD) is literal(text)) == text.startswith(b"a")
    there = edge(at_end=False, known=True)
    for text in (b"aa", b"ab", b"bb", b"ba"):
        either = alt(literal(text), literal(text[::-1] + b"b"))
        assert language(there.restrict(either, WORD), SIZE) == {
            one for one in language(either, SIZE) if one.startswith(b"a")
        }


def test_what_is_cut_in_many_places_is_cut_once() -> None:
    # Rounds of rounds share their parts: each way to them was gone, which took 8 s.
    spent: list[int] = []
    with metered(spent.append):
        lower_regex(parse_regex(r"(?:(?:[^b]|\B){2})+"))
    assert sum(spent) < 50_000
