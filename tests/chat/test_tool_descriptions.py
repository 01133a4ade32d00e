"""Descriptions of tools as vendors write them: all mean the same, and none is dropped silently."""

import json
import re
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field
from transformers.utils.chat_template_utils import get_json_schema

import guideway as gw
from guideway.chat.tools import as_mapping, read_descriptions
from tool_samples import PLAIN

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 3}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
ABOUT = {"name": "weather", "description": "The weather."}
CAPITALS = {
    "type": "OBJECT",
    "properties": {"city": {"type": "STRING", "maxLength": "3"}, "days": {"type": "INTEGER"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Kind(StrEnum):
    OBJECT = "OBJECT"


class McpTool(BaseModel):
    """As `mcp.types.Tool`."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] = Field(alias="inputSchema")
    output_schema: dict[str, Any] | None = Field(alias="outputSchema", default=None)
    annotations: dict[str, Any] | None = None
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class GoogleTool(BaseModel):
    """As `google.genai.types.Tool`."""

    function_declarations: list[dict[str, Any]]
    google_search: dict[str, Any] | None = None


DESCRIPTIONS: dict[str, Any] = {
    "Chat Completions": {"type": "function", "function": {**ABOUT, "parameters": CITY}},
    "strict": {"type": "function", "function": {**ABOUT, "parameters": CITY, "strict": True}},
    "Responses": {"type": "function", **ABOUT, "parameters": CITY, "strict": None},
    "a function": {**ABOUT, "parameters": CITY},
    "transformers": {"type": "function",
                     "function": {**ABOUT, "parameters": CITY, "return": {"type": "string"}}},
    "Anthropic": {**ABOUT, "input_schema": CITY, "cache_control": {"type": "ephemeral"}},
    "Anthropic's type": {"type": "custom", **ABOUT, "input_schema": CITY, "input_examples": []},
    "MCP": {**ABOUT, "title": "W", "inputSchema": CITY, "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": True}, "_meta": {"a": 1}},
    "MCP's object": McpTool(**ABOUT, inputSchema=CITY, annotations={"readOnlyHint": True}),
    "Bedrock": {"toolSpec": {**ABOUT, "inputSchema": {"json": CITY}}},
    "Gemini": {"functionDeclarations": [{**ABOUT, "parameters": CAPITALS}]},
    "Gemini's schema": {**ABOUT, "parametersJsonSchema": CITY, "behavior": "BLOCKING"},
    "Google's client": GoogleTool(function_declarations=[
        {**ABOUT, "parameters": CAPITALS | {"type": Kind.OBJECT}, "response": {"type": "STRING"}}
    ]),
}  # fmt: skip
ARGUMENTS = [
    {"city": "Oslo"}, {"city": "Rom"}, {"city": "Rom", "days": 3}, {"city": "Rom", "days": "3"},
    {"days": 3}, {}, {"city": "Rom", "zzz": 1}, {"city": None}, 3, [],
]  # fmt: skip


@pytest.mark.parametrize("tool", DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_the_schema_of_every_vendor_holds(tool):
    source = gw.tools([tool], "llama3", "required")
    [schema] = source.schemas
    assert schema["function"]["name"] == "weather"
    assert schema["function"]["description"] == "The weather."
    constraint = gw.compile(source, PLAIN)
    judge = jsonschema.Draft202012Validator(CITY)
    for arguments in ARGUMENTS:
        text = f'{{"name": "weather", "parameters": {json.dumps(arguments)}}}'
        assert constraint.matches(text) == judge.is_valid(arguments), text


def parameters(given: object) -> Any:
    described = as_mapping(given)
    assert described is not None
    [found] = read_descriptions(described)
    return found.parameters


def test_inputs_of_smolagents_are_those_that_its_agents_describe():
    inputs = {
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "integer", "description": "How many.", "nullable": True},
        "more": {"type": "any", "description": "More."},
        "both": {"type": ["string", "number"], "description": "Either.", "nullable": False},
    }
    found = parameters({**ABOUT, "inputs": inputs, "output_type": "string"})
    assert found["required"] == ["city", "more", "both"]
    judge = jsonschema.Draft202012Validator(found)
    full = {"city": "Oslo", "more": [1], "both": 3}
    for valid in (full, {**full, "days": 3}, {**full, "days": None}):
        assert judge.is_valid(valid)
    for wrong in ({**full, "days": "3"}, {**full, "both": None}, {"city": "Oslo"}):
        assert not judge.is_valid(wrong)
    other = gw.tools([{**ABOUT, "inputs": inputs, "output_type": "string"}]).schemas[0]
    assert other["function"]["parameters"]["properties"]["days"] == inputs["days"]
    tool = SimpleNamespace(**ABOUT, inputs=inputs, output_type="string")
    assert parameters(tool) == found


def test_geminis_schemas_are_read_at_every_depth():
    part = {"type": "STRING", "nullable": True, "format": "date"}
    schema = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "ARRAY", "items": part, "minItems": "1"},
            "any": {"anyOf": [{"type": "NUMBER"}, {"type": "OBJECT", "properties": {"a": part}}]},
        },
    }
    judge = jsonschema.Draft202012Validator(parameters({"name": "f", "parameters": schema}))
    for valid in ({"type": ["a", None]}, {"any": 1.5}, {"any": {"a": None}}):
        assert judge.is_valid(valid)
    for wrong in ({"type": []}, {"type": [3]}, {"any": "a"}, {"any": {"a": 3}}):
        assert not judge.is_valid(wrong)


def test_geminis_tools_hold_several_functions():
    both = {"functionDeclarations": [{"name": "a"}, {"name": "b", "parameters": CAPITALS}]}
    assert [tool.name for tool in gw.tools([both]).tools] == ["a", "b"]


@pytest.mark.parametrize("key", [
    "params", "schema", "json_schema", "args", "arguments", "input", "Parameters", "inputschema",
])  # fmt: skip
@pytest.mark.parametrize("value", [CITY, BaseModel, [CITY]])
def test_a_key_that_may_be_a_schema_is_refused_by_name(key, value):
    for tool in (
        {**ABOUT, key: value},
        {"type": "function", "function": {**ABOUT, key: value}},
        {"type": "function", "function": ABOUT, key: value},
        {"functionDeclarations": [{**ABOUT, key: value}]},
    ):
        with pytest.raises(gw.SourceError, match=re.escape(f"'{key}' in the description")):
            gw.tools([tool])


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ({**ABOUT, "parameter": "x"}, "did you mean 'parameters'?"),
        ({"type": "function", "function": ABOUT, "parameters": CITY}, "may be a schema"),
        ({**ABOUT, "parameters": CITY, "input_schema": CITY}, "parameters and input_schema"),
        ({**ABOUT, "parameters": [CITY]}, "parameters of the tool weather must be a dict"),
        ({**ABOUT, "parameters": {"type": int}}, "not type (at /type)"),
        ({**ABOUT, "parameters": {"type": "OBJECT", "minProperties": "x"}}, "minProperties"),
        ({**ABOUT, "parameters": {"type": "OBJECT", "properties": []}}, "properties"),
        ({**ABOUT, "parameters": {"type": "OBJECT", "properties": {"a": 3}}}, "/properties/a"),
        ({**ABOUT, "inputs": {"a": "string"}}, "the input 'a' of the tool weather must be a dict"),
        ({**ABOUT, "inputs": {"a": {"type": "image"}}}, "the type image, which is not JSON"),
        ({"type": "web_search_20250305", "name": "web_search"}, "only functions are supported"),
        ({"type": "custom", "custom": {"name": "f"}}, "needs a name: {'type': 'custom'"),
        ({"description": "f"}, "needs a name"),
        ({"functionDeclarations": {"a": 1}}, "needs a name"),
        ({"functionDeclarations": [3]}, "must be a description, not 3"),
        ({"name": "f", "description": 3}, "must be a str, not 3"),
        (gw.JsonSchema(CITY), "is not a tool"),
    ],
)
def test_what_describes_no_tool_is_refused(tool, message):
    with pytest.raises((gw.SourceError, gw.UnsupportedError), match=re.escape(message)):
        gw.compile(gw.tools([tool]), PLAIN)


def test_a_key_that_says_nothing_is_a_warning_at_the_call():
    with pytest.warns(gw.GuidewayWarning, match="'version' .* weather is unknown") as caught:
        gw.tools([{**ABOUT, "parameters": CITY, "version": 3}])
    assert caught[0].filename == __file__


def test_a_tool_without_a_schema_has_no_arguments():
    constraint = gw.compile(gw.tools([{"name": "now"}], "llama3", "required"), PLAIN)
    assert constraint.matches('{"name": "now", "parameters": {}}')
    assert not constraint.matches('{"name": "now", "parameters": {"a": 1}}')


def test_null_is_a_value_of_what_is_nullable():
    def f(city: str, days: int | None = None, kind: Literal["a", "b"] | None = None) -> None:
        """Ask.

        Args:
            city: Where.
            days: How many.
            kind: Which.
        """

    described = get_json_schema(f)
    properties = described["function"]["parameters"]["properties"]
    assert properties["days"]["nullable"] is True
    source = gw.tools([described], "llama3", "required")
    parts = source.schemas[0]["function"]
    assert parts == {key: described["function"][key] for key in parts}
    constraint = gw.compile(source, PLAIN)
    typed = gw.compile(gw.tools([f], "llama3", "required"), PLAIN)
    for text in ('"days": null', '"days": 3', '"days": "3"', '"kind": null', '"kind": "c"'):
        call = f'{{"name": "f", "parameters": {{"city": "Oslo", {text}}}}}'
        assert constraint.matches(call) == typed.matches(call), text
    part = {"anyOf": [{"type": "integer"}], "nullable": True}
    deep = {"type": "object", "properties": {"a": {"type": "array", "items": part}}}
    judge = jsonschema.Draft202012Validator(parameters({"name": "f", "parameters": deep}))
    assert judge.is_valid({"a": [1, None]})
    assert not judge.is_valid({"a": None})
