"""Texts read back: as a type, as data, or as they are."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ValidationError

from fairlead.api.values import partial_value, read_value
from fairlead.errors import FairleadError
from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.sources import Choice, PythonType, Regex, Source, Text, repeat, source


class Point(BaseModel):
    x: int


def refuse(value: int) -> int:
    raise KeyError(value)


NUMBER, ANY = PythonType(int), JsonSchema({})


@pytest.mark.parametrize(
    ("asked", "text", "value"),
    [
        (PythonType(Point), '{"x": 1}', Point(x=1)),
        (ANY, '{"x": [1.5, null]}', {"x": [1.5, None]}),
        (Regex("[0-9]+"), "12", "12"),
        (Choice(["12"]), "12", "12"),
        (Text(), "12", "12"),
        (source("a") + NUMBER, "a12", 12),
        (source("a") + NUMBER + "," + NUMBER, "a12,3", "a12,3"),
        (repeat(NUMBER), "12", "12"),
        (Regex("[0-9]+") | NUMBER, "12", "12"),
        (Regex("[a-z]+") | NUMBER, "12", 12),
        (Regex("[0-9]{3}") | (Regex("x") | NUMBER), "12", 12),
        (Regex("1") | NUMBER, "12", 12),
        (Regex("a") | Regex("b"), "neither", "neither"),
        (Regex("[0-9]+") & NUMBER, "12", 12),
        (Regex("[0-9]+") & (NUMBER | Regex("x")), "12", 12),
        (Regex("[0-9]+") & Text(), "12", "12"),
    ],
)
def test_a_text_is_read_as_what_was_asked_for(asked: Source, text: str, value: Any) -> None:
    assert read_value(asked, text) == (value, None)


@pytest.mark.parametrize(
    ("asked", "text", "cause"),
    [
        (PythonType(Point), '{"x": "a"}', ValidationError),
        (PythonType(Annotated[int, AfterValidator(refuse)]), "1", KeyError),
        (ANY, "9" * 5_000, ValueError),
        (ANY, "[" * 100_000, RecursionError),
        (ANY, "[", ValueError),
    ],
)
def test_what_is_refused_is_an_error_with_its_cause_and_no_exception(
    asked: Source, text: str, cause: type[Exception]
) -> None:
    value, error = read_value(asked, text)
    assert value is None
    assert isinstance(error, FairleadError)
    assert isinstance(error.__cause__, cause)
    assert str(error).startswith("the text is refused: ")


@pytest.mark.parametrize(
    ("asked", "text", "value"),
    [
        (PythonType(Point), '{"x": 1,', Point(x=1)),
        (ANY, '{"x": "a', {"x": "a"}),
        (ANY, "", None),
        (ANY, "[" + "9" * 5_000 + ",", None),
        (Regex("[a-z]+"), "ab", "ab"),
        (None, "ab", "ab"),
        (Regex("[a-z]+") | NUMBER, "12 ", 12),
        (Regex("[a-z]+") | Text(), "a", "a"),
        (Text() & ANY, '["a', ["a"]),
    ],
)
def test_a_beginning_shows_what_it_can(asked: Source | None, text: str, value: Any) -> None:
    assert partial_value(asked, text) == value
