r"""Patterns of pydantic's engines: what is found is the same, and the rest is refused by name."""

import json
import re
import unicodedata
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.language.derivative import Derivatives
from guideway.python_types.patterns import TRIMMED, Engine, translate
from guideway.python_types.place import Place
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from guideway.regex.tree import Class, Shorthand
from guideway.regex.unicode import class_points, shorthand_points
from plain_texts import matches
from random_walks import BYTES

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
    return matches(Derivatives(lower_regex(parse_regex(pattern, "ecma"))), text)


@pytest.mark.parametrize("letter", "dsw")
def test_a_shorthand_is_the_same_set_of_characters_in_rust(letter: str) -> None:
    validator = TypeAdapter(Annotated[str, Field(pattern=rf"^\{letter}$")]).validator
    rust = {c for c in ASSIGNED if validator.isinstance_python(c)}
    assert members(translate(rf"[\{letter}]", "rust", AT)) & ASSIGNED == rust


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
    "written", [r"\p{%s}", r"\P{%s}", r"[\p{%s}\d]", r"[^\p{%s}]", r"[^\P{%s}]"]
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
        (r"\Aa.c\z", r"^a[^\n]c$"), (r"^(?P<x>a|b)*$", "^(?:a|b)*$"),
        (r"(a|\d)?b+c*d{2,}e{1,3}", r"(?:a|\p{Nd})?b+c*d{2,}e{1,3}"),
        (r"[^\d]", r"[^\p{Nd}\p{Cn}]"), (r"[^\D]", r"\p{Nd}"),
        (r"[\Da-c]", r"(?:[a-c]|[^\p{Nd}\p{Cn}])"), (r"\P{Lu}", r"[^\p{Lu}\p{Cn}]"),
        (r"[\[\]\-é]\d", r"[\[\]\-\u{e9}]\p{Nd}"), ("a&&b", r"a\&\&b"),
        ("a{ 3 }b{1, 2}[{1, 2}]", r"a{3}b{1,2}[\{1\, 2\}]"), ("\\d{1 ,\t2}", r"\p{Nd}{1,2}"),
        (r"\{1, 2}", r"\{1\, 2\}"), ("[[:alpha:]_]", "[A-Za-z_]"), (r"[]a][^\]]", r"[\]a][^\]]"),
        (r"\x{41}\u{e9}\pL\PN\a", r"A\u{e9}\p{L}[^\p{N}\p{Cn}]\u{7}"), ("(?<a>x)", "(?:x)"),
        ("(?i)^(yes|no)$", r"^(?:[Yy][Ee][Ss\u{17f}]|[Nn][Oo])$"), ("a(?i:b)c", "a(?:[Bb])c"),
        ("(?i)[^k]", r"[^kK\u{212a}\p{Cn}]"), ("(?ms)^.$", r"(?<![^\n])[\s\S](?![^\n])"),
    ],
)  # fmt: skip
def test_what_rust_reads_is_printed_for_ecma(pattern: str, printed: str) -> None:
    assert translate(pattern, "rust", AT) == printed


@pytest.mark.parametrize(("pattern", "printed"), [
    (r"b\d$", r"(?u)b\d$"),
    ("(?i)a", "(?i)a"),
    (re.compile(r"^a.$", re.DOTALL), r"(?s)^a.$"),
    (re.compile(r"(?m)^\w", re.ASCII), r"(?ma)^\w"),
    ("", "(?u)"),
])  # fmt: skip
def test_what_python_reads_gets_its_flags(pattern: str | re.Pattern[str], printed: str) -> None:
    assert translate(pattern, "python", AT) == printed


OF_PYTHON = [
    r"^(?=.*\d)(?=.*[A-Z])[A-Za-z\d]{3,12}$", r"^(['\"])\w*\1$", r"(?i)^(yes|no)$", r"(?i)[^k]$",
    r"^\w+$", r"(?<!a)b$", r"\bé\b", "a$b|c$", re.compile("^a.$", re.MULTILINE | re.DOTALL),
    re.compile("a b  # two", re.VERBOSE),
    re.compile(r"^\w\s$", re.ASCII), "(?x) a # (any",
]  # fmt: skip
TEXTS = [
    *("", "a", "b", "ab", "Ab1", "ab1", "yes", "YeS", "yeſ", "K", "\u212a", "é", "aé", "é b",
      "a\n"),
    *("a\n", "a\nb", "x\na\n", "'a'", "'a\"", "c\n", "c\nc", "a ", "é ", "٣", "ß", "ẞ", "İ", "ı"),
]  # fmt: skip


@pytest.mark.parametrize("pattern", OF_PYTHON, ids=str)
def test_what_re_finds_is_on_offer(pattern: Any) -> None:
    kind: Any = Annotated[str, Field(pattern=pattern)]
    adapter = TypeAdapter(kind, config=ConfigDict(regex_engine="python-re"))
    constraint = gw.compile(adapter, BYTES)
    for text in TEXTS:
        try:
            adapter.validate_python(text)
        except ValidationError:
            assert not constraint.matches(json.dumps(text)), text
        else:
            assert constraint.matches(json.dumps(text)), text


LEAVES = [
    *("a", "B", "k", "é", "ſ", "ß", r"\x{4b}", r"\u{e9}", ".", r"\d", r"\w", r"\W", r"\s", r"\S"),
    *("[a-cK]", "[^a-c]", r"[\da]", "[[:upper:]]", "[]b]", r"[^\w]", r"\p{Lu}", r"\pN", r"\n"),
    *("^", "$", r"\A", r"\z", r"\b", r"\B", "(?i:[^k]s)", "(?s:.)", "(?m:^)", "(?m:$)"),
]


@st.composite
def of_rust(draw: st.DrawFn, depth: int = 3) -> str:
    leaf = draw(st.sampled_from(LEAVES))
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return leaf
    first, second = draw(of_rust(depth - 1)), draw(of_rust(depth - 1))
    forms = [f"{first}{second}", f"(?:{first}|{second})", f"(?:{first})?{second}", f"(?:{first})+"]
    return draw(st.sampled_from([*forms, f"(?<n{depth}>{first})", f"{leaf}{{1, 2}}"]))


@settings(max_examples=30)
@given(of_rust(), st.sampled_from(["", "", "(?i)", "(?im)", "(?s)"]))
def test_what_rust_finds_is_on_offer(body: str, flags: str) -> None:
    pattern = flags + body
    kind = Annotated[str, Field(pattern=pattern)]
    try:
        adapter = TypeAdapter(kind)
    except SchemaError:  # of two groups with one name, say
        return
    found = [text for text in TEXTS if adapter.validator.isinstance_python(text)]
    try:
        constraint = gw.compile(kind, BYTES)
    except gw.UnsatisfiableError:
        assert not found
    except (gw.UnsupportedError, gw.LimitError):
        return
    else:
        assert [text for text in TEXTS if constraint.matches(json.dumps(text))] == found


def test_case_is_folded_as_rust_folds_it() -> None:
    cased = [c for c in ASSIGNED if len({c, c.lower(), c.upper(), c.title(), c.casefold()}) > 1]
    for letter in "kſßΣÅДꭰẞﬆΐǅİıⱥⅣⓐ𐐀":
        validator = TypeAdapter(Annotated[str, Field(pattern=f"(?i)^{letter}$")]).validator
        rust = {c for c in [*cased, letter] if validator.isinstance_python(c)}
        assert members(translate(f"(?i)[{letter}]", "rust", AT)) & ASSIGNED == rust, letter


@pytest.mark.parametrize(("pattern", "engine", "named"), [
    ("[[a-c]x]", "rust", "a class inside a class"),
    ("[a&&b]", "rust", "a class inside a class"),
    (r"\<a", "rust", "a word boundary"),
    (r"\b{start}a", "rust", "a word boundary"),
    (r"(?i)\p{Lu}", "rust", "a property under flag i"),
    (r"\p{Greek}", "rust", r"\p{Greek}"),
    (r"[^\W\d]", "rust", r"the opposite of a class that holds \D, \S or \W"),
    ("(?>a)", "python", "atomic group"),
    ("a++", "python", "possessive quantifier"),
])  # fmt: skip
def test_what_is_not_known_is_refused_by_name(
    pattern: str | re.Pattern[str], engine: Engine, named: str
) -> None:
    with pytest.raises(UnsupportedError) as refused:
        translate(pattern, engine, AT)
    assert refused.value.feature == named
    assert refused.value.place == "T"


@pytest.mark.parametrize("text", ["", "a", " ", "a\u3000", "\x85a", "a b", "\ufeffa", "\u200ba"])
def test_a_trimmed_text_is_one_that_rust_would_not_trim(text: str) -> None:
    strip = TypeAdapter(Annotated[str, StringConstraints(strip_whitespace=True)])
    assert is_in(TRIMMED, text) is (strip.validate_python(text) == text)
