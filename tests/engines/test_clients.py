"""Libraries above OpenAI's client, unchanged, against the server: structured answers and tools.

Run: python tests/engines/run.py clients
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("litellm", reason="needs python tests/engines/run.py clients")
from pydantic import BaseModel, Field

from engines.serving import serving

os.environ.update(OPENAI_API_KEY="k", LITELLM_LOCAL_MODEL_COST_MAP="True")


class Person(BaseModel):
    """A person."""

    name: str = Field(max_length=5)
    age: int = Field(ge=0, le=150)


TALK = [{"role": "user", "content": "Who?"}]
LIMIT = 400


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as found:
        yield found


@pytest.mark.parametrize("mode", ["TOOLS", "TOOLS_STRICT", "JSON_SCHEMA", "RESPONSES_TOOLS"])
def test_instructor(address: str, mode: str) -> None:
    import instructor
    import openai

    own = openai.OpenAI(base_url=address, api_key="k", max_retries=0)
    client: Any = instructor.from_openai(own, mode=getattr(instructor.Mode, mode))
    most = {"max_tokens": LIMIT, "seed": 1}  # without, a random model may reach the limit
    if mode.startswith("RESPONSES"):
        most = {"max_output_tokens": LIMIT}
    asked = {"model": "fake", "messages": TALK, "response_model": Person, "max_retries": 0, **most}
    person = client.chat.completions.create(**asked)
    assert isinstance(person, Person)
    if not mode.startswith("RESPONSES"):
        parts = [*client.chat.completions.create_partial(**asked)]
        assert len(parts) > 5
        assert isinstance(Person(**parts[-1].model_dump()), Person)


@pytest.mark.parametrize("way", ["ToolOutput", "NativeOutput"])
@pytest.mark.parametrize("api", ["OpenAIChatModel", "OpenAIResponsesModel"])
def test_pydantic_ai(address: str, api: str, way: str) -> None:
    import pydantic_ai
    from pydantic_ai.models import openai as models
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=address, api_key="k")
    model = getattr(models, api)("fake", provider=provider)
    settings: Any = {"max_tokens": LIMIT}
    output = getattr(pydantic_ai, way)(Person)
    agent: Any = pydantic_ai.Agent(model, output_type=output, model_settings=settings, retries=0)
    assert isinstance(agent.run_sync("Who?").output, Person)


def test_pydantic_ai_calls_tools_and_streams(address: str) -> None:
    import asyncio

    import pydantic_ai
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("fake", provider=OpenAIProvider(base_url=address, api_key="k"))
    settings: Any = {"max_tokens": LIMIT}
    agent: Any = pydantic_ai.Agent(model, output_type=Person, model_settings=settings, retries=3)
    called: list[int] = []

    @agent.tool_plain
    def look(number: int) -> str:
        """Look up a person."""
        called.append(number)
        return "Ann"

    async def run() -> Any:
        async with agent.run_stream("Who?") as result:
            return await result.get_output()

    for _ in range(9):  # a random model chooses between the two tools
        assert isinstance(asyncio.run(run()), Person)
        if called:
            return
    pytest.fail("the tool was never called")


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
@pytest.mark.parametrize("responses", [False, True])
def test_langchain(address: str, method: str, responses: bool) -> None:
    from langchain_openai import ChatOpenAI

    settings: Any = {"max_tokens": LIMIT, "max_retries": 0, "use_responses_api": responses}
    model: Any = ChatOpenAI(model="fake", base_url=address, api_key="k", **settings)
    assert isinstance(model.with_structured_output(Person, method=method).invoke("Who?"), Person)
    bound = model.bind_tools([Person], tool_choice="Person")
    (call,) = bound.invoke("Who?").tool_calls[:1]
    Person(**call["args"])
    parts = [*bound.stream("Who?")]
    assert sum(bool(part.tool_call_chunks) for part in parts) > 5
    whole = sum(parts[1:], parts[0])
    Person(**whole.tool_calls[0]["args"])
    assert sum(bool(part.text) for part in model.stream("Who?", max_tokens=20)) > 1


@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
def test_litellm(address: str, provider: str) -> None:
    import litellm

    asked: dict[str, Any] = {"model": f"{provider}/fake", "messages": TALK, "seed": 1}
    asked |= {"api_base": address, "api_key": "k", "max_tokens": LIMIT}
    typed = {**asked, "response_format": Person}
    answer: Any = litellm.completion(**typed)
    text = answer.choices[0].message.content
    Person.model_validate_json(text)
    chunks: Any = litellm.completion(**typed, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text
    function = {"name": "person", "parameters": Person.model_json_schema()}
    tools = [{"type": "function", "function": function}]
    called: Any = litellm.completion(**asked, tools=tools, tool_choice="required")
    call = called.choices[0].message.tool_calls[0]
    Person.model_validate_json(call.function.arguments)


def test_dspy(address: str) -> None:
    import dspy

    class Extract(dspy.Signature):
        """Who is it?"""

        text: str = dspy.InputField()
        person: Person = dspy.OutputField()

    class Known(dspy.LM):
        """DSPy asks for a schema only from models that its catalogue knows."""

        supports_response_schema = True
        supported_params = frozenset({"response_format", "max_tokens"})

    model = Known("openai/fake", api_base=address, api_key="k", max_tokens=LIMIT, cache=False)
    with dspy.context(lm=model, adapter=dspy.JSONAdapter()):
        found = dspy.Predict(Extract)(text="Ann is 3.")
    assert isinstance(found.person, Person)
