"""Formats against the calendar, the clock, `ipaddress`, `uuid`, and two validators."""

import calendar
import ipaddress
import json
import random
import re

import idna
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.api.linting.enforcement import enforcement
from guideway.errors import UnsatisfiableError
from guideway.json_schema.formats import format_bound, is_plain_format, lower_format
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import PLAIN, Spelling
from guideway.json_schema.tree import FORMATS
from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES, both, complement, repeat
from guideway.language.nodes import Expr
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from json_schemas import machine, quote, verdict
from plain_texts import draw, matches

MACHINES: dict[str, Derivatives] = {}


def ecma(pattern: str) -> Expr:
    return lower_regex(parse_regex(pattern, "ecma"))


def accepted(name: str, text: str) -> bool:
    if name not in MACHINES:
        MACHINES[name] = machine({"type": "string", "format": name}, whitespace="compact")
    return matches(MACHINES[name], json.dumps(text, ensure_ascii=False))


@pytest.mark.untraced
def test_every_day_of_two_centuries_is_a_date_and_nothing_else_is():
    engine = machine({"type": "string", "format": "date"}, whitespace="compact")
    for year in range(1899, 2102):
        before = read(engine, engine.start(), f'"{year}-')
        for month in range(14):
            opened = read(engine, before, f"{month:02}-")
            days = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
            found = [n for n in range(33) if read(engine, opened, f'{n:02}"') is not None]
            assert found == list(range(1, days + 1))


def read(engine: Derivatives, state: Expr | None, text: str) -> Expr | None:
    for byte in text.encode():
        state = None if state is None else engine.step(state, byte)
    return state


@pytest.mark.untraced
def test_february_has_a_29th_exactly_in_leap_years():
    for year in range(1, 10_000):
        assert accepted("date", f"{year:04}-02-29") == calendar.isleap(year)
    assert not accepted("date", "0000-01-01")
    assert not accepted("date", "0000-02-29")


CLOCK = st.tuples(st.integers(0, 24), st.integers(0, 60), st.integers(0, 61))
OFFSET = st.tuples(st.sampled_from("+-"), st.integers(0, 24), st.integers(0, 60))


def is_time(hour: int, minute: int, second: int, offset: tuple[str, int, int] | None) -> bool:
    sign, hours, minutes = offset or ("+", 0, 0)
    shift = (hours * 60 + minutes) * (-1 if sign == "+" else 1)
    usual = second <= 59 or (second == 60 and (hour * 60 + minute + shift) % 1440 == 1439)
    return hour <= 23 and minute <= 59 and hours <= 23 and minutes <= 59 and usual


@given(
    CLOCK, OFFSET | st.none(), st.sampled_from(["", ".0", ".123456789012"]), st.sampled_from("Zz")
)
def test_times_are_those_of_the_clock(clock, offset, fraction, utc):
    hour, minute, second = clock
    end = utc if offset is None else f"{offset[0]}{offset[1]:02}:{offset[2]:02}"
    text = f"{hour:02}:{minute:02}:{second:02}{fraction}{end}"
    expected = is_time(hour, minute, second, offset)
    assert accepted("time", text) == expected
    for separator in "Tt":
        assert accepted("date-time", f"2024-02-29{separator}{text}") == expected
    assert not accepted("date-time", f"2023-02-29T{text}")
    assert not accepted("date-time", f"2024-02-29 {text}")


@pytest.mark.untraced
@pytest.mark.parametrize("sign", [1, -1])
def test_second_sixty_goes_with_exactly_one_local_time_for_each_offset(sign):
    for shift in range(0, 1440, 7):
        local = (1439 + sign * shift) % 1440
        end = f"{'+' if sign > 0 else '-'}{shift // 60:02}:{shift % 60:02}"
        for minute in {local, (local + 1) % 1440, (local + 60) % 1440, (local - 1) % 1440}:
            text = f"{minute // 60:02}:{minute % 60:02}:60{end}"
            assert accepted("time", text) == (minute == local), text


@given(st.uuids(), st.booleans(), st.integers(0, 35))
def test_uuids_have_their_five_groups(value, upper, position):
    text = str(value).upper() if upper else str(value)
    assert accepted("uuid", text)
    assert not accepted("uuid", text[:position] + text[position + 1 :])
    assert not accepted("uuid", text[:position] + "g" + text[position + 1 :])
    assert not accepted("uuid", f"{{{text}}}")


PARTS = st.integers(0, 300).map(str) | st.sampled_from(["00", "01", "", "1e1", "٣"])


def is_address(kind, text):
    try:
        kind(text)
    except ValueError:
        return False
    return text.isascii() and "%" not in text


@given(st.lists(PARTS, max_size=5).map(".".join), st.text("0123abcf:.%", max_size=20))
def test_addresses_are_those_that_ipaddress_reads(four, six):
    assert accepted("ipv4", four) == is_address(ipaddress.IPv4Address, four)
    assert accepted("ipv6", six) == is_address(ipaddress.IPv6Address, six)


@pytest.mark.untraced
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "regex"])
@pytest.mark.parametrize("seeds", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_what_is_drawn_from_a_format_no_validator_refuses(name, seeds):
    engine = machine({"type": "string", "format": name})
    for seed in range(5 if seeds == 20 and name.startswith("idn-") else seeds):
        text = draw(engine, random.Random(seed))
        assert verdict({"format": name}, json.loads(text)) is not False, text


def test_plain_formats_are_those_whose_strings_are_of_ascii_without_quotes_and_backslashes():
    spelling = Spelling(plain=True)
    others = complement(repeat(spelling.character(PLAIN)))

    def match(pattern):
        return lower_regex(parse_regex(pattern, "ecma"), spelling.character)

    for name in FORMATS:
        machine = Derivatives(both(lower_format(name, match), others), ALL_BYTES)
        assert machine.alive(machine.start()) != is_plain_format(name), name


@pytest.mark.untraced
@pytest.mark.parametrize("name", ["date-time", "time", "uri", "hostname", "idn-hostname", "email"])
def test_beside_lengths_a_format_holds_in_every_spelling_of_so_many_characters(name):
    """Of some formats characters of ASCII are counted, of others all."""
    for seed in range(2):
        text = json.loads(draw(machine({"type": "string", "format": name}), random.Random(seed)))
        for low, high in ((len(text) + n, len(text) + m) for n in (-2, 0, 1) for m in (-1, 0, 9)):
            bounds = {"minLength": max(low, 0), "maxLength": max(high, 0)}
            try:
                engine = machine({"type": "string", "format": name, **bounds})
            except UnsatisfiableError:
                assert not low <= len(text) <= high
                continue
            found = matches(engine, quote(text, random.Random(seed)))
            assert found == (low <= len(text) <= high), (text, bounds)


# Formats against what their rules say, against `ipaddress` and `re`, and their outer bounds.

DAY = "2024-02-29T23:59:59Z"
LABELS = [
    *("\u4e00-\u4e00", "\u4e00" * 10, "\u4e00.b-1", "a.\u4e00", "\u4e00\u3002b\uff0ec"),
    *("stra\xdfe", "\u03b5\u03bb\u03bb\u03ac\u03c2.\u0440\u0444"),
    "\u6771\u4eac\u30bf\u30ef\u30fc1",
]  # fmt: skip


@pytest.mark.parametrize(("name", "right", "wrong"), [
    ("date", ["2024-02-29"],
     ["", "2024-1-01", "2024-01-1", "24-01-01", "02024-01-01", "2024/01/01", "2024-01-01 ",
      " 2024-01-01", "2024-01-01\n", "+2024-01-01", "２０２４-01-01", "2024-W01-1", "20240101"]),
    ("time", ["12:00:00Z"],
     ["", "12:00:00", "12:00Z", "12:00:00.Z", "1:00:00Z", "12:00:00+1:00", "12:00:00+0100",
      "T12:00:00Z", "12:00:00Z ", "12:00:00,5Z", "12:00:00 Z"]),
    ("ipv4", [f"1.{number}.0.255" for number in range(256)],
     [f"1.{number}.0.255" for number in range(256, 300)]),
    ("email",  # RFC 5321
     ["joe.bloggs@example.com", "a@b", "!#$%&'*+/=?^_`{|}~-@b", "a.b.c@x-y.z", "a@123", "a+b@1.2",
      "a" * 64 + "@b", '"joe bloggs"@example.com', '"joe..bloggs"@example.com', '""@b',
      '"joe@bloggs"@example.com', '"a\\"b\\\\"@b', "a@[127.0.0.1]", "a@[IPv6:::1]", "a@[ipV6:::1]",
      "a@[IPv6:1:2:3:4:5:6:7:8]", "a@[IPv6:1:2::7:8]", "a@[IPv6:1:2:3:4:5:6:1.2.3.4]",
      "a@[IPv6:::ffff:1.2.3.4]", "a@" + "b" * 63 + ".c", "a@" + ".".join(["b" * 61] * 4),
      '"' + "a" * 62 + '"@b', '"' + "a" * 60 + '\\""@b'],
     ["", "a", "@b", "a@", ".a@b", "a.@b", "a..b@c", "a b@c", "a@b c", "a@b@c", "a@-b", "a@b-",
      "a@b.", "a@.b", "a@b..c", "a@b_c", "é@b", "a@é", '"a"b"@c', '"a\n"@c', '"\x7f"@c',
      "a" * 65 + "@b", "a@" + "b" * 64, "a@[127.0.0.300]", '"' + "a" * 63 + '"@b',
      '"' + "a" * 61 + '\\""@b', "a@[1.2.3]", "a@[::1]", "a@[IPv6:1::2::3]", "a@b,c@d",
      "a@[IPv6:1:2:3:4:5:6:7]", "a@[IPv6:1:2:3:4:5:6:7:8:9]", "a@[x:y]", "a@[IPv6:12345::]",
      "a@[IPv6:1:2:3:4::5:6:7]"]),
    ("regex",
     ["", "^a|b$", "(a|(?:b|c)+)*?", "[a-z0-9_-]{2,3}", r"\d+\.\w[^\s]", "(?=a)b", "a{3}", "a{1,}",
      "a{2,10}", "[-a]", "[-]", "[a-]", r"[\]\\]", "a||b", "(((((((a)))))))", "\xe9",
      r"\u00e9\x41", r"^[^@]+@[^@]+\.com$"],
     ["(", ")", "(a", "a)", "[", "[a", "*", "a**", "(?a)", "a{3,2}", "[z-a]", "\\", "\\Z",
      "(?P<a>b)", "(?i)a", "^*", "(?=a)*", "a{20,10}", r"\a", "(?#a)"]),
    ("idn-hostname", LABELS,  # letters without marks, and contexts
     ["\u4e00" * 11, "\u4e00--\u4e00", "-\u4e00", "\u4e00-", "a.b.\u4e00.d", "\xc4", "e\u0301",
      "l\xb7a", "\u03b1\u0375a", "a\u30fb", "\u05d0a", "\u4e00\u0661", "\u0915\u200d\u0937"]),
    ("duration", ["P1Y2M3DT4H5M6S", "P2W", "PT36H", "P1M2D", "PT1M2S", "P0D", "P01D"],
     ["", "P", "PT", "P1Y2D", "P1YT", "PT1H2S", "P1Y2W", "PT0.5S", "P1D\n", "-P1D", "PT1D", "p1D"]),
    ("hostname",
     ["a", "www.example.com", "1host", "a--b.com", "h-4.x", "a" * 63, "ab-c", "a-b",
      ".".join(["a" * 62] * 4)[:253]],
     ["", ".", "a.", ".a", "-a", "a-", "a_b", "a" * 64, "xn--X", "ab--c", "12--a", "\u212aa", "a b",
      ".".join(["a" * 62] * 4)[:253] + "bb"]),
    ("ipv6",
     ["::", "::1", "1::", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4",
      "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5::1.2.3.4"],
     ["", ":", "1:2:3:4:5:6:7", "1::2::3", "::12345", "1:2:3:4:5:6:7:8::", "::1.2.3.04",
      "fe80::a%1", "1:2:3:4:5:6:7:1.2.3.4", "[::]", ":::"]),
    ("idn-email",
     ["\u03b4\u03bf@example.com", '"d b"@b', "a@\uc2e4\ub840.\ud14c", "a@caf\xe9.x",
      "\U0001d54f@b", "\x85@b", "\u4e00" * 16 + "@b", "a@[127.0.0.1]", "\u03b4.b@b"],
     ["a", "a\uff20b", "\u4e00" * 17 + "@b", '"\u03b4 b"@b', "a@\u0301b", "a@b-", "a..b@c",
      "a@\u2003"]),
    ("uri",
     ["http://a.b/?c=d#e", "urn:x:y", "mailto:a@b", "a:", "ldap://[2001:db8::7]/c?d",
      "x://[v1.a:b]", "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "http://999.1.1.1/",
      "file:///etc"],
     ["", "//a", "abc", "1a:b", "a b:", "http://[::1", "http://a:b", "http://[1.2.3.4]",
      "http://a/\xe9", "http://a/%4", "http://a/{b}", "http:/[::1]", "x:a\\b", "http://a#b#c"]),
    ("uri-reference",
     ["", "//", "/a", "#f", "?q", "a", "./a:b", "a/b:c", "../a//b", "//a@b:8/c", "x:y"],
     ["1:b", "#a\\b", "/%zz", '/a"b', "//a@b@c/", "//a:b/", "/[::1]", "\xe9"]),
    ("iri", ["http://\u0192\xf8.x/?q=\ue000#\u03c0", "a:\U00010300", "a:?\U000f0000"],
     ["/\xe9", "http://a/\ue000", "a:\ufdd0", "a:\U0001ffff", "a: ", "http://[::ffff:1.2.3.04]"]),
    ("iri-reference", ["", "\u03c0\u03c0", "//\xe9/", "#\u0192r"], ["\\\\a", "#a\\b", "\u2028 "]),
    ("uri-template",
     ["", "a/{b:3}/{+c,d*}", "{?a.b}", "{%41}", "{v:9999}", "a'b", "\xe9%41", "{#x}{/y}"],
     ["{}", "{a", "a}", "{a,}", "{a,,b}", "{v:0}", "{v:01}", "{v:10000}", "a b", "{a..b}", "{a=b}",
      "%4", "{,+a}", "<", "\x7f"]),
    ("json-pointer", ["", "/", "/a/b~0~1", "//", "/\x00\n\xe9"], ["a", "#", "/~", "/~2", "/a~"]),
    ("relative-json-pointer", ["0", "1/a", "0#", "120//", "10"],
     ["", "01", "0##", "-1", "/a", "1#/a", "0/~2", "\u0661", "0+1"]),
])  # fmt: skip
def test_what_a_rule_allows_is_in_and_what_it_forbids_is_out(name, right, wrong):
    assert [text for text in right if not accepted(name, text)] == []
    assert [text for text in wrong if accepted(name, text)] == []
    for label in right if right is LABELS else ():
        idna.encode(label)


@pytest.mark.untraced
def test_what_is_drawn_as_a_regex_python_compiles():
    engine = machine({"type": "string", "format": "regex"})
    for seed in range(200):
        re.compile(json.loads(draw(engine, random.Random(seed), steps=25)))


@pytest.mark.untraced
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_outside_the_bound_of_a_format_is_not_in_the_format(name):
    inner, outer = Derivatives(lower_format(name, ecma)), Derivatives(format_bound(name, ecma))
    for seed in range(5):
        text = draw(inner, random.Random(seed), steps=12)
        assert matches(outer, text), text


def in_bound(name: str, text: str) -> bool:
    return matches(Derivatives(format_bound(name, ecma)), text)


@pytest.mark.parametrize(("name", "read", "texts"), [
    ("regex", re.compile, ["*a", "+", "?", ")", "a\\", "[a", "(?:", "[\\", "(a", "a|((b|c", "(?"]),
    ("idn-hostname", idna.encode,
     ["::", "a b", "a..b", ".a", ".", "", "a_b", "\x7f", "a\u3002\u3002b"]),
])  # fmt: skip
def test_what_is_outside_a_bound_nobody_reads(name, read, texts):
    for text in texts:
        with pytest.raises((re.error, idna.IDNAError)):
            read(text)
        assert not in_bound(name, text), text


@pytest.mark.parametrize(("name", "texts"), [
    ("regex",
     [r"(?<n>a)\k<n>", "[]", "[^]", r"\cA", "(?<=a+)b", "[(]", "[)]", r"\(", "{", "]", "",
      "(?<=a)"]),
    ("idn-hostname",
     ["\u03c0\u03b1" * 25 + "\uff0ecom", "xn--ihqwcrb4cv8a8dqg056pqjye", "a.", "\xdf"]),
    ("hostname", ["xn--ngba1o"]),
])  # fmt: skip
def test_what_somebody_reads_is_in_the_bound(name, texts):
    assert [text for text in texts if not in_bound(name, text)] == []
    assert name != "hostname" or not accepted(name, "xn--ngba1o")


@pytest.mark.parametrize(("schema", "text"), [
    ({"type": "string", "not": {"format": "idn-hostname"}}, "::"),
    ({"type": "string", "not": {"format": "regex"}}, "("),
    ({"if": {"format": "idn-hostname"}, "then": {"type": "integer"}, "else": {}}, "::"),
    ({"oneOf": [{"type": "string", "format": "regex"}, {"const": "("}]}, "("),
    ({"type": "string", "format": "date-time", "not": {"format": "idn-hostname"}}, DAY),
])  # fmt: skip
def test_what_is_plainly_of_no_format_satisfies_its_opposite(schema, text):
    assert matches(machine(schema), json.dumps(text))


def test_every_letter_of_a_label_in_unicode_is_one_that_idna_knows():
    engine = machine({"type": "string", "format": "idn-hostname"}, whitespace="compact")
    opened = read(engine, engine.start(), '"')
    count = 0
    for code in (*range(0x80, 0x600), *range(0x600, 0xD800, 31), *range(0xE000, 0x30000, 31)):
        if read(engine, opened, f'{chr(code)}"') is not None:
            idna.encode(chr(code))
            count += 1
    assert count > 1_000


# `formats="annotation"`: the schema means the same as without any `format`.

DATE = {"type": "string", "format": "date"}
TEXTS = ("2024-02-29", "no date", "10h")
SCHEMAS = [
    DATE, {"format": "date"}, {"items": DATE, "type": "array"},
    {"properties": {"format": DATE, "a": DATE}, "type": "object"},
    {"$ref": "#/components/schemas/Day", "components": {"schemas": {"Day": DATE}}},
    {"$ref": "#/components/const", "components": {"const": DATE}},
    {"enum": [{"format": "date"}, {"format": 3}]},
    {"type": "string", "format": "duration", "pattern": "^([0-9]+[smh])+$"},
    {"oneOf": [{"format": "date", "type": "string"}, {"type": "null"}]},
    {"not": {"format": "date", "type": "string"}},
    {"if": {"format": "date"}, "then": {"maxLength": 3}},
    {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string", "format": "no-name"},
    {"$id": "http://a/b", "items": {"$ref": "http://a/b#/x"}, "x": DATE},
    {"$defs": {"a": {"$anchor": "here", **DATE}}, "$ref": "#here"},
    {"patternProperties": {"^f": DATE}, "required": ["format"]}, {"unevaluatedProperties": DATE},
]  # fmt: skip
INSTANCES = [*TEXTS, 3, None]
INSTANCES += [[text] for text in TEXTS]
INSTANCES += [{"format": "date"}, {"format": 3}, {"format": "x"}, {"a": "x"}, {"a": "2024-02-29"}]


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
@pytest.mark.parametrize("resource", [False, True])
def test_formats_say_nothing(schema, resource):
    options = {"resources": {"x:a": schema}} if resource else {}
    engine = machine({"$ref": "x:a"} if resource else schema, formats="annotation", **options)
    judge = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)
    for instance in INSTANCES:
        text = json.dumps(instance)
        assert matches(engine, text) == judge.is_valid(instance), text


def test_the_text_keeps_them_and_explain_says_what_they_are():
    source = JsonSchema({**DATE, "maxLength": 9}, formats="annotation")
    assert source.text == json.dumps({**DATE, "maxLength": 9}, separators=(",", ":"))
    told = {row.place: (row.standing, row.how) for row in enforcement(source)}
    assert told["/format"] == ("annotation", 'formats="annotation"')
    assert told["/maxLength"] == ("exact", "characters are counted")
    assert JsonSchema(DATE, formats="annotations").formats == "annotation"
