"""Tools for tests, and calls of them as the chat templates write them."""

import json
from typing import Any, Literal

from pydantic import BaseModel

import guideway as gw

MARKS = [
    "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<|channel|>", "<|message|>",
    "<|constrain|>", "<|start|>", "<|end|>", "<|python_tag|>",
]  # fmt: skip
PLAIN = gw.Vocabulary([*(bytes([b]) for b in range(256)), b"<eos>"], {256})
MARKED = gw.Vocabulary(
    [*(bytes([b]) for b in range(256)), b"<eos>", *[None] * len(MARKS)],
    {256},
    special={name: 257 + number for number, name in enumerate(MARKS)},
)


class Weather(BaseModel):
    """The weather in a city."""

    city: Literal["Oslo", "Rome"]
    unit: Literal["c", "f"] = "c"


def add(a: Literal[1, 2], b: bool) -> int:
    """Add."""
    return a + b


SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search.",
        "parameters": {"type": "object", "properties": {"q": {"enum": ["x", "y"]}}},
    },
}
TOOLS = [Weather, add, SEARCH]
CALLS = [("Weather", {"city": "Rome", "unit": "f"}), ("add", {"a": 2, "b": True}), ("search", {})]

Calls = list[tuple[str, Any]]


def written(form: str, calls: Calls) -> str:  # noqa: PLR0911  one arm for each format
    """As the chat templates write them."""
    listed = [(name, json.dumps(arguments)) for name, arguments in calls]
    match form:
        case "mistral":
            each = [f'{{"name": "{n}", "arguments": {a}}}' for n, a in listed]
            return f"[TOOL_CALLS] [{', '.join(each)}]"
        case "mistral_v13":
            return "".join(f"[TOOL_CALLS]{n}[ARGS]{a}" for n, a in listed)
        case "llama3":
            return "; ".join(f'{{"name": "{n}", "parameters": {a}}}' for n, a in listed)
        case "harmony":
            ((n, a),) = listed
            thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
            call = f"commentary to=functions.{n} <|constrain|>json<|message|>{a}"
            return f"{thought}<|channel|>{call}"
        case "llama3_python_tag":
            each = [f'{{"name": "{n}", "parameters": {a}}}' for n, a in listed]
            return f"<|python_tag|>{'; '.join(each)}"
        case "qwen3_coder":
            return "\n".join(elements(name, arguments) for name, arguments in calls)
        case _:
            each = [f'{{"name": "{n}", "arguments": {a}}}' for n, a in listed]
            return "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in each)


def elements(name: str, arguments: dict[str, Any]) -> str:
    """A call of Qwen3-Coder."""
    values = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in arguments.items()
    }
    each = [f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items()]
    return f"<tool_call>\n<function={name}>\n{''.join(each)}</function>\n</tool_call>"


def said(form: str, text: str) -> str:
    return f"<|channel|>final<|message|>{text}" if form == "harmony" else text
