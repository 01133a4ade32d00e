"""Tools for tests, and calls of them as the chat templates write them."""

import json
from typing import Any, Literal, cast

from pydantic import BaseModel

import guideway as gw
from guideway.chat.tool_formats import FORMATS
from guideway.chat.tool_literals import Elements

MARKS = [
    *("<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<|channel|>", "<|message|>"),
    *("<|constrain|>", "<|start|>", "<|end|>", "<|python_tag|>", "｜DSML｜"),
    *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    *("<｜tool▁calls▁end｜>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
    *("<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>"),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<start_function_call>", "<end_function_call>", "<escape>"),
    *("<|tool_call>", "<tool_call|>", '<|"|>', "<tool_calls>", "</tool_calls>"),
    *("<minimax:tool_call>", "</minimax:tool_call>"),
]
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
    "function": {"name": "search", "description": "Search.",
                 "parameters": {"type": "object", "properties": {"q": {"enum": ["x", "y"]}}}},
}  # fmt: skip
TOOLS = [Weather, add, SEARCH]
CALLS = [("Weather", {"city": "Rome", "unit": "f"}), ("add", {"a": 2, "b": True}), ("search", {})]

QWEN = cast("Elements", FORMATS["qwen3_coder"].arguments)
Calls = list[tuple[str, Any]]
GEMMA_4 = ("<|tool_call>", "<tool_call|>", '<|"|>')


def written(form: str, calls: Calls) -> str:  # noqa: C901, PLR0911, PLR0912  one arm for each format
    """As the chat templates write them."""
    listed = [(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in calls]
    match form:
        case "deepseek_v3":
            each = [
                f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{a}\n```<｜tool▁call▁end｜>"
                for n, a in listed
            ]
            return "<｜tool▁calls▁begin｜>" + "\n".join(each) + "<｜tool▁calls▁end｜>"
        case "deepseek_v31":
            each = [
                f"<｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{a}<｜tool▁call▁end｜>" for n, a in listed
            ]
            return "<｜tool▁calls▁begin｜>" + "".join(each) + "<｜tool▁calls▁end｜>"
        case "deepseek_v32":
            each = [
                f'<｜DSML｜invoke name="{name}">\n{dsml(arguments)}\n</｜DSML｜invoke>\n'
                for name, arguments in calls
            ]
            return f"<｜DSML｜function_calls>\n{''.join(each)}</｜DSML｜function_calls>"
        case "kimi_k2":
            each = [
                f"<|tool_call_begin|>functions.{n}:{number}<|tool_call_argument_begin|>{a}"
                "<|tool_call_end|>"
                for number, (n, a) in enumerate(listed)
            ]
            return f"<|tool_calls_section_begin|>{''.join(each)}<|tool_calls_section_end|>"
        case "glm4" | "glm47":
            line = "\n" if form == "glm4" else ""
            return line.join(glm(name, arguments, line) for name, arguments in calls)
        case "minimax_m1":
            each = [f'{{"name": "{n}", "arguments": {a}}}\n' for n, a in listed]
            return f"<tool_calls>\n{''.join(each)}</tool_calls>"
        case "pythonic":
            return f"[{', '.join(python(name, arguments) for name, arguments in calls)}]"
        case "functiongemma" | "gemma4":
            marks = ("<start_function_call>", "<end_function_call>", "<escape>")
            return gemma(calls, *(marks if form == "functiongemma" else GEMMA_4))
        case "minimax_m2":
            each = [minimax(name, arguments) for name, arguments in calls]
            return f"<minimax:tool_call>\n{''.join(each)}</minimax:tool_call>"
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


def plain(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Arguments as templates print them: strings as they are, all else as JSON."""
    return [
        (key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for key, value in arguments.items()
    ]


def dsml(arguments: dict[str, Any]) -> str:
    """Arguments of DeepSeek-V3.2."""
    return "\n".join(
        f'<｜DSML｜parameter name="{key}" string="{json.dumps(isinstance(arguments[key], str))}">'
        f"{value}</｜DSML｜parameter>"
        for key, value in plain(arguments)
    )


def glm(name: str, arguments: dict[str, Any], line: str) -> str:
    """A call of GLM-4.5, or of GLM-4.7, which has no line breaks."""
    each = [
        f"<arg_key>{key}</arg_key>{line}<arg_value>{value}</arg_value>{line}"
        for key, value in plain(arguments)
    ]
    return f"<tool_call>{name}{line}{''.join(each)}</tool_call>"


def python(name: str, arguments: dict[str, Any]) -> str:
    """A call in Python; strings have double quotes, as in Meta's examples."""

    def value(given: Any) -> str:
        match given:
            case str():
                return json.dumps(given, ensure_ascii=False)
            case dict():
                return "{" + ", ".join(f"{value(k)}: {value(v)}" for k, v in given.items()) + "}"
            case list():
                return f"[{', '.join(map(value, given))}]"
            case _:
                return repr(given)

    return f"{name}({', '.join(f'{key}={value(arguments[key])}' for key in arguments)})"


def gemma(calls: Calls, begin: str, end: str, quote: str) -> str:
    """Calls of FunctionGemma and Gemma 4: arguments in the order of the alphabet."""

    def value(given: Any) -> str:
        match given:
            case str():
                return f"{quote}{given}{quote}"
            case dict():
                return "{" + members(given) + "}"
            case list():
                return f"[{','.join(map(value, given))}]"
            case _:
                return json.dumps(given)

    def members(given: dict[str, Any]) -> str:
        names = sorted(given, key=str.casefold)
        return ",".join(f"{key}:{value(given[key])}" for key in names)

    return "".join(f"{begin}call:{name}{{{members(a)}}}{end}" for name, a in calls)


def minimax(name: str, arguments: dict[str, Any]) -> str:
    """A call of MiniMax-M2."""
    each = [f'<parameter name="{key}">{value}</parameter>\n' for key, value in plain(arguments)]
    return f'<invoke name="{name}">\n{"".join(each)}</invoke>\n'


def elements(name: str, arguments: dict[str, Any]) -> str:
    """A call of Qwen3-Coder."""
    each = [f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in plain(arguments)]
    return f"<tool_call>\n<function={name}>\n{''.join(each)}</function>\n</tool_call>"


def said(form: str, text: str) -> str:
    return f"<|channel|>final<|message|>{text}" if form == "harmony" else text
