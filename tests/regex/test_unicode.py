"""Sets of characters as UTF-8, against Python's own codec and sets."""

from hypothesis import given
from hypothesis import strategies as st

from guideway.language.expr import EMPTY, byte_set, concat
from guideway.language.nodes import Alt, Bytes, Concat, Expr
from guideway.language.utf8 import (
    ALL,
    LAST,
    SCALARS,
    TEXT,
    TEXT_CHAR,
    character,
    difference,
    every_character,
    intersection,
    inverse,
    points,
    union,
)
from regex_samples import reader

# Ends of UTF-8's lengths, of blocks of continuation bytes, of the surrogates.
EDGES = [
    *(
        0,
        1,
        0x3F,
        0x40,
        0x7F,
        0x80,
        0xBF,
        0xC0,
        0x7FF,
        0x800,
        0xFFF,
        0x1000,
        0xD7FF,
        0xD800,
        0xDFFF,
    ),
    *(0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, LAST - 1, LAST),
]
CODES = st.sampled_from(EDGES) | st.integers(0, LAST)
RANGES = st.lists(st.tuples(CODES, CODES).map(lambda ends: (min(ends), max(ends))), max_size=5)
SMALL = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 5)).map(lambda p: (p[0], sum(p))), max_size=5
)


def rows(expr: Expr) -> list[list[str]]:
    """A finite expression as sequences of byte ranges: [["C2-DF", "80-BF"], …]."""
    match expr:
        case Bytes(members):
            found = [byte for byte in range(256) if members >> byte & 1]
            assert members == sum(1 << byte for byte in range(found[0], found[-1] + 1))
            return [[f"{found[0]:02X}-{found[-1]:02X}"]]
        case Concat(head, tail):
            return [a + b for a in rows(head) for b in rows(tail)]
        case _:
            assert isinstance(expr, Alt)
            return [row for option in expr.options for row in rows(option)]


def listed(ranges) -> set[int]:
    return {code for low, high in ranges for code in range(low, high + 1)}


@given(SMALL, SMALL)
def test_sets_combine_like_sets(left, right) -> None:
    a, b = union(left), union(right)
    universe = set(range(40))
    assert listed(a) == listed(left)
    assert listed(union(a, b)) == listed(a) | listed(b)
    assert listed(intersection(a, b)) == listed(a) & listed(b)
    assert listed(difference(a, b)) == listed(a) - listed(b)
    assert listed(intersection(inverse(a), ((0, 39),))) == universe - listed(a)
    assert points(listed(a)) == a


@given(RANGES)
def test_ranges_stay_sorted_and_apart(ranges) -> None:
    for made in (union(ranges), inverse(union(ranges))):
        assert all(low <= high for low, high in made)
        assert all(made[i][1] + 1 < made[i + 1][0] for i in range(len(made) - 1))
    assert inverse(inverse(union(ranges))) == union(ranges)


@given(RANGES, st.lists(CODES, max_size=20))
def test_a_character_is_spelled_exactly_if_it_is_in_the_set(ranges, codes) -> None:
    accepts = reader(character(union(ranges)))
    for code in {*codes, *EDGES, *(end for ends in ranges for end in ends)}:
        if not 0xD800 <= code <= 0xDFFF:
            assert accepts(chr(code)) == any(low <= code <= high for low, high in ranges)


def test_any_character_is_the_table_of_rfc_3629() -> None:
    # §4, with E1-EC and EE-EF, which the trie has as one set of bytes, taken apart below.
    table = """
        00-7F; C2-DF 80-BF; E0-E0 A0-BF 80-BF; ED-ED 80-9F 80-BF;
        F0-F0 90-BF 80-BF 80-BF; F1-F3 80-BF 80-BF 80-BF; F4-F4 80-8F 80-BF 80-BF
    """
    middle = concat(byte_set({*range(0xE1, 0xF0)} - {0xED}), *[byte_set(range(0x80, 0xC0))] * 2)
    assert isinstance(TEXT_CHAR, Alt)
    assert middle in TEXT_CHAR.options
    found = [row for option in TEXT_CHAR.options if option is not middle for row in rows(option)]
    assert sorted(found) == sorted(line.split() for line in table.split(";"))


def test_surrogates_have_no_bytes() -> None:
    assert character(((0xD800, 0xDFFF),)) is EMPTY
    assert character(ALL) is character(SCALARS)
    assert character(()) is EMPTY


def test_equal_sets_are_one_expression() -> None:
    assert character(points([1, 2, 3])) is character(union([(2, 3), (1, 1)]))


def test_a_text_ends_between_characters_only() -> None:
    assert TEXT.nullable
    assert reader(TEXT)("aé€😀")


def test_every_character_is_every_character() -> None:
    everything = every_character()
    assert len(everything) == LAST + 1
    assert all(ord(everything[code]) == code for code in range(0, LAST + 1, 97))
