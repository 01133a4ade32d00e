"""Formats against the calendar, the clock, `ipaddress`, `uuid`, and two validators."""

import calendar
import ipaddress
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import UnsatisfiableError
from guideway.json_schema.formats import is_plain_format, lower_format
from guideway.json_schema.spelling import PLAIN, Spelling
from guideway.json_schema.tree import FORMATS
from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES, both, complement, repeat
from guideway.language.nodes import Expr
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from json_schemas import draw, machine, matches, quote, verdict

MACHINES: dict[str, Derivatives] = {}


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


@pytest.mark.parametrize("wrong", [
    "", "2024-1-01", "2024-01-1", "24-01-01", "02024-01-01", "2024/01/01", "2024-01-01 ",
    " 2024-01-01",
    "2024-01-01\n", "+2024-01-01",
    "２０２４-01-01", "2024-W01-1", "20240101",
])  # fmt: skip
def test_other_ways_to_write_a_day_are_no_dates(wrong):
    assert not accepted("date", wrong)


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


@pytest.mark.parametrize("wrong", [
    "", "12:00:00", "12:00Z", "12:00:00.Z", "1:00:00Z", "12:00:00+1:00", "12:00:00+0100",
    "T12:00:00Z",
    "12:00:00Z ", "12:00:00,5Z", "12:00:00 Z",
])  # fmt: skip
def test_other_ways_to_write_a_time_are_none(wrong):
    assert not accepted("time", wrong)


@given(st.uuids(), st.booleans(), st.integers(0, 35))
def test_uuids_have_their_five_groups(value, upper, position):
    text = str(value).upper() if upper else str(value)
    assert accepted("uuid", text)
    assert not accepted("uuid", text[:position] + text[position + 1 :])
    assert not accepted("uuid", text[:position] + "g" + text[position + 1 :])
    assert not accepted("uuid", f"{{{text}}}")


@given(
    st.lists(
        st.integers(0, 300).map(str) | st.sampled_from(["00", "01", "", "1e1", "٣"]), max_size=5
    )
)
def test_addresses_are_those_that_ipaddress_reads(parts):
    text = ".".join(parts)
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        expected = False
    else:
        expected = text.isascii()
    assert accepted("ipv4", text) == expected


def test_every_octet_is_one():
    for number in range(300):
        assert accepted("ipv4", f"1.{number}.0.255") == (number < 256)


@pytest.mark.parametrize(("text", "expected"), [
    ("joe.bloggs@example.com", True), ("a@b", True), ("!#$%&'*+/=?^_`{|}~-@b", True),
    ("a.b.c@x-y.z", True), ("a@123", True), ("a+b@1.2", True), ("a" * 64 + "@b", True),
    ('"joe bloggs"@example.com', True), ('"joe..bloggs"@example.com', True), ('""@b', True),
    ('"joe@bloggs"@example.com', True), ('"a\\"b\\\\"@b', True), ("a@[127.0.0.1]", True),
    ("a@[IPv6:::1]", True), ("a@[ipV6:::1]", True), ("a@[IPv6:1:2:3:4:5:6:7:8]", True),
    ("a@[IPv6:1:2::7:8]", True),
    ("a@[IPv6:1:2:3:4:5:6:1.2.3.4]", True), ("a@[IPv6:::ffff:1.2.3.4]", True),
    ("a@" + "b" * 63 + ".c", True), ("a@" + ".".join(["b" * 61] * 4), True),
    ("", False), ("a", False), ("@b", False), ("a@", False), (".a@b", False), ("a.@b", False),
    ("a..b@c", False), ("a b@c", False), ("a@b c", False), ("a@b@c", False), ("a@-b", False),
    ("a@b-", False), ("a@b.", False), ("a@.b", False), ("a@b..c", False), ("a@b_c", False),
    ("é@b", False), ("a@é", False), ('"a"b"@c', False), ('"a\n"@c', False), ('"\x7f"@c', False),
    ("a" * 65 + "@b", False), ("a@" + "b" * 64, False), ("a@[127.0.0.300]", False),
    ('"' + "a" * 62 + '"@b', True), ('"' + "a" * 63 + '"@b', False),
    ('"' + "a" * 60 + '\\""@b', True), ('"' + "a" * 61 + '\\""@b', False),
    ("a@[1.2.3]", False), ("a@[::1]", False), ("a@[IPv6:1::2::3]", False), ("a@b,c@d", False),
    ("a@[IPv6:1:2:3:4:5:6:7]", False), ("a@[IPv6:1:2:3:4:5:6:7:8:9]", False), ("a@[x:y]", False),
    ("a@[IPv6:12345::]", False), ("a@[IPv6:1:2:3:4::5:6:7]", False),
])  # fmt: skip
def test_mailboxes_are_those_of_rfc_5321(text, expected):
    assert accepted("email", text) == expected


@pytest.mark.untraced
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "regex"])
def test_what_is_drawn_from_a_format_no_validator_refuses(name):
    check_drawn(name, seeds=5 if name.startswith("idn-") else 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "regex"])
def test_more_that_is_drawn_from_a_format_no_validator_refuses(name):
    check_drawn(name, seeds=400)


def check_drawn(name, seeds):
    engine = machine({"type": "string", "format": name})
    for seed in range(seeds):
        text = draw(engine, random.Random(seed))
        assert verdict({"format": name}, json.loads(text)) is not False, text


def test_a_format_meets_length_and_pattern_exactly():
    short = machine({"type": "string", "format": "email", "maxLength": 3, "pattern": "^[ab]"})
    assert matches(short, '"a@c"')
    assert not matches(short, '"c@c"')
    assert not matches(short, '"a@cc"')
    leap = machine({"type": "string", "format": "date", "pattern": "-02-29$", "enum": [
        "2023-02-29", "2024-02-29", "2024-02-28"]})  # fmt: skip
    assert [y for y in (2023, 2024) if matches(leap, f'"{y}-02-29"')] == [2024]
    assert not matches(leap, '"2024-02-28"')


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


@pytest.mark.untraced
@given(st.sampled_from(["2024-02-29", "2023-02-29"]), st.integers(0, 2**32))
def test_a_format_holds_in_every_spelling(text, seed):
    engine = machine({"type": "string", "format": "date"})
    assert matches(engine, quote(text, random.Random(seed))) == text.startswith("2024")
