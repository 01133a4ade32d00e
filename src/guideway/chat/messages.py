"""Chat messages of OpenAI's clients as plain dicts.

    content: "text"                              unchanged
    content: [{"type": "text", "text": …}, …]    the texts, joined
    content: None, or none, beside tool_calls    None
    tool_calls: [{"id", "type", "function": {"name", "arguments"}}]
                                                 arguments as JSON text; dicts, pydantic objects
                                                 and `guideway.ToolCall` are accepted, too
    a pydantic object                            its `model_dump`

Other keys (`tool_call_id`, `name`, `reasoning_content`, …) are kept for the chat template.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeGuard, cast

from pydantic import BaseModel

from guideway.chat.tools import ToolCall
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.sources.sources import check_text

NAMED: Final = ("name", "tool_call_id", "reasoning_content")  # texts, where a message has them
TEXTS: Final = ("text", "input_text", "output_text")  # types of parts: of Chat, and of Responses


Message: TypeAlias = Mapping[str, object] | BaseModel
"""A dict, or a pydantic object, as the clients of OpenAI and Mistral have for messages."""
Plain: TypeAlias = dict[str, Any]


def are_messages(value: object) -> TypeGuard[Sequence[Message]]:
    """Return True for a list of chat messages, well formed or not."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    listed = cast("Sequence[object]", value)
    return bool(listed) and all(isinstance(one, Mapping | BaseModel) for one in listed)


def read_messages(given: Sequence[Message]) -> list[Plain]:
    """Messages as dicts, with a text as their content, or None beside `tool_calls`.

    >>> read_messages([{"role": "user", "content": [{"type": "text", "text": "Hi."}]}])
    [{'role': 'user', 'content': 'Hi.'}]
    """
    return [_read(each, f"/{number}") for number, each in enumerate(given)]


def _read(given: Message, place: str) -> Plain:
    said = {key: value for key, value in _fields(given).items() if value is not None}
    role, calls = said.get("role"), said.pop("tool_calls", None)
    if not isinstance(role, str):
        raise SourceError(f"a message needs a role, not {brief(given)}", place=f"{place}/role")
    if "function_call" in said:
        raise UnsupportedError(
            "function_call is OpenAI's old form; write tool_calls",
            feature="function_call",
            place=f"{place}/function_call",
        )
    for name in NAMED:
        if not isinstance(held := said.get(name, ""), str):
            raise SourceError(f"{name} must be a text, not {brief(held)}", place=f"{place}/{name}")
    said["content"] = _content(said.get("content"), f"{place}/content")
    if calls:
        said["tool_calls"] = [
            _call(each, f"{place}/tool_calls/{n}")
            for n, each in enumerate(_call_list(calls, place))
        ]
    elif said["content"] is None:
        raise SourceError(
            f"a message needs a content or tool_calls, not {brief(given)}", place=f"{place}/content"
        )
    return said


def _fields(given: object) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return cast("Mapping[str, Any]", given)
    return given.model_dump() if isinstance(given, BaseModel) else {}


def _call_list(calls: object, place: str) -> Sequence[object]:
    if isinstance(calls, str) or not isinstance(calls, Sequence):
        raise SourceError(
            f"tool_calls must be a list, not {brief(calls)}", place=f"{place}/tool_calls"
        )
    return cast("Sequence[object]", calls)


def _content(given: object, place: str) -> str | None:
    if given is None:
        return None
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        parts = cast("Sequence[object]", given)
        return "".join(_part(part, f"{place}/{n}") for n, part in enumerate(parts))
    if not isinstance(given, str):
        raise SourceError(
            f"a content must be a text or a list of parts, not {brief(given)} (json.dumps writes "
            "data as a text)",
            place=place,
        )
    check_text(given, f"the content at {place}")
    return given


def _part(given: object, place: str) -> str:
    if isinstance(given, str):
        return given
    part = _fields(given)
    kind = part.get("type")
    if kind not in TEXTS:
        raise UnsupportedError(
            f"a part of the content has the type {brief(kind or given)}: guideway supports only "
            "text parts",
            feature=str(kind),
            place=place,
        )
    text = part.get("text")
    check_text(text, f"the text at {place}")
    return cast("str", text)


def _call(given: object, place: str) -> Plain:
    if isinstance(given, ToolCall):
        return given.message
    call = dict(_fields(given))
    kind = call.get("type", "function")
    if kind != "function":
        raise UnsupportedError(
            f"a tool call has the type {brief(kind)}: only functions are supported",
            feature=f"tool call of type {kind}",
            place=place,
        )
    function = dict(_fields(call.get("function", call)))
    name = function.get("name")
    if not isinstance(name, str):
        raise SourceError(
            f"a tool call needs the name of a function, not {brief(given)}", place=place
        )
    named = {"id": call["id"]} if call.get("id") else {}
    written = _arguments(function.get("arguments"), place)
    return {**named, "type": "function", "function": {"name": name, "arguments": written}}


def _arguments(given: object, place: str) -> str:
    if given is None or given == "":
        return "{}"
    if isinstance(given, str):
        return given
    try:
        return json.dumps(given, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SourceError(
            f"the arguments of a tool call must be JSON: {error}", place=place
        ) from None
