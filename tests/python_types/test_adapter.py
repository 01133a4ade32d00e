"""pydantic's errors as ours, names of types, and callables."""

import functools
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, Strict, TypeAdapter, WithJsonSchema, create_model
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

import guideway as gw
from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.python_types import adapter as python_types_adapter
from guideway.python_types.adapter import type_name
from guideway.python_types.source import type_schema
from random_walks import BYTES
from type_oracle import check_offers


class Alien:
    pass


class Broken(BaseModel):
    other: "Missing"  # pyright: ignore[reportUndefinedVariable]


@pytest.mark.parametrize(("type_", "message"), [
    (Alien, "pydantic cannot read Alien from JSON; declare it as a BaseModel"),
    (list[Alien], r"cannot read Alien \(in list\[Alien\]\) from JSON"),
    (slice(1), r"cannot read slice\(None, 1, None\) from JSON"),
])  # fmt: skip
def test_what_pydantic_does_not_know_is_not_supported(type_: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        type_schema(type_)


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (list.__class_getitem__("a b"), "Forward reference must be an expression"),
        (Broken, "pydantic refuses Broken: .* is not fully defined"),
        (list["Missing"], "pydantic refuses"),  # pyright: ignore[reportUndefinedVariable]
        (Annotated[Literal[1], Strict()], "pydantic cannot read the type .*: Unable to apply"),
        (Annotated[date, Field(ge="a")], "pydantic cannot read the type date: Error building"),
    ],
)
def test_what_pydantic_refuses_is_a_wrong_source(type_: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        type_schema(type_)


class Failing:
    """A type whose methods fail with what is asked for."""

    def __init__(self, method: str, error: type[Exception]) -> None:
        self.method, self.error = method, error

    def __get_pydantic_core_schema__(self, *_: Any) -> Any:
        if self.method == "core":
            raise self.error("nope")
        return core_schema.bool_schema()

    def __get_pydantic_json_schema__(self, *_: Any) -> Any:
        raise self.error("nope")


@pytest.mark.parametrize("error", [KeyError, ValueError, AttributeError, ZeroDivisionError])
def test_errors_of_a_users_methods_do_not_leave_as_they_are(error: type[Exception]) -> None:
    told = f"failed with {error.__name__}: '?nope"
    with pytest.raises(SourceError, match=rf"^pydantic failed on bool {told[7:]}"):
        type_schema(Annotated[bool, Failing("core", error)])
    name = "Failing.__get_pydantic_json_schema__"
    with pytest.raises(SourceError, match=rf"^{name} {told}"):
        type_schema(Annotated[bool, Failing("json", error)])


def test_a_refusal_within_a_method_of_the_users_stays_one() -> None:
    class Asking(BaseModel):
        x: Callable[[], int]

        @classmethod
        def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
            return handler(core)

    with pytest.raises(UnsupportedError, match="callable has no JSON"):
        type_schema(Asking)


def test_what_has_no_name_is_called_by_its_class() -> None:
    with pytest.raises(
        SourceError, match="pydantic failed on GenericAlias with ValueError: Exceeds"
    ):
        type_schema(list[Annotated[int, Field(ge=10**5000)]])


def nested(depth: int) -> Any:
    type_: Any = bool
    for number in range(depth):
        type_ = create_model(f"N{number}", n=(type_ | None, None))
    return type_


def test_types_nested_beyond_pythons_stack_are_refused_as_that() -> None:
    with pytest.raises(
        UnsupportedError, match=r"N\d+ nests too deeply for Python's recursion limit"
    ):
        type_schema(nested(70))
    assert type_schema(nested(20)).schema["title"] == "N19"


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ImportError("email-validator is not installed")

    monkeypatch.setattr(python_types_adapter, "TypeAdapter", type("Fake", (), {"__init__": fail}))
    with pytest.raises(
        UnsupportedError, match="int needs a package that is not installed: email-valid"
    ):
        python_types_adapter.adapt(int)


def test_an_adapter_is_used_as_it_is() -> None:
    adapter = TypeAdapter(list[bool])
    assert type_schema(adapter).adapter is adapter


def greet(name: str, times: int = Field(ge=1), *, loud: bool = Field(False)) -> None:
    raise AssertionError((name, times, loud))


class Greeter:
    def greet(self, name, times=2):
        raise AssertionError((self, name, times))


def properties(function: Any) -> dict[str, Any]:
    return type_schema(function).schema["properties"]


def test_fields_as_defaults_of_parameters_count() -> None:
    assert properties(greet)["times"]["minimum"] == 1
    assert type_schema(greet).schema["required"] == ["name", "times"]


def test_a_method_does_not_ask_for_itself_and_unannotated_is_anything() -> None:
    assert properties(Greeter().greet) == {"name": {}, "times": {}}


def test_bound_arguments_of_a_partial_are_defaults_or_gone() -> None:
    assert list(properties(functools.partial(greet, "a", loud=True))) == ["times", "loud"]
    assert type_schema(functools.partial(greet, times=3)).schema["required"] == ["name"]


def positional(a: int, /) -> None: ...


def many(*a: int) -> None: ...


def named(**a: int) -> None: ...


def unresolved(a: "Missing") -> None: ...  # pyright: ignore[reportUndefinedVariable]


@pytest.mark.parametrize(("function", "message"), [
    (positional, "positional-only parameters have no names"),
    (many, r"\*args have no names"),
    (named, r"\*\*kwargs have no names"),
    (dict.fromkeys, "positional-only"),
    (vars, "vars has no signature"),
])  # fmt: skip
def test_parameters_that_json_cannot_name_are_refused(function: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        type_schema(function)


def test_an_annotation_that_means_nothing_is_a_wrong_source() -> None:
    with pytest.raises(SourceError, match="name 'Missing' is not defined"):
        type_schema(unresolved)


@pytest.mark.parametrize(("type_", "name"), [
    (TypeAdapter(Annotated[bool, 1]), "bool"),
    (functools.partial(greet), "greet"),
    (Annotated[Alien, 1], "Alien"),
    (dict[str, Alien], "dict[str, Alien]"),
    (Alien | None, "Alien | None"),
    (Greeter().greet, "greet"),
])  # fmt: skip
def test_a_type_is_called_by_its_short_name(type_: Any, name: str) -> None:
    assert type_name(type_) == name


def test_a_type_of_very_many_parts_is_refused_before_pydantic_reads_them() -> None:
    nested: Any = int
    for _ in range(30):
        nested = tuple[nested, nested]
    with pytest.raises(LimitError, match="2147483647 parts") as refused:
        gw.compile(nested, gw.Vocabulary([b"a"]))
    assert (refused.value.limit, refused.value.given) == ("parts of a type", 2**31 - 1)


# Types that refer to themselves: with a part of the value between, or said to be none.

Itself = TypeAliasType("Itself", "Itself | str")  # pyright: ignore[reportGeneralTypeIssues]
Short = TypeAliasType("Short", "Annotated[Short, Field(max_length=3)]")
Nested = TypeAliasType("Nested", "Annotated[list[Nested], Field(max_length=1)] | str")
Twice = TypeAliasType("Twice", Annotated[str, Field(max_length=2)])


@pytest.mark.parametrize(("type_", "named"), [
    (dict[Itself, int], "Itself"),
    (Annotated[Itself, Field(max_length=2)], "Itself"),
    (dict[Annotated[Itself, Field(max_length=2)], int], "Itself"),
    (Short, "Short"),
])  # fmt: skip
def test_a_type_that_is_its_own_part_is_said_to_be(type_: Any, named: str) -> None:
    with pytest.raises(SourceError, match=f"{named} refers to itself without going into") as told:
        type_schema(type_)
    assert told.value.place


def test_a_type_that_holds_itself_is_none_of_those() -> None:
    check_offers(Annotated[Nested, Field(min_length=1)], ['["a"]', '[["a"]]', '"a"'], ["[]"])
    check_offers(dict[Annotated[Twice, Field(min_length=1)] | Twice, int], ['{"ab":1}'], [])


def test_a_schema_of_the_users_that_holds_itself_is_no_json() -> None:
    circle: dict[str, Any] = {}
    circle["items"] = circle
    with pytest.raises(SourceError, match="the value is not JSON: it contains itself"):
        gw.compile(Annotated[list[int], WithJsonSchema(circle)], BYTES)


# A JSON Schema of the user's with definitions of its own: its references lead to those.


class Foo(BaseModel):
    a: int


class Bar(BaseModel):
    foo: Foo


NUMBER = {"$ref": "#/$defs/Foo", "$defs": {"Foo": {"type": "integer"}}}
TEXT = {"$ref": "#/definitions/Foo", "definitions": {"Foo": {"type": "string"}}}


class Resolved:
    """Asks what the reference of a schema stands for."""

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return handler.resolve_ref_schema(handler(core))


class Told(BaseModel):
    one: Foo
    two: Foo
    number: Annotated[int, WithJsonSchema(NUMBER)] = 1
    again: Annotated[int, WithJsonSchema(NUMBER)] = 1
    asked: Annotated[int, WithJsonSchema(NUMBER), Resolved()] = 1
    text: Annotated[str, WithJsonSchema(TEXT)] = ""
    named: Annotated[int, WithJsonSchema({**NUMBER, "$id": "urn:mine"})] = 1
    foo: Annotated[Any, WithJsonSchema({"$ref": "#/$defs/Foo"})] = None
    bar: Annotated[Bar, WithJsonSchema(Bar.model_json_schema())] = Bar(foo=Foo(a=1))


@pytest.mark.parametrize(("offered", "beyond"), [
    ('"number":1', '"number":{"a":1}'),
    ('"again":1', '"again":{"a":1}'),
    ('"asked":1', '"asked":{"a":1}'),
    ('"text":"a"', '"text":1'),
    ('"named":1', '"named":{"a":1}'),
    ('"bar":{"foo":{"a":1}}', '"bar":{"foo":1}'),
])  # fmt: skip
def test_references_lead_to_the_definitions_beside_them(offered: str, beyond: str) -> None:
    both = '"one":{"a":1},"two":{"a":1},'
    check_offers(Told, [f"{{{both}{offered}}}"], [f"{{{both}{beyond}}}"])


def test_those_without_definitions_lead_to_those_of_the_type() -> None:
    properties = type_schema(Told).schema["properties"]
    assert properties["foo"] == {"$ref": "#/$defs/Foo", "default": None}
    assert properties["number"]["$id"] == properties["again"]["$id"] == "urn:guideway:1"


def test_a_whole_type_keeps_its_definitions_beside_those_of_guideway() -> None:
    told = {"$ref": "#/$defs/integer", "$defs": {"integer": {"type": "string"}}}
    check_offers(Annotated[str, WithJsonSchema(told)], ['"a"'], ["1"])
