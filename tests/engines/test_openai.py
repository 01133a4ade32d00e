"""OpenAI's own client, unchanged, against the server: every API, streamed and not.

Run: python tests/engines/run.py openai
"""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

openai: Any = pytest.importorskip("openai", reason="needs python tests/engines/run.py openai")
from pydantic import BaseModel, Field  # noqa: E402

from engines.serving import serving  # noqa: E402


class Person(BaseModel):
    name: str = Field(max_length=5)
    age: int = Field(ge=0, le=150)


TALK = [{"role": "user", "content": "Who?"}]
MORE: dict[str, Any] = {"model": "fake", "seed": 1}
LIMIT = 400


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=address, api_key="k", max_retries=0) as found:
        yield found


@pytest.fixture(scope="module")
def thinker() -> Iterator[Any]:
    with (
        serving("--thinking") as address,
        openai.OpenAI(base_url=address, api_key="k", max_retries=0) as found,
    ):
        yield found


def test_chat(client: Any) -> None:
    asked = {"messages": TALK, "max_completion_tokens": 20, **MORE}
    answer = client.chat.completions.create(**asked, n=2, logprobs=True, top_logprobs=2)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.choices[0].message.content != answer.choices[1].message.content
    content = answer.choices[0].logprobs.content
    spelled = bytes(b for token in content for b in token.bytes).decode(errors="replace")
    assert spelled == answer.choices[0].message.content
    assert len(content[0].top_logprobs) == 2
    again = client.chat.completions.create(**asked)
    assert again.choices[0].message.content == answer.choices[0].message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    letters = {"extra_body": {"structured_outputs": {"regex": "[a-f]{0,40}"}}}
    text = client.chat.completions.create(**asked, **letters).choices[0].message.content
    cut = client.chat.completions.create(**asked, **letters, stop=[text[3], "xyz"])
    assert cut.choices[0].message.content == text.partition(text[3])[0]
    assert cut.choices[0].finish_reason == "stop"


def test_a_stream_with_usage_and_logprobs(client: Any) -> None:
    asked = {"messages": TALK, "max_completion_tokens": 30, "logprobs": True, **MORE}
    whole = client.chat.completions.create(**asked)
    more = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = [*client.chat.completions.create(**asked, **more)]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert not chunks[-1].choices
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    told = [chunk.choices[0] for chunk in chunks[:-1]]
    assert told[-1].finish_reason == whole.choices[0].finish_reason
    assert "".join(each.delta.content or "" for each in told) == whole.choices[0].message.content
    tokens = [token for each in told if each.logprobs for token in each.logprobs.content]
    assert tokens == whole.choices[0].logprobs.content


def test_parse(client: Any) -> None:
    asked = {"messages": TALK, "response_format": Person, "max_completion_tokens": LIMIT}
    answer = client.chat.completions.parse(**asked, **MORE)
    assert isinstance(answer.choices[0].message.parsed, Person)
    with client.chat.completions.stream(**asked, **MORE) as stream:
        events = list(stream)
    assert events[-1].type == "content.done"
    assert {"chunk", "content.delta"} <= {event.type for event in events}
    final = stream.get_final_completion()
    assert final.choices[0].message.parsed == answer.choices[0].message.parsed


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": {"name": "Person"}}]
)
def test_tools(client: Any, choice: Any) -> None:
    tool = openai.pydantic_function_tool(Person)
    asked = {"messages": TALK, "tools": [tool], "parallel_tool_calls": False}
    asked |= {"max_completion_tokens": LIMIT, "tool_choice": choice}
    answer = client.chat.completions.parse(**asked, **MORE)
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.choices[0].message.content is None
    call = answer.choices[0].message.tool_calls[0]
    assert isinstance(call.function.parsed_arguments, Person)
    with client.chat.completions.stream(**asked, **MORE) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert kinds.count("tool_calls.function.arguments.delta") > 5
    assert kinds.count("tool_calls.function.arguments.done") == 1
    assert streamed.function.arguments == call.function.arguments
    answered = {"role": "tool", "tool_call_id": call.id, "content": "ok"}
    said = [*TALK, answer.choices[0].message, answered]
    more = client.chat.completions.create(messages=said, tools=[tool], max_tokens=9, **MORE)
    assert more.choices[0].finish_reason


@pytest.mark.parametrize(
    ("syntax", "definition"), [("regex", r"\d{4}"), ("lark", "start: /[0-9]{4}/")]
)
def test_custom_tools_with_grammars(client: Any, syntax: str, definition: str) -> None:
    grammar = {"syntax": syntax, "definition": definition}
    custom = {"name": "year", "format": {"type": "grammar", "grammar": grammar}}
    asked = {"messages": TALK, "tools": [{"type": "custom", "custom": custom}], **MORE}
    asked |= {"tool_choice": "required", "max_completion_tokens": 99}
    call = client.chat.completions.create(**asked).choices[0].message.tool_calls[0]
    assert re.fullmatch("[0-9]{4}", call.custom.input)
    chunks = client.chat.completions.create(**asked, stream=True)
    deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert "".join(each.custom["input"] for each in deltas) == call.custom.input

    flat = {"type": "custom", "name": "year", "format": {"type": "grammar", **grammar}}
    asked = {"model": "fake", "input": TALK, "tools": [flat], "tool_choice": "required"}
    with client.responses.stream(**asked, max_output_tokens=99) as stream:
        kinds = [event.type for event in stream]
        (item,) = stream.get_final_response().output
    assert "response.custom_tool_call_input.delta" in kinds
    assert re.fullmatch("[0-9]{4}", item.input)
    output = {"type": "custom_tool_call_output", "call_id": item.call_id, "output": "ok"}
    said = [*TALK, item.model_dump(exclude_none=True), output]
    assert client.responses.create(model="fake", input=said, max_output_tokens=9).output


def test_responses(client: Any) -> None:
    asked = {"model": "fake", "input": TALK, "text_format": Person, "temperature": 0}
    answer = client.responses.parse(**asked, max_output_tokens=LIMIT)
    assert isinstance(answer.output_parsed, Person)
    with client.responses.stream(**asked, max_output_tokens=LIMIT) as stream:
        kinds = [event.type for event in stream]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert stream.get_final_response().output_parsed == answer.output_parsed
    logprobs = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    traced = client.responses.create(model="fake", input="Who?", max_output_tokens=9, **logprobs)
    assert len(traced.output[0].content[0].logprobs[0].top_logprobs) == 2


def test_functions_of_responses(client: Any) -> None:
    tool = openai.pydantic_function_tool(Person)["function"]
    asked = {"model": "fake", "input": TALK, "tools": [{"type": "function", **tool}]}
    asked |= {"tool_choice": "required", "max_output_tokens": LIMIT, "temperature": 0}
    called = client.responses.create(**asked)
    assert {item.type for item in called.output} == {"function_call"}
    Person.model_validate_json(called.output[0].arguments)
    events = [*client.responses.create(**asked, stream=True)]
    deltas = [e for e in events if e.type == "response.function_call_arguments.delta"]
    first = [each.delta for each in deltas if each.output_index == 0]
    assert len(first) > 5
    assert "".join(first) == called.output[0].arguments
    streamed = [item.arguments for item in events[-1].response.output]
    assert streamed == [item.arguments for item in called.output]
    outputs = [
        {"type": "function_call_output", "call_id": item.call_id, "output": "ok"}
        for item in called.output
    ]
    said = [*TALK, *called.output, *outputs]
    assert client.responses.create(model="fake", input=said, max_output_tokens=9).output


def test_reasoning(thinker: Any) -> None:
    schema = {"name": "person", "schema": Person.model_json_schema()}
    form = {"type": "json_schema", "json_schema": schema}
    asked = {"messages": TALK, "response_format": form, "max_completion_tokens": LIMIT, **MORE}
    answer = thinker.chat.completions.create(**asked)
    message = answer.choices[0].message
    Person.model_validate_json(message.content)
    assert "</think>" not in message.reasoning_content
    assert 0 < answer.usage.completion_tokens_details.reasoning_tokens <= LIMIT
    chunks = thinker.chat.completions.create(**asked, stream=True)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    thoughts = [getattr(each, "reasoning_content", None) for each in deltas]
    assert sum(each is not None for each in thoughts) > 5
    assert "".join(each or "" for each in thoughts) == message.reasoning_content
    assert "".join(each.content or "" for each in deltas) == message.content
    response = thinker.responses.create(model="fake", input="Who?", max_output_tokens=50)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    said = [*TALK, *response.output, *TALK]
    assert thinker.responses.create(model="fake", input=said, max_output_tokens=50).output


def test_decisions(client: Any) -> None:
    questions = [
        {"type": "predicate", "instructions": "It is warm", "name": "warm"},
        {"type": "choice", "instructions": "?", "choices": [{"value": "a"}, {"value": False}]},
        {"type": "score", "instructions": "?", "levels": [{"label": "low"}, {"label": "high"}]},
    ]
    answer = client.decisions.create(model="fake", input="Hot.", questions=questions)
    assert [each.type for each in answer.answers] == ["predicate", "choice", "score"]
    assert answer.answers[0].name == "warm"
    assert 0 <= answer.answers[2].score <= 1


def test_text_completions_and_models(client: Any) -> None:
    assert [each.id for each in client.models.list()] == ["fake"]
    assert client.models.retrieve("fake").owned_by == "guideway"
    asked = {"prompt": "a", "max_tokens": 9, "logprobs": 2, **MORE}
    whole = client.completions.create(**asked)
    parts = [part.choices[0] for part in client.completions.create(**asked, stream=True)]
    assert "".join(part.text for part in parts) == whole.choices[0].text
    tokens = [token for part in parts if part.logprobs for token in part.logprobs.tokens]
    assert tokens == whole.choices[0].logprobs.tokens


def test_extra_body(client: Any) -> None:
    extra = {"guidance": {"base": "fake", "plus": [[0.5, "expert"]]}, "watermark": "w"}
    extra |= {"structured_outputs": {"regex": "[ab]{5}"}}
    answer = client.chat.completions.create(messages=TALK, extra_body=extra, max_tokens=9, **MORE)
    assert re.fullmatch("[ab]{5}", answer.choices[0].message.content)


def test_several_at_once_with_the_async_client(address: str) -> None:
    async def run() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=address, api_key="k", max_retries=0) as client:

            async def streamed(seed: int) -> str:
                asked = {"messages": TALK, "max_tokens": 40, "seed": seed, "model": "fake"}
                found = ""
                async for chunk in await client.chat.completions.create(**asked, stream=True):
                    found += chunk.choices[0].delta.content or ""
                answer = await client.chat.completions.create(**asked)
                assert answer.choices[0].message.content == found
                return found

            return await asyncio.gather(*map(streamed, range(6)))

    assert len({*asyncio.run(run())}) == 6


def test_errors_are_openai_s(client: Any) -> None:
    bad = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"pattern": "("}}}
    with pytest.raises(openai.BadRequestError, match="not closed") as raised:
        client.chat.completions.create(messages=TALK, response_format=bad, **MORE)
    assert raised.value.param == "response_format"
    assert raised.value.code == "invalid_value"
    with pytest.raises(openai.NotFoundError, match="no model 'x'"):
        client.chat.completions.create(messages=TALK, model="x")
    with pytest.raises(openai.BadRequestError, match="n must be at most 8, not 9"):
        client.chat.completions.create(messages=TALK, n=9, **MORE)
    with pytest.raises(openai.AuthenticationError):
        client.models.list(extra_headers={"Authorization": "Bearer wrong"})
    assert client.chat.completions.create(messages=TALK, max_tokens=2, **MORE)._request_id
