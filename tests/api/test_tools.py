"""Replies that call tools: read by parsers written for the formats, beside ours."""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator

import guideway as gw
from guideway.api.parsing.values import as_message, called, read_value
from guideway.chat.tool_formats import FORMATS
from guideway.models.fake import FakeModel
from tool_samples import (
    CALLS,
    GEMMA_4,
    MARKED,
    MARKS,
    PLAIN,
    TOOLS,
    Calls,
    Weather,
    add,
    said,
    written,
)

Parser = Callable[[str], Calls]


def whole(pattern: str) -> Parser:
    """Reads each call as a whole: an object with a name and arguments."""

    def read(text: str) -> Calls:
        calls = map(json.loads, re.findall(pattern, text, re.DOTALL))
        return [(call["name"], call["arguments"]) for call in calls]

    return read


def named(pattern: str) -> Parser:
    """Reads the names of calls, and JSON beside each."""
    return lambda text: [(n, json.loads(a)) for n, a in re.findall(pattern, text, re.DOTALL)]


def of_type(tool: str, key: str, value: str) -> Any:
    """A value as vLLM's parsers read it: by the type in the schema of the tool."""
    schema = gw.tools(TOOLS, "llama3").schemas[[t for t, _ in CALLS].index(tool)]
    said = schema["function"]["parameters"]["properties"][key]
    texts = said.get("type") == "string" or isinstance(said.get("enum", [0])[0], str)
    return value if texts else json.loads(value)


def pairs(each: str, pair: str) -> Parser:
    """Reads elements: for each call, its arguments one by one."""

    def arguments(name: str, body: str) -> dict[str, Any]:
        found = re.findall(pair, body, re.DOTALL)
        return {key: of_type(name, key, value) for key, value in found}

    return lambda text: [(n, arguments(n, b)) for n, b in re.findall(each, text, re.DOTALL)]


def mistral(text: str) -> Calls:
    _, called, rest = text.partition("[TOOL_CALLS]")
    return [(c["name"], c["arguments"]) for c in json.loads(rest)] if called else []


def llama3(text: str) -> Calls:
    calls = map(json.loads, text.split("; ") if text.startswith("{") else ())
    return [(call["name"], call["parameters"]) for call in calls]


def llama3_python_tag(text: str) -> Calls:
    return llama3(text.removeprefix("<|python_tag|>")) if text.startswith("<|python") else []


def harmony(text: str) -> Calls:
    kind = r"commentary(?: ?<\|constrain\|>| )json<\|message\|>([^<]*)$"
    called = re.search(
        r"commentary to=functions\.(\w+) <\|constrain\|>json<\|message\|>([^<]*)$", text
    ) or re.search(rf" to=functions\.(\w+)<\|channel\|>{kind}", text)
    return [(called[1], json.loads(called[2]))] if called else []


def deepseek_v32(text: str) -> Calls:
    one = r'<｜DSML｜parameter name="(.*?)" string="(.*?)">(.*?)</｜DSML｜parameter>'
    each = r'<｜DSML｜invoke name="(.*?)">\n(.*?)</｜DSML｜invoke>'

    def arguments(body: str) -> dict[str, Any]:
        found = re.findall(one, body, re.DOTALL)
        return {key: v if is_text == "true" else json.loads(v) for key, is_text, v in found}

    return [(name, arguments(body)) for name, body in re.findall(each, text, re.DOTALL)]


def minimax_m1(text: str) -> Calls:
    found = re.search(r"<tool_calls>\n(.*)</tool_calls>", text, re.DOTALL)
    calls = json.loads("[" + re.sub(r"\}\n(?=\{)", "},", found[1]) + "]") if found else []
    return [(call["name"], call["arguments"]) for call in calls]


def pythonic(text: str) -> Calls:
    if not text.startswith("["):
        return []
    called: Any = ast.parse(text, mode="eval").body
    return [
        (call.func.id, {key.arg: ast.literal_eval(key.value) for key in call.keywords})
        for call in called.elts
    ]


def gemma(begin: str, end: str, quote: str) -> Parser:
    def read(text: str) -> Calls:
        each = rf"{re.escape(begin)}call:(\w+)(\{{.*?\}}){re.escape(end)}"
        return [
            (name, json.loads(re.sub(r"(\w+):", r'"\1":', body.replace(quote, '"'))))
            for name, body in re.findall(each, text, re.DOTALL)
        ]

    return read


BEGIN = "<｜tool▁call▁begin｜>"
GLM = pairs(r"<tool_call>([^\n<]*)(.*?)</tool_call>",
            r"<arg_key>(.*?)</arg_key>\n?<arg_value>(.*?)</arg_value>")  # fmt: skip
PARSERS: dict[str, Parser] = {
    "hermes": whole(r"<tool_call>\n(.*?)\n</tool_call>"),
    "deepseek_v3": named(
        BEGIN + r"function<｜tool▁sep｜>(.*?)\n```json\n(.*?)\n```<｜tool▁call▁end｜>"
    ),
    "deepseek_v31": named(BEGIN + r"(.*?)<｜tool▁sep｜>(.*?)<｜tool▁call▁end｜>"),
    "deepseek_v32": deepseek_v32,
    "kimi_k2": named(r"functions\.(.*?):\d+<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end"),
    "glm4": GLM,
    "glm47": GLM,
    "minimax_m1": minimax_m1,
    "minimax_m2": pairs(
        r'<invoke name="(.*?)">(.*?)</invoke>', r'<parameter name="(.*?)">(.*?)</parameter>'
    ),
    "pythonic": pythonic,
    "functiongemma": gemma("<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma4": gemma(*GEMMA_4),
    "mistral": mistral,
    "mistral_v13": named(r"\[TOOL_CALLS\](\w+)\[ARGS\]((?:(?!\[TOOL_CALLS\]).)*)"),
    "llama3": llama3,
    "llama3_python_tag": llama3_python_tag,
    "qwen3_coder": pairs(
        r"<function=(\w+)>\n(.*?)</function>", r"<parameter=(\w+)>\n(.*?)\n</parameter>"
    ),
    "harmony": harmony,
}


@pytest.mark.parametrize("form", FORMATS)
def test_calls_are_values(form):
    several = CALLS[:1] if FORMATS[form].between is None else CALLS
    text = written(form, several)
    assert PARSERS[form](text) == several
    value, error = read_value(gw.tools(TOOLS, form), text)
    assert error is None
    assert [call.name for call in value] == [name for name, _ in several]
    assert [json.loads(call.text) for call in value] == [arguments for _, arguments in several]
    assert [call.tool for call in value] == TOOLS[: len(several)]
    assert value[0].arguments == Weather(city="Rome", unit="f")
    if (trigger := FORMATS[form].trigger) is not None:
        assert gw.tools(TOOLS, form).before(f"Well. {text}") == "Well. ", trigger
    hello = said(form, "Hello.")
    assert read_value(gw.tools(TOOLS, form), hello) == ((), None)


@pytest.mark.parametrize("vocabulary", [PLAIN, MARKED], ids=["texts", "special tokens"])
@pytest.mark.parametrize("form", FORMATS)
def test_what_models_say_is_read_the_same_by_other_parsers(form, vocabulary):
    model = gw.Model(FakeModel.random(vocabulary, 3))
    replies = model.generate(
        "?",
        gw.tools(TOOLS, form, choice="required"),
        num_return_sequences=2,
        max_new_tokens=200,
        seed=4,
    )
    for reply in replies:
        expected = [(call.name, json.loads(call.text)) for call in reply.tool_calls]
        assert PARSERS[form](reply.text) == expected
        assert reply.value == reply.tool_calls != ()
        marks = [token for token in reply.tokens if token > 256]
        spelled = [mark for mark in MARKS if mark in reply.text]
        assert bool(marks) == (vocabulary is MARKED and bool(spelled))


def refuse(city: str) -> str:
    raise ValueError(city)


def test_arguments_are_what_the_tools_say():
    @dataclass
    class Trip:
        cities: list[int]

    def wrong(city: Annotated[Literal["x"], AfterValidator(refuse)]) -> None:
        """Never."""

    flat = {"type": "function", "name": "flat", "parameters": {"type": "object"}}
    source = gw.tools([Trip, wrong, flat, add], "llama3")
    text = '{"name": "Trip", "parameters": {"cities": [1]}}; {"name": "wrong", "parameters": '
    (trip, no), error = read_value(source, text + '{"city": "x"}}')
    assert trip.arguments == Trip([1])
    assert no.arguments is None
    assert error is not None
    (call,), _ = read_value(source, '{"name": "add", "parameters": {"a": 1, "b": true}}')
    assert call.tool(**call.arguments) == 2
    (call,), _ = read_value(source, '{"name": "flat", "parameters": {"z": [null]}}')
    assert call.arguments == {"z": [None]}


class Template:
    """A tokenizer of bytes, whose template writes messages and tools as Python does."""

    chat_template = "some"

    def apply_chat_template(self, messages: object, **how: Any) -> str:
        return f"{messages}{how.get('tools')}"

    def encode(self, text: str, **how: Any) -> list[int]:
        return list(text.encode())


def test_a_reply_is_the_message_of_the_next_turn():
    model = gw.Model(FakeModel.random(PLAIN, 1), Template())
    calls = gw.tools([add], choice="required")
    talk: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
    turns = []
    for seed in (1, 1, 2):
        result = model.generate(talk, calls, max_new_tokens=200, seed=seed)
        assert model.generate(talk, calls, max_new_tokens=200, seed=seed) == result
        message = result.message
        assert (message["role"], message["content"]) == ("assistant", None)
        for call, shown in zip(result.tool_calls, message["tool_calls"], strict=True):
            function = {"name": "add", "arguments": call.text}
            assert shown == {"id": call.id, "type": "function", "function": function}
            assert json.loads(call.text) == call.arguments
        assert result.value == result.tool_calls
        assert json.loads(json.dumps(message)) == message
        turns += [call.id for call in result.tool_calls]
        answers = [
            {"role": "tool", "tool_call_id": call.id, "content": str(call.tool(**call.arguments))}
            for call in result.tool_calls
        ]
        talk += [message, *answers]
    for source in (None, int, gw.tools([add], choice="none")):  # a reply without calls
        result = model.generate("?", source, max_new_tokens=5, seed=1)
        assert result.message == {"role": "assistant", "content": result.text}
    assert len(set(turns)) == len(turns) >= 3
    assert all(re.fullmatch("[a-z0-9]{9}", each) for each in turns)  # as Mistral's templates insist


@pytest.mark.parametrize(
    ("said", "content"), [("", None), ("Well.", "Well."), ("Let me add.\n\n", "Let me add.")]
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_is_said_before_calls_is_the_content(said: str, content: str | None, wrapped: bool):
    source = gw.tools([add])
    call = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": false}}\n</tool_call>'
    before = ""
    if wrapped:
        source, before, content = gw.thinking(source), "<think>So.</think>", (content or "")
        content = f"{before}{said}".strip()
    value, _ = read_value(source, f"{before}{said}{call}")
    calls = called(value, 0)
    message = as_message(source, f"{before}{said}{call}", calls)
    assert message["content"] == content
    assert [one["id"] for one in message["tool_calls"]] == [calls[0].id]
    if wrapped:
        assert gw.compile(source, PLAIN).matches(f"{before}{said}{call}")
    own = written("kimi_k2", CALLS)  # a format that writes ids of its own
    value, _ = read_value(gw.tools(TOOLS, "kimi_k2"), own.replace(":", ":3", 1))
    ids = [call.id for call in called(value, 0)]
    assert ids == ["functions.Weather:30", "functions.add:1", "functions.search:2"]


def test_the_tools_are_in_the_prompt():
    asked: list[str] = []

    class Asked(Template):
        def apply_chat_template(self, messages: object, **how: Any) -> str:
            asked.append(str(how.get("tools")))
            return super().apply_chat_template(messages, **how)

    model = gw.Model(FakeModel.random(PLAIN, 1), Asked())
    talk = [{"role": "user", "content": "Hello"}]
    calls = gw.tools([add], choice="required", parallel=False)
    for source in (calls, gw.thinking(calls, begin=None)):
        result = model.generate(talk, source, max_new_tokens=120, seed=2)
        assert [call.name for call in result.tool_calls] == ["add"]
        assert "'name': 'add'" in asked.pop()
        asked.clear()
    model.generate(talk, bool, max_new_tokens=9)
    assert set(asked) == {"None"}
