"""Single values and containers: their schemas, and what of them is refused by name."""

import datetime as dt
import itertools
import json
import operator
import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, MutableSequence, Sequence, Set
from decimal import Decimal
from enum import Enum, IntEnum
from math import inf
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import Base64Str, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypeAliasType

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.python_types.formats import decimal_patterns, outer_bound
from guideway.python_types.place import Place
from guideway.python_types.source import type_schema
from random_walks import BYTES
from type_oracle import check_alike, check_offers, check_sound, is_valid, told

MOMENTS = [f"T{t}{z}" for t in ("00:00", "23:59:59.999") for z in ("", "Z", "+23:59", "-23:59")]


def schema_of(type_: Any) -> dict[str, Any]:
    return {name: part for name, part in type_schema(type_).schema.items() if name != "$defs"}


def test_items_of_a_set_can_be_hashed() -> None:
    scalars = {"type": ["null", "boolean", "number", "string"]}
    for bare in (set, frozenset[Any], set[object]):
        assert schema_of(bare)["items"] == scalars
    assert "prefixItems" in schema_of(set[tuple[int, frozenset[int]]])["items"]


class Knot(BaseModel, frozen=True):
    ends: "tuple[Knot, ...]" = ()


class Loose(BaseModel):
    pass


Numbers = TypeAliasType("Numbers", list[int])
Fixed = TypeAliasType("Fixed", tuple[int, ...])


@pytest.mark.parametrize(("item", "text"), [
    *((Knot, "{}"), (Fixed, "[1]"), (tuple[Knot, int], "[{},1]")),
    *((Loose, "{}"), (Numbers, "[1]"), (tuple[Loose, int], "[{},1]")),
])  # fmt: skip
def test_items_of_a_set_are_looked_at_behind_references(item: Any, text: str) -> None:
    twice = pydantic.create_model(
        "Twice", first=(item, ...), all=(set.__class_getitem__(item), ...)
    )
    if is_valid(twice, f'{{"first":{text},"all":[{text}]}}'):
        assert "$ref" in str(schema_of(twice)["properties"]["all"]["items"])
        return
    with pytest.raises(UnsupportedError, match="unhashable") as refused:
        type_schema(twice)
    assert refused.value.place == "Twice.all[]"


def day(off: int) -> str:
    return (dt.date.today() + dt.timedelta(days=off)).isoformat()


@pytest.mark.parametrize(("past", "future", "suffixes", "near"), [
    (pydantic.PastDate, pydantic.FutureDate, [""], 1),
    (pydantic.PastDatetime, pydantic.FutureDatetime, MOMENTS, 3),
])  # fmt: skip
def test_past_and_future_are_told_by_the_day(
    past: Any, future: Any, suffixes: list[str], near: int
) -> None:
    # A day more, where the day is another elsewhere on earth.
    def moments(*days: str) -> list[str]:
        return [f'"{day}{suffix}"' for day in days for suffix in suffixes]

    before = moments("0001-01-01", "1999-12-31", day(-near - 1))
    behind = moments(day(near + 1), "2999-01-01", "9999-12-31")
    check_offers(past, before, behind)
    check_offers(future, behind, before)
    check_offers(Annotated[past, Field(description="when")], before, behind)
    assert "$comment" in schema_of(past)


def test_what_is_neither_surely_past_nor_future_is_not_on_offer() -> None:
    at_once = f"{day(0)}T00:00:00+23:59", f"{day(0)}T23:59:59-23:59"
    for type_, now in (
        (pydantic.PastDate, day(0)), (pydantic.FutureDate, day(0)),
        (pydantic.PastDatetime, at_once[0]), (pydantic.FutureDatetime, at_once[1]),
    ):  # fmt: skip
        assert not gw.compile(type_, BYTES).matches(f'"{now}"')


class Ends(IntEnum):
    FIRST = -(2**63)
    LAST = 2**63 - 1


class Half(Enum):
    HALF = 0.5
    TEXT = "t"
    ONE = 1


class Share(float, Enum):
    HALF = 0.5


class Coded(str, Enum):  # noqa: UP042
    A = ("a", "x")

    def __new__(cls, text: str, code: str) -> "Coded":
        made = str.__new__(cls, text)
        made._value_ = code
        return made


@pytest.mark.parametrize("member", [*Half, Ends.LAST, Share.HALF, Coded.A])
def test_a_member_in_a_literal_is_on_offer_if_it_is_read_from_its_value(member: Any) -> None:
    literal: Any = Literal[member]
    text = TypeAdapter(type(member)).dump_json(member).decode()
    if is_valid(literal, text):
        assert json.loads(text) in schema_of(literal)["enum"]
        return
    message = f"{member} in a Literal does not equal its value"
    for type_ in (literal, dict[literal, int]):
        with pytest.raises(UnsupportedError, match=message):
            type_schema(type_)


CASED = [Annotated[str, pydantic.StringConstraints(**{name: on})]
         for name, on in (("to_lower", True), ("to_upper", True), ("to_lower", False))]  # fmt: skip
CASES = [str, *CASED, Literal["a", "A"]]


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(("kind", "text"), [
    *((set.__class_getitem__(item), '["a","A"]') for item in CASES),
    *((dict.__class_getitem__((item, int)), '{"a":1,"A":1}') for item in CASES),
    *((set[Literal[1, True]], "[1,true]"), (frozenset[Literal[1, True, "a"]], "[1,true]")),
    (dict[Any, int], '{"a":1,"A":1}'),
])  # fmt: skip
def test_a_least_count_is_refused_where_different_texts_are_one_value(
    kind: Any, text: str, lower: bool
) -> None:
    limited: Any = Annotated[kind, Field(min_length=2)]
    adapter = TypeAdapter(limited, config=ConfigDict(str_to_lower=lower))
    try:
        adapter.validate_json(text)
    except ValidationError:
        with pytest.raises(UnsupportedError, match="min_length is not supported for"):
            type_schema(adapter)
    else:
        assert {"minItems", "minProperties"} & type_schema(adapter).schema.keys()


def test_whole_numbers_of_64_bits_are_choices() -> None:
    first, last = int(Ends.FIRST), int(Ends.LAST)
    check_offers(Ends, [str(first), str(last)], ["0", str(first - 1), str(last + 1)])
    check_offers(dict[Ends, int], [f'{{"{first}":1}}'], [f'{{"{first - 1}":1}}', '{"0":1}'])
    check_offers(Literal[-(2**63), True], [str(first), "true"], [str(first - 1)])


# Bounds and multiples of numbers and dates, with pydantic as the oracle.

NUMBER, EXACT = int | float, int | Decimal
ONE_AND_A_BIT = '"1.10000000000000005"'  # between 1.1 and the float of that name
BIG = 2**53 + 1  # no float
LONG = "1" + "0" * 23


class Far(Enum):
    FAR = 1e23
    NEAR = 1e22
    HALF = 2.5


class Float(float, Enum):
    FAR = 1e23


@pytest.mark.parametrize(("type_", "offered", "beyond"), [
    (told(told(int, multiple_of=2) | told(int, multiple_of=5), multiple_of=3), ["6", "15", "0"],
     ["3", "9", "2", "5"]),
    (told(told(int, ge=0) | int, multiple_of=-3), ["3", "-3"], ["2", "4"]),
    (told(int, ge="2"), ["2"], ["1"]),
    (told(Decimal, le=1.1), ['"1.1"'], [ONE_AND_A_BIT]),
    (told(EXACT, le=1.1), ["1", ONE_AND_A_BIT], ["2", '"1.1000000000000001"']),
    (told(EXACT, gt=1.5), ["2", '"1.6"'], ["1", '"1.5"']),
    (told(EXACT, ge=Decimal("-1.5")), ["-1", '"-1.5"'], ["-2", '"-1.6"']),
    (told(NUMBER, ge=Decimal("1.1")), ["2", "1.1"], ["1", "1.0999999999999999"]),
    (told(NUMBER, gt=BIG), [f"{BIG + 1}"], [f"{BIG}", f"{BIG - 1}.0"]),
    (told(NUMBER, lt=BIG), [f"{BIG - 1}.0"], [f"{BIG}", f"{BIG + 1}.0"]),
    (told(NUMBER, le=10**400), ["1", "1.5"], []),
    (told(float, ge=BIG), [f"{BIG - 1}.0"], [f"{BIG - 3}.0"]),
    (told(Decimal, lt=inf, ge=-inf, allow_inf_nan=True), ['"1"'], ['"Infinity"']),
    (told(EXACT, le=inf), ["1", '"-1"'], []),
    (told(told(dt.date, ge=dt.date(2020, 1, 1)) | None, le=dt.date(2021, 1, 1)),
     ["null", '"2020-01-01"'], ['"2019-12-31"', '"2021-01-02"']),
    (dict[told(int, gt="1", lt=4.0), int], ['{"2":1,"3":1}'], ['{"1":1}', '{"4":1}']),
    (told(dt.datetime, ge=dt.date(2024, 1, 1)), ['"2024-01-01T00:00"'], ['"2023-12-31T23:59"']),
    (told(Annotated[pydantic.PostgresDsn, pydantic.UrlConstraints(max_length=30)], max_length=25),
     ['"postgres://a@b/c"'], ['"postgres://aaaaaaaaaa@bbbbbbbb/c"']),
    # A float is not the whole number that its text stands for, unless it is compared as a float.
    *((type_, ["1e23", "1.0e23", f"{LONG}.0"], [LONG]) for type_ in (Far, Literal[Float.FAR])),
    (Far, ["1" + "0" * 22, "1e22", "2.5"], ["2"]),
    (Float, [LONG, "1e23"], ["1e22"]),
])  # fmt: skip
def test_bounds_hold_as_pydantic_compares(
    type_: Any, offered: list[str], beyond: list[str]
) -> None:
    check_offers(type_, offered, beyond)


BOUND = st.floats(-3, 3) | st.decimals(-3, 3, places=2) | st.integers(-3, 3)


@given(st.sampled_from(["ge", "gt", "le", "lt"]), BOUND, st.integers(-4, 4), st.floats(-4, 4))
def test_a_bound_of_a_kind_says_the_same_of_its_numbers(
    name: str, bound: Any, whole: int, real: float
) -> None:
    for kind, value in (("int", whole), ("float", real)):
        moved = outer_bound(kind, name, bound, Place("T"))
        compare = getattr(operator, name)
        assert compare(Decimal(value), Decimal(bound)) is compare(Decimal(value), Decimal(moved))


# Bounds of times, durations, decimals, bytes and wrapped types: pydantic reads the same texts.

NAMES = st.sampled_from(["ge", "gt", "le", "lt"])
ZONES: Any = st.sampled_from(
    [None, dt.UTC, *(dt.timezone(dt.timedelta(minutes=m)) for m in (90, -300, 1439, -1439))]
)
AFTER = (pydantic.AfterValidator(lambda value: value),)
BEHIND = st.sampled_from([(), AFTER])


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
    steps = (dt.timedelta(), away, dt.timedelta(microseconds=1), dt.timedelta(seconds=-1))
    values = [(bound + step).replace(tzinfo=zone) for step in steps]
    texts = [f'"{v.isoformat(timespec=spec)}"' for v in values for spec in ("auto", "minutes")]
    exact = zone in (None, dt.UTC, bound.tzinfo)  # with others the wall clock decides
    check_sound(bounded(dt.datetime, behind, **{name: bound}), texts, lambda text: exact)


def test_other_offsets_are_on_offer_where_the_wall_clock_decides() -> None:
    bound = dt.datetime(2024, 1, 2, tzinfo=dt.UTC)
    constraint = gw.compile(Annotated[dt.datetime, Field(ge=bound)], BYTES)
    allowed = ["2024-01-02T00:00-05:00", "2024-01-03T00:00+05:00", "2024-01-02T00:00:00.5Z"]
    assert all(constraint.matches(f'"{text}"') for text in allowed)
    for edge, name in itertools.product((dt.datetime.min, dt.datetime.max), ("ge", "le")):
        kind = told(dt.datetime, **{name: edge.replace(tzinfo=dt.UTC)})
        check_alike(kind, [f'"{edge.isoformat()}Z"'], walks=2)


@given(NAMES, st.times(timezones=ZONES), st.times(), ZONES, BEHIND)
def test_times_keep_their_bounds(
    name: str, bound: dt.time, value: dt.time, zone: Any, behind: Any
) -> None:
    near = (value, bound, bound.replace(microsecond=0), bound.replace(second=0))
    texts = [f'"{each.replace(tzinfo=zone).isoformat()}"' for each in near]
    exact = zone in (None, bound.tzinfo)
    check_sound(bounded(dt.time, behind, **{name: bound}), texts, lambda text: exact)


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
    kind = bounded(kind, AFTER, decimal_places=outer)
    numbers = [Decimal(value).scaleb(-shift) for shift in range(4)]
    check_alike(kind, [f'"{number:f}"' for number in numbers], walks=1)


@given(st.sampled_from([0.1, 0.5, 0.25, 3.0, 0.05, 100.0]), st.integers(-1000, 1000))
def test_multiples_of_floats_are_those_of_their_decimals(step: float, count: int) -> None:
    kind = Annotated[float, Field(multiple_of=step)]
    exact = Decimal(str(step))
    check_alike(kind, [f"{exact * count:f}", f"{exact * count + exact / 3:.6f}"], walks=1)


COUNTED = ("", "a", "é", "ab", "éé", "abc", "€€", "😀", "abcd", "naïve")


@pytest.mark.parametrize(("low", "high"), [
    (low, high) for low in range(5) for high in (None, 0, 3, 4, 7) if high is None or low <= high
])  # fmt: skip
@pytest.mark.parametrize("kind", [
    pydantic.Base64Bytes, pydantic.Base64UrlBytes, Base64Str, bytes, pydantic.SecretBytes,
])  # fmt: skip
def test_bytes_are_counted(kind: Any, low: int, high: int | None) -> None:
    limited = told(kind, **({"min_length": low} | ({} if high is None else {"max_length": high})))
    if kind in (bytes, pydantic.SecretBytes):
        check_sound(limited, [f'"{text}"' for text in COUNTED], str.isascii)
        return
    given = (
        [text for text in COUNTED if text.isascii()]
        if kind is Base64Str
        else [text.encode() for text in COUNTED]
    )
    texts = [TypeAdapter(kind).dump_json(each).decode() for each in given]
    check_alike(limited, texts, walks=8)


@pytest.mark.parametrize(("kind", "texts"), [
    *((kind, ["[]", "[1]", "[1,2]", "[1,2,3]"]) for kind in (
        Sequence[int], MutableSequence[int], deque[int], Set[int], frozenset[int],
        tuple[int, ...])),
    (Iterable[int], ["[1]", "[1,2]"]),
    *((kind, ["{}", '{"a":1}', '{"a":1,"b":2,"c":3}'])
      for kind in (Mapping[str, int], defaultdict[str, int], OrderedDict[str, int])),
    (pydantic.SecretStr, ['""', '"a"', '"é€"', '"abc"']),
])  # fmt: skip
@pytest.mark.parametrize("behind", [(), AFTER])
def test_lengths_of_what_wraps_others(kind: Any, texts: list[str], behind: Any) -> None:
    if kind == Iterable[int] and behind:
        return  # pydantic's iterators have no length
    check_alike(bounded(kind, behind, min_length=1, max_length=2), texts, walks=3)


URLS = [
    *("http://a.bc", "http://a.bcd", "http://a.bcd/", "http://a.bcd?q", "http://a.bcd/?q"),
    *("http://a.bc:80", "http://a.bc:80/", "http://a.bc:8080/", "http://[::1]/", "http://a.bcdefg"),
]


@pytest.mark.parametrize("kind", [pydantic.HttpUrl, pydantic.AnyUrl])
@pytest.mark.parametrize("length", [2, 11, 12, 13, 14, 15])
def test_urls_are_as_long_as_they_are_written(kind: Any, length: int) -> None:
    texts = [f'"{url}"' for url in URLS]
    check_sound(told(kind, max_length=length), texts, lambda text: ":80" not in text)
    check_sound(told(kind, min_length=length), texts, lambda text: False)
    for limits in ({"min_length": length}, {"max_length": length} if length > 2 else {}):
        check_alike(told(kind, **limits), [], walks=3)


# Decimals with counts and bounds, against pydantic itself.

COUNTS = st.fixed_dictionaries(
    {},
    optional={
        "max_digits": st.sampled_from([1, 2, 3, 5, 8, 28, 29, 40]),
        "decimal_places": st.sampled_from([0, 1, 2, 3, 8, 9, 12, 30]),
    },
)
BOUNDS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("ge", "gt", "le", "lt"), st.just(Decimal(0)) | st.decimals(-50, 50, places=1)
    ),
)
ZEROS = st.sampled_from(["0", "-0", "0.0", "0.000", "0E-10", "0E+5", "-0E+1"])
NINES = st.builds(
    lambda n, m: "9" * n + ("." + "9" * m if m else ""), st.integers(1, 32), st.integers(0, 9)
)
AMOUNTS = st.decimals(-1000, 1000, allow_nan=False).filter(lambda d: len(str(d)) < 16)
SCIENTIFIC = st.builds(
    lambda sign, digits, exponent: str(Decimal((sign, tuple(map(int, str(digits))), exponent))),
    st.integers(0, 1),
    st.integers(1, 9999),
    st.integers(-14, 14),
)


def on_offer(core: dict[str, Any], text: str) -> bool:
    return all(re.search(p, text) for p in decimal_patterns(core, infinite=False))


@given(COUNTS, BOUNDS, ZEROS | NINES | AMOUNTS.map(str) | SCIENTIFIC)
def test_what_is_on_offer_is_read_and_what_is_read_is_on_offer(
    counts: dict[str, int], bounds: dict[str, Decimal], text: str
) -> None:
    offered = on_offer({**counts, **bounds}, text)
    read = is_valid(told(Decimal, **counts, **bounds), f'"{text}"')
    if offered:
        assert read
    exponent_beside_others = "E" in text and bool(counts or bounds)
    many_digits = len(Decimal(text).as_tuple().digits) > 28
    if read and not exponent_beside_others and not ("max_digits" in counts and many_digits):
        assert offered


@pytest.mark.parametrize("text", ["Infinity", "-Infinity", "NaN"])
def test_infinity_is_on_offer_where_it_is_allowed_and_nothing_else_is_asked(text: str) -> None:
    for core, infinite in (({}, True), ({"ge": 0}, True), ({"max_digits": 3}, True), ({}, False)):
        found = re.search(decimal_patterns(core, infinite=infinite)[0], text) is not None
        assert found == (infinite and not core)
