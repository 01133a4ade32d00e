"""Defaults that pydantic validates: a field whose default it refuses cannot be left out."""

import dataclasses
import datetime as dt
from typing import Annotated, Any, NamedTuple

import pydantic
import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from typing_extensions import TypedDict

from guideway.errors import UnsupportedError
from guideway.python_types.source import type_schema
from type_oracle import check_offers, is_read

VALIDATED = ConfigDict(validate_default=True)
BAD: Any = "bad"
DAY: Any = "2020-01-01"
THREE: Any = "3"


class OfField(BaseModel):
    x: int = Field(-1, ge=0, validate_default=True)


class OfConfig(BaseModel):
    model_config = VALIDATED
    x: dt.date = BAD
    y: int = Field(BAD, validate_default=False)


class Strictly(BaseModel):
    model_config = ConfigDict(validate_default=True, strict=True)
    x: dt.date = DAY


class Twice(BaseModel):
    other: "Twice | None" = Field(BAD, validate_default=True)


@pydantic.dataclasses.dataclass(config=VALIDATED)
class Data:
    x: int = BAD


class Typed(TypedDict, total=False):
    x: Annotated[int, Field(default="bad", validate_default=True)]


class Through(BaseModel):
    x: Annotated[int, BeforeValidator(lambda value: value)] = Field(BAD, validate_default=True)


@pytest.mark.parametrize(
    ("type_", "offered"),
    [
        (OfField, '{"x":1}'),
        (OfConfig, '{"x":"2020-01-01"}'),
        (Strictly, '{"x":"2020-01-01"}'),
        (Twice, '{"other":null}'),
        (Data, '{"x":1}'),
        (Typed, '{"x":1}'),
        (Through, '{"x":1}'),
    ],
)
def test_a_field_with_a_refused_default_is_required(type_: Any, offered: str) -> None:
    check_offers(type_, [offered], ["{}"])


class Row(NamedTuple):
    first: int
    second: Annotated[int, Field(validate_default=True)] = 1
    third: Annotated[int, Field(ge=0, validate_default=True)] = -1


def test_a_named_tuple_ends_behind_its_last_refused_default() -> None:
    check_offers(Row, ["[1,2,3]"], ["[1]", "[1,2]"])


class After(BaseModel):
    """Its validator asks for the other fields, which are there when a text is read."""

    first: int = 1
    second: int = Field(2, validate_default=True)

    @field_validator("second")
    @classmethod
    def above(cls, value: int, info: ValidationInfo) -> int:
        assert value > info.data["first"]
        return value


class Taken(BaseModel):
    model_config = VALIDATED
    number: int = THREE  # which pydantic reads
    many: list[int] = Field(default_factory=lambda: [BAD])
    again: "Taken | None" = None


@pytest.mark.parametrize("type_", [After, Taken])
def test_a_default_that_is_taken_or_made_may_be_left_out(type_: Any) -> None:
    assert "required" not in type_schema(type_).schema.get("$defs", {}).get(
        "Taken", type_schema(type_).schema
    )


@pydantic.dataclasses.dataclass(config=VALIDATED)
class Never:
    given: int
    made: int = dataclasses.field(default=BAD, init=False)


def test_a_refused_default_of_what_is_no_input_is_refused() -> None:
    assert not is_read(Never, '{"given":1}')
    with pytest.raises(
        UnsupportedError, match="a default is the only value of this field"
    ) as refused:
        type_schema(Never)
    assert refused.value.place == "Never.made"
