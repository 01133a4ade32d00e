"""Texts read back: as a type, as data, or as they are."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ValidationError

import guideway as gw
from guideway.api.parsing.source import belongs
from guideway.api.parsing.values import partial_value, read_captures, read_value
from guideway.errors import GuidewayError
from guideway.json_schema.source import JsonSchema
from guideway.sources.sources import Choice, PythonType, Regex, Source, Text, repeat, source


class Point(BaseModel):
    x: int


def refuse(value: int) -> int:
    raise KeyError(value)


NUMBER, ANY = PythonType(int), JsonSchema({})
TAG, TEXT = gw.tag("<", int, ">"), gw.capture("t", Text())


@pytest.mark.parametrize(("asked", "text", "value"), [
    (PythonType(Point), '{"x": 1}', Point(x=1)),
    (ANY, '{"x": [1.5, null]}', {"x": [1.5, None]}),
    (Regex("[0-9]+"), "12", "12"),
    (Choice(["12"]), "12", "12"),
    (Text(), "12", "12"),
    (gw.until("x"), "abx", "abx"),
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
    (gw.until("</think>") + gw.source(Point), 'I {think}</think>{"x": 1}', Point(x=1)),
    (gw.thinking(Point), '<think>{"x": 0}</think>\n\n{"x": 1}', Point(x=1)),
    (gw.thinking(Point, begin=None), 'so</think>{"x": 1}', Point(x=1)),
    (gw.capture("x", Point), '{"x": 1}', Point(x=1)),
    (gw.tag("<a>", int, "</a>"), "<a>12</a>", 12),
    (gw.tagged("<a>", int, "</a>"), "one <a>1</a>, two <a>2</a>.", [1, 2]),
    (gw.tagged("<a>", int, "</a>"), "none", []),
    (gw.tagged("<a>", TEXT, "</a>"), "<a>x</a> and <a>y</a>", ["x", "y"]),
    (gw.tagged("(", gw.tag("[", int, "]"), ")"), "a([1])b([2])", [1, 2]),
    # Beside tags, the value is that of the typed part alone.
    (repeat("(" + TAG + ")", 1, 2) + source(bool), "(<5>)(<6>)true", True),
    ("x" + (TAG + TAG) + source(bool), "x<5><6>true", True),
    (gw.tag("(" + TAG, bool, ")"), "(<5>true)", True),
])  # fmt: skip
def test_a_text_is_read_as_what_was_asked_for(asked: Source, text: str, value: Any) -> None:
    assert read_value(asked, text) == (value, None)


@pytest.mark.parametrize(("asked", "text", "cause"), [
    (PythonType(Point), '{"x": "a"}', ValidationError),
    (PythonType(Annotated[int, AfterValidator(refuse)]), "1", KeyError),
    (ANY, "9" * 5_000, ValueError),
    (ANY, "[" * 100_000, RecursionError),
    (ANY, "[", ValueError),
])  # fmt: skip
def test_what_is_refused_is_an_error_with_its_cause_and_no_exception(
    asked: Source, text: str, cause: type[Exception]
) -> None:
    value, error = read_value(asked, text)
    assert value is None
    assert isinstance(error, GuidewayError)
    assert isinstance(error.__cause__, cause)
    assert str(error).startswith("the value is refused: ")


@pytest.mark.parametrize(("asked", "text", "value"), [
    (PythonType(Point), '{"x": 1,', Point(x=1)),
    (ANY, '{"x": "a', {"x": "a"}),
    (ANY, "", None),
    (ANY, "[" + "9" * 5_000 + ",", None),
    (Regex("[a-z]+"), "ab", "ab"),
    (None, "ab", "ab"),
    (Regex("[a-z]+") | NUMBER, "12 ", 12),
    (Regex("[a-z]+") | Text(), "a", "a"),
    (Text() & ANY, '["a', ["a"]),
    (gw.thinking(Point), "<think>{", None),
    (gw.thinking(Point), "<think>a</think>\n", None),
    (gw.thinking(Point), '<think>a</think>\n{"x": 1}', Point(x=1)),
    (gw.thinking(Point, end=Regex("x|y")), "x{", None),
    (gw.tagged("<a>", int), "<a>1", None),
    (gw.capture("x", ANY), '{"x": "a', {"x": "a"}),
    (gw.capture("x", Regex("a+")), "a", "a"),
])  # fmt: skip
def test_a_beginning_shows_what_it_can(asked: Source | None, text: str, value: Any) -> None:
    assert partial_value(asked, text) == value


STOP = gw.capture("s", gw.Choice([".", "!"]))
OPENED = gw.capture("w", gw.Regex("<[ab]>"))
TWICE = gw.repeat(gw.capture("x", gw.Regex("a?")), 2, 3)
A, B, C = gw.capture("a", int), gw.capture("b", int), gw.capture("c", int)
LIST = A + repeat("," + B) + repeat(";" + C, 0, 1)
EITHER = A | gw.capture("a", bool) | gw.tagged("<", B)


@pytest.mark.parametrize(("asked", "text", "captures"), [
    (gw.until(STOP), b"hi!", {"s": "!"}),
    (gw.until(STOP, include=False), b"hi", {}),
    (gw.until(gw.capture("s", gw.Regex("a*b"))), b"xaab", {"s": "aab"}),
    (gw.thinking(int, end=gw.capture("e", gw.Choice(["</t>"]))), b"<think>a</t>5", {"e": "</t>"}),
    (TWICE, b"", {"x": ["", ""]}),  # empty texts of a repetition, too
    (TWICE, b"a", {"x": ["a", ""]}),
    (TWICE, b"aa", {"x": ["a", "a"]}),
    (TWICE, b"aaa", {"x": ["a", "a", "a"]}),
    (gw.tagged(OPENED, int, "/"), b"hi<a>5/<b>6/", {"w": ["<a>", "<b>"]}),
    (LIST, b"1,2,3", {"a": 1, "b": [2, 3]}),
    (LIST, b"1;4", {"a": 1, "b": [], "c": 4}),
    (A + "," + gw.capture("a", bool), b"1,true", {"a": [1, True]}),
    (EITHER, b"true", {"a": True, "b": []}),
    (EITHER, b"x<1 <2", {"b": [1, 2]}),
    (gw.tagged("<a>", TEXT, "</a>"), b"<a>x</a> and <a>y</a>", {"t": ["x", "y"]}),
    (gw.regions(gw.tag(OPENED, int, "/"), gw.tag("<b", int, "/")), b"<a>5/<b6/", {"w": ["<a>"]}),
])  # fmt: skip
def test_what_is_captured(asked: Source, text: bytes, captures: Any) -> None:
    assert read_captures(asked, text) == (captures, None)


def test_a_captured_value_that_is_refused_is_an_error() -> None:
    wrong = gw.capture("a", Annotated[int, AfterValidator(refuse)])
    value, error = read_captures(wrong, b"1")
    assert value == {"a": None}
    assert error is not None


def test_a_captured_text_ends_where_its_tag_does() -> None:
    assert not belongs(b"<a>x</a>", gw.tag("<a>", TEXT, "</a>") + "</a>")
