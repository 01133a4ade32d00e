"""Calls of every format with values of every type: as templates write them, and read back."""

import ast
import json
from typing import Annotated, Any, Literal, TypedDict

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

import guideway as gw
from guideway.api.parsing.values import read_value
from guideway.chat.tool_formats import FORMATS
from guideway.chat.tool_literals import as_json, elements, literals_as_json, parameters
from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.source import JsonSchema
from tool_samples import MARKED, PLAIN, QWEN, written


class Point(TypedDict):
    x: float
    y: int | None


class Many(TypedDict, total=False):
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
        if form == "pythonic":  # Python reads it, too
            python: Any = ast.parse(text, mode="eval").body
            keywords = python.elts[0].keywords
            assert {key.arg: ast.literal_eval(key.value) for key in keywords} == arguments
            assert constraint.matches('[Many(words=["a", "b"],where={"x":1.0, "y": 2})]')
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
    with pytest.raises(UnsupportedError) as caught:
        gw.compile(source, PLAIN)
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
    for good in ("", "a=[True, True]", 'a="xy"', 'b={"k": 1}', "b={}", "c=[1,2, 3], d=[]"):
        assert constraint.matches(f"[f({good})]"), good
    for bad in ("a=[False]", 'a="xyz"', 'b={"k": 2}', "c=[1]", "c=[1,2,3,4]", "d=[None]", "a=True",
                "b={}, a=[]", ", a=[]", "a=[],"):  # fmt: skip
        assert not constraint.matches(f"[f({bad})]"), bad


# Arguments as elements: strings as they are, everything else as JSON, and both read back.

CODE = "def f():\n    return '</parameter>'"


class Edit(BaseModel):
    path: Annotated[str, Field(pattern="^/")]
    text: str = ""
    note: str | None = None
    kind: Literal["a", "b"] = "a"
    lines: list[int] = []
    other: "str | int" = 1
    part: "Edit | None" = None


def call(**values: str) -> str:
    each = [f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in values.items()]
    return f"<tool_call>\n<function=Edit>\n{''.join(each)}</function>\n</tool_call>"


@pytest.mark.parametrize(("values", "read"), [
    ({"path": "/a"}, {"path": "/a"}),
    ({"path": "/a\n", "text": CODE, "kind": "b"}, {"path": "/a\n", "text": CODE, "kind": "b"}),
    ({"path": "/", "text": "", "note": "null"}, {"path": "/", "text": "", "note": None}),
    ({"path": "/", "note": "12", "lines": "[1, 2]"}, {"path": "/", "note": "12", "lines": [1, 2]}),
    ({"path": "/", "other": '"a"'}, {"path": "/", "other": "a"}),
    ({"path": "/", "other": "7"}, {"path": "/", "other": 7}),
    ({"path": "/", "part": '{"path": "/b"}'}, {"path": "/", "part": {"path": "/b"}}),
    ({"text": "x"}, None),
    ({"text": "x", "path": "/"}, None),
    ({"path": "/", "kind": '"a"'}, None),
    ({"path": "/", "lines": "[a]"}, None),
    ({"path": "/", "part": '{"path": "b"}'}, None),
    ({"path": "/", "unknown": "b"}, None),
])  # fmt: skip
def test_elements_are_what_the_schema_says_and_read_as_it_says(values, read):
    tools = gw.tools([Edit], "qwen3_coder", choice="required")
    text = call(**values)
    assert gw.compile(tools, PLAIN).matches(text) == (read is not None)
    if read is not None:
        (found,), error = read_value(tools, text)
        assert error is None
        assert json.loads(found.text) == read
        assert found.arguments == Edit.model_validate(read)


@pytest.mark.parametrize(("schema", "said"), [
    ({"anyOf": [{}]}, "anyOf of arguments"),
    ({"properties": {"a b": {}}}, "cannot be the name of an element"),
    ({"required": ["a"]}, "has no schema"),
    ({"type": "array"}, "are not a JSON object"),
])  # fmt: skip
def test_what_has_no_form_as_an_element_is_refused_by_name(schema: Any, said: str):
    with pytest.raises(UnsupportedError, match=said):
        parameters("f", JsonSchema({"type": "object", **schema}))


@pytest.mark.parametrize(("schema", "said"), [
    ({"properties": 5}, "properties must be an object"),
    ({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": 5}, "is wrong: there is no"),
    ({"properties": {"a": {"type": "string", "minLength": "x"}}}, "minLength must be a count"),
    ({"properties": {"a": {"type": "string", "pattern": "a)|(b"}}}, "closes no group"),
    ({"required": [5]}, "array of strings"),
    ({"properties": {"a": {"$ref": "#/$defs/r"}}, "$defs": {"r": {"$ref": "#/$defs/r"}}},
     "refers to itself"),
])  # fmt: skip
def test_a_schema_that_is_not_well_formed_is_refused_as_any_other(schema: Any, said: str):
    with pytest.raises(SourceError, match=said):
        parameters("f", JsonSchema(schema))


def test_an_argument_that_has_to_come_and_has_no_value_is_refused():
    none = {"type": "string", "minLength": 5, "maxLength": 2}
    listed = parameters("f", JsonSchema({"properties": {"a": none}, "required": ["a"]}))
    with pytest.raises(gw.UnsatisfiableError):
        gw.compile(elements(listed, QWEN), PLAIN)


HEADS = [
    *(("harmony", f'{head}<|message|>{{"path": "/"}}') for head in (
        "<|channel|>commentary to=functions.Edit <|constrain|>json",
        " to=functions.Edit<|channel|>commentary json",
        " to=functions.Edit<|channel|>commentary <|constrain|>json",
        " to=functions.Edit<|channel|>commentary<|constrain|>json",
    )),
    *(("llama3_python_tag",
       f'Well. <|python_tag|>{begin}: "Edit", "parameters": {{"path": "/"}}}}') for begin in (
        '{"name"', '{"type": "function", "name"',
    )),
]  # fmt: skip


@pytest.mark.parametrize(("form", "text"), HEADS)
def test_a_call_has_several_heads(form: str, text: str):
    tools = gw.tools([Edit], form)
    assert gw.compile(tools, MARKED).matches(text)
    (found,), _ = read_value(tools, text)
    assert found.arguments == Edit(path="/")


def test_a_head_of_harmony_has_a_space_before_its_type():
    wrong = ' to=functions.Edit<|channel|>commentaryjson<|message|>{"path":"/"}'
    assert not gw.compile(gw.tools([Edit], "harmony"), MARKED).matches(wrong)


# Strings as they stand, whatever words the schema has for them: what is read back satisfies it.

STRING, NULL, NUMBER = {"type": "string"}, {"type": "null"}, {"type": "integer"}
TEXTS = ["", "a", "b", "ab", "abc", "null", "1", "true", "[]", '"a"', '{"a": "b"}', "é"]


def check(whole: dict[str, Any], *, is_text: bool) -> None:
    """Texts of the argument `a` are those that the schema allows, read back."""
    listed = parameters("f", JsonSchema(whole))
    one = next(each for each in listed if each.name == "a")
    assert one.is_text == is_text
    constraint, judge = gw.compile(elements((one,), QWEN) + "", PLAIN), Draft202012Validator(whole)
    for text in TEXTS:
        written = f"<parameter=a>\n{text}\n</parameter>\n"
        try:
            read = json.loads(as_json((one,), written, QWEN))
        except ValueError:
            assert not constraint.matches(written)
            continue
        assert constraint.matches(written) == judge.is_valid(read), (text, read)


DEFINITIONS = {
    "s": STRING,
    "a/b": STRING,
    "a b": STRING,
    "anchored": {"$anchor": "here", "type": "string"},
    "named": {"$id": "there", "type": "string"},
    "n": NUMBER,
    "to n": {"$ref": "#/$defs/n"},
}


@pytest.mark.parametrize(
    "schema",
    [
        STRING,
        {"type": ["string", "null"]},
        {"allOf": [STRING, {"minLength": 2}, {"maxLength": 3}]},
        {"$ref": "#here"},
        {"$ref": "there"},
        {"$ref": "#/$defs/a~1b"},
        {"$ref": "#/$defs/a%20b"},
        {"$ref": "#/$defs/s", "maxLength": 1},
        {"type": "string", "anyOf": [STRING, NULL]},
        {"anyOf": [STRING, {"type": "null", "not": {}}]},
        {"anyOf": [{"const": "a"}, {"const": "b"}, {"pattern": "^b", "type": "string"}]},
        {"oneOf": [{"const": "a"}, {"enum": ["a", "b"]}, NULL]},
        {"oneOf": [STRING, NULL, NULL]},
        {"oneOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 2}]},
        {"oneOf": [STRING, NULL, {"type": "string", "minLength": 2}]},
        {"oneOf": [NUMBER, {"type": "string", "minLength": 2}], "type": "string"},
        {"anyOf": [STRING, NULL], "oneOf": [{"const": "b"}, NULL]},
        {"not": {"type": ["number", "boolean", "array", "object"]}},
        {"type": "string", "not": {"not": {"pattern": "a|c"}}},
        {"type": "string", "pattern": "(?i)^A(?=[BC])"},
        {"type": "string", "pattern": "(?x) B $ # ends so"},
        {"type": ["string", "null"], "not": {"type": "string", "minLength": 1}},
        {"type": "string", "minLength": 3, "maxLength": 1},
        {"enum": ["a", None]},
        {"enum": ["a", "null"]},
        {"enum": ["a", "abc", ""], "maxLength": 1},
        {"enum": ["a"], "const": "b", "type": ["string", "null"]},
        {"type": "string", "if": {"minLength": 2}, "then": {"pattern": "c"}},
        {"type": "string", "if": {"const": "a"}, "else": {"maxLength": 0}},
        {"type": ["string", "null"], "if": NULL, "then": False},
        {"type": ["string", "null"], "if": {"type": "string", "minLength": 1}, "then": STRING},
        {"type": "string", "minimum": 4, "format": "nobody knows this"},
        {"type": ["string", "null"], "if": {"minLength": 1}, "then": STRING, "else": STRING},
        {"anyOf": [{"const": "a"}, {"type": "null", "allOf": [{"format": "date"}]}]},
    ],
)
def test_strings_stand_as_they_are(schema: dict[str, Any]):
    check({"properties": {"a": schema, "b": STRING}, "$defs": DEFINITIONS}, is_text=True)


@pytest.mark.parametrize("schema", [
    NULL,
    True,
    {"type": "integer", "const": "1"},
    {"enum": []},
    {"type": "null", "anyOf": [STRING, NULL]},
    {"anyOf": [STRING, NUMBER]},
    {"anyOf": [STRING, {"type": "boolean", "const": True}]},
    {"type": ["string", "object"], "if": {"type": "object"}, "then": {"required": ["a"]}},
    {"enum": ["a", 1, True, [], {"a": "b"}]},
    {"$ref": "#/properties/b"},
    {"$ref": "#/$defs/n"},
    {"$ref": "#/$defs/to%20n"},
    {"$ref": "#"},
])  # fmt: skip
def test_all_else_is_json(schema: Any):
    whole = {"type": "object", "properties": {"a": schema, "b": NUMBER}, "$defs": DEFINITIONS}
    check(whole, is_text=False)


@pytest.mark.parametrize(("keyword", "right", "wrong"), [
    ({"format": "date"}, "2024-02-29", "2023-02-29"),
    ({"not": {"format": "date"}}, "2023-02-29", "2024-02-29"),
])  # fmt: skip
def test_a_string_may_have_a_format(keyword: Any, right: str, wrong: str):
    dated = {"type": "string", **keyword}
    listed = parameters("f", JsonSchema({"properties": {"a": dated}, "required": ["a"]}))
    constraint = gw.compile(elements(listed, QWEN), PLAIN)
    assert constraint.matches(f"<parameter=a>\n{right}\n</parameter>\n")
    assert not constraint.matches(f"<parameter=a>\n{wrong}\n</parameter>\n")


def test_all_arguments_may_be_defined_elsewhere():
    parts = {
        "all": {"type": "object", "properties": {"a": {"$ref": "#/$defs/one"}}},
        "one": {"const": "a"},
    }
    check({"$ref": "#/$defs/all", "$defs": parts}, is_text=True)


def test_many_conditions_of_a_string_are_read():
    alike: dict[str, Any] = {"type": "string"}
    for length in range(12):
        ways = [{"minLength": length, **alike}, {"maxLength": 90 - length, "allOf": [alike]}]
        alike = {"type": "string", "anyOf": ways}
    check({"properties": {"a": alike}}, is_text=True)
    deep: dict[str, Any] = {"type": "string"}
    for length in range(1, 60):
        deep = {"anyOf": [{"minLength": 200 - length}, {"not": deep}], "type": "string"}
    check({"properties": {"a": deep}}, is_text=True)
    names = {f"r{n}": {"$ref": f"#/$defs/r{n + 1}"} for n in range(400)} | {"r400": {"const": "a"}}
    check({"properties": {"a": {"$ref": "#/$defs/r0"}}, "$defs": names}, is_text=True)


def test_arguments_of_gemma_are_in_the_order_of_the_alphabet():
    def f(b: int, a: int, Aa: int) -> None: ...  # noqa: N803

    constraint = gw.compile(gw.tools([f], "gemma4", "required"), PLAIN)
    assert constraint.matches("<|tool_call>call:f{a:1,Aa:2,b:3}<tool_call|>")
    assert not constraint.matches("<|tool_call>call:f{b:3,a:1,Aa:2}<tool_call|>")
    read = literals_as_json(
        'a:<escape>x:1,"<escape>,b:[true,{c:null}]', FORMATS["functiongemma"].arguments
    )
    assert read == '{"a":"x:1,\\"","b":[true,{"c":null}]}'


@pytest.mark.parametrize(("form", "calls"), [
    ("pythonic", ["[f(a=1)]", "[f(b=2)]"]),
    ("gemma4", ["<|tool_call>call:f{a:1}<tool_call|>", "<|tool_call>call:f{b:2}<tool_call|>"]),
])  # fmt: skip
def test_arguments_may_be_one_of_several_objects(form: str, calls: list[str]):
    each = [
        {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}
        for name in "ab"
    ]
    tool = {"name": "f", "parameters": {"anyOf": each}}
    constraint = gw.compile(gw.tools([tool], form, "required"), PLAIN)
    assert all(map(constraint.matches, calls))
    assert not constraint.matches(calls[0].replace("a", "c"))
