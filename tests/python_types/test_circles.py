"""Types that refer to themselves: with a part of the value between, or said to be none."""

from typing import Annotated, Any

import pytest
from pydantic import Field, WithJsonSchema
from typing_extensions import TypeAliasType

import guideway as gw
from guideway.errors import SourceError
from guideway.python_types.source import type_schema
from random_walks import BYTES
from type_oracle import check_offers

Itself = TypeAliasType("Itself", "Itself | str")  # pyright: ignore[reportGeneralTypeIssues]
Short = TypeAliasType("Short", "Annotated[Short, Field(max_length=3)]")
Nested = TypeAliasType("Nested", "Annotated[list[Nested], Field(max_length=1)] | str")
Twice = TypeAliasType("Twice", Annotated[str, Field(max_length=2)])


@pytest.mark.parametrize(
    ("type_", "named"),
    [
        (dict[Itself, int], "Itself"),
        (Annotated[Itself, Field(max_length=2)], "Itself"),
        (dict[Annotated[Itself, Field(max_length=2)], int], "Itself"),
        (Short, "Short"),
    ],
)
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
