r"""Foreign patterns in ECMA-262: \d, \w and \s are the same sets, the rest is refused by name."""

import re
import unicodedata
from typing import Annotated

import pytest
from pydantic import Field, StringConstraints, TypeAdapter

from guideway.automata.derivative import Derivatives
from guideway.errors import UnsupportedError
from guideway.lowering.characters import class_points, shorthand_points
from guideway.lowering.regex import lower_regex
from guideway.syntax.python_types_place import Place
from guideway.syntax.python_types_regex import Engine, translate, trimmed
from guideway.syntax.regex import parse_regex
from guideway.syntax.regex_tree import Class, Shorthand
from type_oracle import check_offers

AT = Place("T")
CHARACTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
ASSIGNED = {c for c in CHARACTERS if unicodedata.category(c) != "Cn"}


def members(pattern: str) -> set[str]:
    """The characters that a pattern of one class stands for."""
    body = parse_regex(pattern, "ecma").body
    assert isinstance(body, Class | Shorthand)
    points = class_points(body) if isinstance(body, Class) else shorthand_points(body)
    return {chr(code) for low, high in points for code in range(low, high + 1)} & set(CHARACTERS)


def is_in(pattern: str, text: str) -> bool:
    language = Derivatives(lower_regex(parse_regex(pattern, "ecma")))
    state = language.start()
    for byte in text.encode():
        state = state and language.step(state, byte)
    return state is not None and language.accepts(state)


@pytest.mark.parametrize("letter", "dsw")
def test_a_shorthand_is_the_same_set_of_characters_in_rust(letter: str) -> None:
    validator = TypeAdapter(Annotated[str, Field(pattern=rf"^\{letter}$")]).validator
    rust = {c for c in ASSIGNED if validator.isinstance_python(c)}
    assert members(translate(rf"[\{letter}]", "rust", AT)) & ASSIGNED == rust


@pytest.mark.parametrize("letter", "dsw")
def test_a_shorthand_is_the_same_set_of_characters_in_python(letter: str) -> None:
    python = set(re.findall(rf"\{letter}", "".join(CHARACTERS)))
    assert members(translate(rf"[\{letter}]", "python", AT)) == python


@pytest.mark.parametrize(
    "pattern",
    [r"\p{Cn}", r"\p{C}", r"[\p{Other}]", r"\P{Cn}", r"\P{C}", r"[^\p{C}]", r"[^\P{C}]", r"\P{L}"],
)
def test_unassigned_characters_are_those_that_no_unicode_assigns(pattern: str) -> None:
    validator = TypeAdapter(Annotated[str, Field(pattern=f"^{pattern}$")]).validator
    offered = members(translate(pattern, "rust", AT))
    assert offered
    assert all(map(validator.isinstance_python, offered))


@pytest.mark.parametrize("name", ["Mn", "Mc", "M", "Ll", "Lo", "LC", "L"])
@pytest.mark.parametrize(
    "written", [r"\p{%s}", r"\P{%s}", r"[\p{%s}\d]", r"[^\p{%s}]", r"[^\P{%s}]", r"[\P{%s}a]"]
)
def test_what_another_unicode_puts_elsewhere_is_not_on_offer(name: str, written: str) -> None:
    """U+1171E has left Mn, and U+0295 Ll: which Unicode is pydantic's, and which Python's?"""
    pattern = written.replace("%s", name)
    printed = translate(f"^(?:{pattern})$", "rust", AT)
    undecided = {"M": "\U0001171e", "L": "\u0295"}[name[0]] if len(name) > 1 else ""
    assert not is_in(printed, undecided)
    other = {"M": "\u0295", "L": "\U0001171e"}[name[0]]
    validator = TypeAdapter(Annotated[str, Field(pattern=f"^(?:{pattern})$")]).validator
    for character in f"{other}\u0300\u0903aAº1":
        assert is_in(printed, character) is validator.isinstance_python(character), character


@pytest.mark.parametrize(
    ("pattern", "printed"),
    [
        (r"^\d{3}$", r"^\p{Nd}{3}$"),
        (r"\Aab\z", "^ab$"),
        (r"a.c", r"a[^\n]c"),
        (r"^(?P<x>a|b)*$", "^(?P<x>a|b)*$"),
        (r"(a|\d)?b+c*d{2,}e{1,3}", r"(?:a|\p{Nd})?b+c*d{2,}e{1,3}"),
        (r"[^\d]", r"[^\p{Nd}\p{Cn}]"),
        (r"[^\D]", r"\p{Nd}"),
        (r"[\Da-c]", r"(?:[a-c]|[^\p{Nd}\p{Cn}])"),
        (r"\p{Lu}\P{Lu}", r"\p{Lu}[^\p{Lu}\p{Cn}]"),
        (r"[\[\]\-é]\d", r"[\[\]\-\u{e9}]\p{Nd}"),
        ("a&&b", "a&&b"),
        ("a{ 3 }b{1, 2}[{1, 2}]", "a{3}b{1,2}[{1, 2}]"),
        ("\\d{1 ,\t2}", r"\p{Nd}{1,2}"),
    ],
)
def test_what_rust_reads_is_printed_for_ecma(pattern: str, printed: str) -> None:
    assert translate(pattern, "rust", AT) == printed


@pytest.mark.parametrize(
    ("pattern", "printed"),
    [
        (r"b\d$", r"b\p{Nd}(?:\n)?$"),
        (r"(a|b$)", r"(?:a|b(?:\n)?$)"),
        (re.compile(r"^a.$", re.DOTALL), r"^a[\s\S](?:\n)?$"),
        (re.compile(r"\w\s\d\Z", re.ASCII), r"[_0-9A-Za-z][\t-\r ][0-9]$"),
        (re.compile(r"a b  # two", re.VERBOSE), "ab"),
        ("", ""),
    ],
)
def test_what_python_reads_is_printed_for_ecma(
    pattern: str | re.Pattern[str], printed: str
) -> None:
    assert translate(pattern, "python", AT) == printed


@pytest.mark.parametrize(
    ("pattern", "engine", "named"),
    [
        ("[[:alpha:]]", "rust", "a class inside a class"),
        ("[a&&b]", "rust", "a class inside a class"),
        ("[]a]", "rust", "a class inside a class"),
        (r"\<a", "rust", "a word boundary"),
        (r"\bfoo", "rust", "word boundary"),
        ("(?i)a", "rust", "inline flags"),
        (r"\p{Greek}", "rust", r"\p{Greek}"),
        (r"[^\W\d]", "rust", r"the opposite of a class that holds \D, \S or \W"),
        (re.compile("a", re.IGNORECASE), "python", "flag i"),
        (re.compile("^a", re.MULTILINE), "python", "flag m"),
        ("a$b", "python", "$ before the end of a pattern"),
        (r"(a)\1", "python", "backreference"),
    ],
)
def test_what_ecma_cannot_say_is_refused_by_name(
    pattern: str | re.Pattern[str], engine: Engine, named: str
) -> None:
    with pytest.raises(UnsupportedError) as refused:
        translate(pattern, engine, AT)
    assert refused.value.feature == named
    assert refused.value.place == "T"


@pytest.mark.parametrize("text", ["", "a", " ", "a\u3000", "\x85a", "a b", "\ufeffa", "\u200ba"])
def test_a_trimmed_text_is_one_that_rust_would_not_trim(text: str) -> None:
    strip = TypeAdapter(Annotated[str, StringConstraints(strip_whitespace=True)])
    assert is_in(trimmed(), text) is (strip.validate_python(text) == text)


def test_counts_may_have_blanks_in_rust() -> None:
    check_offers(
        Annotated[str, Field(pattern="^a{1, 2}$")], ['"a"', '"aa"'], ['"aaa"', '"a{1, 2}"']
    )
    check_offers(Annotated[str, Field(pattern=r"^\{1, 2}$")], ['"{1, 2}"'], ['"{1,2}"'])
    check_offers(Annotated[str, Field(pattern="^[{1, 2}]$")], ['" "', '"{"'], ['"a"'])
