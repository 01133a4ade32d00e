"""The messages of a request, of chat completions and of the Responses API, for chat templates.

The server keeps no conversation: clients send back what it answered. Reasoning goes to
`reasoning_content` of the message that follows it, calls of functions to `tool_calls`, and calls of
custom tools to the content, as the model wrote them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, cast

from guideway.chat.messages import read_messages
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.server.refusals import as_param, as_refusal, of_field
from guideway.server.replies import CLOSED, OPENED

Message: TypeAlias = dict[str, Any]
OUTPUTS = ("function_call_output", "custom_tool_call_output")
CALLS = ("function_call", "custom_tool_call")


def chat_messages(given: Sequence[Message]) -> list[Message]:
    """The messages of a chat completion: `developer` is `system`, custom calls are text.

    Raises:
        Refusal: a message is malformed.
    """
    try:
        return read_messages([_chat_message(each) for each in given])
    except (SourceError, UnsupportedError) as error:
        raise as_refusal(error, as_param(f"/messages{error.place}")) from None


def _chat_message(given: Message) -> Message:
    said = {**given, "role": _role(given)} if "role" in given else given
    calls = objects(said.get("tool_calls"))
    custom = [each for each in calls if each.get("type") == "custom"]
    if not custom:
        return said
    if len(custom) < len(calls):
        raise UnsupportedError(
            "a message has calls of functions and of custom tools: a reply has one kind",
            feature="calls of both kinds",
        )
    content = said.get("content")
    for call in custom:
        content = _with_text(content, _call_text(call.get("custom")))
    return {**{key: said[key] for key in said if key != "tool_calls"}, "content": content}


def conversation(given: str | Sequence[Message], instructions: str | None) -> list[Message]:
    """The messages of a request of the Responses API.

    >>> conversation("Hi.", "Be short.")
    [{'role': 'system', 'content': 'Be short.'}, {'role': 'user', 'content': 'Hi.'}]
    """
    said = [] if instructions is None else [{"role": "system", "content": instructions}]
    if isinstance(given, str):
        return [*said, {"role": "user", "content": given}]
    thought: str | None = None
    replying = False  # the last message is a reply that may still get calls
    for number, item in enumerate(given):
        place, kind = f"/input/{number}", item.get("type", "message")
        if kind == "reasoning":
            thought, replying = _thought(item), False
            continue
        message = _message(item, kind, place)
        replies = message["role"] == "assistant"
        if thought is not None and not replies:
            break
        if thought is not None:
            message, thought = {**message, "reasoning_content": thought}, None
        if replies and replying and kind in CALLS:
            said[-1] = _with_call(said[-1], message)
        else:
            said.append(message)
        replying = replies
    if thought is not None:
        raise SourceError("reasoning comes before the message or call it led to", place="/input")
    with of_field("input"):
        return read_messages(said)


def _message(item: Message, kind: object, place: str) -> Message:
    if kind == "message":
        return {"role": _role(item), "content": item.get("content")}
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments", "{}")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind == "custom_tool_call":
        return {"role": "assistant", "content": _call_text(item)}
    if kind in OUTPUTS:
        called = item.get("call_id")
        return {"role": "tool", "tool_call_id": called, "content": item.get("output")}
    known = ", ".join(("message", "reasoning", *CALLS, *OUTPUTS))
    raise UnsupportedError(
        f"an input has the type {brief(kind)}; known are {known}",
        feature=f"input of type {kind}",
        place=place,
    )


def _role(given: Mapping[str, Any]) -> Any:
    role = given.get("role")
    return "system" if role == "developer" else role


def _thought(item: Message) -> str:
    parts = objects(item.get("content") or item.get("summary"))
    return "\n".join(str(part.get("text", "")) for part in parts)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list, [] of another value; others are refused where messages are read."""
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [each for each in listed if is_object(each)]


def _call_text(call: object) -> str:
    """A call of a custom tool as the model wrote it."""
    inside = call if is_object(call) else {}
    return f"{OPENED}{inside.get('name')}\n{inside.get('input')}\n{CLOSED}"


def _with_call(message: Message, call: Message) -> Message:
    if "tool_calls" in call:
        return {**message, "tool_calls": [*message.get("tool_calls", ()), *call["tool_calls"]]}
    return {**message, "content": _with_text(message["content"], call["content"])}


def _with_text(content: Any, text: str) -> Any:
    """The content of a message with a text after it."""
    if isinstance(content, list):
        return [*cast("list[Any]", content), {"type": "text", "text": text}]
    return f"{content}\n{text}" if isinstance(content, str) and content else text
