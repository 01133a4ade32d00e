"""Formats against what their rules say, against `ipaddress` and `re`, and their outer bounds."""

import ipaddress
import json
import random
import re

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.json_schema.formats import format_bound, lower_format
from guideway.json_schema.tree import FORMATS
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from json_schemas import draw, machine, matches

MACHINES: dict[str, Derivatives] = {}
DAY = "2024-02-29T23:59:59Z"


def accepted(name: str, text: str) -> bool:
    if name not in MACHINES:
        MACHINES[name] = machine({"type": "string", "format": name}, whitespace="compact")
    return matches(MACHINES[name], json.dumps(text, ensure_ascii=False))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "duration",
            ["P1Y2M3DT4H5M6S", "P2W", "PT36H", "P1M2D", "PT1M2S", "P0D", "P01D"],
            [
                "",
                "P",
                "PT",
                "P1Y2D",
                "P1YT",
                "PT1H2S",
                "P1Y2W",
                "PT0.5S",
                "P1D\n",
                "-P1D",
                "PT1D",
                "p1D",
            ],
        ),
        (
            "hostname",
            [
                "a",
                "www.example.com",
                "1host",
                "a--b.com",
                "h-4.x",
                "a" * 63,
                "ab-c",
                "a-b",
                ".".join(["a" * 62] * 4)[:253],
            ],
            [
                "",
                ".",
                "a.",
                ".a",
                "-a",
                "a-",
                "a_b",
                "a" * 64,
                "xn--X",
                "ab--c",
                "12--a",
                "\u212aa",
                "a b",
                ".".join(["a" * 62] * 4)[:253] + "bb",
            ],
        ),
        (
            "ipv6",
            [
                "::",
                "::1",
                "1::",
                "1:2:3:4:5:6:7::",
                "::2:3:4:5:6:7:8",
                "1:2:3:4:5:6:7:8",
                "::ffff:1.2.3.4",
                "1:2:3:4:5:6:1.2.3.4",
                "1:2:3:4:5::1.2.3.4",
            ],
            [
                "",
                ":",
                "1:2:3:4:5:6:7",
                "1::2::3",
                "::12345",
                "1:2:3:4:5:6:7:8::",
                "::1.2.3.04",
                "fe80::a%1",
                "1:2:3:4:5:6:7:1.2.3.4",
                "[::]",
                ":::",
            ],
        ),
        (
            "idn-email",
            [
                "\u03b4\u03bf@example.com",
                '"\u03b4 b"@b',
                "a@\uc2e4\ub840.\ud14c",
                "a@cafe\u0301.x",
                "\U0001d54f@b",
                "\x85@b",
                "\u4e00" * 21 + "a@b",
                "a@[127.0.0.1]",
                "\u03b4" * 32 + "@b",
            ],
            [
                "a",
                "a\uff20b",
                "\u4e00" * 22 + "@b",
                "\u03b4" * 33 + "@b",
                "a@\u0301b",
                "a@b-",
                "a..b@c",
                "a@\u2003",
            ],
        ),
        (
            "uri",
            [
                "http://a.b/?c=d#e",
                "urn:x:y",
                "mailto:a@b",
                "a:",
                "ldap://[2001:db8::7]/c?d",
                "x://[v1.a:b]",
                "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
                "http://999.1.1.1/",
                "file:///etc",
            ],
            [
                "",
                "//a",
                "abc",
                "1a:b",
                "a b:",
                "http://[::1",
                "http://a:b",
                "http://[1.2.3.4]",
                "http://a/\xe9",
                "http://a/%4",
                "http://a/{b}",
                "http:/[::1]",
                "x:a\\b",
                "http://a#b#c",
            ],
        ),
        (
            "uri-reference",
            ["", "//", "/a", "#f", "?q", "a", "./a:b", "a/b:c", "../a//b", "//a@b:8/c", "x:y"],
            ["1:b", "#a\\b", "/%zz", '/a"b', "//a@b@c/", "//a:b/", "/[::1]", "\xe9"],
        ),
        (
            "iri",
            ["http://\u0192\xf8.x/?q=\ue000#\u03c0", "a:\U00010300", "a:?\U000f0000"],
            [
                "/\xe9",
                "http://a/\ue000",
                "a:\ufdd0",
                "a:\U0001ffff",
                "a: ",
                "http://[::ffff:1.2.3.04]",
            ],
        ),
        (
            "iri-reference",
            ["", "\u03c0\u03c0", "//\xe9/", "#\u0192r"],
            ["\\\\a", "#a\\b", "\u2028 "],
        ),
        (
            "uri-template",
            ["", "a/{b:3}/{+c,d*}", "{?a.b}", "{%41}", "{v:9999}", "a'b", "\xe9%41", "{#x}{/y}"],
            [
                "{}",
                "{a",
                "a}",
                "{a,}",
                "{a,,b}",
                "{v:0}",
                "{v:01}",
                "{v:10000}",
                "a b",
                "{a..b}",
                "{a=b}",
                "%4",
                "{,+a}",
                "<",
                "\x7f",
            ],
        ),
        (
            "json-pointer",
            ["", "/", "/a/b~0~1", "//", "/\x00\n\xe9"],
            ["a", "#", "/~", "/~2", "/a~"],
        ),
        (
            "relative-json-pointer",
            ["0", "1/a", "0#", "120//", "10"],
            ["", "01", "0##", "-1", "/a", "1#/a", "0/~2", "\u0661", "0+1"],
        ),
    ],
)
def test_what_a_rule_allows_is_in_and_what_it_forbids_is_out(name, right, wrong):
    assert [text for text in right if not accepted(name, text)] == []
    assert [text for text in wrong if accepted(name, text)] == []


@given(st.text(st.sampled_from("0123abcf:.%"), max_size=20))
def test_ipv6_addresses_are_those_that_ipaddress_reads(text):
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        expected = False
    else:
        expected = "%" not in text
    assert accepted("ipv6", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "^a|b$",
        "(a|(?:b|c)+)*?",
        "[a-z0-9_-]{2,3}",
        r"\d+\.\w[^\s]",
        "(?=a)b",
        "a{3}",
        "a{1,}",
        "a{2,10}",
        "[-a]",
        "[-]",
        "[a-]",
        r"[\]\\]",
        "a||b",
        "(((((((a)))))))",
        "\xe9",
        r"\u00e9\x41",
        r"^[^@]+@[^@]+\.com$",
    ],
)
def test_common_patterns_have_the_format_regex(text):
    assert accepted("regex", text)


@pytest.mark.parametrize(
    "text",
    [
        "(",
        ")",
        "(a",
        "a)",
        "[",
        "[a",
        "*",
        "a**",
        "(?a)",
        "a{3,2}",
        "[z-a]",
        "\\",
        "\\Z",
        "(?P<a>b)",
        "(?i)a",
        "^*",
        "(?=a)*",
        "a{20,10}",
        r"\a",
        "(?#a)",
    ],
)
def test_what_is_no_pattern_has_not_the_format_regex(text):
    assert not accepted("regex", text)


@pytest.mark.untraced
def test_what_is_drawn_as_a_regex_python_compiles():
    engine = machine({"type": "string", "format": "regex"})
    for seed in range(200):
        re.compile(json.loads(draw(engine, random.Random(seed), steps=25)))


@pytest.mark.untraced
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_outside_the_bound_of_a_format_is_not_in_the_format(name):
    def match(pattern: str) -> Expr:
        return lower_regex(parse_regex(pattern, "ecma"))

    inner, outer = Derivatives(lower_format(name, match)), Derivatives(format_bound(name, match))
    for seed in range(5):
        text = draw(inner, random.Random(seed), steps=12)
        assert matches(outer, text), text


def test_names_in_punycode_are_inside_the_bound_only():
    def match(pattern: str) -> Expr:
        return lower_regex(parse_regex(pattern, "ecma"))

    assert not accepted("hostname", "xn--ngba1o")
    assert matches(Derivatives(format_bound("hostname", match)), "xn--ngba1o")
    assert matches(Derivatives(format_bound("regex", match)), "(?<=a)")


def in_bound(name: str, text: str) -> bool:
    def match(pattern: str) -> Expr:
        return lower_regex(parse_regex(pattern, "ecma"))

    return matches(Derivatives(format_bound(name, match)), text)


@pytest.mark.parametrize(
    ("name", "read", "texts"),
    [
        (
            "regex",
            re.compile,
            ["*a", "+", "?", ")", "a\\", "[a", "(?:", "[\\", "(a", "a|((b|c", "(?"],
        ),
        (
            "idn-hostname",
            idna.encode,
            ["::", "a b", "a..b", ".a", ".", "", "a_b", "\x7f", "a\u3002\u3002b"],
        ),
    ],
)
def test_what_is_outside_a_bound_nobody_reads(name, read, texts):
    for text in texts:
        with pytest.raises((re.error, idna.IDNAError)):
            read(text)
        assert not in_bound(name, text), text


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "regex",
            [r"(?<n>a)\k<n>", "[]", "[^]", r"\cA", "(?<=a+)b", "[(]", "[)]", r"\(", "{", "]", ""],
        ),
        (
            "idn-hostname",
            ["\u03c0\u03b1" * 25 + "\uff0ecom", "xn--ihqwcrb4cv8a8dqg056pqjye", "a.", "\xdf"],
        ),
    ],
)
def test_what_somebody_reads_is_in_the_bound(name, texts):
    for text in texts:
        assert in_bound(name, text), text


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "not": {"format": "idn-hostname"}}, "::"),
        ({"type": "string", "not": {"format": "regex"}}, "("),
        ({"if": {"format": "idn-hostname"}, "then": {"type": "integer"}, "else": {}}, "::"),
        ({"oneOf": [{"type": "string", "format": "regex"}, {"const": "("}]}, "("),
        ({"type": "string", "format": "date-time", "not": {"format": "idn-hostname"}}, DAY),
    ],
)
def test_what_is_plainly_of_no_format_satisfies_its_opposite(schema, text):
    assert matches(machine(schema), json.dumps(text))


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("l\xb7l", True),
        ("l\xb7l\xb7l", True),
        ("l\xb7a", False),
        ("a\u0375\u03b1", True),
        ("\u03b1\u0375a", False),
        ("\u05d0\u05f3", True),
        ("\u05f3\u05d0", False),
        ("\u30fb\u3041", True),
        ("a\u30fb", False),
        ("\u0628\u0660", True),
        ("\u0628\u0660\u06f0", False),
        ("\u0628\u06f0\u0660", False),
        ("\u0628\u200c\u0628", True),
        ("\u0628\u200ca", False),
        ("\u0915\u094d\u200d\u0937", True),
        ("\u0915\u200d\u0937", False),
        ("\u4e00-\u4e00", True),
        ("\u4e00--\u4e00", False),
        ("-\u4e00", False),
        ("\u4e00-", False),
        ("\u0903a", False),
        ("a\u0903", True),
        ("e\u0301", False),
        ("\u4e00" * 7, True),
        ("\u4e00" * 8, False),
        ("\u05d01", True),
        ("1\u05d0", False),
        ("\u05d0a", False),
        ("a\u05d0", False),
        ("\u05d0-\u05d0", True),
        ("\u05d0\u05b0", True),
        ("\u05d01\u0661", False),
        ("a.\u05d0.b-1", True),
        ("1.\u05d0", False),
        ("\u05d0.1", False),
        ("\u05d0.\u4e001\u0301", False),
        ("\u05d0.\u4e001-\u4e00", True),
        ("\u4e00\u3002b\uff0ec", True),
        ("a.b.\u4e00.d", False),
        ("\u05d0.\u4e00\u0661", False),
    ],
)
def test_labels_in_unicode_follow_contexts_composition_and_direction(label, expected):
    assert accepted("idn-hostname", label) == expected
