"""vLLM's OpenAI server with the `openai` client: one flag, and a wrong source is a 400."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("vllm")

import jsonschema
import openai

from engines.random_model import model

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 10},
        "degrees": {"type": "integer", "minimum": -90, "maximum": 60},
    },
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
# Without "strict", vLLM asks for any JSON as arguments.
WEATHER: Any = {
    "type": "function",
    "function": {"name": "weather", "parameters": SCHEMA, "strict": True},
}
ASK: Any = {
    "model": "small",
    "messages": [{"role": "user", "content": "How is the weather in Paris?"}],
    "temperature": 1.0,
    "max_tokens": 100,
}
# Each takes a compiler long, or is nested without end; none may take the server with it.
HOSTILE = [
    {"regex": "(" * 2000 + "a" + ")" * 2000},
    {"regex": "(?=(a+)+b)" * 40 + "x"},
    {"regex": "(?:(?:a{1,999}){1,999}b){1,999}[ab]*a[ab]{30}"},
    {"json": {"$ref": "#/nowhere"}},
    {"json": {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}},
    {"json": {"type": "array", "minItems": 10**9, "maxItems": 10**9 + 1, "uniqueItems": True}},
    {"grammar": "root ::= root"},
    {"grammar": 'start: "a" start'},
    {"choice": [""] * 5},
]

ways = pytest.mark.parametrize("way", ["structured_outputs", "vllm_xargs"])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    settings = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
    }
    folder, load_format = model(tmp_path_factory.mktemp("model"))
    # `vllm serve` asks for the version of the package vllm, which vllm-cpu does not have.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", folder]
    command += ["--load-format", load_format, "--max-num-batched-tokens", "256"]
    command += ["--structured-outputs-config.backend", "guideway"]
    command += ["--logits-processors", "guideway.integrations.vllm:GuidewayV1"]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    command += ["--served-model-name", "small", "--port", str(port), "--max-model-len", "512"]
    command += ["--dtype", "float32", "--enforce-eager", "--max-num-seqs", "8"]
    server = subprocess.Popen(command, env=settings | os.environ)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health")
                break
            except OSError:
                assert server.poll() is None, "the server ended"
                time.sleep(1)
        yield openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="-", max_retries=0)
    finally:
        server.terminate()
        server.wait(60)


def schema_format(schema: Any) -> Any:
    return {"type": "json_schema", "json_schema": {"name": "w", "strict": True, "schema": schema}}


def test_response_format(client: openai.OpenAI):
    asked = ASK | {"response_format": schema_format(SCHEMA)}
    made = client.chat.completions.create(**asked, n=2)
    assert [choice.finish_reason for choice in made.choices] == ["stop"] * 2
    parts = client.chat.completions.create(**asked, stream=True)
    streamed = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    for text in (*(choice.message.content or "" for choice in made.choices), streamed):
        jsonschema.validate(json.loads(text), SCHEMA)


def test_response_format_json_object(client: openai.OpenAI):
    asked = {**ASK, "max_tokens": 40}
    made = client.chat.completions.create(**asked, response_format={"type": "json_object"})
    if made.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(made.choices[0].message.content or ""), dict)


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": {"name": "weather"}}], ids=str
)
@pytest.mark.parametrize("stream", [False, True])
def test_tool_choice(client: openai.OpenAI, choice: Any, stream: bool):
    """One call: random weights would make calls up to the limit of tokens."""
    asked = ASK | {"tools": [WEATHER], "tool_choice": choice, "parallel_tool_calls": False}
    if stream:
        functions = [
            call.function
            for part in client.chat.completions.create(**asked, stream=True)
            for call in (part.choices[0].delta.tool_calls or [])
        ]
        names = [each.name for each in functions if each.name]
        arguments = "".join(each.arguments or "" for each in functions)
    else:
        made = client.chat.completions.create(**asked).choices[0]
        assert made.message.tool_calls, made
        names = [call.function.name for call in made.message.tool_calls]
        arguments = made.message.tool_calls[0].function.arguments
    assert names == ["weather"]
    jsonschema.validate(json.loads(arguments), SCHEMA)


def body(way: str, source: Any) -> dict[str, Any]:
    return {way: source if way == "structured_outputs" else {"guideway": json.dumps(source)}}


@ways
def test_regex_choice_and_grammar(client: openai.OpenAI, way: str):
    for source, pattern in (
        ({"regex": "[a-z]{3}-[0-9]{2}"}, "[a-z]{3}-[0-9]{2}"),
        ({"choice": ["red", "green"]}, "red|green"),
        ({"grammar": 'start: "<" /[a-z]{1,5}/ ">"'}, "<[a-z]{1,5}>"),
        ({"grammar": 'root ::= "<" [a-z] ">"'}, "<[a-z]>"),
    ):
        made = client.chat.completions.create(**ASK, extra_body=body(way, source))
        assert re.fullmatch(pattern, made.choices[0].message.content or "")


def test_a_structural_tag(client: openai.OpenAI):
    tag = {
        "type": "structural_tag",
        "structures": [{"begin": "<f>", "schema": SCHEMA, "end": "</f>"}],
        "triggers": ["<f>"],
    }
    made = client.chat.completions.create(**ASK, response_format=tag)  # free text may have none
    for inner in re.findall("<f>(.*?)</f>", made.choices[0].message.content or ""):
        jsonschema.validate(json.loads(inner), SCHEMA)


@pytest.mark.parametrize("way", ["structured_outputs", "vllm_xargs", "response_format"])
def test_a_wrong_source_is_a_400_and_the_server_goes_on(client: openai.OpenAI, way: str):
    """vllm#43920, llama.cpp#19051: neither an end of the engine, nor a 200 without constraint."""
    wrong = {"type": "object", "properties": {"a": {"type": "strin"}}}
    own = way == "response_format"
    given = {way: schema_format(wrong)} if own else body(way, {"json": wrong})
    with pytest.raises(openai.BadRequestError, match="strin"):
        client.chat.completions.create(**ASK, extra_body=given)
    test_response_format(client)


@ways
@pytest.mark.parametrize("source", HOSTILE, ids=lambda each: str(each)[:40])
def test_a_hostile_source_ends_neither_the_server_nor_the_others(
    client: openai.OpenAI, way: str, source: Any
):
    began = time.perf_counter()
    with contextlib.suppress(openai.BadRequestError, openai.UnprocessableEntityError):
        client.chat.completions.create(**ASK | {"max_tokens": 3}, extra_body=body(way, source))
    assert time.perf_counter() - began < 60
    made = client.chat.completions.create(
        **ASK, extra_body={"structured_outputs": {"choice": ["a"]}}
    )
    assert made.choices[0].message.content == "a"
