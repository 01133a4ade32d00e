"""Validators, hooks, unions and wrappers: what becomes of them, and what is refused by name."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from math import nan
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    FilePath,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ImportString,
    InstanceOf,
    JsonValue,
    PlainValidator,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

from guideway.errors import UnsupportedError
from guideway.python_types.adapter import read_core
from guideway.python_types.place import INTEGER, Place
from guideway.python_types.source import type_schema

INT = {"$ref": INTEGER}


def schema_of(type_: Any) -> dict[str, Any]:
    """The schema, without the definition of integers."""
    schema = dict(type_schema(type_).schema)
    definitions = {k: v for k, v in schema.pop("$defs", {}).items() if k != "integer"}
    return {**schema, "$defs": definitions} if definitions else schema


def same(value: Any) -> Any:
    return value


def wrap(value: Any, handler: Any) -> Any:
    return handler(value)


class Even(BaseModel):
    """A number with a law of its own."""

    number: int

    @field_validator("number")
    @classmethod
    def is_even(cls, number: int) -> int:
        assert number % 2 == 0, "odd"
        return number

    @model_validator(mode="after")
    def is_small(self) -> "Even":
        assert self.number < 100
        return self

    @model_validator(mode="before")
    @classmethod
    def looks_first(cls, data: Any) -> Any:
        return data


def test_validators_of_the_users_do_not_change_the_schema() -> None:
    assert schema_of(Even) == {
        "title": "Even",
        "description": "A number with a law of its own.",
        "type": "object",
        "properties": {"number": INT},
        "required": ["number"],
        "additionalProperties": False,
    }
    for validator in (AfterValidator(same), BeforeValidator(same), WrapValidator(wrap)):
        assert schema_of(Annotated[int, validator]) == INT


def test_an_input_type_that_a_validator_declares_counts() -> None:
    told = BeforeValidator(same, json_schema_input_type=bool)
    assert schema_of(Annotated[int, told]) == {"type": "boolean"}
    plain = PlainValidator(same, json_schema_input_type=bool)
    assert schema_of(Annotated[int, plain]) == {"type": "boolean"}


@pytest.mark.parametrize(
    ("type_", "bounds"),
    [
        (Annotated[int | Decimal, Field(ge=1)], {"minimum": 1}),
        (
            Annotated[Annotated[int, Field(gt=0)] | bool, AfterValidator(same), Field(ge=3)],
            {"exclusiveMinimum": 0, "minimum": 3},
        ),
        (Annotated[int, Field(gt=2, multiple_of=4)], {"exclusiveMinimum": 2, "multipleOf": 4}),
    ],
)
def test_constraints_go_where_they_hold(type_: Any, bounds: dict[str, Any]) -> None:
    schema = schema_of(type_)
    found = next(part for part in [schema, *schema.get("anyOf", [])] if part.get("$ref") == INTEGER)
    assert found == INT | bounds


class Upper:
    """A type with a schema of its own."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(same)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        assert handler.mode == "validation"
        return handler(core_schema.str_schema(pattern="^[A-Z]*$"))


class Renamed(BaseModel):
    first: int

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core))
        return {**schema, "maxProperties": 1}


def test_a_json_schema_of_the_users_is_taken_at_its_word() -> None:
    assert schema_of(Upper) == {"type": "string", "pattern": "^[A-Z]*$"}
    assert schema_of(Renamed)["maxProperties"] == 1
    told = {"type": "string", "enum": ["a"]}
    assert schema_of(Annotated[Callable[[], int], WithJsonSchema(told)]) == told


def test_what_is_said_to_be_hidden_is_not_on_offer() -> None:
    assert schema_of(int | SkipJsonSchema[None]) == INT
    assert schema_of(int | Annotated[None, WithJsonSchema(None)]) == INT

    class Half(BaseModel):
        shown: int
        hidden: SkipJsonSchema[int] = 1

    assert list(schema_of(Half)["properties"]) == ["shown"]


def test_descriptions_and_examples_are_told_where_they_are_json() -> None:
    class Said(BaseModel):
        a: int = Field(1, description="one", examples=[{"x": [None, True, 1.5, "t"]}])
        b: int = Field(2, examples=[{1, 2}])
        c: int = Field(3, json_schema_extra={"description": "three", "examples": [{1: 2}]})  # pyright: ignore[reportCallIssue]
        d: int = Field(4, json_schema_extra={"examples": [object()]})  # pyright: ignore[reportCallIssue]

    properties = schema_of(Said)["properties"]
    assert properties["a"]["description"] == "one"
    assert properties["a"]["examples"] == [{"x": [None, True, 1.5, "t"]}]
    assert properties["b"]["examples"] == [[1, 2]]
    assert properties["c"] == INT | {"default": 3, "description": "three"}
    assert properties["d"] == INT | {"default": 4}


NO_JSON = [nan, 10**5000, "\ud800"]


def untold(number: int = 10**5000) -> None:
    """Set below, as Python 3.13 and later compile no such docstring."""


untold.__doc__ = "\ud800"


@pytest.mark.parametrize("value", NO_JSON, ids=["NaN", "too long", "half of a pair"])
def test_what_json_cannot_hold_is_not_told(value: Any) -> None:
    class Said(BaseModel):
        default: Any = value
        example: Any = Field(examples=[value])
        inside: Any = Field(examples=[{"x": [value]}])

    assert schema_of(Said)["properties"] == {"default": {}, "example": {}, "inside": {}}


def test_a_description_that_no_json_can_hold_is_not_told() -> None:
    class Said(BaseModel):
        number: bool = Field(description="\ud800")

    assert schema_of(Said)["properties"] == {"number": {"type": "boolean"}}
    assert schema_of(untold).keys() == {"title", "type", "properties", "additionalProperties"}
    assert schema_of(untold)["properties"] == {"number": INT}


class Circle(BaseModel):
    shape: Literal["circle"] = Field("circle", alias="Shape")
    radius: int


class Square(BaseModel):
    shape: Literal["square"] = Field("square", alias="Shape")
    side: "Figure | None" = None


Figure = Annotated[Circle | Square, Field(discriminator="shape")]
Square.model_rebuild()


def shape_of(value: Any) -> str:
    return str(value["s"])


def test_the_key_that_tells_members_apart_is_required() -> None:
    circle, square = schema_of(Figure)["anyOf"]
    assert circle["required"] == ["radius", "Shape"]
    assert square["required"] == ["Shape"]


def test_a_union_whose_tag_a_function_finds_is_any_of_its_members() -> None:
    told = Annotated[
        Annotated[int, Tag("i")] | Annotated[bool, Tag("b")] | Annotated[int, Tag("j")],
        Discriminator(shape_of),
    ]
    assert schema_of(told) == {"anyOf": [INT, {"type": "boolean"}]}


def test_a_tag_goes_into_each_member_of_a_member_that_is_a_union() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]
        color: Literal["black"] = "black"

    class Tabby(BaseModel):
        kind: Literal["cat"]
        color: Literal["tabby"] = "tabby"

    class Dog(BaseModel):
        kind: Literal["dog"] = "dog"

    cats = Annotated[Cat | Tabby, Field(discriminator="color")]
    schema = schema_of(Annotated[cats | Dog, Field(discriminator="kind")])
    first, dog = schema["anyOf"]
    assert [cat["required"] for cat in first["anyOf"]] == [["kind", "color"], ["kind", "color"]]
    assert dog["required"] == ["kind"]


def test_models_of_one_name_get_names_of_their_own() -> None:
    def make(inner: type) -> type[BaseModel]:
        class Node(BaseModel):
            value: inner  # pyright: ignore[reportInvalidTypeForm]
            rest: "list[Node]" = []

        return Node

    class Pair(BaseModel):
        left: make(int)  # pyright: ignore[reportInvalidTypeForm]
        right: make(bool)  # pyright: ignore[reportInvalidTypeForm]

    assert list(schema_of(Pair)["$defs"]) == ["Node", "Node2"]


Raw = TypeAliasType("Raw", bytes)
Deep = TypeAliasType("Deep", "str | list[Deep]")


class Encoded(BaseModel):
    model_config = ConfigDict(
        val_json_bytes="base64", ser_json_bytes="base64", str_max_length=1, extra="forbid"
    )
    raw: Raw = b""
    any: JsonValue = None
    deep: Deep = ""


class Around(BaseModel):
    raw: Raw = b""
    inner: Encoded = Encoded()
    any: JsonValue = None
    deep: Deep = ""


class Within(BaseModel):
    inner: Encoded = Encoded()
    raw: Raw = b""
    deep: Deep = ""


@pytest.mark.parametrize("type_", [Around, Within])
@pytest.mark.parametrize(
    "own", ['"raw":"%"', '"raw":""', '"deep":"ab"', '"deep":["ab"]', '"deep":[["a"]]']
)
def test_an_alias_is_read_under_the_configuration_of_each_place(type_: Any, own: str) -> None:
    schema, adapter = type_schema(type_).schema, TypeAdapter(type_)
    for text in (f"{{{own}}}", f'{{"inner":{{{own}}}}}', f'{{{own},"inner":{{{own}}}}}'):
        try:
            adapter.validate_json(text)
        except ValidationError:
            assert not Draft202012Validator(schema).is_valid(json.loads(text)), text
        else:
            assert Draft202012Validator(schema).is_valid(json.loads(text)), text


def test_a_configuration_that_says_nothing_about_an_alias_makes_no_second_one() -> None:
    class Forbidding(BaseModel):
        model_config = ConfigDict(extra="forbid", validate_by_name=True)
        any: JsonValue

    class Plain(BaseModel):
        inner: Forbidding
        any: JsonValue

    assert schema_of(Plain)["$defs"] == {"JsonValue": {}}


def test_a_value_that_may_be_missing_is_on_offer_without_that() -> None:
    missing = {"type": "missing-sentinel"}
    both = {"type": "union", "choices": [{"type": "bool"}, missing]}
    assert read_core(both, Place("T")) == {"type": "boolean"}
    assert read_core({**missing, "schema": {"type": "bool"}}, Place("T")) == {"type": "boolean"}
    with pytest.raises(UnsupportedError, match="MISSING has no JSON"):
        read_core(missing, Place("T"))


def test_a_chain_is_its_first_step_if_only_functions_follow() -> None:
    step = core_schema.no_info_plain_validator_function(same)
    chain = core_schema.chain_schema([core_schema.bool_schema(), step, core_schema.any_schema()])
    assert read_core(chain, Place("T")) == {"type": "boolean"}


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (re.Pattern[bytes], "a pattern of bytes has no JSON"),
        (ImportString[Any], "import_string alone decides which JSON"),
        (Callable, "callable has no JSON"),
        (type[int], "is-subclass int has no JSON"),
        (
            Annotated[int | Decimal, Field(multiple_of=3)],
            "multiple_of=3 is not supported for Decimal",
        ),
        (SkipJsonSchema[None] | SkipJsonSchema[int], "a union has only hidden members"),
    ],
)
def test_what_no_schema_says_is_refused_by_name(type_: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        type_schema(type_)


def test_a_refusal_says_where_in_the_type() -> None:
    class Inner(BaseModel):
        pattern: dict[str, list[re.Pattern[bytes]]]

    class Outer(BaseModel):
        parts: tuple[int, Inner | None]

    with pytest.raises(UnsupportedError) as refused:
        type_schema(Outer)
    assert refused.value.place == "Outer.parts[1].pattern{}[]"


def test_paths_are_strings_and_only_pydantic_looks_for_the_file() -> None:
    assert schema_of(FilePath) == {"type": "string", "$comment": "path of a file"}
    assert schema_of(Path) == {"type": "string", "$comment": "path"}
    assert schema_of(InstanceOf[int]) == INT
