"""Keys, defaults and undeclared keys of models, dataclasses, typed dicts and named tuples."""

import dataclasses
import re
from typing import Annotated, Any, Generic, NamedTuple, NotRequired, TypeVar

import pydantic
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema
from typing_extensions import TypedDict

from guideway.errors import UnsupportedError
from guideway.python_types.adapter import read_core
from guideway.python_types.place import Place
from guideway.python_types.source import type_schema
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


@dataclasses.dataclass
class Plain:
    number: bool
    made: bool = dataclasses.field(default=False, init=False)
    given: dataclasses.InitVar[bool] = True


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="allow"))
class Told:
    """A dataclass with words."""

    number: bool = dataclasses.field(metadata={"description": "which"})


def test_a_dataclass_has_the_keys_that_its_constructor_takes() -> None:
    assert list(properties(Plain)) == ["number", "given"]
    assert "description" not in type_schema(Plain).schema  # the docstring that dataclasses make
    assert type_schema(Told).schema["description"] == "A dataclass with words."


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


class Partly(TypedDict):
    """Some of it."""

    needed: bool
    left: NotRequired[bool]


def test_a_typed_dict_requires_what_it_says() -> None:
    schema = type_schema(Partly).schema
    assert schema["required"] == ["needed"]
    assert (schema["title"], schema["description"]) == ("Partly", "Some of it.")


class Pair(NamedTuple):
    left: bool
    right: Annotated[bool, Field(description="the other")] = True


BOOL = {"type": "boolean"}


def test_a_named_tuple_is_an_array_that_may_end_where_defaults_begin() -> None:
    schema = type_schema(Pair).schema
    assert schema["prefixItems"][0] == BOOL
    assert (schema["minItems"], schema["items"]) == (1, False)


def test_a_named_tuple_of_an_older_pydantic_is_the_same() -> None:
    arguments = core_schema.arguments_schema(
        [
            core_schema.arguments_parameter("left", core_schema.bool_schema()),
            core_schema.arguments_parameter(
                "right", core_schema.with_default_schema(core_schema.bool_schema(), default=True)
            ),
        ]
    )
    call = core_schema.call_schema(arguments, Pair)
    assert read_core(call, Place("Pair")) == {
        "title": "Pair",
        "type": "array",
        "prefixItems": [BOOL, BOOL | {"default": True}],
        "items": False,
        "minItems": 1,
    }


Inner = TypeVar("Inner")


class Wrapper(BaseModel, Generic[Inner]):
    inner: Inner


def test_a_generic_model_is_read_for_its_argument() -> None:
    assert properties(Wrapper[bool]) == {"inner": BOOL}
