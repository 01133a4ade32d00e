"""Tools and the formats of their calls, against what chat templates write."""

import re
from dataclasses import dataclass
from typing import Optional

import pytest

import guideway as gw
from guideway.chat.tool_formats import ALIASES, FORMATS, format_name
from guideway.chat.tools import tools_of
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
    several = CALLS[:1] if form == "harmony" else CALLS
    text = written(form, several)
    assert free.matches(text)
    assert required.matches(text)
    assert not none.matches(text)
    assert not named.matches(text)
    assert one.matches(text) == (form == "harmony")
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
    assert described[3]["function"]["description"] == "Add."
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
    flat = {"type": "function", "name": "flat", "parameters": {"type": "object"}}
    bare = {"type": "function", "function": {"name": "bare"}}
    source = gw.tools([flat, bare], "llama3")
    assert len({source, gw.tools([flat, bare], "llama3")}) == 1
    constraint = gw.compile(source, PLAIN)
    assert constraint.matches('{"name": "flat", "parameters": {"z": [null]}}')
    assert constraint.matches('{"name": "bare", "parameters": {}}')
    assert not constraint.matches('{"name": "bare", "parameters": {"z": [null]}}')


def test_arguments_are_an_object_whether_the_description_says_so_or_not():
    untyped = {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}
    tools = gw.tools([untyped, {"name": "g", "parameters": {}}], "llama3", "required")
    constraint = gw.compile(tools, PLAIN)
    for name, arguments, allowed in [
        ("f", '{"a": 1}', 1),
        ("f", "1", 0),
        ("g", "{}", 1),
        ("g", "0", 0),
    ]:
        call = f'{{"name": "{name}", "parameters": {arguments}}}'
        assert constraint.matches(call) == bool(allowed), call


def test_a_bare_schema_of_arguments_has_no_others():
    part = {"type": "object", "properties": {"b": {"type": "null"}}}
    schema = {"type": "object", "properties": {"a": part}}
    source = gw.tools([{"name": "f", "parameters": schema}], "llama3", "required")
    assert source.schemas[0]["function"]["parameters"] == schema
    constraint = gw.compile(source, PLAIN)
    for arguments, allowed in (
        ("{}", 1), ('{"a": {"b": null}}', 1), ('{"c": 1}', 0), ('{"a": {"c": 1}}', 0),
    ):  # fmt: skip
        call = f'{{"name": "f", "parameters": {arguments}}}'
        assert constraint.matches(call) == bool(allowed), call
    opened = {**schema, "additionalProperties": True}
    source = gw.tools([{"name": "f", "parameters": opened}], "llama3", "required")
    assert gw.compile(source, PLAIN).matches('{"name": "f", "parameters": {"c": 1}}')


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: gw.tools([]), "a list with at least one"),
        (lambda: gw.tools("add"), "a list with at least one"),
        (lambda: gw.tools([3]), "3 is not a tool"),
        (lambda: gw.tools([lambda x: x]), "'<lambda>'"),
        (lambda: gw.tools([int]), "int are not a JSON object"),
        (
            lambda: gw.tools([{"name": "f", "parameters": {"type": "array"}}]),
            "f are not a JSON object",
        ),
        (lambda: gw.tools([add, add]), "two tools have the name 'add'"),
        (lambda: gw.tools([{"type": "function", "name": "auto"}]), "'auto'"),
        (lambda: gw.tools([{"function": 1}]), "function of a tool must be a description, not 1"),
        (lambda: gw.tools([add], "herms"), "did you mean 'hermes'"),
        (lambda: gw.tools([add], 3), "unknown tool format 3; known are hermes"),
        (lambda: gw.tools([{"name": "a-b"}], "pythonic"), "'a-b' is not a Python name"),
        (lambda: gw.tools([{"name": "a.class"}], "pythonic"), "'a.class' is not a Python name"),
        (lambda: gw.tools([add], choice="ad"), "did you mean 'add'"),
        (lambda: gw.tools([add], choice={"function": {}}), "one of auto, required, none, add"),
        (
            lambda: gw.tools([add], choice={"type": "any", "disable_parallel_tool_use": True}),
            "one of auto, required, none, add",
        ),
    ],
)
def test_what_is_no_tool_is_refused(attempt, message):
    with pytest.raises((gw.SourceError, gw.UnsupportedError), match=re.escape(message)):
        attempt()


@pytest.mark.parametrize(
    ("choice", "alike"),
    [
        ({"type": "function", "function": {"name": "add"}}, "add"),
        ({"function": {"name": "add"}}, "add"),
        ({"type": "function", "name": "add"}, "add"),
        ({"type": "tool", "name": "add"}, "add"),
        ({"type": "any"}, "required"),
        ({"type": "auto"}, "auto"),
        ({"type": "none"}, "none"),
    ],
)
def test_choices_are_those_of_the_clients(choice, alike):
    assert gw.tools([add], choice=choice) == gw.tools([add], choice=alike)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("gpt-oss", "harmony"),
        ("DeepSeek-R1", "deepseek_v3"),
        ("DeepSeek-V3.1", "deepseek_v31"),
        ("GLM-4.5", "glm4"),
        ("Kimi-K2", "kimi_k2"),
        ("qwen", "hermes"),
        ("llama4_pythonic", "pythonic"),
        ("minimax-m2", "minimax_m2"),
        ("Hermes", "hermes"),
    ],
)
def test_a_format_has_the_names_of_models_too(name, form):
    assert gw.tools([add], name) == gw.tools([add], form)


def test_every_alias_is_the_name_of_a_format_and_no_format():
    assert set(ALIASES.values()) <= FORMATS.keys()
    assert not ALIASES.keys() & FORMATS.keys()
    for name in (*FORMATS, *ALIASES):
        assert format_name(name.upper().replace("_", "-")) == ALIASES.get(name, name)
