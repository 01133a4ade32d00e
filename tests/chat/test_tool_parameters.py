"""Arguments as elements: strings as they are, everything else as JSON, and both read back."""

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import guideway as gw
from guideway.api.parsing.values import read_value
from guideway.chat.tool_literals import as_json, elements, parameters
from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.source import JsonSchema
from tool_samples import MARKED, PLAIN, QWEN

CODE = "def f():\n    return '</parameter>'"


class Edit(BaseModel):
    path: Annotated[str, Field(pattern="^/")]
    text: str = ""
    note: str | None = None
    kind: Literal["a", "b"] = "a"
    lines: list[int] = []
    name: Annotated[str, Field(min_length=1, max_length=3)] = "x"
    other: "str | int" = 1
    part: "Edit | None" = None


def call(**values: str) -> str:
    each = [f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in values.items()]
    return f"<tool_call>\n<function=Edit>\n{''.join(each)}</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("values", "read"),
    [
        ({"path": "/a"}, {"path": "/a"}),
        ({"path": "/a\n", "text": CODE, "kind": "b"}, {"path": "/a\n", "text": CODE, "kind": "b"}),
        ({"path": "/", "text": "", "note": "null"}, {"path": "/", "text": "", "note": None}),
        (
            {"path": "/", "note": "12", "lines": "[1, 2]"},
            {"path": "/", "note": "12", "lines": [1, 2]},
        ),
        ({"path": "/", "name": "éé"}, {"path": "/", "name": "éé"}),
        ({"path": "/", "other": '"a"'}, {"path": "/", "other": "a"}),
        ({"path": "/", "other": "7"}, {"path": "/", "other": 7}),
        ({"path": "/", "part": '{"path": "/b"}'}, {"path": "/", "part": {"path": "/b"}}),
        ({"path": "a"}, None),
        ({"text": "x"}, None),
        ({"text": "x", "path": "/"}, None),
        ({"path": "/", "name": "long"}, None),
        ({"path": "/", "name": ""}, None),
        ({"path": "/", "kind": "c"}, None),
        ({"path": "/", "kind": '"a"'}, None),
        ({"path": "/", "lines": "[a]"}, None),
        ({"path": "/", "other": "a"}, None),
        ({"path": "/", "text": "a\n</parameter>b"}, None),
        ({"path": "/", "part": '{"path": "b"}'}, None),
        ({"path": "/", "unknown": "b"}, None),
    ],
)
def test_elements_are_what_the_schema_says_and_read_as_it_says(values, read):
    tools = gw.tools([Edit], "qwen3_coder", choice="required")
    text = call(**values)
    assert gw.compile(tools, PLAIN).matches(text) == (read is not None)
    if read is not None:
        (found,), error = read_value(tools, text)
        assert error is None
        assert json.loads(found.text) == read
        assert found.arguments == Edit.model_validate(read)


def test_a_schema_may_name_its_parts():
    schema = {
        "$ref": "#/$defs/whole",
        "$defs": {
            "whole": {"type": "object", "properties": {"a": {"$ref": "#/$defs/s"}, "b": True}},
            "s": {"const": "x"},
        },
    }
    listed = parameters("f", JsonSchema(schema))
    assert [(one.name, one.is_text, one.required) for one in listed] == [
        ("a", True, False),
        ("b", False, False),
    ]
    constraint = gw.compile(elements(listed, QWEN), PLAIN)
    assert constraint.matches("<parameter=a>\nx\n</parameter>\n<parameter=b>\n[]\n</parameter>\n")
    assert as_json(listed, "<parameter=b>\n[]\n</parameter>\n", QWEN) == '{"b": []}'
    assert constraint.matches("")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"anyOf": [{}]}, "anyOf of arguments"),
        ({"properties": {"a b": {}}}, "cannot be the name of an element"),
        ({"required": ["a"]}, "has no schema"),
        ({"type": "array"}, "are not a JSON object"),
    ],
)
def test_what_has_no_form_as_an_element_is_refused_by_name(schema: Any, said: str):
    with pytest.raises(UnsupportedError, match=said):
        parameters("f", JsonSchema({"type": "object", **schema}))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": 5}, "properties must be an object"),
        ({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": 5}, "is wrong: there is no"),
        ({"properties": {"a": {"type": "string", "minLength": "x"}}}, "minLength must be a count"),
        ({"properties": {"a": {"type": "string", "pattern": "a)|(b"}}}, "closes no group"),
        ({"required": [5]}, "array of strings"),
        (
            {"properties": {"a": {"$ref": "#/$defs/r"}}, "$defs": {"r": {"$ref": "#/$defs/r"}}},
            "refers to itself",
        ),
    ],
)
def test_a_schema_that_is_not_well_formed_is_refused_as_any_other(schema: Any, said: str):
    with pytest.raises(SourceError, match=said):
        parameters("f", JsonSchema(schema))


def test_a_string_that_no_value_is_may_be_left_out_only():
    text = '{"type": "string", "minLength": 5, "maxLength": 2}'
    listed = {"a": json.loads(text), "b": {"enum": []}, "c": {"type": ["string"], "maxLength": 1}}
    constraint = gw.compile(
        elements(parameters("f", JsonSchema({"properties": listed})), QWEN), PLAIN
    )
    assert constraint.matches("<parameter=c>\nx\n</parameter>\n")
    for name in "ab":
        assert not constraint.matches(f"<parameter={name}>\nxxx\n</parameter>\n")
    whole = {"properties": listed, "required": ["a"]}
    with pytest.raises(gw.UnsatisfiableError):
        gw.compile(elements(parameters("f", JsonSchema(whole)), QWEN), PLAIN)


def test_a_string_behind_a_long_chain_of_names_stands_as_it_is():
    names = {f"r{n}": {"$ref": f"#/$defs/r{n + 1}"} for n in range(400)}
    schema = {
        "properties": {"a": {"$ref": "#/$defs/r0"}},
        "$defs": names | {"r400": {"const": "x"}},
    }
    (one,) = parameters("f", JsonSchema(schema))
    assert gw.compile(elements((one,), QWEN), PLAIN).matches("<parameter=a>\nx\n</parameter>\n")


def test_harmony_names_who_is_called_behind_the_channel_or_the_role():
    tools = gw.tools([Edit], "harmony")
    constraint = gw.compile(tools, MARKED)
    for head in (
        "<|channel|>commentary to=functions.Edit <|constrain|>json",
        " to=functions.Edit<|channel|>commentary json",
        " to=functions.Edit<|channel|>commentary <|constrain|>json",
        " to=functions.Edit<|channel|>commentary<|constrain|>json",
    ):
        text = head + '<|message|>{"path": "/"}'
        assert constraint.matches(text)
        (found,), _ = read_value(tools, text)
        assert found.arguments == Edit(path="/")
    assert not constraint.matches(
        ' to=functions.Edit<|channel|>commentaryjson<|message|>{"path":"/"}'
    )


def test_llama_says_that_it_is_a_function_or_does_not():
    tools = gw.tools([Edit], "llama3_python_tag")
    constraint = gw.compile(tools, MARKED)
    for begin in ('{"name"', '{"type": "function", "name"'):
        text = f'Well. <|python_tag|>{begin}: "Edit", "parameters": {{"path": "/"}}}}'
        assert constraint.matches(text)
        (found,), _ = read_value(tools, text)
        assert found.arguments == Edit(path="/")
