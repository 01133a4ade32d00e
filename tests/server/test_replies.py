"""A reply that grows, character by character, is in the end the reply of the whole text."""

from typing import Any

import pytest

import guideway as gw
from guideway.api.parsing.values import called, read_captures, read_value
from guideway.chat.tool_formats import FORMATS
from guideway.generation.row.request import Stats
from guideway.generation.row.result import Result
from guideway.server.replies import CLOSED, OPENED, Form, Growth, Reply, field_of
from guideway.sources.regions import capture, until
from guideway.sources.sources import Literal
from tool_samples import CALLS, PLAIN, TOOLS, said, written

WHOLE = {"pythonic", "harmony", "llama3"}  # with free text before, or beside other replies
JSON = {name for name, form in FORMATS.items() if form.arguments is None}


def result_of(source: Any, text: str) -> Result[Any]:
    value, error = read_value(source, text)
    assert error is None
    captures, _ = read_captures(source, text.encode())
    tokens = tuple(text.encode())
    return Result(
        value=value,
        text=text,
        tokens=tokens,
        logprobs=(),
        finish_reason="stop",
        error=None,
        stats=Stats(),
        captures=captures,
        tool_calls=called(value, text),
    )


def grown(form: Form, result: Result[Any]) -> tuple[Reply, Reply, list[int]]:
    """The reply of a stream, that of the whole text, and how many parts each call came in."""
    growth, texts, calls, parts = Growth(), {"content": "", "reasoning_content": ""}, [], []
    replies = [form.begun(result.text[:count]) for count in range(len(result.text) + 1)]
    for reply in (*replies, form.reply(result)):
        for delta in growth.more(reply):
            for call in delta.pop("tool_calls", ()):
                number = call.pop("index")
                if number == len(calls):
                    calls.append(call)
                    parts.append(0)
                    continue
                kind, name = field_of(calls[number])
                calls[number][kind][name] += call[kind][name]
                parts[number] += 1
            for kind, text in delta.items():
                texts[kind] += text
    whole = growth.named(form.reply(result))
    reasoning = None if whole.reasoning is None else texts["reasoning_content"]
    content = texts["content"] if whole.content is not None else texts["content"] or None
    return Reply(content, reasoning, calls), whole, parts


@pytest.mark.parametrize("thinking", [None, ("<think>", "</think>")])
@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("name", FORMATS)
def test_calls_of_all_formats(name: str, choice: str, thinking: tuple[str, str] | None) -> None:
    tools = gw.tools(TOOLS, name, choice)
    counts = (1,) if FORMATS[name].between is None else (1, 2, 3)
    texts = [written(name, CALLS[:count]) for count in counts]
    many = len(texts)
    if choice == "auto":
        texts += [said(name, "No.\n  "), said(name, "a < b")]
        texts += [f" Well \n{texts[0]}"] if FORMATS[name].trigger is not None else []
    source: Any = tools if thinking is None else gw.thinking(tools)
    thought = "" if thinking is None else '<think><tool_call>\n{"name": "add</think>\n\n'
    for number, text in enumerate(texts):
        result = result_of(source, thought + text)
        found, whole, parts = grown(Form(PLAIN, thinking, tools, (), mixed=False), result)
        assert found == whole
        assert len(result.tool_calls) == len(found.calls)
        for call, read in zip(found.calls, result.tool_calls, strict=True):
            assert call["function"] == {"name": read.name, "arguments": read.text}
        if number < many and name in JSON - WHOLE:
            assert max(parts) > 10  # a part for each character of the arguments
        if thinking is not None:
            assert whole.reasoning == thought[len("<think>") : -len("</think>\n\n")]


def test_calls_without_a_mark_wait_only_if_an_answer_may_begin_so() -> None:
    tools = gw.tools(TOOLS, "llama3", "required")
    result = result_of(tools, written("llama3", CALLS[:1]))
    assert grown(Form(PLAIN, None, tools, (), mixed=False), result)[2][0] > 10
    assert grown(Form(PLAIN, None, tools, (), mixed=True), result)[2] == [1]


@pytest.mark.parametrize(
    "text",
    [
        f"{OPENED}date\n2026\n{CLOSED}",
        f"{OPENED}date\n2{CLOSED}\n{CLOSED}",
        f"{OPENED}dates\n\n{CLOSED}\n{CLOSED}",
        "<custom? no",
        written("hermes", CALLS[:1]),
    ],
)
def test_custom_tools_beside_functions_and_text(text: str) -> None:
    tools = gw.tools(TOOLS, "hermes", "required")

    def custom(name: str) -> Any:
        item = gw.Regex(r"[\s\S]*")
        return Literal(f"{OPENED}{name}\n") + capture(name, item) + f"\n{CLOSED}"

    free = until(OPENED, "<tool_call>", include=False)
    source = tools | custom("date") | custom("dates") | free
    form = Form(PLAIN, None, tools, ("date", "dates"), mixed=True)
    found, whole, parts = grown(form, result_of(source, text))
    calls = [{**call, "id": ""} for call in found.calls]
    assert calls == [{**call, "id": ""} for call in whole.calls]
    assert (found.content, bool(calls)) == (whole.content, text != "<custom? no")
    assert not parts or parts[0] >= 1


def test_tokens_of_reasoning_are_counted() -> None:
    source = gw.thinking(gw.Choice(["yes", "no"]))
    form = Form(PLAIN, ("<think>", "</think>"))
    for text in ("<think>é?</think>yes", "<think></think>\nno"):
        end = text.index("</think>") + len("</think>")
        assert form.reasoning_tokens(result_of(source, text).tokens) == len(text[:end].encode())
    assert Form(PLAIN).reasoning_tokens(b"<think></think>no") == 0
    assert form.reasoning_tokens(b"<think>no") == 9
