"""Strict types: behind a function pydantic gives them what JSON became in Python."""

import datetime as dt
import re
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import (
    AfterValidator,
    Base64Bytes,
    Base64Str,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    IPvAnyAddress,
    PlainValidator,
    SecretBytes,
    SecretStr,
    Strict,
    WrapValidator,
    create_model,
    model_validator,
)
from typing_extensions import TypeAliasType, TypedDict

from guideway.errors import UnsupportedError
from guideway.python_types.source import type_schema
from type_oracle import check_offers, is_read


class Level(Enum):
    LOW = "low"


class Number(IntEnum):
    ONE = 1


class Model(BaseModel):
    model_config = ConfigDict(strict=True)


class Looking(Model):
    @model_validator(mode="before")
    @classmethod
    def looks(cls, data: Any) -> Any:
        return data


class Made(Model):
    def __init__(self, **data: Any) -> None:
        super().__init__(**data)


Day = TypeAliasType("Day", Annotated[dt.date, Strict()])
SAMPLES = [
    (bool, "true"),
    (float, "1.5"),
    (list[int], "[1]"),
    (dict[str, int], '{"a":1}'),
    (defaultdict[str, int], '{"a":1}'),
    (Number, "1"),
    (dict[Level, int], '{"low":1}'),
    (UUID, '"00000000-0000-4000-8000-000000000000"'),
    (Level, '"low"'),
    (Path, '"a"'),
    (SecretStr, '"a"'),
    (IPv4Network, '"10.0.0.0/8"'),
    (IPvAnyAddress, '"::"'),
    (ZoneInfo, '"UTC"'),
    (re.Pattern, '"a+"'),
    (ByteSize, '"1 kB"'),
    (Base64Str, '"YQ=="'),
    (Annotated[defaultdict[str, int], Field(min_length=1)], '{"a":1}'),
]
PYTHONS = [
    (bytes, '"a"'),
    (Decimal, '"1"'),
    (dt.date, '"2020-01-01"'),
    (dt.time, '"12:00"'),
    (dt.datetime, '"2020-01-01T00:00"'),
    (dt.timedelta, '"P1D"'),
    (tuple[int], "[1]"),
    (set[int], "[1]"),
    (frozenset[int], "[1]"),
    (deque[int], "[1]"),
    (OrderedDict[str, int], '{"a":1}'),
    (Counter[str], '{"a":1}'),
    (dict[int, int], '{"1":1}'),
    (dict[float, int], '{"1":1}'),
    (dict[bool, int], '{"true":1}'),
    (dict[dt.date, int], '{"2020-01-01":1}'),
    (dict[Number, int], '{"1":1}'),
    (Base64Bytes, '"YQ=="'),
    (complex, '"1+2j"'),
    (Fraction, '"1/2"'),
    (SecretBytes, '"a"'),
    (list[SecretBytes], '["a"]'),
    (dict[SecretBytes, int], '{"a":1}'),
]


def field(base: type[BaseModel], type_: Any) -> Any:
    return create_model("M", __base__=base, x=(type_, ...))


def same(value: Any) -> Any:
    return value


def wrap(value: Any, handler: Any) -> Any:
    return handler(value)


@pytest.mark.parametrize(("type_", "text"), SAMPLES + PYTHONS)
def test_strict_types_are_read_from_json(type_: Any, text: str) -> None:
    check_offers(field(Model, type_), [f'{{"x":{text}}}'], [])


@pytest.mark.parametrize(("type_", "text"), SAMPLES)
def test_what_json_has_is_read_strictly_behind_a_function(type_: Any, text: str) -> None:
    check_offers(field(Looking, type_), [f'{{"x":{text}}}'], [])


@pytest.mark.parametrize(("type_", "text"), PYTHONS)
def test_what_json_has_not_is_refused_behind_a_function(type_: Any, text: str) -> None:
    for base in (Looking, Made):
        model = field(base, type_)
        assert not is_read(model, f'{{"x":{text}}}')
        with pytest.raises(UnsupportedError, match=r"a strict [a-z-]+ after a validator does not"):
            type_schema(model)


@pytest.mark.parametrize(
    "type_",
    [
        Annotated[dt.date, Strict(), BeforeValidator(same)],
        Annotated[dt.date, Strict(), WrapValidator(wrap)],
        defaultdict[Annotated[int, Strict()], int],
        defaultdict[Annotated[Number, Strict()], int],
        defaultdict[str, list[Annotated[dt.date, Strict()]]],
        dict[Annotated[int, Strict(), BeforeValidator(same)], int],
        create_model("Both", first=(Day, ...), then=(defaultdict[str, list[Day]], ...)),
    ],
)
def test_functions_of_pydantics_count_and_the_use_counts_not_the_type(type_: Any) -> None:
    with pytest.raises(
        UnsupportedError, match=r"a strict [a-z]+ after a validator does not accept"
    ):
        type_schema(type_)


class Loose(BaseModel):
    model_config = ConfigDict(strict=True)
    day: Annotated[dt.date, Field(strict=False)]

    @model_validator(mode="before")
    @classmethod
    def looks(cls, data: Any) -> Any:
        return data


class Kept(BaseModel):
    first: Loose
    then: defaultdict[str, list[Loose]]


def test_what_is_lax_or_told_or_checked_afterwards_is_on_offer() -> None:
    check_offers(Annotated[dt.date, Strict(), AfterValidator(same)], ['"2020-01-01"'], ['"a"'])
    check_offers(Loose, ['{"day":"2020-01-01"}'], ['{"day":"a"}'])
    told = BeforeValidator(dt.date.fromisoformat, json_schema_input_type=dt.date)
    check_offers(Annotated[dt.date, Strict(), told], ['"2020-01-01"'], [])
    assert list(type_schema(Kept).schema["$defs"]) == ["Loose"]
    plain = PlainValidator(same, json_schema_input_type=Annotated[dt.date, Strict()])
    assert type_schema(Annotated[int, plain]).schema["format"] == "date"


class Coded(BaseModel):
    raw: Base64Bytes = Field(alias="Raw")


class Named(TypedDict):
    raw: Annotated[str, Field(alias="Raw")]


@pytest.mark.parametrize(
    ("item", "text", "refused"),
    [
        (Annotated[Base64Bytes, Strict(strict=False)], '"YQ=="', "base64 in a strict defaultdict"),
        (Named, '{"Raw":"a"}', "an alias in a strict defaultdict"),
    ],
)
def test_what_a_strict_defaultdict_reads_twice_is_refused(
    item: Any, text: str, refused: str
) -> None:
    made = field(Model, defaultdict[str, list[item]])
    assert not is_read(made, f'{{"x":{{"a":[{text}]}}}}')
    with pytest.raises(UnsupportedError, match=refused):
        type_schema(made)
    check_offers(defaultdict[str, list[item]], [f'{{"a":[{text}]}}'], [])


def test_a_model_in_a_strict_defaultdict_is_read_once() -> None:
    made = create_model("M", __base__=Model, x=(defaultdict[str, list[Coded]], ...), y=(Coded, ...))
    check_offers(made, ['{"x":{"a":[{"Raw":"YQ=="}]},"y":{"Raw":"YQ=="}}'], ['{"x":{"a":[{}]}}'])
    assert list(type_schema(made).schema["$defs"]) == ["Coded"]
