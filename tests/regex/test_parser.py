"""The parser takes what `re.compile` takes, and says where the rest is wrong."""

import re
import sys
import warnings
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guideway.errors import GuidewayError, LimitError, SourceError, UnsupportedError
from guideway.language.derivative import Derivatives
from guideway.language.expr import alt, both, complement
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import MOST_NESTED, parse_regex
from guideway.regex.tree import Back, Class, Mode, Shorthand
from guideway.sources.sources import DIALECTS, Dialect
from plain_texts import matches
from regex_samples import oracle

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
        parse_regex(pattern, dialect, flags)
    except (SourceError, UnsupportedError, LimitError) as error:
        return error
    return None


@pytest.mark.untraced
@given(st.text(), st.sampled_from(DIALECTS))
def test_any_text_parses_or_is_refused(pattern: str, dialect: Dialect) -> None:
    error = refusal(pattern, "", dialect)
    assert error is None or str(error)


@pytest.mark.parametrize(
    "pattern",
    ["(?<=ab|cd)", r"(?<=\d[a-z].)", "(?<=(?:ab){2})", r"(ab)(?<=\1)", r"(?<=^a\b(?=b*)$)",
     "(?<=a{0})", "(?<=(?:){3,4})", "(?<=)", "(?=a*)", "(?<!(a)b)", "(?:(?=a))*"],
)  # fmt: skip
def test_re_looks_back_over_what_has_one_width(pattern: str) -> None:
    assert oracle(pattern)
    assert refusal(pattern) is None


@pytest.mark.parametrize(("dialect", "pattern", "feature"), [
    ("python", "xy(a)(?(1)b|c)", "conditional group"), ("python", "xy(?>a)", "atomic group"),
    ("python", r"xy\p{Script=Greek}", r"\p{Script=…}"), ("python", "(?L)a", "flag L"),
    ("python", "xya*+", "possessive quantifier"), ("python", "xya{2}+", "possessive quantifier"),
    ("ecma", "(?i)a", "inline flags"), ("ecma", "(?m:^a)", "flag m"), ("ecma", "a(?m)^b", "flag m"),
    ("ecma", "[[:^alpha:]]", "[:^…:]"), ("ecma", r"\p{Script=Greek}", r"\p{Script=…}"),
    ("ecma", r"\p{Han}", r"\p{Han}"), ("ecma", "(?>a)", "atomic group"),
])  # fmt: skip
def test_what_has_no_automaton_here_is_refused_by_name(
    dialect: Dialect, pattern: str, feature: str
) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse_regex(pattern, dialect)
    assert caught.value.feature == feature
    assert str(caught.value).endswith("^")
    if "Han" in pattern:  # the message says what to write
        assert r"scripts are not supported" in str(caught.value)
        assert r"[\u4e00-\u9fff]" in str(caught.value)


MISTAKES = {
    "python": [
        ("a**", 2, "repeated already"), ("*a", 0, "nothing to repeat"),
        ("^*", 1, "nothing to repeat"), (r"a\b*", 3, "nothing to repeat"),
        ("((a)", 0, ") is missing"), ("a)", 1, "closes no group"), ("[]", 0, "] is missing"),
        ("[a-", 0, "] is missing"), ("[z-a]", 1, "ends before it begins"),
        (r"[a-\d]", 1, "are sets"), (r"[\w-a]", 1, "are sets"),
        ("a{3,2}", 1, "ends before it begins"), ("ab\\", 2, "escapes nothing"),
        ("(?x)a # b \\", 10, "escapes nothing"), (r"\q", 0, "not an escape"),
        (r"\pL", 0, "in braces"), (r"\k<x>", 0, "(?P=name) in Python"),
        (r"\z", 0, r"\Z in Python"), (r"[\Z]", 1, "not an escape"),
        (r"\x4", 0, "2 hexadecimal digits"), (r"\u00g0", 0, "4 hexadecimal digits"),
        (r"\U00110000", 0, "10FFFF"), (r"\777", 0, r"\377"), (r"\N", 0, "braces"),
        (r"\N{NO SUCH}", 0, "'NO SUCH'"), (r"\1", 0, "no group 1"), (r"(a\1)", 2, "still open"),
        ("(?P=x)", 0, "no group"), ("(?P=x", 0, "no group"), ("(?P<x", 0, "> is missing"),
        ("(?P<1>a)", 0, "'1'"), ("(?P<x>a)(?P<x>b)", 8, "group 1 has the name 'x'"),
        ("a(?i)", 1, "at its beginning"), ("(?#a", 0, ") is missing"),
        ("(?q)", 0, "(?q is not a flag"), ("(?i", 0, "unknown extension"),
        ("(?<n>a)", 0, "(?P<name>…)"), ("(?)", 0, "unknown extension"),
        ("(?au)", 0, "exclude each other"), ("(?a)(?u)", 4, "exclude each other"),
        ("(?-a:b)", 0, "turn the other one on"), ("(?i-i:b)", 0, "both on and off"),
        ("ab\n  c**", 7, "line 2, column 5"),
    ],
    "ecma": [
        ("a{,5}", 1, "{0,"), (r"[\A]", 1, "is ^"), (r"[\Z]", 1, "is $"),
        (r"[\z]", 1, "$ in JSON Schema"), (r"\a", 0, r"\x07"), (r"\U0001F600", 0, r"\u{…}"),
        (r"\N{EM DASH}", 0, r"\u{…}"), (r"\01", 0, "not an escape"),
        (r"[\1]", 1, "not an escape"), (r"\1", 0, "no group 1"), (r"\c1", 0, "needs a letter"),
        (r"\u{110000}", 0, "10FFFF"), (r"\u12", 0, "4 hexadecimal digits"), (r"\pX", 0, "braces"),
        (r"\x{110000}", 0, "10FFFF"), (r"\x4", 0, "2 hexadecimal digits"),
        ("(?#a", 0, "is not closed"), ("a(?x)b", 1, "the flags are i, s"),
        ("(?i-i:a)", 0, "both on and off"), ("a*+", 2, "repeated already"),
        ("(?(1)a)", 0, "unknown extension"), ("^*", 1, "nothing to repeat"),
        (r"(?<x>a)\k<y>", 7, "no group before this place has that name"),
        ("(?=a)*", 5, "nothing to repeat"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "pattern", "position", "words"),
    [(dialect, *row) for dialect, rows in MISTAKES.items() for row in rows],
)
def test_an_error_points_at_what_is_wrong(
    dialect: Dialect, pattern: str, position: int, words: str
) -> None:
    with pytest.raises(SourceError) as caught:
        parse_regex(pattern, dialect)
    assert caught.value.position == position
    assert words in str(caught.value)


@pytest.mark.parametrize("given_", [b"a", None, 3, re.compile("a")])
def test_only_a_str_is_a_pattern(given_: object) -> None:
    with pytest.raises(SourceError, match="a pattern must be a str"):
        parse_regex(given_)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("dialect", "flags", "error", "said"), [
    ("pyton", "", SourceError, "did you mean 'python'"),
    ("python", "iq", SourceError, "'q' is not a flag"),
    ("python", "au", SourceError, "exclude each other"),
    ("python", "L", UnsupportedError, "locale"),
    ("ecma", "m", UnsupportedError, "flag m has different lines"),
    ("ecma", "v", UnsupportedError, "flag v"),
    ("ecma", "x", SourceError, "'x' is not a flag"),
])  # fmt: skip
def test_dialects_and_flags_that_do_not_exist_are_named(
    dialect: Any, flags: str, error: type[GuidewayError], said: str
) -> None:
    with pytest.raises(error, match=said):
        parse_regex("a", dialect, flags)


def test_the_nesting_limit_is_exact_and_named() -> None:
    deepest = "(" * MOST_NESTED + "a" + ")" * MOST_NESTED
    parse_regex(deepest)
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
        assert isinstance(parse_regex(pattern).body, Class)


# The dialect of JSON Schema's patterns: ECMA-262 with its u flag.

ECMA = Mode("ecma")


def body_of_ecma(pattern: str) -> Any:
    return parse_regex(pattern, "ecma").body


@pytest.mark.parametrize(
    ("pattern", "name"),
    [(r"\p{Lu}", "Lu"), (r"\p{Uppercase_Letter}", "Lu"), (r"\p{gc=Lu}", "Lu"),
     (r"\p{General_Category=Letter}", "L"), (r"\p{digit}", "Nd"), (r"\p{punct}", "P"),
     (r"\p{Any}", "Any"), (r"\p{ASCII}", "ASCII"), (r"\p{Assigned}", "Assigned")],
)  # fmt: skip
def test_properties_go_by_their_short_name(pattern: str, name: str) -> None:
    assert body_of_ecma(pattern) == Shorthand(name, False, ECMA, 0)
    assert body_of_ecma(pattern.replace("p{", "P{")) == Shorthand(name, True, ECMA, 0)


def test_ecma_looks_back_over_anything_and_names_its_references() -> None:
    assert parse_regex(r"(?<=a*)(?<x>a)\k<x>", "ecma").has(Back)


def test_an_unknown_property_has_a_near_name() -> None:
    with pytest.raises(UnsupportedError, match="did you mean 'Letter'"):
        body_of_ecma(r"\p{Leter}")


TEXTS = ("", "a", "A", "b", "ab", "aB", "AB", "Ab", "aa", "aA", "a\n", "a.b", "a\nb", "é", "É", "_")


def found(pattern: str, text: str) -> bool:
    engine = Derivatives(lower_regex(parse_regex(pattern, "ecma")))
    return matches(engine, text)


@pytest.mark.parametrize("pattern", [
    "(?i:a)b", "a(?i:b)", "(?i:a(?-i:b))", "(?i:[ab]+)", "(?i:[^a]b?)", "(?s:a.b)", "a.b",
    "(?is:A.B)", "(?P<x>a)b", "(?P<x>[ab])(?P=x)", r"\Aab?\Z", r"a\Z", r"(?:\Aa|b)(?#no text)",
    "(?i:é)", "(?i:a|É)",
])  # fmt: skip
def test_flavours_are_read_as_python_reads_them(pattern: str) -> None:
    for text in TEXTS:
        assert found(pattern, text) == bool(re.fullmatch(pattern, text)), text


@pytest.mark.parametrize(
    ("pattern", "alike"),
    [(r"a\z", r"a\Z"), (r"\x{61}\x{00062}?", "ab?"), (r"\pL", r"\p{L}"), (r"\PL+", r"\P{L}+"),
     ("a(?i)b", "a(?i:b)"), ("a(?i)b|a", "a(?i:b)|(?i:a)"), ("(a(?i)b)?a", "(a(?i:b))?a"),
     ("^(?i)a(?-i)b", "^(?i:a)b"), ("a(?s).", "a(?s:.)"), ("[[:alpha:]_]+", "[A-Za-z_]+"),
     ("[^[:alnum:]é]", "[^A-Za-z0-9é]"), ("[[:punct:]]", r"[!-\/:-@\[-`{-~]"),
     ("[[:space:][:upper:]]b?", r"[\t-\r A-Z]b?"), ("[[:nothing]", r"[\[:nothing]")],
)  # fmt: skip
def test_flavours_mean_the_same_as_what_is_longer(pattern: str, alike: str) -> None:
    one, other = (lower_regex(parse_regex(each, "ecma")) for each in (pattern, alike))
    engine = Derivatives(alt(both(one, complement(other)), both(other, complement(one))))
    assert not engine.has_text(engine.start())
