"""Validators, hooks, unions and wrappers: what becomes of them, and what is refused by name."""

import json
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from math import nan
from typing import Annotated, Any, Literal

import pydantic
import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, GetJsonSchemaHandler, JsonValue, TypeAdapter, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.python_types.place import INTEGER
from guideway.python_types.source import type_schema
from random_types import Types
from random_walks import BYTES, text_of

INT = {"$ref": INTEGER}


def schema_of(type_: Any) -> dict[str, Any]:
    """The schema, without the definition of integers."""
    schema = dict(type_schema(type_).schema)
    definitions = {k: v for k, v in schema.pop("$defs", {}).items() if k != "integer"}
    return {**schema, "$defs": definitions} if definitions else schema


def same(value: Any) -> Any:
    return value


class Upper:
    """A type with a schema of its own."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: pydantic.GetCoreSchemaHandler
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


NO_JSON = [nan, 10**5000, "\ud800"]


@pytest.mark.parametrize("value", NO_JSON, ids=["NaN", "too long", "half of a pair"])
def test_what_json_cannot_hold_is_not_told(value: Any) -> None:
    class Said(BaseModel):
        default: Any = value
        example: Any = Field(examples=[value])
        inside: Any = Field(examples=[{"x": [value]}])

    assert schema_of(Said)["properties"] == {"default": {}, "example": {}, "inside": {}}


class Circle(BaseModel):
    shape: Literal["circle"] = Field("circle", alias="Shape")
    radius: int


class Square(BaseModel):
    shape: Literal["square"] = Field("square", alias="Shape")
    side: "Figure | None" = None


Figure = Annotated[Circle | Square, Field(discriminator="shape")]
Square.model_rebuild()


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


Raw = TypeAliasType("Raw", bytes)
Deep = TypeAliasType("Deep", "str | list[Deep]")


class Encoded(BaseModel):
    model_config = pydantic.ConfigDict(
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
        except pydantic.ValidationError:
            assert not Draft202012Validator(schema).is_valid(json.loads(text)), text
        else:
            assert Draft202012Validator(schema).is_valid(json.loads(text)), text


@pytest.mark.parametrize(("type_", "message"), [
    (re.Pattern[bytes], "a pattern of bytes has no JSON"),
    (pydantic.ImportString[Any], "import_string alone decides which JSON"),
    (Callable, "callable has no JSON"),
    (type[int], "is-subclass int has no JSON"),
    (Annotated[int | Decimal, Field(multiple_of=3)], "multiple_of=3 is not supported for Decimal"),
    (SkipJsonSchema[None] | SkipJsonSchema[int], "a union has only hidden members"),
])  # fmt: skip
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


# Random nested types: what is written parses back, and what pydantic writes is in the language.

pytestmark = pytest.mark.untraced


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
