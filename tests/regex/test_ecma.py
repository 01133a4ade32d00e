"""The dialect of JSON Schema's patterns: ECMA-262 with its u flag."""

import re
from typing import Any

import pytest

from guideway.errors import SourceError, UnsupportedError
from guideway.language.derivative import Derivatives
from guideway.language.expr import alt, both, complement
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import PROPERTIES, parse_regex
from guideway.regex.tree import Anchor, Class, Dot, Mode, Sequence, Shorthand, Text
from json_schemas import matches

ECMA = Mode("ecma")


def body(pattern: str, flags: str = "") -> Any:
    return parse_regex(pattern, "ecma", flags).body


@pytest.mark.parametrize(
    ("escape", "character"),
    [(r"\/", "/"), (r"\-", "-"), (r"\_", "_"), (r"\cJ", "\n"), (r"\cj", "\n"), (r"\0", "\0"),
     (r"\x41", "A"), (r"\u0041", "A"), (r"\u{1F600}", "😀"), (r"\u{0000041}", "A"),
     (r"\uD83D\uDE00", "😀"), (r"\t", "\t"), (r"\v", "\v"), (r"\é", "é")],
)  # fmt: skip
def test_escapes_name_characters(escape: str, character: str) -> None:
    assert body(escape) == Text(character, ECMA, 0)
    assert body(f"[{escape}]") == Class((ord(character),), False, ECMA, 0)


def test_surrogates_that_are_no_pair_stay_alone() -> None:
    assert body(r"\uD83Dx").items[0].text == "\ud83d"
    assert body(r"\uDE00") == Text("\ude00", ECMA, 0)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [(r"\p{Lu}", "Lu"), (r"\p{Uppercase_Letter}", "Lu"), (r"\p{gc=Lu}", "Lu"),
     (r"\p{General_Category=Letter}", "L"), (r"\p{digit}", "Nd"), (r"\p{punct}", "P"),
     (r"\p{Any}", "Any"), (r"\p{ASCII}", "ASCII"), (r"\p{Assigned}", "Assigned")],
)  # fmt: skip
def test_properties_go_by_their_short_name(pattern: str, name: str) -> None:
    assert body(pattern) == Shorthand(name, False, ECMA, 0)
    assert body(pattern.replace("p{", "P{")) == Shorthand(name, True, ECMA, 0)


def test_every_general_category_has_a_name_in_two_lengths() -> None:
    assert len({name for name in PROPERTIES.values() if len(name) <= 2}) == 38


def test_brackets_may_be_empty() -> None:
    assert body("[]") == Class((), False, ECMA, 0)
    assert body("[^]") == Class((), True, ECMA, 0)


def test_a_hyphen_beside_a_shorthand_is_a_hyphen() -> None:
    word = Shorthand("word", False, ECMA, 1)
    assert body(r"[\w-.]") == Class((word, ord("-"), ord(".")), False, ECMA, 0)
    assert body(r"[\w-]") == Class((word, ord("-")), False, ECMA, 0)


def test_anchors_and_groups() -> None:
    assert body("^$") == Sequence((Anchor("text start", 0), Anchor("text end", 1)), 0)
    assert body("(?<year>a)").name == body("(?P<year>a)").name == "year"
    assert body(".", "s") == Dot(Mode("ecma", dot_all=True), 0)
    assert body("a", "u") == Text("a", ECMA, 0)


@pytest.mark.parametrize("pattern", ["]", "}", "{", "{a}", "a{", "x{1", "a{ 1}", "#a b"])
def test_what_annex_b_lets_through_is_a_character(pattern: str) -> None:
    parts = body(pattern)
    texts = [parts] if isinstance(parts, Text) else parts.items
    assert "".join(part.text for part in texts) == pattern


@pytest.mark.parametrize(
    ("pattern", "position", "words"),
    [
        ("a{,5}", 1, "{0,5}"[:3]),
        (r"[\A]", 1, "is ^"),
        (r"[\Z]", 1, "is $"),
        (r"[\z]", 1, "$ in JSON Schema"),
        (r"\a", 0, r"\x07"),
        (r"\U0001F600", 0, r"\u{…}"),
        (r"\N{EM DASH}", 0, r"\u{…}"),
        (r"\01", 0, "not an escape"),
        (r"[\1]", 1, "not an escape"),
        (r"\1", 0, "no group 1"),
        (r"\c1", 0, "needs a letter"),
        (r"\u{110000}", 0, "10FFFF"),
        (r"\u12", 0, "4 hexadecimal digits"),
        (r"\pX", 0, "braces"),
        (r"\x{110000}", 0, "10FFFF"),
        (r"\x4", 0, "2 hexadecimal digits"),
        ("(?#a", 0, "is not closed"),
        ("a(?x)b", 1, "the flags are i, s"),
        ("(?u:a)", 0, "the flags are i, s"),
        ("(?i-i:a)", 0, "both on and off"),
        ("a*+", 2, "repeated already"),
        ("(?(1)a)", 0, "unknown extension"),
        ("^*", 1, "nothing to repeat"),
    ],
)
def test_an_error_points_at_what_is_wrong(pattern: str, position: int, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        body(pattern)
    assert caught.value.position == position
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "feature"),
    [("(?i)a", "inline flags"), ("(?m:^a)", "flag m"), ("a(?m)^b", "flag m"),
     ("[[:^alpha:]]", "[:^…:]"), (r"\p{Script=Greek}", r"\p{Script=…}"),
     (r"\p{Greek}", r"\p{Greek}"), ("(?>a)", "atomic group")],
)  # fmt: skip
def test_what_is_not_supported_is_refused_by_name(pattern: str, feature: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        body(pattern)
    assert caught.value.feature == feature


def test_ecma_looks_back_over_anything_and_names_its_references() -> None:
    assert parse_regex(r"(?<=a*)(?<x>a)\k<x>", "ecma").backs
    with pytest.raises(SourceError, match="no group before this place has that name"):
        body(r"(?<x>a)\k<y>")
    with pytest.raises(SourceError, match="nothing to repeat"):
        body("(?=a)*")


def test_an_unknown_property_has_a_near_name() -> None:
    with pytest.raises(UnsupportedError, match="did you mean 'Letter'"):
        body(r"\p{Leter}")


def test_flags_of_javascript_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="flag m has different lines"):
        body("a", "m")
    with pytest.raises(UnsupportedError, match="flag v"):
        body("a", "v")
    with pytest.raises(SourceError, match="'x' is not a flag"):
        body("a", "x")


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
