"""OpenAI's own client, unchanged, against the server: chat, streams, responses, tools, decisions.

Run: python tests/engines/run.py openai
"""

import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, Field

import guideway as gw

openai: Any = pytest.importorskip("openai", reason="needs python tests/engines/run.py openai")
uvicorn: Any = pytest.importorskip("uvicorn")
from guideway.server import Limits, create_app  # noqa: E402
from server.served import TALK, model  # noqa: E402


class Person(BaseModel):
    name: str = Field(max_length=5)
    age: int = Field(ge=0, le=150)


MORE: dict[str, Any] = {"model": "fake", "seed": 1}
LIMIT = 400


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with gw.Engine(model(), max_batch=4) as engine:
        app = create_app(engine, name="fake", keys=["k"], limits=Limits(compiling=30))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        address = f"http://127.0.0.1:{port}/v1"
        with openai.OpenAI(base_url=address, api_key="k", max_retries=0) as found:
            yield found
        server.should_exit = True
        thread.join()


def test_parse(client: Any) -> None:
    asked = {"messages": TALK, "response_format": Person, "max_completion_tokens": LIMIT}
    answer = client.chat.completions.parse(**asked, **MORE)
    assert isinstance(answer.choices[0].message.parsed, Person)
    with client.chat.completions.stream(**asked, **MORE) as stream:
        events = list(stream)
    assert events[-1].type == "content.done"
    final = stream.get_final_completion()
    assert final.choices[0].message.parsed == answer.choices[0].message.parsed


def test_tools(client: Any) -> None:
    tool = openai.pydantic_function_tool(Person)
    asked = {"messages": TALK, "tools": [tool], "parallel_tool_calls": False}
    asked["max_completion_tokens"] = LIMIT
    answer = client.chat.completions.parse(**asked, tool_choice="required", **MORE)
    assert answer.choices[0].finish_reason == "tool_calls"
    call = answer.choices[0].message.tool_calls[0]
    assert isinstance(call.function.parsed_arguments, Person)
    with client.chat.completions.stream(**asked, tool_choice="required", **MORE) as stream:
        streamed = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert streamed.function.arguments == call.function.arguments


def test_custom_tools_with_grammars(client: Any) -> None:
    for syntax, definition in (("regex", r"\d{4}"), ("lark", "start: /[0-9]{4}/")):
        grammar = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
        tool = {"type": "custom", "custom": {"name": "year", "format": grammar}}
        answer = client.chat.completions.create(
            messages=TALK, tools=[tool], tool_choice="required", max_completion_tokens=99, **MORE
        )
        assert re.fullmatch("[0-9]{4}", answer.choices[0].message.tool_calls[0].custom.input)


def test_responses(client: Any) -> None:
    asked = {"model": "fake", "input": TALK, "text_format": Person, "temperature": 0}
    answer = client.responses.parse(**asked, max_output_tokens=LIMIT)
    assert isinstance(answer.output_parsed, Person)
    with client.responses.stream(**asked, max_output_tokens=LIMIT) as stream:
        kinds = [event.type for event in stream]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert stream.get_final_response().output_parsed == answer.output_parsed
    tool = openai.pydantic_function_tool(Person)["function"]
    called = client.responses.create(
        model="fake",
        input=TALK,
        tools=[{"type": "function", **tool}],
        tool_choice="required",
        max_output_tokens=LIMIT,
    )
    assert {item.type for item in called.output} == {"function_call"}
    Person.model_validate_json(called.output[0].arguments)


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
    whole = client.completions.create(prompt="a", max_tokens=9, **MORE)
    parts = client.completions.create(prompt="a", max_tokens=9, stream=True, **MORE)
    assert "".join(part.choices[0].text for part in parts) == whole.choices[0].text


def test_errors_are_openai_s(client: Any) -> None:
    bad = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"pattern": "("}}}
    with pytest.raises(openai.BadRequestError, match="not closed"):
        client.chat.completions.create(messages=TALK, response_format=bad, **MORE)
    with pytest.raises(openai.NotFoundError, match="no model 'x'"):
        client.chat.completions.create(messages=TALK, model="x")
    headers = {"Authorization": "Bearer wrong"}
    with pytest.raises(openai.AuthenticationError):
        client.models.list(extra_headers=headers)
