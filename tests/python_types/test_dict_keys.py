"""Keys of dicts: all that the type asks of a key counts, with pydantic as the oracle."""

import re
from collections import Counter
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any, Literal, Optional
from zoneinfo import ZoneInfo

import pydantic
import pydantic.networks
import pytest
from pydantic import AfterValidator, Base64Bytes, Base64Str, BaseModel, EmailStr, Field, TypeAdapter
from typing_extensions import TypeAliasType

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.python_types.source import type_schema
from random_walks import BYTES
from type_oracle import check_alike, check_offers, is_read

A_OR_B = Annotated[str, Field(pattern="^a")] | Annotated[str, Field(pattern="^b")]
Short = TypeAliasType("Short", Annotated[str, Field(max_length=2)])
Small = TypeAliasType("Small", Annotated[int, Field(ge=0)])


class TwiceShort(BaseModel):
    marks: dict[Short, int]
    mark: Short = ""


class TwiceSmall(BaseModel):
    marks: dict[Annotated[Small | Decimal, Field(lt=5)], int]
    mark: Small = 0


def same(value: Any) -> Any:
    return value


@pytest.mark.parametrize(("type_", "offered", "beyond"), [
    (dict[Base64Bytes, int], ['{"abcd":1}', '{"YQ==":1}', '{"":1}'], ['{"abc":1}']),
    (dict[Annotated[int | Decimal, Field(ge=5)], int], ['{"5":1}', '{"5.5":1}'],
     ['{"3":1}', '{"4.5":1}']),
    (dict[Annotated[A_OR_B, Field(max_length=3)], int], ['{"aaa":1}', '{"b":1}'],
     ['{"aaaa":1}', '{"bbbb":1}', '{"c":1}']),
    (dict[Path, int], ['{"a/b":1}'], []),
    (dict[Annotated[bool, AfterValidator(same)], int], ['{"true":1}'], ['{"a":1}']),
    (TwiceShort, ['{"marks":{"k":1},"mark":"ab"}'], ['{"marks":{"abc":1},"mark":""}']),
    (TwiceSmall, ['{"marks":{"4":1}}'], ['{"marks":{"-1.a":1}}', '{"marks":{"5":1}}']),
])  # fmt: skip
def test_keys_keep_what_their_type_asks(type_: Any, offered: list[str], beyond: list[str]) -> None:
    check_offers(type_, offered, beyond)


class Sure(Enum):
    YES = True
    ONE = 1
    MAYBE = "maybe"


def written(type_: Any, key: Any) -> str:
    return TypeAdapter(type_).dump_json({key: 1}).decode()


@pytest.mark.parametrize(
    ("key", "values", "beyond"),
    [
        (bool, [True, False], ['"True"', '"0"']),
        (bool | int, [True, False, 5], []),
        (int | bool, [True, False, 0], []),
        (Optional[Annotated[float, AfterValidator(same)] | bool], [True, False, 0.5], []),  # noqa: UP045  no class
        (int | Literal[True, "x"], [True, "x", 7], ['"False"']),
        (Literal[True, 1, "x"], [True, "x"], ['"False"', '"y"']),
        (Sure, [Sure.YES, Sure.MAYBE], ['"false"', '"2"']),
        (int | Sure, [Sure.YES, Sure.MAYBE, 3], ['"false"']),
        (int | Literal["true"], ["true", 3], ['"True"']),
    ],
)
def test_keys_that_are_true_or_false_are_on_offer_as_they_are_written(
    key: Any, values: list[Any], beyond: list[str]
) -> None:
    made = dict[key, int]
    constraint = gw.compile(made, BYTES)
    for value in values:
        assert TypeAdapter(made).validate_json(written(made, value)) == {value: 1}
        assert constraint.matches(written(made, value)), value
    assert not any(constraint.matches(f"{{{name}:1}}") for name in beyond)


def test_what_is_looked_for_by_its_text_is_not_found_behind_a_function() -> None:
    behind = pydantic.BeforeValidator(same)
    check_offers(Annotated[dict[Sure, int], behind], ['{"maybe":1}'], ['{"true":1}'])
    check_offers(Annotated[dict[bool, int], behind], ['{"true":1}'], [])
    with pytest.raises(UnsupportedError, match="a choice without strings has no JSON keys"):
        type_schema(Annotated[dict[Literal[True], int], behind])


def test_two_texts_of_one_key_are_not_counted_as_two() -> None:
    for key in (Literal[True, "yes"], Sure):
        with pytest.raises(UnsupportedError, match="min_length is not supported for dicts"):
            type_schema(Annotated[dict[key, int], Field(min_length=2)])
    both = Annotated[dict[Literal["a", "b"], int], Field(min_length=2)]
    check_offers(both, ['{"a":1,"b":1}'], ['{"a":1}'])


def test_keys_that_a_validator_of_pydantics_decides_alone_are_refused() -> None:
    message = "the validator import_string alone decides which JSON"
    with pytest.raises(UnsupportedError, match=message) as refused:
        type_schema(dict[pydantic.ImportString[Any], int])
    assert refused.value.place.endswith("{key}")


@pytest.mark.parametrize(("kind", "texts"), [
    (complex, ["1+2j", "a"]),
    (Fraction, ["1/2", "a"]),
    (ZoneInfo, ["UTC", "a"]),
    (IPv4Network, ["10.0.0.0/8", "10.0.0.1/8"]),
    (pydantic.IPvAnyAddress, ["10.0.0.0", "::", "a"]),
    (Base64Str, ["aGk=", "aGk"]),
    (re.Pattern[str], ["a+", "("]),
])  # fmt: skip
def test_types_written_as_strings_are_keys(kind: Any, texts: list[str]) -> None:
    check_alike(dict[kind, int], [f'{{"{text}":1}}' for text in texts], walks=1)


class Equal(Enum):  # noqa: PLW1641
    """It compares, so Python takes its hash away."""

    A = "a"

    def __eq__(self, other: object) -> bool:
        return self is other or other == "a"


class Root(pydantic.RootModel[str]):
    pass


@pytest.mark.parametrize(
    "type_", [dict[Equal, int], dict[Equal | int, int], Counter[Equal], dict[Root, int]]
)
def test_keys_without_a_hash_are_refused(type_: Any) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        is_read(type_, '{"a":1}')
    with pytest.raises(UnsupportedError, match="a dict with keys that may be unhashable"):
        type_schema(type_)


def test_members_without_a_hash_are_in_no_set() -> None:
    assert not is_read(set[Literal[Equal.A]], '["a"]')
    with pytest.raises(UnsupportedError, match="unhashable"):
        type_schema(set[Literal[Equal.A]])


def test_any_key_is_a_string_and_has_a_hash() -> None:
    for type_ in (dict[Any, int], dict[pydantic.Secret[str], int]):
        check_offers(type_, ['{"a":1}'], [])


def test_keys_that_are_addresses_are_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that checks addresses need not be here."""
    monkeypatch.setattr(pydantic.networks, "import_email_validator", lambda: None)
    names = type_schema(dict[EmailStr, int]).schema["propertyNames"]
    assert names == {k: v for k, v in type_schema(EmailStr).schema.items() if k != "type"}
