"""Bounds of times, durations, decimals, bytes and wrapped types: pydantic reads the same texts."""

import datetime as dt
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, MutableSequence, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AnyUrl,
    Base64Bytes,
    Base64Str,
    Base64UrlBytes,
    ByteSize,
    Field,
    HttpUrl,
    PostgresDsn,
    Secret,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    UrlConstraints,
)

import guideway as gw
from guideway.errors import UnsupportedError
from random_walks import BYTES
from type_oracle import check_alike, is_valid

NAMES = st.sampled_from(["ge", "gt", "le", "lt"])
ZONES: Any = st.sampled_from(
    [None, dt.UTC, *(dt.timezone(dt.timedelta(minutes=m)) for m in (90, -300, 1439, -1439))]
)
BEHIND = st.sampled_from([(), (AfterValidator(lambda value: value),)])


def bounded(kind: Any, behind: Any, **bound: Any) -> Any:
    for validator in behind:
        kind = Annotated[kind, validator]
    return Annotated[kind, Field(**bound)]


@given(
    NAMES,
    st.datetimes(dt.datetime(1, 1, 3), dt.datetime(9999, 12, 29), timezones=ZONES),
    st.timedeltas(dt.timedelta(days=-2), dt.timedelta(days=2)),
    ZONES,
    BEHIND,
)
def test_dates_with_times_keep_their_bounds(
    name: str, bound: dt.datetime, away: dt.timedelta, zone: Any, behind: Any
) -> None:
    kind = bounded(dt.datetime, behind, **{name: bound})
    constraint = gw.compile(kind, BYTES)
    for moved in (dt.timedelta(), away, dt.timedelta(microseconds=1), dt.timedelta(seconds=-1)):
        value = (bound + moved).replace(tzinfo=zone)
        for text in (value.isoformat(), value.isoformat(timespec="minutes")):
            offered = constraint.matches(f'"{text}"')
            assert is_valid(kind, f'"{text}"') or not offered, text
            if zone in (None, dt.UTC, bound.tzinfo):  # with others, where the wall clock decides
                assert offered == is_valid(kind, f'"{text}"'), text


def test_other_offsets_are_on_offer_where_the_wall_clock_decides() -> None:
    bound = dt.datetime(2024, 1, 2, tzinfo=dt.UTC)
    constraint = gw.compile(Annotated[dt.datetime, Field(ge=bound)], BYTES)
    allowed = ["2024-01-02T00:00-05:00", "2024-01-03T00:00+05:00", "2024-01-02T00:00:00.5Z"]
    assert all(constraint.matches(f'"{text}"') for text in allowed)
    for edge in (dt.datetime.min, dt.datetime.max):
        for name in ("ge", "le"):
            limit: dict[str, Any] = {name: edge.replace(tzinfo=dt.UTC)}
            kind = Annotated[dt.datetime, Field(**limit)]
            check_alike(kind, [f'"{edge.isoformat()}Z"'], walks=2)


@given(NAMES, st.times(timezones=ZONES), st.times(), ZONES, BEHIND)
def test_times_keep_their_bounds(
    name: str, bound: dt.time, value: dt.time, zone: Any, behind: Any
) -> None:
    kind = bounded(dt.time, behind, **{name: bound})
    try:
        constraint = gw.compile(kind, BYTES)
    except gw.UnsatisfiableError:
        return
    for near_by in (value, bound, bound.replace(microsecond=0), bound.replace(second=0)):
        text = near_by.replace(tzinfo=zone).isoformat()
        assert is_valid(kind, f'"{text}"') or not constraint.matches(f'"{text}"'), text
        if zone in (None, bound.tzinfo):
            assert constraint.matches(f'"{text}"') == is_valid(kind, f'"{text}"'), text


def test_a_date_is_a_bound_of_dates_with_times() -> None:
    kind = Annotated[dt.datetime, Field(ge=dt.date(2024, 1, 1))]
    check_alike(kind, ['"2024-01-01T00:00"', '"2023-12-31T23:59"'], walks=2)


SPANS = st.timedeltas(dt.timedelta(days=-800), dt.timedelta(days=800)) | st.sampled_from(
    [dt.timedelta(), dt.timedelta(hours=2), dt.timedelta(days=365), dt.timedelta(seconds=-1)]
)


@given(NAMES, SPANS, SPANS, BEHIND)
def test_durations_keep_their_bounds(
    name: str, bound: dt.timedelta, other: dt.timedelta, behind: Any
) -> None:
    kind = bounded(dt.timedelta, behind, **{name: bound})
    adapter = TypeAdapter(dt.timedelta)
    values = [bound, other, *(bound + dt.timedelta(microseconds=n) for n in (-1, 1))]
    texts = [adapter.dump_json(value).decode() for value in values]
    seconds = int(abs(other).total_seconds())
    singles = [f"{seconds}S", f"{seconds // 60}M", f"{seconds // 3600}H"]
    check_alike(
        kind, [*texts, *(f'"PT{one}"' for one in singles if len(one) <= 5), '"P400DT1H"'], walks=1
    )


@given(
    st.sampled_from(["0.01", "0.05", "0.25", "1", "5", "10", "2.5", "1E+2", "4", "0.125"]),
    st.decimals(-(10**6), 10**6, places=3),
    st.integers(0, 3),
    BEHIND,
)
def test_multiples_of_decimals_are_known_by_their_last_digits(
    step: str, value: Decimal, places: int, behind: Any
) -> None:
    kind = bounded(Decimal, behind, multiple_of=Decimal(step))
    values = [value, round(value, places), value // Decimal(step) * Decimal(step)]
    check_alike(kind, [f'"{one:f}"' for one in values], walks=1)


DIGITS = st.none() | st.integers(0, 5)


@given(DIGITS.filter(lambda n: n != 0), DIGITS, DIGITS, st.integers(-99999, 99999), BEHIND)
def test_digits_may_be_counted_twice(
    total: int | None, places: int | None, outer: int | None, value: int, behind: Any
) -> None:
    assume((total, places) != (None, None) and outer is not None)
    kind = bounded(Decimal, behind, max_digits=total, decimal_places=places)
    kind = bounded(kind, (AfterValidator(lambda given: given),), decimal_places=outer)
    numbers = [Decimal(value).scaleb(-shift) for shift in range(4)]
    check_alike(kind, [f'"{number:f}"' for number in numbers], walks=1)


@given(st.sampled_from([0.1, 0.5, 0.25, 3.0, 0.05, 100.0]), st.integers(-1000, 1000))
def test_multiples_of_floats_are_those_of_their_decimals(step: float, count: int) -> None:
    kind = Annotated[float, Field(multiple_of=step)]
    exact = Decimal(str(step))
    check_alike(kind, [f"{exact * count:f}", f"{exact * count + exact / 3:.6f}"], walks=1)


def test_multiples_that_only_a_division_tells_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="multiple_of=3 is not supported for Decimal"):
        gw.compile(Annotated[Decimal, Field(multiple_of=3)], BYTES)


@pytest.mark.parametrize("low", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("high", [None, 0, 3, 4, 7])
def test_bytes_are_counted(low: int, high: int | None) -> None:
    lengths: Any = {"min_length": low} | ({} if high is None else {"max_length": high})
    texts = [
        text.encode() for text in ("", "a", "é", "ab", "éé", "abc", "€€", "😀", "abcd", "naïve")
    ]
    for kind in (Base64Bytes, Base64UrlBytes, Base64Str):
        limited: Any = Annotated[kind, Field(**lengths)]
        adapter = TypeAdapter(kind)
        for text in texts:
            written = adapter.dump_json(text.decode() if kind is Base64Str else text).decode()
            if kind is Base64Str and not text.isascii():
                continue
            if high is not None and high < low:
                break
            check_alike(limited, [written], walks=1)
    for kind in (bytes, SecretBytes):
        limited = Annotated[kind, Field(**lengths)]
        if high is None or low <= high:
            constraint = gw.compile(limited, BYTES)
            for text in texts:
                written = f'"{text.decode()}"'
                assert is_valid(limited, written) or not constraint.matches(written)
                if text.isascii():
                    assert is_valid(limited, written) == constraint.matches(written)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (Sequence[int], ["[]", "[1]", "[1,2]", "[1,2,3]"]),
        (MutableSequence[int], ["[]", "[1]", "[1,2,3]"]),
        (deque[int], ["[]", "[1]", "[1,2,3]"]),
        (Iterable[int], ["[1]", "[1,2]"]),
        (Set[int], ["[]", "[1]", "[1,2,3]"]),
        (frozenset[int], ["[]", "[1]", "[1,2,3]"]),
        (tuple[int, ...], ["[]", "[1]", "[1,2,3]"]),
        (Mapping[str, int], ["{}", '{"a":1}', '{"a":1,"b":2,"c":3}']),
        (defaultdict[str, int], ["{}", '{"a":1}', '{"a":1,"b":2,"c":3}']),
        (OrderedDict[str, int], ["{}", '{"a":1}', '{"a":1,"b":2,"c":3}']),
        (SecretStr, ['""', '"a"', '"é€"', '"abc"']),
    ],
)
@pytest.mark.parametrize("behind", [(), (AfterValidator(lambda value: value),)])
def test_lengths_of_what_wraps_others(kind: Any, texts: list[str], behind: Any) -> None:
    if kind == Iterable[int] and behind:
        return  # pydantic's iterators have no length
    check_alike(bounded(kind, behind, min_length=1, max_length=2), texts, walks=3)


URLS = [
    *("http://a.bc", "http://a.bcd", "http://a.bcd/", "http://a.bcd?q", "http://a.bcd/?q"),
    *("http://a.bc:80", "http://a.bc:80/", "http://a.bc:8080/", "http://[::1]/", "http://a.bcdefg"),
]


@pytest.mark.parametrize("kind", [HttpUrl, AnyUrl])
@pytest.mark.parametrize("length", [2, 11, 12, 13, 14, 15])
def test_urls_are_as_long_as_they_are_written(kind: Any, length: int) -> None:
    texts = [f'"{url}"' for url in URLS]
    short = Annotated[kind, Field(max_length=length)]
    for limited in (short, Annotated[kind, Field(min_length=length)]):
        try:
            constraint = gw.compile(limited, BYTES)
        except gw.UnsatisfiableError:
            assert not any(is_valid(limited, text) for text in texts)
            continue
        for text in texts:
            assert is_valid(limited, text) or not constraint.matches(text), text
            if limited is short and ":80" not in text:
                assert is_valid(limited, text) == constraint.matches(text), text
        check_alike(limited, [], walks=3)


def test_urls_keep_both_lengths() -> None:
    kind = Annotated[PostgresDsn, UrlConstraints(max_length=30), Field(max_length=25)]
    check_alike(kind, ['"postgres://a@b/c"', '"postgres://aaaaaaaaaa@bbbbbbbb/c"'], walks=2)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Annotated[Secret[int], Field(ge=3)], "ge=3 is not supported for Secret"),
        (
            Annotated[dt.timedelta, Field(multiple_of=dt.timedelta(1))],
            "multiple_of is not supported",
        ),
        (Annotated[Fraction, Field(ge=Fraction(1, 2))], "ge=1/2 is not supported for Fraction"),
        (Annotated[HttpUrl, Field(pattern="a")], "is not supported for"),
        (Annotated[ByteSize, Field(max_length=3)], "is not supported for int"),
    ],
)
def test_what_no_schema_says_is_refused_by_name(kind: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        gw.compile(kind, BYTES)
