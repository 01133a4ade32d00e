"""The two laws of types: what is on offer is read by pydantic, what it writes is on offer."""

import datetime as dt
import random
import warnings
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, Union

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.language.derivative import Derivatives
from guideway.python_types.source import type_schema
from guideway.sources.sources import PythonType
from plain_texts import draw, matches
from random_types import Types
from random_walks import BYTES, text_of
from type_samples import NOT_WRITTEN_BACK, TYPES, Level, Options, Person, Point, Task


def machine(type_: Any, plain: bool = False) -> Derivatives:
    source = PythonType(type_)
    return Derivatives(lower_source(source.plain_form if plain else source))


@pytest.mark.parametrize(
    "lengths", [(3, 10, 20, 40, 80), pytest.param(range(300), marks=pytest.mark.slow)], ids=len
)
@pytest.mark.parametrize("plain", [False, True], ids=["any form", "plain form"])
@pytest.mark.parametrize("name", TYPES)
def test_every_text_on_offer_is_read_and_what_is_written_for_it_is_on_offer(
    name: str, plain: bool, lengths: Iterable[int]
) -> None:
    language = machine(TYPES[name], plain)
    adapter = type_schema(TYPES[name]).adapter
    chance = random.Random(name)
    for length in lengths:
        text = draw(language, chance, length).decode()
        value = adapter.validate_json(text)
        if name not in NOT_WRITTEN_BACK and not plain:
            assert matches(language, adapter.dump_json(value, by_alias=True)), text


def written(type_: Any, value: Any) -> bytes:
    return TypeAdapter(type_).dump_json(value, by_alias=True)


INT, FLOAT, DECIMAL = machine(int), machine(float), machine(Decimal)
MONEY = Annotated[Decimal, Field(max_digits=7, decimal_places=2)]
DATES = {type_: machine(type_) for type_ in (dt.date, dt.time, dt.datetime, dt.timedelta)}
ZONES = st.none() | st.builds(
    lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)), st.integers(-1439, 1439)
)


@pytest.mark.untraced
@given(st.integers() | st.integers(-(10**4299), 10**4299))
def test_every_int_is_on_offer(value: int) -> None:
    assert matches(INT, written(int, value))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_is_on_offer(value: float) -> None:
    assert matches(FLOAT, written(float, value))


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_every_finite_decimal_is_on_offer(value: Decimal) -> None:
    assert matches(DECIMAL, written(Decimal, value))


@pytest.mark.untraced
@given(st.decimals(-100_000, 100_000, places=2))
def test_every_amount_is_on_offer_exactly_if_it_is_in_range(value: Decimal) -> None:
    inside = len(str(abs(int(value)))) <= 5
    assert matches(machine(MONEY), written(Decimal, value)) is inside


@example(dt.timedelta.min)
@example(dt.timedelta.max)
@example(dt.date.min)
@example(dt.date.max)
@given(st.dates() | st.times(timezones=ZONES) | st.datetimes(timezones=ZONES) | st.timedeltas())
def test_every_date_time_and_duration_is_on_offer(value: Any) -> None:
    assert matches(DATES[type(value)], written(type(value), value))


@pytest.mark.untraced
@pytest.mark.parametrize(("type_", "value"), [
    (Point, Point(1, "here")), (Options, {"depth": 2}), (Task, Task("t", [1, 2])), (set[int], {1}),
    (dict[Level, list[Point]], {Level.HIGH: [Point(0)]}),
    (Person,
     Person.model_validate({"name": "é\n", "age": 3, "home": {"street": "", "zip": "01234"}})),
])  # fmt: skip
def test_values_are_on_offer_in_both_forms(type_: Any, value: Any) -> None:
    for plain in (False, True):
        assert matches(machine(type_, plain), written(type_, value))


REFUSED = {
    "int": ["1.0", "1e2", '"1"', "true", "", "01", "0x1"],
    "bool": ["1", '"true"', "True"],
    "float": ["NaN", "Infinity", "1e999", "-1e309", "9" * 400],
    "decimal": ["1.5", '"1_000"', '"NaN"', '"٣"', '" 1"'],
    "date": ['"0000-01-01"', '"2023-02-29"', '"1900-02-29"', '"2024-13-01"', "20000"],
    "time": ['"24:00"', '"12:60"', '"12:00:60"', '"12:00:00.1234567"', '"12:00+24:00"'],
    "datetime": ['"0000-01-01T00:00"', '"2024-01-01 00:00"', '"2024-02-30T00:00"'],
    "aware": ['"2024-01-01T00:00:00"'],
    "naive": ['"2024-01-01T00:00:00Z"'],
    "timedelta": ['"P"', '"PT"', '"-P2739726Y9DT1S"', '"P2739726Y10D"', '"P2739727Y"'],
    "uuid4": ['"00000000-0000-1000-8000-000000000000"', '"00000000-0000-4000-0000-000000000000"'],
    "model": ['{"name":"a","age":150,"home":{"street":"","zip":"00000"}}', "{}"],
    "dataclass": ['{"title":"a","other":1}'],
    "open model": ['{"size":1}', '{"Size":1,"size":2}', '{"Size":1,"more":"text"}'],
    "tagged union": ['{"lives":9}', '{"kind":"cow"}'],
    "typed dict": ['{"name":"a"}', '{"depth":1,"name":""}'],
    "named tuple": ["[]", '[1,"a",2]', '{"x":1}'],
    "int keys": ['{"1.0":true}', '{"-0":true}', '{"01":true}', '{"a":true}'],
    "bounded keys": ['{"130":null}', '{"-6":null}'],
    "mixed keys": ['{"1":1}'],
    "ipv4": ['"1.2.3.04"', '"1.2.3"', "16909060"],
    "ipv6": ['"1::2::3"', '"1:2:3:4:5:6:7"'],
    "share": ["0", "1", "1e-400"],
    "since": ['"2020-02-28"', '"2031-01-01"'],
    "rust pattern": ['"ab-cd\\n"'],
    "callable": ['{"query":"a","limit":51}', '{"query":"a","extra":1}'],
}


@pytest.mark.parametrize("name", REFUSED)
def test_texts_that_are_no_value_or_no_usual_spelling_are_not_on_offer(name: str) -> None:
    language = machine(TYPES[name])
    for text in REFUSED[name]:
        assert not matches(language, text.encode()), text


class Low(BaseModel):
    number: int = 1


class High(BaseModel):
    number: int = 2


def test_a_union_is_read_as_its_own_members_come_in_order() -> None:
    for types in (Union[Low, High], Union[High, Low]):  # noqa: UP007
        for type_ in (types, tuple[types]):
            text = "{}" if type_ is types else "[{}]"
            assert type_schema(type_).adapter.validate_json(text) == (
                TypeAdapter(type_).validate_json(text)
            )


def test_a_callable_gives_the_dict_of_its_arguments_without_being_called() -> None:
    search = type_schema(TYPES["callable"])
    read = search.adapter.validate_json('{"query": "a", "since": "2024-05-31"}')
    assert read == {"query": "a", "since": dt.date(2024, 5, 31)}
    assert search.schema["title"] == "search"
    assert search.schema["description"] == "Search the web."


@pytest.mark.untraced
@pytest.mark.parametrize(
    "seeds",
    [
        range(1, 13),
        *(pytest.param(range(n, n + 500), marks=pytest.mark.slow) for n in range(1000, 5000, 500)),
    ],
    ids=str,
)
def test_texts_of_a_type_parse_back_and_values_of_it_are_among_its_texts(seeds: range) -> None:
    for seed in seeds:
        types = Types(seed)
        made, value = types.any()
        adapter, constraint = TypeAdapter(made), gw.compile(made, BYTES)
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of unions, pydantic guesses what a value is of
                written = adapter.dump_json(value(), by_alias=True)
            assert constraint.matches(written.decode()), (seed, made, written)
            text = text_of(constraint, types.chance, 60)
            assert constraint.matches(text.decode()), (seed, made, text)
            adapter.validate_json(text)
