"""Keys that two fields are read from, and keys under which a field is written."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, TypeAdapter
from pydantic import ValidationError as Invalid
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from guideway.constraint.lowering import lower_source
from guideway.errors import UnsupportedError
from guideway.language.derivative import Derivatives
from guideway.python_types.source import type_schema
from guideway.sources.sources import PythonType

ABSENT = object()
VALUES = (ABSENT, 1, "s", ["s"], [1])


class Beside(BaseModel):
    a: int = Field(0, validation_alias=AliasChoices("a", "b"))
    b: str


class BesidePath(BaseModel):
    a: int = Field(0, validation_alias=AliasChoices("a", AliasPath("b", 0)))
    b: list[str] = []


class Required(BaseModel):
    a: int = Field(validation_alias=AliasChoices("a", "b"))
    b: str = ""


class IntoItself(BaseModel):
    a: list[int] = Field([], validation_alias=AliasChoices("a", AliasPath("a", 0)))
    b: str = ""


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    a: int = Field(0, alias="b")
    b: str = Field("", alias="c")


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = Field(0, validation_alias=AliasChoices("a", "b"))


class ExtraPath(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = Field(0, validation_alias=AliasChoices(AliasPath("b", 0), "a"))


class ExtraHidden(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 0
    b: SkipJsonSchema[int] = 0


class Written(BaseModel):
    a: int = Field(0, validation_alias=AliasChoices("a", "b"), serialization_alias="b")


class WrittenByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    a: int = Field(0, validation_alias="b")


class OwnName(BaseModel):
    a: int = Field(0, validation_alias=AliasChoices("b", "a"))


class Partly(TypedDict, total=False):
    a: int
    b: str


OBJECTS = [
    *(Beside, BesidePath, Required, IntoItself, ByName, Extra, ExtraPath, ExtraHidden),
    *(Written, WrittenByName, OwnName, Partly),
]


def texts() -> Iterator[str]:
    for values in itertools.product(VALUES, repeat=3):
        pairs = zip("abc", values, strict=True)
        yield json.dumps({key: value for key, value in pairs if value is not ABSENT})


def is_read(adapter: Any, text: bytes | str) -> bool:
    try:
        adapter.validate_json(text)
    except Invalid:
        return False
    return True


@pytest.mark.parametrize("type_", OBJECTS)
def test_what_is_on_offer_is_read_and_what_is_written_and_read_is_on_offer(type_: Any) -> None:
    language, adapter = Derivatives(lower_source(PythonType(type_))), TypeAdapter(type_)

    def offers(text: bytes) -> bool:
        state: Any = language.start()
        for byte in text:
            state = None if state is None else language.step(state, byte)
        return state is not None and language.accepts(state)

    offered = 0
    for text in texts():
        if not is_read(adapter, text):
            assert not offers(text.encode()), text
            continue
        written = adapter.dump_json(adapter.validate_json(text), by_alias=True)
        if is_read(adapter, written) and not type_.__name__.startswith("Extra"):
            assert offers(written), text
            offered += 1
    assert offered or type_.__name__.startswith("Extra")


def test_a_field_that_would_be_read_from_the_key_of_another_has_its_own_beside_it() -> None:
    assert type_schema(Beside).schema["dependentRequired"] == {"b": ["a"]}
    for type_ in (Required, IntoItself, Written):
        assert "dependentRequired" not in type_schema(type_).schema


def test_an_undeclared_key_is_none_that_a_field_is_read_from() -> None:
    for type_ in (Extra, ExtraPath, ExtraHidden):
        assert type_schema(type_).schema["properties"]["b"] is False


class Same(BaseModel):
    a: int = Field(alias="x")
    b: str = Field(alias="x")


class PathFirst(BaseModel):
    a: int = Field(0, validation_alias=AliasChoices(AliasPath("b", 0), "a"))
    b: list[str]


class HiddenSame(BaseModel):
    a: SkipJsonSchema[int] = Field(0, alias="b")
    b: str


@pytest.mark.parametrize(
    ("type_", "key", "owner", "reader"),
    [
        (Same, "x", "a", "b"),
        (PathFirst, "b", "b", "a"),
        (HiddenSame, "b", "b", "a"),
    ],
)
def test_a_key_that_two_fields_are_read_from_is_refused(
    type_: Any, key: str, owner: str, reader: str
) -> None:
    told = f"the key '{key}' of the field {owner} is read for the field {reader} as well"
    with pytest.raises(UnsupportedError, match=re.escape(told)) as refused:
        type_schema(type_)
    assert refused.value.place == f"{type_.__name__}.{reader}"
