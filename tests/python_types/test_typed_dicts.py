"""TypedDicts of typing, wherever they stand in a type."""

import sys
import typing
from typing import Annotated, Any, Literal, NotRequired, Optional, Required, TypedDict

import pytest
import typing_extensions
from pydantic import Field
from typing_extensions import ReadOnly

from guideway.errors import SourceError
from guideway.python_types.adapter import with_typed_dicts
from guideway.python_types.source import type_schema


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


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (Point, '{"a": 1, "b": "x", "c": [{"a": 2}]}'),
        (Point, '{"a": 1, "b": "x"}'),
        (list[Point], '[{"a": 1, "b": "x"}]'),
        (dict[str, Base], '{"k": {"a": 1}}'),
        (tuple[Base, ...], '[{"a": 1}, {"a": 2}]'),
        (Optional[Base], "null"),  # noqa: UP045
        (Base | None, '{"a": 1}'),
        (typing.Union[Base, Literal["x"]], '"x"'),  # noqa: UP007
        (Annotated[list[Base], Field(min_length=1)], '[{"a": 1}]'),
        (located, '{"point": {"a": 1, "b": "x"}}'),
    ],
)
def test_they_are_read_like_any_other(type_: Any, text: str):
    assert type_schema(type_).adapter.validate_json(text) is not ...


def test_required_keys_are_kept_through_inheritance():
    schema = type_schema(Point).schema
    assert set(schema["required"]) == {"a", "b"}
    assert with_typed_dicts(Base).__doc__ == "A base."


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


def test_their_configuration_is_kept():
    assert with_typed_dicts(Closed).__pydantic_config__ == {"extra": "forbid"}


@pytest.mark.parametrize("type_", [int, list[int], Literal["a"], Annotated[int, Field(ge=1)], Any])
def test_other_types_stay_as_they_are(type_: Any):
    assert with_typed_dicts(type_) == type_


class Tree(TypedDict):
    children: "list[Tree]"


class Ping(TypedDict):
    pong: "Pong | None"


class Pong(TypedDict):
    ping: dict[str, Ping]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes those of typing there")
@pytest.mark.parametrize("type_", [Tree, list[Tree], Ping, Pong])
def test_those_that_hold_themselves_are_refused_for_what_they_are(type_: Any):
    with pytest.raises(SourceError, match=r"Please use `typing_extensions\.TypedDict` instead"):
        type_schema(type_)
