"""What clients send back of a conversation, as messages for chat templates."""

from typing import Any

import pytest

import guideway as gw
from guideway.chat.messages import read_messages
from guideway.server.conversation import chat_messages, conversation
from guideway.server.refusals import Refusal, as_refusal

SPELLED = "<custom_tool_call>date\n2026\n</custom_tool_call>"
CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
CUSTOM = {"type": "custom_tool_call", "call_id": "2", "name": "date", "input": "2026"}
ANSWER = {"type": "function_call_output", "call_id": "1", "output": "3"}
FUNCTION = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def reply(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


@pytest.mark.parametrize(("items", "messages"), [
    ([{"role": "developer", "content": "a"}], [{"role": "system", "content": "a"}]),
    ([CALL], [reply(None, tool_calls=[FUNCTION])]),
    ([{**reply([{"type": "output_text", "text": "Well"}]), "type": "message"}, CALL, CALL],
     [reply("Well", tool_calls=[FUNCTION, FUNCTION])]),
    ([CALL, ANSWER, CALL],
     [reply(None, tool_calls=[FUNCTION]), {"role": "tool", "tool_call_id": "1", "content": "3"},
      reply(None, tool_calls=[FUNCTION])]),
    ([reply([{"type": "text", "text": "So"}]), CUSTOM], [reply(f"So{SPELLED}")]),
    ([reply("So"), CUSTOM], [reply(f"So\n{SPELLED}")]),
    ([CUSTOM], [reply(SPELLED)]),
    ([{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}, CALL],
     [reply(None, tool_calls=[FUNCTION], reasoning_content="hm")]),
    ([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "m"}]}, reply("a")],
     [reply("a", reasoning_content="m")]),
])  # fmt: skip
def test_items_of_the_responses_api(items: list[Any], messages: list[Any]) -> None:
    user = {"role": "user", "content": "Hi"}
    assert read_messages(conversation([user, *items], None)) == [user, *messages]


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([{"type": "web_search_call"}], "known are message, reasoning"),
        ([{"type": "reasoning", "content": []}], "before the message"),
        ([{"type": "reasoning", "content": []}, {"role": "user", "content": "a"}], "before"),
    ],
)
def test_items_that_are_refused(items: list[Any], told: str) -> None:
    with pytest.raises(gw.GuidewayError, match=told) as raised:
        conversation(items, None)
    assert str(as_refusal(raised.value).body["error"]["param"]).startswith("input")


def test_custom_calls_of_chats_are_text() -> None:
    call = {"id": "2", "type": "custom", "custom": {"name": "date", "input": "2026"}}
    answer = {"role": "tool", "tool_call_id": "2", "content": "ok"}
    given = [reply(None, tool_calls=[call]), answer, {"role": "developer", "content": "a"}]
    assert chat_messages(given) == [reply(SPELLED), answer, {"role": "system", "content": "a"}]
    assert chat_messages([reply("a", tool_calls=[FUNCTION])]) == [reply("a", tool_calls=[FUNCTION])]
    with pytest.raises(Refusal, match="one kind") as raised:
        chat_messages([reply(None, tool_calls=[call, FUNCTION])])
    assert raised.value.body["error"]["param"] == "messages"
    with pytest.raises(Refusal, match="text parts") as raised:
        chat_messages([answer, {"role": "user", "content": [{"type": "image_url"}]}])
    assert raised.value.body["error"]["param"] == "messages[1].content[0]"
