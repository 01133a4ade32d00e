"""The parser takes what `re.compile` takes, and says where the rest is wrong."""

import re
import sys
import time
import warnings
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guideway.errors import GuidewayError, LimitError, SourceError, UnsupportedError
from guideway.regex.parser import MOST_NESTED, parse_regex
from guideway.regex.tree import (
    Alternation,
    Anchor,
    Class,
    Dot,
    Group,
    Mode,
    Range,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    outline,
)
from guideway.sources.sources import DIALECTS, Dialect
from regex_samples import oracle

PLAIN = Mode()

PIECES = [
    "a", "b", "é", "(", ")", "[", "]", "{", "}", "*", "+", "?", "|", "^", "$", ".", "\\", "-",
    ",", "1", "0", "7", "8", "(?", "(?:", "(?i)", "(?x)", "(?P<n>", "(?P=n)", "(?#", "(?i-s:",
    "(?a:", "(?u)", "(?a)", "(?-", r"\d", r"\w", r"\x", r"\u", "41", r"\N{", "DIGIT ONE}", "{2}",
    "{1,3}", "{,", "{2,1}", " ", "#", "\n", r"\A", r"\Z", r"\1", r"\01", r"\777", "[^", "a-z",
    "z-a", "\ud800", r"\U0001F600", r"\U00110000", "(?s", ":", "!", "=", "<", ">", "P", "&&",
    "--", "[[", "(?L)", r"\b", "\\\n", r"\q", "٣", "(?ii)", "(?i-i:", "(?-a:", "(?i", "(?z)",
    r"\U00", "(?P<1>", "(?P>", "(?P", "(?<n>", r"\N", r"[\8]",
]  # fmt: skip
FLAGS = {"": 0, "x": re.VERBOSE, "i": re.IGNORECASE, "a": re.ASCII}


def body(pattern: str, **options: Any) -> Any:
    return parse_regex(pattern, **options).body


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), st.sampled_from([*FLAGS]))
@example("(?x)#\\", "")
@example("(?#\\))", "")
@example("(?#)", "")
@example("a#\\", "x")
@example("(?a)", "a")
@example("(?u)", "a")
@example(r"(a\1)", "")
@example("(?P<n>a)(?P<n>b)", "")
def test_a_pattern_is_refused_exactly_if_re_refuses_it(pattern: str, flags: str) -> None:
    try:
        oracle(pattern, FLAGS[flags])
        expected = True
    except (re.error, ValueError):
        expected = False
    error = refusal(pattern, flags)
    if not isinstance(error, UnsupportedError):  # what is refused by name is listed below
        assert (error is None) == expected
    if isinstance(error, SourceError):
        assert error.text == pattern
        assert error.position in range(len(pattern) + 1)


def refusal(pattern: str, flags: str = "", dialect: Dialect = "python") -> GuidewayError | None:
    try:
        assert list(outline(parse_regex(pattern, dialect, flags)))
    except (SourceError, UnsupportedError, LimitError) as error:
        return error
    return None


@pytest.mark.untraced
@given(st.text(), st.sampled_from(DIALECTS))
def test_any_text_parses_or_is_refused(pattern: str, dialect: Dialect) -> None:
    error = refusal(pattern, "", dialect)
    assert error is None or str(error)


def test_the_tree_says_what_was_written_and_where() -> None:
    tree = body(r"^a(?P<x>b|c\d)*?[^]a-f\w]{2,}$")
    assert tree == Sequence(
        (
            Anchor("text start", 0),
            Text("a", PLAIN, 1),
            Repeat(
                Group(
                    Alternation(
                        (
                            Text("b", PLAIN, 8),
                            Sequence(
                                (Text("c", PLAIN, 10), Shorthand("digit", False, PLAIN, 11)), 10
                            ),
                        ),
                        2,
                    ),
                    1,
                    "x",
                    2,
                ),
                0,
                None,
                True,
                2,
            ),
            Repeat(
                Class(
                    (ord("]"), Range(97, 102), Shorthand("word", False, PLAIN, 22)), True, PLAIN, 16
                ),
                2,
                None,
                False,
                16,
            ),
            Anchor("last line end", 29),
        ),
        0,
    )


def test_a_count_takes_the_last_character_of_a_run() -> None:
    assert body("abc+") == Sequence(
        (Text("ab", PLAIN, 0), Repeat(Text("c", PLAIN, 2), 1, None, False, 2)), 0
    )


@pytest.mark.parametrize(
    ("pattern", "low", "high"),
    [("a{3}", 3, 3), ("a{3,}", 3, None), ("a{,4}", 0, 4), ("a{3,4}", 3, 4), ("a{,}", 0, None),
     ("a*", 0, None), ("a+", 1, None), ("a?", 0, 1), ("a{0002147483648}", 2**31, 2**31)],
)  # fmt: skip
def test_counts_are_read(pattern: str, low: int, high: int | None) -> None:
    assert body(pattern) == Repeat(Text("a", PLAIN, 0), low, high, False, 0)


@pytest.mark.parametrize(
    "pattern", ["{", "{}", "a{", "a{1", "a{1,", "a{1,2", "a{x}", "a{ 1}", "{a}"]
)
def test_a_brace_that_begins_no_count_is_a_character(pattern: str) -> None:
    parts = body(pattern)
    texts = [parts] if isinstance(parts, Text) else parts.items
    assert "".join(part.text for part in texts) == pattern


@pytest.mark.parametrize(
    ("escape", "character"),
    [(r"\n", "\n"), (r"\a", "\a"), (r"\f", "\f"), (r"\r", "\r"), (r"\t", "\t"), (r"\v", "\v"),
     (r"\\", "\\"), (r"\x41", "A"), (r"\u0041", "A"), (r"\U0001F600", "😀"), (r"\N{EM DASH}", "—"),
     (r"\0", "\0"), (r"\012", "\n"), (r"\101", "A"), (r"\.", "."), (r"\_", "_"), ("\\\n", "\n"),
     (r"\é", "é"), (r"\ud800", "\ud800"), (r"\-", "-"), (r"\08", None)],
)  # fmt: skip
def test_escapes_name_characters(escape: str, character: str | None) -> None:
    if character is None:
        assert [item.text for item in body(escape).items] == ["\0", "8"]
    else:
        assert body(escape) == Text(character, PLAIN, 0)
        assert body(f"[{escape}]") == Class((ord(character),), False, PLAIN, 0)


def test_in_a_class_b_is_backspace() -> None:
    assert body(r"[\b]") == Class((8,), False, PLAIN, 0)


def test_flags_hold_where_they_stand() -> None:
    tree = body("(?is)a(?m-i:.$(?x: b # c\n))(?a:d(?u:e))")
    i = Mode(ignore_case=True, dot_all=True)
    m = Mode(multiline=True, dot_all=True)
    x = Mode(multiline=True, dot_all=True, verbose=True)
    a = Mode(ignore_case=True, dot_all=True, ascii=True)
    assert tree.items[0] == Text("a", i, 5)
    assert tree.items[1].item.items[:2] == (Dot(m, 12), Anchor("line end", 13))
    assert tree.items[1].item.items[2].item == Text("b", x, 19)
    assert tree.items[2].item.items[0] == Text("d", a, 31)
    assert tree.items[2].item.items[1].item == Text("e", i, 36)


def test_flags_can_stand_beside_the_pattern() -> None:
    assert body(" a\n. ", flags="aimsx").items == (
        Text("a", mode := Mode("python", True, True, True, True, True), 1),
        Dot(mode, 3),
    )
    assert body("a", flags="u") == Text("a", PLAIN, 0)
    assert body("a", flags="m") == Text("a", Mode(multiline=True), 0)


def test_lookaround_boundaries_and_references_are_named() -> None:
    tree = parse_regex(r"(?=a)(?!b)(?<=c)(?<!d)\b\B(e)\1(?P<n>f)(?P=n)")
    assert [line.strip() for line in outline(tree)] == [
        "0: Sequence", "0:   Look ahead", "3:     Text 'a'", "5:   Look not ahead",
        "8:     Text 'b'", "10:   Look behind", "14:     Text 'c'", "16:   Look not behind",
        "20:     Text 'd'", "22:   Boundary", "24:   Boundary no", "26:   Group 1",
        "27:     Text 'e'", "29:   Back 1", "31:   Group 2 n", "37:     Text 'f'", "39:   Back 2",
    ]  # fmt: skip
    assert (tree.looks, tree.boundaries, tree.backs) == (True, True, True)
    plain = parse_regex("a")
    assert (plain.looks, plain.boundaries, plain.backs) == (False, False, False)


@pytest.mark.parametrize(
    "pattern",
    ["(?<=ab|cd)", r"(?<=\d[a-z].)", "(?<=(?:ab){2})", r"(ab)(?<=\1)", r"(?<=^a\b(?=b*)$)",
     "(?<=a{0})", "(?<=(?:){3,4})", "(?<=)", "(?=a*)", "(?<!(a)b)", "(?:(?=a))*"],
)  # fmt: skip
def test_re_looks_back_over_what_has_one_width(pattern: str) -> None:
    assert oracle(pattern)
    assert refusal(pattern) is None


def test_only_parentheses_that_capture_have_a_number() -> None:
    groups = body("(a)(?:b)(?P<c>c)(?i:d)").items
    assert [(group.number, group.name) for group in groups] == [(1, ""), (0, ""), (2, "c"), (0, "")]


@pytest.mark.parametrize(
    ("pattern", "feature"),
    [("(a)(?(1)b|c)", "conditional group"), ("(?>a)", "atomic group"),
     (r"\p{Script=Greek}", r"\p{Script=…}"),
     ("a*+", "possessive quantifier"), ("a{2}+", "possessive quantifier"), ("(?L)a", "flag L")],
)  # fmt: skip
def test_what_has_no_automaton_here_is_refused_by_name(pattern: str, feature: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse_regex(f"xy{pattern}" if "L" not in pattern else pattern)
    assert caught.value.feature == feature
    assert str(caught.value).endswith("^")


@pytest.mark.parametrize(
    ("pattern", "position", "words"),
    [
        ("a**", 2, "repeated already"),
        ("x{2}{3}", 4, "repeated already"),
        ("*a", 0, "nothing to repeat"),
        ("a|*", 2, "nothing to repeat"),
        ("^*", 1, "nothing to repeat"),
        ("(a", 0, ") is missing"),
        ("((a)", 0, ") is missing"),
        ("a)", 1, "closes no group"),
        ("[a", 0, "] is missing"),
        ("[a-", 0, "] is missing"),
        ("[]", 0, "] is missing"),
        ("[z-a]", 1, "ends before it begins"),
        (r"[a-\d]", 1, "are sets"),
        (r"[\w-a]", 1, "are sets"),
        ("a{3,2}", 1, "ends before it begins"),
        ("ab\\", 2, "escapes nothing"),
        (r"\q", 0, "not an escape"),
        (r"\pL", 0, "in braces"),
        (r"\k<x>", 0, "(?P=name) in Python"),
        (r"a\b*", 3, "nothing to repeat"),
        (r"a(?<=b*)", 1, "fixed length"),
        (r"(a)|(?<=\1b|c)", 4, "fixed length"),
        (r"\z", 0, r"\Z in Python"),
        (r"[\Z]", 1, "not an escape"),
        (r"\x4", 0, "2 hexadecimal digits"),
        (r"\u00g0", 0, "4 hexadecimal digits"),
        (r"\U00110000", 0, "10FFFF"),
        (r"\777", 0, r"\377"),
        (r"\N", 0, "braces"),
        (r"\N{NO SUCH}", 0, "'NO SUCH'"),
        (r"\1", 0, "no group 1"),
        (r"(a\1)", 2, "still open"),
        ("(?P=x)", 0, "no group"),
        ("(?P=x", 0, "no group"),
        ("(?P<x", 0, "> is missing"),
        ("(?P<1>a)", 0, "'1'"),
        ("(?P<x>a)(?P<x>b)", 8, "group 1 has the name 'x'"),
        ("a(?i)", 1, "at its beginning"),
        ("(?#a", 0, ") is missing"),
        ("(?q)", 0, "(?q is not a flag"),
        ("(?i", 0, "unknown extension"),
        ("(?<n>a)", 0, "(?P<name>…)"),
        ("(?)", 0, "unknown extension"),
        ("(?au)", 0, "exclude each other"),
        ("(?a)(?u)", 4, "exclude each other"),
        ("(?-a:b)", 0, "turn the other one on"),
        ("(?i-i:b)", 0, "both on and off"),
        ("ab\n  c**", 7, "line 2, column 5"),
    ],
)
def test_an_error_points_at_what_is_wrong(pattern: str, position: int, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_regex(pattern)
    assert caught.value.position == position
    assert words in str(caught.value)


def test_a_comment_that_ends_in_a_lone_backslash_is_refused() -> None:
    with pytest.raises(SourceError, match="escapes nothing"):
        parse_regex("a # b \\", flags="x")


@pytest.mark.parametrize("given_", [b"a", None, 3, re.compile("a")])
def test_only_a_str_is_a_pattern(given_: object) -> None:
    with pytest.raises(SourceError, match="a pattern must be a str"):
        parse_regex(given_)  # pyright: ignore[reportArgumentType]


def test_dialects_and_flags_that_do_not_exist_are_named() -> None:
    with pytest.raises(SourceError, match="did you mean 'python'"):
        parse_regex("a", "pyton")  # pyright: ignore[reportArgumentType]
    with pytest.raises(SourceError, match="'q' is not a flag"):
        parse_regex("a", flags="iq")
    with pytest.raises(SourceError, match="exclude each other"):
        parse_regex("a", flags="au")
    with pytest.raises(UnsupportedError, match="locale"):
        parse_regex("a", flags="L")


@pytest.mark.parametrize("opening", ["(", "(?:", "(?i:", "(?P<a>", "[", "(a|"])
def test_depth_costs_nothing_and_ends_in_our_error(opening: str) -> None:
    began = time.process_time()
    with pytest.raises((LimitError, SourceError)):
        parse_regex(opening * 100_000)
    assert time.process_time() - began < 8  # .1 s by itself; squared, minutes


def test_the_nesting_limit_is_exact_and_named() -> None:
    deepest = "(" * MOST_NESTED + "a" + ")" * MOST_NESTED
    assert len(list(outline(parse_regex(deepest)))) == MOST_NESTED + 1
    with pytest.raises(LimitError) as caught:
        parse_regex(f"({deepest})")
    assert (caught.value.limit, caught.value.given) == ("nesting of groups", MOST_NESTED + 1)


def test_the_deepest_patterns_need_no_stack_of_pythons() -> None:
    before = sys.getrecursionlimit()
    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 40)
    try:
        parse_regex("(?:" * MOST_NESTED + "a" + "|b)*" * MOST_NESTED)
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    ("digits", "given"),
    [("2147483649", 2147483649), ("9" * 30, 10**30 - 1), ("9" * 100_000, 10**100 - 1)],
)
def test_a_count_that_is_too_large_is_named(digits: str, given: int) -> None:
    with pytest.raises(LimitError) as caught:
        parse_regex(f"a{{{digits}}}")
    assert (caught.value.limit, caught.value.given) == ("repetitions", given)
    assert caught.value.place == "line 1, column 2"
    assert len(str(caught.value)) <= 250


@pytest.mark.parametrize("pattern", ["[[a]", "[a&&b]", "[a||b]", "[a~~b]", "[--a]"])
def test_possible_set_operations_are_characters_and_no_warning(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(body(pattern), Class)


def test_the_outline_shows_every_kind_of_node() -> None:
    lines = list(outline(parse_regex(r"(?P<n>a|)[^b-d\D\n]{2}\s.+?$")))
    assert lines == [
        "0: Sequence",
        "0:   Group 1 n",
        "0:     Alternation",
        "6:       Text 'a'",
        "8:       Sequence",
        r"9:   Repeat 2 to 2",
        r"9:     Class none of b-d not digit \n",
        "22:   Shorthand space",
        "24:   Repeat 1 or more lazily",
        "24:     Dot",
        "27:   Anchor last line end",
    ]


def test_what_to_write_for_a_script_is_said() -> None:
    with pytest.raises(UnsupportedError, match="scripts are not supported") as refused:
        parse_regex(r"\p{Han}+")
    assert r"[\u4e00-\u9fff]" in str(refused.value)
