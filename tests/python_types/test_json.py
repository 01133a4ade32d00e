"""Strings that hold the JSON of a type: pydantic reads what is on offer, and what it writes is."""

import datetime as dt
import json
import random
import warnings
from collections import defaultdict
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    TypeAdapter,
    create_model,
)

import guideway as gw
from guideway.errors import UnsatisfiableError, UnsupportedError
from guideway.sources.sources import PythonType
from random_types import Types
from random_walks import BYTES, text_of
from type_oracle import check_alike


class Call(BaseModel):
    """A call of a tool, as OpenAI writes it."""

    name: Literal["search"]
    arguments: Json["Arguments"]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    query: str
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    within: "list[Arguments]" = []


Call.model_rebuild()


def written(*values: str) -> list[str]:
    """JSON texts as strings of JSON."""
    return [json.dumps(value) for value in values]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (Json, ["1", '"a"', '{"a": [null, "\\n\\\\"]}', "a", ""]),
        (Json[int], ["1", "-20", "1.5", '"a"', "1 2"]),
        (Json[str], ['"a"', '"a\\"b\\u00e9"', "1", '"a']),
        (Json[list[int]], ["[1, 2]", "[]", "[1", '["a"]']),
        (Json[bool | None], ["null", "true", "2"]),
        (Json[dt.date], ['"2024-01-01"', '"2024-02-30"']),
        (Json[dict[str, list[bool]]], ['{"a": [true], "b\\"": []}', '{"a": true}']),
        (Json[Literal["a b", 3]], ['"a b"', "3", '"b"']),
        (Json[Arguments], ['{"query": "a", "limit": 3}', '{"query": "a", "limit": 0}', "{}"]),
        (Json[Arguments], ['{"query": "", "within": [{"query": "x"}]}', '{"query": 1}']),
        (Json[Annotated[set[int], Field(min_length=2)]], ["[1, 2]", "[1, 1]", "[1]"]),
        (Annotated[Json[list[int]], Field(max_length=1)], ["[1]", "[1,2]"]),
        (Annotated[Json[int], AfterValidator(lambda value: value), Field(ge=3)], ["3", "2"]),
        (Annotated[Json[list[int]], BeforeValidator(lambda value: value)], ["[1]", "1"]),
        (Json[dict[int, str]], ['{"1": "a"}', '{"a": "a"}']),
    ],
)
def test_the_json_of_a_type_stands_in_a_string(kind: Any, texts: list[str]) -> None:
    check_alike(kind, [*written(*texts), *texts], walks=4)


def test_characters_beyond_ascii_stand_as_they_are() -> None:
    check_alike(Json[str], ['"\\"é\\""', r'"\"\\u00e9\""'])


def test_a_string_in_a_string() -> None:
    kind: Any = Json[Json[list[str]]]
    check_alike(kind, written(*written('["a", "\\""]', '["a]')), walks=3)


def test_it_stands_beside_others() -> None:
    texts = ["1", "null", *written("[1]", "a"), '"[1"']
    check_alike(Json[list[int]] | int | None, texts, walks=3)
    check_alike(list[Json[int] | Json[bool]], ['["1","true"]', '["a"]'], walks=3)
    check_alike(Json[int] | Literal["a"], ['"1"', '"a"', '"b"'], walks=2)


@pytest.mark.parametrize("seed", range(40, 52))
def test_any_type_may_stand_in_a_string(seed: int) -> None:
    types = Types(seed)
    made, value = types.any(2)
    kind: Any = Json[made]
    adapter, inner = TypeAdapter(kind), TypeAdapter(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unions, pydantic guesses what a value is of
        texts = [inner.dump_json(value(), by_alias=True).decode() for _ in range(2)]
    for source in (PythonType(kind), PythonType(kind).plain_form):
        constraint = gw.compile(source, BYTES)
        for text in texts if source.style == (None, None, None) else ():
            assert constraint.matches(json.dumps(text, ensure_ascii=False)), text
        chance = random.Random(seed)
        for _ in range(2):
            adapter.validate_json(text_of(constraint, chance, 60))


def test_nothing_is_lost_on_the_way_to_an_end() -> None:
    constraint = gw.compile(Call, BYTES)
    text = Call(name="search", arguments='{"query":"a\\"b","limit":3}').model_dump_json(  # pyright: ignore[reportArgumentType]
        round_trip=True
    )
    state = constraint.start()
    for byte in text.encode():
        assert constraint.distance(state) > 0
        state = constraint.advance(state, byte)
    assert constraint.distance(state) == 0
    Call.model_validate_json(constraint.example())


def test_a_type_without_values_is_none_in_a_string_either() -> None:
    never: Any = Annotated[int, Field(gt=3, lt=4)]
    with pytest.raises(UnsatisfiableError):
        gw.compile(Json[never], BYTES)
    missing: Any = Json[never] | None
    model = create_model("M", a=(missing, None), b=(int, 1))
    check_alike(model, ['{"a":null}', '{"b":1}', '{"a":"3"}'], walks=2)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (dict[Json[int], int], "JSON in a string is not supported here"),
        (Annotated[Json[int], Field(pattern="1")], "pattern='1' is not supported for int"),
        (
            create_model(
                "Strict",
                __config__=ConfigDict(strict=True),
                x=(defaultdict[str, list[Json[int]]], ...),
            ),
            "JSON in a string in a strict defaultdict is read twice",
        ),
    ],
)
def test_where_it_cannot_stand_is_refused(kind: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        gw.compile(kind, BYTES)


def test_it_is_described_and_published() -> None:
    assert gw.describe(Json[list[int]]) == "string with the JSON of [integer, ...]"
    parameters = gw.tools([Call]).schemas[0]["function"]["parameters"]
    held = parameters["properties"]["arguments"]
    assert held["contentMediaType"] == "application/json"
    assert held["contentSchema"] == {"$ref": "#/$defs/Arguments"}


def test_floats_and_patterns_are_published_as_users_write_them() -> None:
    made = create_model("M", x=(float, ...), y=(Annotated[float, Field(ge=0)], ...))
    properties = gw.tools([made]).schemas[0]["function"]["parameters"]["properties"]
    assert properties == {"x": {"type": "number"}, "y": {"type": "number", "minimum": 0.0}}
    made = create_model("M", x=(Annotated[str, Field(pattern=r"(?i)^\d\b")], ...))
    properties = gw.tools([made]).schemas[0]["function"]["parameters"]["properties"]
    assert properties == {"x": {"type": "string", "pattern": r"(?i)^\d\b"}}
