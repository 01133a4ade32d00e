"""Calls of every format with values of every type: as templates write them, and read back."""

import ast
import json
from typing import Any, Literal, TypedDict

import pytest

import guideway as gw
from guideway.api.parsing.values import read_value
from guideway.chat.tool_formats import FORMATS
from guideway.chat.tool_literals import literals_as_json
from tool_samples import MARKED, PLAIN, written


class Point(TypedDict):
    """Where."""

    x: float
    y: int | None


class Many(TypedDict, total=False):
    """What an argument may be."""

    text: str
    number: float
    whole: int
    yes: bool
    nothing: None
    perhaps: str | None
    either: int | str
    mixed: bool | int | None
    words: list[str]
    pair: tuple[int, str]
    points: list[Point]
    where: Point
    only: Literal[True, "a", 3]


VALUES: list[dict[str, Any]] = [
    {},
    {"text": "", "number": 1.5, "whole": -3, "yes": True, "nothing": None},
    {"text": 'a "b" \\ c\n\td, e=1: {x}', "perhaps": None, "words": []},
    {"text": "é ☃ 💩 </s>", "perhaps": "None", "words": ["", "True", "a, b", 'x="y"']},
    {"either": 3, "mixed": None, "pair": [1, "b"], "points": []},
    {"either": "3", "mixed": False, "points": [{"x": 1.0, "y": 2}, {"x": -0.5, "y": None}]},
    {"whole": 0, "mixed": 12, "where": {"x": 2e3, "y": 7}, "only": "a"},
    {"yes": False, "only": True},
]
WRONG: list[dict[str, Any]] = [
    {"text": 3}, {"number": "1"}, {"whole": 1.5}, {"yes": None}, {"nothing": False}, {"words": [3]},
    {"pair": [1]}, {"pair": [1, "b", 2]}, {"points": [{"x": 1.0}]}, {"only": False}, {"mixed": "a"},
    {"where": {"x": 1.0, "y": 2, "z": 3}}, {"other": 1},
]  # fmt: skip
UNMARKED = ("qwen3_coder", "glm4", "glm47", "minimax_m2")
ELEMENTS = ("deepseek_v32", *UNMARKED)


def one(form: str, arguments: dict[str, Any]) -> str:
    """A call; where a string is no JSON, templates do not tell "3" from 3."""
    return written(form, [("Many", arguments)])


def is_told(form: str, arguments: dict[str, Any]) -> bool:
    """Whether the format has a form for these: elements have JSON where not only text may be."""
    mixed = any(isinstance(arguments.get(name), str) for name in ("either", "only"))
    return form not in ELEMENTS or not mixed


@pytest.mark.parametrize("vocabulary", [PLAIN, MARKED], ids=["texts", "special tokens"])
@pytest.mark.parametrize("form", FORMATS)
def test_what_a_template_writes_is_allowed_and_read_back(form, vocabulary):
    source = gw.tools([Many], form, "required", parallel=False)
    constraint = gw.compile(source, vocabulary)
    for arguments in VALUES:
        if not is_told(form, arguments):
            continue
        text = one(form, arguments)
        assert constraint.matches(text), text
        (call,), error = read_value(source, text)
        assert error is None
        assert json.loads(call.text) == arguments
    for arguments in WRONG:
        if form in UNMARKED and arguments in ({"text": 3}, {"number": "1"}):
            continue  # which are written as the text "3" and the number 1
        assert not constraint.matches(one(form, arguments)), arguments


@pytest.mark.parametrize("form", ["functiongemma", "gemma4", *ELEMENTS])
def test_a_string_does_not_hold_the_end_of_its_element(form):
    def say(text: str, more: list[str]) -> None: ...

    ends = {"qwen3_coder": "\n</parameter>", "minimax_m2": "</parameter>"}
    ends |= {"deepseek_v32": "</｜DSML｜parameter>", "functiongemma": "<escape>", "gemma4": '<|"|>'}
    end = ends.get(form, "</arg_value>")
    constraint = gw.compile(gw.tools([say], form, "required"), PLAIN)

    def allowed(text: str, more: str) -> bool:
        call: dict[str, Any] = {"text": text, "more": [more]}
        ordered = dict(sorted(call.items())) if form in ("functiongemma", "gemma4") else call
        return constraint.matches(written(form, [("say", ordered)]))

    assert allowed("a" + end[:-1], "b")
    assert not allowed("a" + end, "b")
    if form != "qwen3_coder":  # whose end has a line break, which no string in JSON has
        assert not allowed("a", "b" + end)


def test_python_reads_every_call():
    source = gw.tools([Many], "pythonic", "required", parallel=False)
    constraint = gw.compile(source, PLAIN)
    for arguments in VALUES:
        text = one("pythonic", arguments)
        call: Any = ast.parse(text, mode="eval").body
        keywords = call.elts[0].keywords
        assert {key.arg: ast.literal_eval(key.value) for key in keywords} == arguments
        assert constraint.matches(text)
    assert constraint.matches('[Many(words=["a", "b"],where={"x":1.0, "y": 2})]')


@pytest.mark.parametrize(
    ("schema", "feature"),
    [
        ({"properties": {"a": {}}}, "a value of any type"),
        ({"properties": {"a": {"type": "array"}}}, "an array of items of any type"),
        ({"properties": {"a": {"type": "array", "items": {"type": "null"}, "uniqueItems": True}}},
         "uniqueItems of an array"),
        ({"properties": {"a": {"type": "object", "minProperties": 1}}},
         "minProperties of an object"),
        ({"properties": {"a": {"enum": [[1]]}}}, "enum of an array"),
        ({"properties": {"a": {"type": "array", "prefixItems": [{"type": "null"}]}}},
         "prefixItems of which some may be missing"),
        ({"properties": {"from": {"type": "null"}}}, "the name 'from'"),
        ({"properties": {"a-b": {"type": "null"}}}, "the name 'a-b'"),
        ({"properties": {}, "required": ["b"]}, "a value of any type"),
        ({"properties": {"a": {"$ref": "#/properties/a/items"}}, "$defs": {}}, None),
        ({"properties": {"a": {"type": "array", "items": {"$ref": "#/properties/a"}}}},
         "values within values more than 32 deep, or that hold themselves"),
        ({"properties": {"a": {"oneOf": [{"type": "array", "items": {"type": "null"}},
                                         {"type": "array", "items": {"type": "string"}}]}}},
         "several schemas of one array"),
        ({"properties": {"a": {"type": "object", "properties": {},
                               "allOf": [{"type": "object", "required": ["a"]}]}}},
         "properties of an object"),
    ],
)  # fmt: skip
def test_what_has_no_form_is_refused_by_name(schema, feature):
    source = gw.tools([{"name": "f", "parameters": schema}], "pythonic")
    with pytest.raises(gw.GuidewayError) as caught:
        gw.compile(source, PLAIN)
    if feature is not None:
        assert isinstance(caught.value, gw.UnsupportedError)
        assert caught.value.feature == feature


def test_schemas_of_one_kind_are_followed():
    schema = {
        "properties": {
            "a": {"anyOf": [{"$ref": "#/$defs/list"}, {"type": "string", "maxLength": 2}]},
            "b": {"allOf": [{"type": "object", "properties": {"k": {"const": 1}}}]},
            "c": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
            "d": {"type": "array", "items": {"type": "null"}, "maxItems": 0},
        },
        "$defs": {"list": {"type": "array", "items": {"type": "boolean", "const": True}}},
    }
    tool = {"name": "f", "parameters": schema}
    constraint = gw.compile(gw.tools([tool], "pythonic", "required", parallel=False), PLAIN)
    for good in (
        "",
        "a=[True, True]",
        'a="xy"',
        'b={"k": 1}',
        "b={}",
        "c=[1,2]",
        "c=[1,2, 3], d=[]",
    ):
        assert constraint.matches(f"[f({good})]"), good
    for bad in ("a=[False]", 'a="xyz"', 'b={"k": 2}', "c=[1]", "c=[1,2,3,4]", "d=[None]", "a=True",
                "b={}, a=[]", ", a=[]", "a=[],"):  # fmt: skip
        assert not constraint.matches(f"[f({bad})]"), bad


def test_arguments_of_gemma_are_in_the_order_of_the_alphabet():
    def f(b: int, a: int, Aa: int) -> None: ...  # noqa: N803

    constraint = gw.compile(gw.tools([f], "gemma4", "required"), PLAIN)
    assert constraint.matches("<|tool_call>call:f{a:1,Aa:2,b:3}<tool_call|>")
    assert not constraint.matches("<|tool_call>call:f{b:3,a:1,Aa:2}<tool_call|>")


def test_special_tokens_stand_in_strings_as_their_names():
    form = FORMATS["functiongemma"].arguments
    assert literals_as_json('a:<escape>x:1,"<escape>,b:[true,{c:null}]', form) == (
        '{"a":"x:1,\\"","b":[true,{"c":null}]}'
    )
