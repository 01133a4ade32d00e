"""Keys, defaults and undeclared keys of models, dataclasses, typed dicts and named tuples."""

import dataclasses
import datetime as dt
import itertools
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, TypeVar

import pydantic
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic import ValidationError as Invalid
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema
from typing_extensions import TypedDict

from guideway.constraint.lowering import lower_source
from guideway.errors import UnsupportedError
from guideway.language.derivative import Derivatives
from guideway.python_types.adapter import read_core
from guideway.python_types.place import Place
from guideway.python_types.source import type_schema
from guideway.sources.sources import PythonType
from plain_texts import matches
from type_oracle import check_offers, is_read


def properties(type_: Any) -> dict[str, Any]:
    return type_schema(type_).schema["properties"]


class Aliased(BaseModel):
    plain: bool
    read: bool = Field(alias="Read")
    either: bool = Field(validation_alias=AliasChoices(AliasPath("a", 0), "b", "c"))
    path: bool = Field(validation_alias=AliasPath("p"))
    written: bool = Field(serialization_alias="w")


def test_a_key_is_the_alias_that_pydantic_reads_by() -> None:
    assert list(properties(Aliased)) == ["plain", "Read", "b", "p", "written"]


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    read: bool = Field(alias="Read")


class ByBoth(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    deep: bool = Field(validation_alias=AliasPath("a", "b"))


def test_a_key_is_the_name_where_the_configuration_says_so() -> None:
    assert list(properties(ByName)) == ["read"]
    assert list(properties(ByBoth)) == ["deep"]


class Deep(BaseModel):
    deep: bool = Field(validation_alias=AliasPath("a", "b"))


def test_an_alias_into_another_key_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=re.escape("AliasPath into other keys")) as refused:
        type_schema(Deep)
    assert refused.value.place == "Deep.deep"


class Defaults(BaseModel):
    """What is known."""

    text: str = "a"
    none: bool | None = None
    made: list[int] = Field(default_factory=list)
    infinite: float = float("inf")
    half: float = 0.5
    other: tuple[int, ...] = (1,)


def test_fields_with_a_default_may_be_left_out_and_plain_defaults_are_told() -> None:
    schema = type_schema(Defaults).schema
    assert "required" not in schema
    told = {
        name: part["default"] for name, part in schema["properties"].items() if "default" in part
    }
    assert told == {"text": "a", "none": None, "half": 0.5}
    assert schema["description"] == "What is known."


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    given: bool


class Forbidding(BaseModel):
    model_config = ConfigDict(extra="forbid")
    given: bool


def test_undeclared_keys_are_on_offer_only_where_they_are_kept() -> None:
    assert type_schema(Extra).schema["additionalProperties"] == {}
    assert type_schema(Forbidding).schema["additionalProperties"] is False
    assert type_schema(Aliased).schema["additionalProperties"] is False


def test_a_type_for_the_names_of_undeclared_keys_is_refused() -> None:
    fields = core_schema.model_fields_schema(
        {}, extra_behavior="allow", extras_keys_schema=core_schema.int_schema()
    )
    with pytest.raises(UnsupportedError, match="a type for undeclared keys"):
        read_core(fields, Place("T"))


class Hidden(BaseModel):
    hidden: SkipJsonSchema[int]


def test_a_hidden_field_that_is_required_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="hides a required field"):
        type_schema(Hidden)


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="allow"))
class Told:
    """A dataclass with words."""

    number: bool = dataclasses.field(metadata={"description": "which"})


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="allow"), slots=True)
class Slots:
    given: bool
    inner: Any = None


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="allow"), slots=True)
class Roomy(Told):
    """Slots beside the room that its base has."""


def test_slots_have_no_room_for_undeclared_keys() -> None:
    with pytest.raises(AttributeError, match="other"):
        is_read(Slots, '{"given":true,"other":1}')
    check_offers(Slots, ['{"given":true}', '{"given":true,"inner":{"other":1}}'], [])
    assert type_schema(Slots).schema["additionalProperties"] is False
    check_offers(Roomy, ['{"number":true,"other":1}'], [])


Inner = TypeVar("Inner")

# Defaults that pydantic validates: a field whose default it refuses cannot be left out.

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


@pytest.mark.parametrize(("type_", "offered"), [
    (OfField, '{"x":1}'),
    (OfConfig, '{"x":"2020-01-01"}'),
    (Strictly, '{"x":"2020-01-01"}'),
    (Twice, '{"other":null}'),
    (Data, '{"x":1}'),
    (Typed, '{"x":1}'),
    (Through, '{"x":1}'),
])  # fmt: skip
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

    @pydantic.field_validator("second")
    @classmethod
    def above(cls, value: int, info: pydantic.ValidationInfo) -> int:
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


# Keys that two fields are read from, and keys under which a field is written.

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


class AliasByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    a: int = Field(0, alias="b")
    b: str = Field("", alias="c")


class ExtraBeside(BaseModel):
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
    *(Beside, BesidePath, Required, IntoItself, AliasByName, ExtraBeside, ExtraPath, ExtraHidden),
    *(Written, WrittenByName, OwnName, Partly),
]


def texts() -> Iterator[str]:
    for values in itertools.product(VALUES, repeat=3):
        pairs = zip("abc", values, strict=True)
        yield json.dumps({key: value for key, value in pairs if value is not ABSENT})


def is_read_of_keys(adapter: Any, text: bytes | str) -> bool:
    try:
        adapter.validate_json(text)
    except Invalid:
        return False
    return True


@pytest.mark.parametrize("type_", OBJECTS)
def test_what_is_on_offer_is_read_and_what_is_written_and_read_is_on_offer(type_: Any) -> None:
    language, adapter = Derivatives(lower_source(PythonType(type_))), pydantic.TypeAdapter(type_)

    offered = 0
    for text in texts():
        if not is_read_of_keys(adapter, text):
            assert not matches(language, text), text
            continue
        written = adapter.dump_json(adapter.validate_json(text), by_alias=True)
        if is_read_of_keys(adapter, written) and not type_.__name__.startswith("Extra"):
            assert matches(language, written), text
            offered += 1
    assert offered or type_.__name__.startswith("Extra")


def test_a_field_that_would_be_read_from_the_key_of_another_has_its_own_beside_it() -> None:
    assert type_schema(Beside).schema["dependentRequired"] == {"b": ["a"]}
    for type_ in (Required, IntoItself, Written):
        assert "dependentRequired" not in type_schema(type_).schema


def test_an_undeclared_key_is_none_that_a_field_is_read_from() -> None:
    for type_ in (ExtraBeside, ExtraPath, ExtraHidden):
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


@pytest.mark.parametrize(("type_", "key", "owner", "reader"), [
    (Same, "x", "a", "b"),
    (PathFirst, "b", "b", "a"),
    (HiddenSame, "b", "b", "a"),
])  # fmt: skip
def test_a_key_that_two_fields_are_read_from_is_refused(
    type_: Any, key: str, owner: str, reader: str
) -> None:
    told = f"the key '{key}' of the field {owner} is read for the field {reader} as well"
    with pytest.raises(UnsupportedError, match=re.escape(told)) as refused:
        type_schema(type_)
    assert refused.value.place == f"{type_.__name__}.{reader}"
