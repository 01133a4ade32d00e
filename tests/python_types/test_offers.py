"""What types have on offer: keys of objects, defaults, undeclared keys, keys of dicts, callables.

pydantic is the oracle: what is on offer is read, and what is read and written back is on offer.
"""

import dataclasses
import datetime as dt
import functools
import itertools
import json
import re
import sys
import typing
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Network
from math import nan
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, Required, TypedDict
from zoneinfo import ZoneInfo

import pydantic
import pytest
import typing_extensions
from jsonschema import Draft202012Validator
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema
from typing_extensions import ReadOnly, TypeAliasType

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.errors import SourceError
from guideway.language.derivative import Derivatives
from guideway.python_types.adapter import with_typed_dicts
from guideway.python_types.place import INTEGER
from guideway.python_types.source import type_schema
from guideway.sources.sources import PythonType
from plain_texts import matches
from random_walks import BYTES
from type_oracle import check_alike, check_offers, is_read, same, told

BAD: Any = "bad"
DAY: Any = "2020-01-01"
VALIDATED = ConfigDict(validate_default=True)
OPEN = ConfigDict(extra="allow")


def model(config: ConfigDict | None = None, **fields: Any) -> Any:
    return pydantic.create_model("Model", __config__=config, **fields)


def schema_of(type_: Any) -> dict[str, Any]:
    """The schema, without the definition of integers."""
    schema = dict(type_schema(type_).schema)
    definitions = {k: v for k, v in schema.pop("$defs", {}).items() if k != "integer"}
    return {**schema, "$defs": definitions} if definitions else schema


def keys(type_: Any) -> list[str]:
    return list(type_schema(type_).schema["properties"])


# Aliases, defaults and undeclared keys.


def test_a_key_is_the_alias_that_pydantic_reads_by() -> None:
    either = Field(validation_alias=AliasChoices(AliasPath("a", 0), "b", "c"))
    aliased = model(
        plain=(bool, ...), read=(bool, Field(alias="Read")), either=(bool, either),
        path=(bool, Field(validation_alias=AliasPath("p"))),
        written=(bool, Field(serialization_alias="w")),
    )  # fmt: skip
    assert keys(aliased) == ["plain", "Read", "b", "p", "written"]
    assert type_schema(aliased).schema["additionalProperties"] is False
    by_name = ConfigDict(validate_by_alias=False, validate_by_name=True)
    assert keys(model(by_name, read=(bool, Field(alias="Read")))) == ["read"]
    deep = Field(validation_alias=AliasPath("a", "b"))
    assert keys(model(ConfigDict(populate_by_name=True), deep=(bool, deep))) == ["deep"]
    assert keys(model(shown=(int, ...), hidden=(SkipJsonSchema[int], 1))) == ["shown"]


class Defaults(BaseModel):
    """What is known."""

    text: str = "a"
    none: bool | None = None
    made: list[int] = Field(default_factory=list)
    infinite: float = float("inf")
    other: tuple[int, ...] = (1,)


def test_fields_with_a_default_may_be_left_out_and_plain_defaults_are_told() -> None:
    schema = type_schema(Defaults).schema
    assert "required" not in schema
    parts = schema["properties"].items()
    defaults = {name: part["default"] for name, part in parts if "default" in part}
    assert defaults == {"text": "a", "none": None}
    assert schema["description"] == "What is known."


@pytest.mark.parametrize("value", [nan, 10**5000, "\ud800"], ids=["NaN", "too long", "half a pair"])
def test_what_json_cannot_hold_is_not_told(value: Any) -> None:
    examples = {"one": Field(examples=[value]), "inside": Field(examples=[{"x": [value]}])}
    said = model(default=(Any, value), **{name: (Any, field) for name, field in examples.items()})
    assert schema_of(said)["properties"] == {"default": {}, "one": {}, "inside": {}}


@pydantic.dataclasses.dataclass(config=OPEN)
class Open:
    number: bool = dataclasses.field(metadata={"description": "which"})


@pydantic.dataclasses.dataclass(config=OPEN, slots=True)
class Slots:
    given: bool
    inner: Any = None


@pydantic.dataclasses.dataclass(config=OPEN, slots=True)
class Roomy(Open):
    """Slots beside the room that its base has."""


def test_undeclared_keys_are_on_offer_only_where_they_are_kept() -> None:
    with pytest.raises(AttributeError, match="other"):  # slots have no room for it
        is_read(Slots, '{"given":true,"other":1}')
    forbidding = model(ConfigDict(extra="forbid"), given=(bool, ...))
    for type_, others in (
        (model(OPEN, given=(bool, ...)), {}),
        (forbidding, False),
        (Slots, False),
    ):
        assert type_schema(type_).schema["additionalProperties"] == others


@pydantic.dataclasses.dataclass(config=VALIDATED)
class Data:
    x: int = BAD


class Typed(typing_extensions.TypedDict, total=False):
    x: Annotated[int, Field(default="bad", validate_default=True)]


class Twice(BaseModel):
    other: "Twice | None" = Field(BAD, validate_default=True)


class Row(NamedTuple):
    first: int
    second: Annotated[int, Field(validate_default=True)] = 1
    third: Annotated[int, Field(ge=0, validate_default=True)] = -1


class After(BaseModel):
    """Its validator asks for the other fields, which are there when a text is read."""

    first: int = 1
    second: int = Field(2, validate_default=True)

    @pydantic.field_validator("second")
    @classmethod
    def above(cls, value: int, info: pydantic.ValidationInfo) -> int:
        assert value > info.data["first"]
        return value


# Keys of dicts, and types that hold themselves.

A_OR_B = told(str, pattern="^a") | told(str, pattern="^b")
Short = TypeAliasType("Short", Annotated[str, Field(max_length=2)])
Small = TypeAliasType("Small", Annotated[int, Field(ge=0)])
Nested = TypeAliasType("Nested", "Annotated[list[Nested], Field(max_length=1)] | str")
EITHER = dict[Annotated[Small | Decimal, Field(lt=5)], int]


class Sure(Enum):
    YES = True
    ONE = 1
    MAYBE = "maybe"


LIST = {"$ref": "#/$defs/integer", "$defs": {"integer": {"type": "string"}}}
OFFERS: list[tuple[Any, list[str], list[str]]] = [
    (model(x=(int, Field(-1, ge=0, validate_default=True))), ['{"x":1}'], ["{}"]),
    (model(VALIDATED, x=(dt.date, BAD), y=(int, Field(BAD, validate_default=False))),
     ['{"x":"2020-01-01"}'], ["{}"]),
    (model(ConfigDict(validate_default=True, strict=True), x=(dt.date, DAY)),
     ['{"x":"2020-01-01"}'], ["{}"]),
    (Twice, ['{"other":null}'], ["{}"]),
    (After, ["{}"], []),
    (model(VALIDATED, x=(int, "3")), ["{}"], []),  # which pydantic reads
    (model(VALIDATED, x=(list[int], Field(default_factory=lambda: [BAD]))), ['{"x":[1]}'], []),
    (Data, ['{"x":1}'], ["{}"]),
    (Typed, ['{"x":1}'], ["{}"]),
    (Row, ["[1,2,3]"], ["[1]", "[1,2]"]),  # it ends behind its last refused default
    (Slots, ['{"given":true}', '{"given":true,"inner":{"other":1}}'], []),
    (Roomy, ['{"number":true,"other":1}'], []),
    (dict[pydantic.Base64Bytes, int], ['{"abcd":1}', '{"YQ==":1}', '{"":1}'], ['{"abc":1}']),
    (dict[told(int | Decimal, ge=5), int], ['{"5":1}', '{"5.5":1}'], ['{"3":1}', '{"4.5":1}']),
    (dict[told(A_OR_B, max_length=3), int], ['{"aaa":1}', '{"b":1}'],
     ['{"aaaa":1}', '{"bbbb":1}', '{"c":1}']),
    (dict[Annotated[bool, pydantic.AfterValidator(same)], int], ['{"true":1}'], ['{"a":1}']),
    (model(marks=(dict[Short, int], ...), mark=(Short, "")), ['{"marks":{"k":1},"mark":"ab"}'],
     ['{"marks":{"abc":1},"mark":""}']),
    (model(marks=(EITHER, ...), mark=(Small, 0)), ['{"marks":{"4":1}}'],
     ['{"marks":{"-1.a":1}}', '{"marks":{"5":1}}']),
    (Annotated[dict[Sure, int], pydantic.BeforeValidator(same)], ['{"maybe":1}'], ['{"true":1}']),
    (told(dict[Literal["a", "b"], int], min_length=2), ['{"a":1,"b":1}'], ['{"a":1}']),
    (dict[Any, int], ['{"a":1}'], []),
    (dict[pydantic.Secret[str], int], ['{"a":1}'], []),
    (told(Nested, min_length=1), ['["a"]', '[["a"]]', '"a"'], ["[]"]),
    (dict[told(Short, min_length=1) | Short, int], ['{"ab":1}'], []),
    (Annotated[str, WithJsonSchema(LIST)], ['"a"'], ["1"]),  # it keeps its own definitions
]  # fmt: skip


@pytest.mark.parametrize(("type_", "offered", "beyond"), OFFERS)
def test_what_pydantic_reads_is_on_offer(type_: Any, offered: list[str], beyond: list[str]) -> None:
    check_offers(type_, offered, beyond)


@pytest.mark.parametrize(("key", "values", "beyond"), [
    (bool, [True, False], ['"True"', '"0"']),
    (int | bool, [True, False, 0], []),
    (Optional[Annotated[float, pydantic.AfterValidator(same)] | bool], [True, False, 0.5], []),  # noqa: UP045  no class
    (int | Literal[True, "x"], [True, "x", 7], ['"False"']),
    (Literal[True, 1, "x"], [True, "x"], ['"False"', '"y"']),
    (Sure, [Sure.YES, Sure.MAYBE], ['"false"', '"2"']),
    (int | Sure, [Sure.YES, Sure.MAYBE, 3], ['"false"']),
])  # fmt: skip
def test_keys_that_are_true_or_false_are_on_offer_as_they_are_written(
    key: Any, values: list[Any], beyond: list[str]
) -> None:
    made = dict[key, int]
    constraint, adapter = gw.compile(made, BYTES), pydantic.TypeAdapter(made)
    for value in values:
        written = adapter.dump_json({value: 1}).decode()
        assert adapter.validate_json(written) == {value: 1}
        assert constraint.matches(written), value
    assert not any(constraint.matches(f"{{{name}:1}}") for name in beyond)


@pytest.mark.parametrize(("kind", "texts"), [
    (complex, ["1+2j", "a"]), (Fraction, ["1/2", "a"]), (ZoneInfo, ["UTC", "a"]),
    (IPv4Network, ["10.0.0.0/8", "10.0.0.1/8"]), (pydantic.IPvAnyAddress, ["10.0.0.0", "::", "a"]),
    (pydantic.Base64Str, ["aGk=", "aGk"]), (re.Pattern[str], ["a+", "("]),
])  # fmt: skip
def test_types_written_as_strings_are_keys(kind: Any, texts: list[str]) -> None:
    check_alike(dict[kind, int], [f'{{"{text}":1}}' for text in texts], walks=1)


# Keys that two fields are read from, and keys under which a field is written.

BY_NAME = ConfigDict(populate_by_name=True)
A_B = AliasChoices("a", "b")
A_PATH = Field(0, validation_alias=AliasChoices("a", AliasPath("b", 0)))
ITSELF = Field([], validation_alias=AliasChoices("a", AliasPath("a", 0)))
OBJECTS = {
    "beside": model(a=(int, Field(0, validation_alias=A_B)), b=(str, ...)),
    "beside a path": model(a=(int, A_PATH), b=(list[str], [])),
    "required": model(a=(int, Field(validation_alias=A_B)), b=(str, "")),
    "into itself": model(a=(list[int], ITSELF), b=(str, "")),
    "alias by name": model(BY_NAME, a=(int, Field(0, alias="b")), b=(str, Field("", alias="c"))),
    "extra beside": model(OPEN, a=(int, Field(0, validation_alias=A_B))),
    "extra path": model(OPEN, a=(int, Field(
        0, validation_alias=AliasChoices(AliasPath("b", 0), "a")))),
    "extra hidden": model(OPEN, a=(int, 0), b=(SkipJsonSchema[int], 0)),
    "written": model(a=(int, Field(0, validation_alias=A_B, serialization_alias="b"))),
    "written by name": model(BY_NAME, a=(int, Field(0, validation_alias="b"))),
    "own name": model(a=(int, Field(0, validation_alias=AliasChoices("b", "a")))),
    "partly": typing_extensions.TypedDict("Partly", {"a": int, "b": str}, total=False),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_on_offer_is_read_and_what_is_written_and_read_is_on_offer(name: str) -> None:
    type_ = OBJECTS[name]
    language, adapter = Derivatives(lower_source(PythonType(type_))), pydantic.TypeAdapter(type_)
    offered = 0
    for values in itertools.product((None, 1, "s", ["s"], [1]), repeat=3):
        members = zip("abc", values, strict=True)
        text = json.dumps({key: value for key, value in members if value is not None})
        if not is_read(type_, text):
            assert not matches(language, text), text
            continue
        written = adapter.dump_json(adapter.validate_json(text), by_alias=True).decode()
        if is_read(type_, written) and not name.startswith("extra"):
            assert matches(language, written), text
            offered += 1
    assert offered or name.startswith("extra")
    schema = type_schema(type_).schema
    if name.startswith("extra"):  # an undeclared key is none that a field is read from
        assert schema["properties"]["b"] is False
    if name in ("beside", "required", "into itself", "written"):
        assert schema.get("dependentRequired") == ({"b": ["a"]} if name == "beside" else None)


# JSON Schemas of the user's, unions, and aliases of types.


class Upper:
    """A type with a schema of its own."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(same)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        assert handler.mode == "validation"
        return handler(core_schema.str_schema(pattern="^[A-Z]*$"))


class Resolved:
    """Asks what the reference of a schema stands for."""

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {**handler.resolve_ref_schema(handler(core)), "maxProperties": 1}


def test_a_json_schema_of_the_users_is_taken_at_its_word() -> None:
    assert schema_of(Upper) == {"type": "string", "pattern": "^[A-Z]*$"}
    assert schema_of(Annotated[model(first=(int, ...)), Resolved()])["maxProperties"] == 1
    said = {"type": "string", "enum": ["a"]}
    assert schema_of(Annotated[Callable[[], int], WithJsonSchema(said)]) == said
    for hidden in (SkipJsonSchema[None], Annotated[None, WithJsonSchema(None)]):
        assert schema_of(int | hidden) == {"$ref": INTEGER}


class Foo(BaseModel):
    a: int


class Bar(BaseModel):
    foo: Foo


NUMBER = {"$ref": "#/$defs/Foo", "$defs": {"Foo": {"type": "integer"}}}
TEXT = {"$ref": "#/definitions/Foo", "definitions": {"Foo": {"type": "string"}}}
TOLD = model(
    one=(Foo, ...), two=(Foo, ...),
    **{name: (Annotated[int, WithJsonSchema(NUMBER)], 1) for name in ("number", "again")},
    asked=(Annotated[int, WithJsonSchema(NUMBER), Resolved()], 1),
    text=(Annotated[str, WithJsonSchema(TEXT)], ""),
    named=(Annotated[int, WithJsonSchema({**NUMBER, "$id": "urn:mine"})], 1),
    foo=(Annotated[Any, WithJsonSchema({"$ref": "#/$defs/Foo"})], None),
    bar=(Annotated[Bar, WithJsonSchema(Bar.model_json_schema())], Bar(foo=Foo(a=1))),
)  # fmt: skip


def test_references_lead_to_the_definitions_beside_them() -> None:
    names = ("number", "again", "asked", "named")
    offered = [*(f'"{name}":1' for name in names), '"text":"a"', '"bar":{"foo":{"a":1}}']
    beyond = [*(f'"{name}":{{"a":1}}' for name in names), '"text":1', '"bar":{"foo":1}']
    whole = '{{"one":{{"a":1}},"two":{{"a":1}},{}}}'
    check_offers(TOLD, [*map(whole.format, offered)], [*map(whole.format, beyond)])
    properties = type_schema(TOLD).schema["properties"]
    assert properties["foo"] == {"$ref": "#/$defs/Foo", "default": None}  # that of the type
    assert properties["number"]["$id"] == properties["again"]["$id"] == "urn:guideway:1"


def test_a_tag_goes_into_each_member_of_a_member_that_is_a_union() -> None:
    def cat(color: str) -> Any:
        return model(kind=(Literal["cat"], ...), color=(Literal[color], color))

    cats = told(cat("black") | cat("tabby"), discriminator="color")
    dog = model(kind=(Literal["dog"], "dog"))
    first, second = schema_of(told(cats | dog, discriminator="kind"))["anyOf"]
    assert [each["required"] for each in first["anyOf"]] == [["kind", "color"], ["kind", "color"]]
    assert second["required"] == ["kind"]


Raw = TypeAliasType("Raw", bytes)
Deep = TypeAliasType("Deep", "str | list[Deep]")
ENCODED = ConfigDict(
    val_json_bytes="base64", ser_json_bytes="base64", str_max_length=1, extra="forbid"
)
PARTS: dict[str, Any] = {"raw": (Raw, b""), "any": (pydantic.JsonValue, None), "deep": (Deep, "")}
INNER: dict[str, Any] = {"inner": (model(ENCODED, **PARTS), None)}


@pytest.mark.parametrize("fields", [PARTS | INNER, INNER | PARTS])
@pytest.mark.parametrize(
    "own", ['"raw":"%"', '"raw":""', '"deep":"ab"', '"deep":["ab"]', '"deep":[["a"]]']
)
def test_an_alias_is_read_under_the_configuration_of_each_place(fields: Any, own: str) -> None:
    around = model(**fields)
    judge = Draft202012Validator(type_schema(around).schema)
    for text in (f"{{{own}}}", f'{{"inner":{{{own}}}}}', f'{{{own},"inner":{{{own}}}}}'):
        assert judge.is_valid(json.loads(text)) == is_read(around, text), text


# Callables and adapters.


def greet(name: str, times: int = Field(ge=1), *, loud: bool = Field(False)) -> None:
    raise AssertionError((name, times, loud))


class Greeter:
    def greet(self, name, times=2):
        raise AssertionError((self, name, times))


def test_parameters_are_keys_and_bound_ones_are_defaults_or_gone() -> None:
    schema = type_schema(greet).schema
    assert schema["properties"]["times"]["minimum"] == 1
    assert schema["required"] == ["name", "times"]
    assert type_schema(Greeter().greet).schema["properties"] == {"name": {}, "times": {}}
    assert keys(functools.partial(greet, "a", loud=True)) == ["times", "loud"]
    assert type_schema(functools.partial(greet, times=3)).schema["required"] == ["name"]


# TypedDicts of typing, wherever they stand in a type.


class Base(TypedDict):
    """A base."""

    a: int


class Point(Base, total=False):
    b: Required[str]
    c: list[Base]


class Closed(TypedDict):
    x: NotRequired[int]


Closed.__pydantic_config__ = {"extra": "forbid"}  # type: ignore[attr-defined]


def located(point: Point, scale: float = 1.0) -> None:
    """A function that takes one."""


@pytest.mark.parametrize(("type_", "text"), [
    (Point, '{"a": 1, "b": "x", "c": [{"a": 2}]}'),
    (dict[str, Base], '{"k": {"a": 1}}'),
    (tuple[Base, ...], '[{"a": 1}, {"a": 2}]'),
    (Base | None, '{"a": 1}'),
    (typing.Union[Base, Literal["x"]], '"x"'),  # noqa: UP007
    (told(list[Base], min_length=1), '[{"a": 1}]'),
    (located, '{"point": {"a": 1, "b": "x"}}'),
])  # fmt: skip
def test_typed_dicts_are_read_like_any_other(type_: Any, text: str):
    adapter = type_schema(type_).adapter
    adapter.validate_json(text)
    assert type_schema(adapter).adapter is adapter
    assert gw.compile(type_, BYTES).matches(text)


def test_typed_dicts_keep_what_they_say():
    assert set(type_schema(Point).schema["required"]) == {"a", "b"}
    assert with_typed_dicts(Base).__doc__ == "A base."
    assert with_typed_dicts(Closed).__pydantic_config__ == {"extra": "forbid"}
    for type_ in (A_OR_B, list[int], Any):
        assert with_typed_dicts(type_) == type_


class Said(TypedDict):
    """As under `from __future__ import annotations`."""

    a: "NotRequired[int]"
    b: "str"
    c: "Annotated[NotRequired[int], Field(ge=1)]"
    d: "ReadOnly[NotRequired[int]]"
    e: "NotRequired[ReadOnly[int]]"
    f: "ReadOnly[Annotated[int, Field(ge=1)]]"


class SaidAgain(Said, total=False):
    g: "Required[int]"
    h: "int"
    i: "ReadOnly[int]"


@pytest.mark.parametrize("type_", [Said, SaidAgain])
def test_annotations_that_are_strings_say_which_keys_are_required(type_: Any):
    hints = typing.get_type_hints(type_, include_extras=True)
    total = {**hints, **{key: NotRequired[int] for key in ("h", "i") if key in hints}}
    expected = typing_extensions.TypedDict("Expected", total).__required_keys__
    schema = type_schema(type_).schema
    assert set(schema["required"]) == expected
    assert schema["properties"]["c"]["minimum"] == schema["properties"]["f"]["minimum"] == 1


class Tree(TypedDict):
    children: "list[Tree]"


class Ping(TypedDict):
    pong: "Pong | None"


class Pong(TypedDict):
    ping: dict[str, Ping]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes those of typing there")
@pytest.mark.parametrize("type_", [list[Tree], Pong])
def test_those_that_hold_themselves_are_refused_for_what_they_are(type_: Any):
    with pytest.raises(SourceError, match=r"Please use `typing_extensions\.TypedDict` instead"):
        type_schema(type_)
