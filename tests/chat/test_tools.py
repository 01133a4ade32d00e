"""Tools and the formats of their calls, against what chat templates write."""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, Literal, Optional

import jsonschema
import pytest
from pydantic import BaseModel, Field
from transformers.utils.chat_template_utils import get_json_schema

import guideway as gw
from guideway.chat.tool_formats import FORMATS
from guideway.chat.tools import tools_of
from guideway.json_schema.text import read_json
from tool_samples import CALLS, MARKED, PLAIN, SEARCH, TOOLS, Weather, add, said, written

DIRECT = ("llama3", "pythonic")  # whose replies are calls from their first character on


@pytest.mark.parametrize("form", FORMATS)
def test_calls_are_written_as_templates_write_them(form):
    free, required, none, named, one = (
        gw.compile(gw.tools(TOOLS, form, **how), MARKED)
        for how in (
            {},
            {"choice": "required"},
            {"choice": "none"},
            {"choice": {"type": "function", "function": {"name": "add"}}},
            {"choice": "required", "parallel": False},
        )
    )
    several = CALLS[:1] if FORMATS[form].between is None else CALLS
    text = written(form, several)
    assert free.matches(text)
    assert required.matches(text)
    assert not none.matches(text)
    assert not named.matches(text)
    assert one.matches(text) == (FORMATS[form].between is None)
    assert named.matches(written(form, CALLS[1:2]))
    assert one.matches(written(form, CALLS[1:2]))
    hello = said(form, "Hello.")
    assert free.matches(hello)
    assert none.matches(hello)
    assert not required.matches(hello)
    for wrong in (text[:-1], text.replace("Rome", "Bern"), text.replace("Weather", "Wetter")):
        assert not free.matches(wrong)
    before = "I look. " + text
    assert free.matches(before) == (FORMATS[form].trigger is not None or form in DIRECT)
    assert not required.matches(before)


@dataclass
class Tree:
    below: Optional["Tree"] = None


def test_tools_are_described_as_chat_templates_take_them():
    described = gw.tools([Weather, SEARCH, Tree, add]).schemas
    assert described[1] == SEARCH
    assert tools_of(gw.thinking(gw.tools([SEARCH]) | gw.Text())) == [SEARCH]
    assert described[0]["function"]["description"] == "The weather in a city."
    assert described[0]["function"]["parameters"]["required"] == ["city"]
    assert list(described[3]["function"]["parameters"]["properties"]) == ["a", "b"]
    assert "$defs" not in described[3]["function"]["parameters"]
    assert described[2]["function"]["parameters"]["$defs"]

    def numbered(title: list[int], more: int) -> None: ...

    parameters = gw.tools([numbered]).schemas[0]["function"]["parameters"]
    assert parameters["properties"] == {
        "title": {"type": "array", "items": {"type": "integer"}},
        "more": {"type": "integer"},
    }
    assert "title" not in parameters
    assert len({gw.tools([SEARCH]), gw.tools([SEARCH])}) == 1


PART = {"type": "object", "properties": {"b": {"type": "null"}}}
BARE = {"type": "object", "properties": {"a": PART}}
TYPED = {"a": {"type": "integer"}}


@pytest.mark.parametrize(("tool", "allowed", "others"), [
    ({"parameters": {"properties": TYPED}}, ['{"a": 1}'], ["1"]),
    ({"parameters": {"type": "object"}}, ['{"z": [null]}'], ["0"]),
    ({"parameters": {}}, ["{}"], ["0"]),
    ({}, ["{}"], ['{"a": 1}']),
    ({"parameters": BARE}, ["{}", '{"a": {"b": null}}'], ['{"c": 1}', '{"a": {"c": 1}}']),
    ({"parameters": {**BARE, "additionalProperties": True}}, ['{"c": 1}'], []),
])  # fmt: skip
def test_arguments_are_an_object_and_bare_ones_have_no_others(tool, allowed, others):
    source = gw.tools([{"name": "f", **tool}], "llama3", "required")
    if "parameters" in tool:
        described = source.schemas[0]["function"]["parameters"]
        assert described == {"type": "object", **tool["parameters"]}
    constraint = gw.compile(source, PLAIN)
    for arguments in (*allowed, *others):
        call = f'{{"name": "f", "parameters": {arguments}}}'
        assert constraint.matches(call) == (arguments in allowed), call


@pytest.mark.parametrize(("attempt", "message"), [
    (lambda: gw.tools([]), "a list with at least one"),
    (lambda: gw.tools("add"), "a list with at least one"),
    (lambda: gw.tools([3]), "3 is not a tool"),
    (lambda: gw.tools([lambda x: x]), "'<lambda>'"),
    (lambda: gw.tools([int]), "int are not a JSON object"),
    (lambda: gw.tools([add, add]), "two tools have the name 'add'"),
    (lambda: gw.tools([{"type": "function", "name": "auto"}]), "'auto'"),
    (lambda: gw.tools([{"function": 1}]), "function of a tool must be a description, not 1"),
    (lambda: gw.tools([add], "herms"), "did you mean 'hermes'"),
    (lambda: gw.tools([add], 3), "unknown tool format 3; known are hermes"),
    (lambda: gw.tools([{"name": "a-b"}], "pythonic"), "'a-b' is not a Python name"),
    (lambda: gw.tools([{"name": "a.class"}], "pythonic"), "'a.class' is not a Python name"),
    (lambda: gw.tools([add], choice="ad"), "did you mean 'add'"),
    (lambda: gw.tools([add], choice={"function": {}}), "one of auto, required, none, add"),
    (lambda: gw.tools([add], choice={"type": "any", "disable_parallel_tool_use": True}),
     "one of auto, required, none, add"),
])  # fmt: skip
def test_what_is_no_tool_is_refused(attempt, message):
    with pytest.raises((gw.SourceError, gw.UnsupportedError), match=re.escape(message)):
        attempt()


ALIKE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(({"choice": choice}, {"choice": alike}) for choice, alike in (
        ({"type": "function", "function": {"name": "add"}}, "add"),
        ({"function": {"name": "add"}}, "add"),
        ({"type": "function", "name": "add"}, "add"),
        ({"type": "tool", "name": "add"}, "add"),
        ({"type": "any"}, "required"), ({"type": "auto"}, "auto"), ({"type": "none"}, "none"),
    )),
    *(({"format": name}, {"format": form}) for name, form in (
        ("gpt-oss", "harmony"), ("DeepSeek-R1", "deepseek_v3"), ("DeepSeek-V3.1", "deepseek_v31"),
        ("GLM-4.5", "glm4"), ("Kimi-K2", "kimi_k2"), ("qwen", "hermes"), ("Hermes", "hermes"),
        ("llama4_pythonic", "pythonic"), ("minimax-m2", "minimax_m2"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("given", "alike"), ALIKE)
def test_choices_are_those_of_clients_and_formats_have_the_names_of_models_too(given, alike):
    assert gw.tools([add], **given) == gw.tools([add], **alike)


# Descriptions of tools as vendors write them: all mean the same, and none is dropped silently.

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
    description: str | None = None
    input_schema: dict[str, Any] = Field(alias="inputSchema")
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
    [found] = gw.tools([given]).tools
    return read_json(found.arguments.text)


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
    tool = SimpleNamespace(**ABOUT, inputs=inputs, output_type="string")
    [described] = gw.tools([tool]).schemas
    assert described["function"]["parameters"]["properties"]["days"] == inputs["days"]
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
        ({"name": "f", "parameters": {"type": "array"}}, "f are not a JSON object"),
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
