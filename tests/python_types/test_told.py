"""A JSON Schema of the user's with definitions of its own: its references lead to those."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, WithJsonSchema

from guideway.python_types.source import type_schema
from type_oracle import check_offers


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


@pytest.mark.parametrize(
    ("offered", "beyond"),
    [
        ('"number":1', '"number":{"a":1}'),
        ('"again":1', '"again":{"a":1}'),
        ('"asked":1', '"asked":{"a":1}'),
        ('"text":"a"', '"text":1'),
        ('"named":1', '"named":{"a":1}'),
        ('"bar":{"foo":{"a":1}}', '"bar":{"foo":1}'),
    ],
)
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
