"""What an operator sees: a record of logging for each request, metrics with real values, spans."""

import json
import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import guideway as gw
from guideway.server import JsonLines
from server.served import TALK, Client, model, served

CHAT = "/v1/chat/completions"
LETTERS = {"structured_outputs": {"regex": "[ab]{3}"}}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with served() as found:
        yield found


def told(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    lines = [r for r in caplog.records if r.name == "guideway.server.requests"]
    return [json.loads(JsonLines().format(line)) for line in lines]


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_is_one_record(
    client: Client, caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    with caplog.at_level(logging.INFO, "guideway.server"):
        answer = client.post(
            CHAT, messages=TALK, n=2, seed=1, max_tokens=9, stream=stream, **LETTERS
        )
    (record,) = told(caplog)
    expected = {"route": CHAT, "method": "POST", "status": 200, "model": "fake", "stream": stream}
    assert expected.items() <= record.items()
    assert record["id"] == answer.headers["x-request-id"]
    assert record["finish_reasons"] == ["stop", "stop"]
    assert record["completion_tokens"] == 6
    assert record["prompt_tokens"] > 10
    assert record["seconds"] >= record["time_to_first_token"] > 0
    assert "Who?" not in caplog.text
    assert not {"request", "texts", "error"} & {*record}


def test_errors_and_their_kind(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "guideway.server"):
        client.post(CHAT, messages=TALK, foo="secret")
        client.get("/v1/nothing")
        client.get("/health")
    unknown, missing = told(caplog)
    assert (unknown["status"], unknown["param"]) == (400, "foo")
    assert unknown["error"] == "unknown_parameter"
    assert (missing["status"], missing["route"]) == (404, "other")
    assert "secret" not in caplog.text


def test_texts_are_logged_if_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with served(log_texts=True) as found, caplog.at_level(logging.INFO, "guideway.server"):
        text = found.ok(CHAT, messages=TALK, max_tokens=3)["choices"][0]["message"]["content"]
    (record,) = told(caplog)
    assert record["request"]["messages"] == TALK
    assert record["texts"] == [text]


def sample(text: str, name: str, **labels: str) -> float:
    """The value of a metric."""
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    wanted = f"{name}{{{inside}}} " if labels else f"{name} "
    (line,) = [line for line in text.splitlines() if line.startswith(wanted)]
    return float(line.rpartition(" ")[2])


def test_metrics_have_the_values_of_the_requests() -> None:
    engine = gw.Engine(model(), max_batch=4)
    with served(engine) as found:
        for _ in range(3):
            found.ok(CHAT, messages=TALK, max_tokens=9, **LETTERS)
        found.post(CHAT, messages=TALK, foo=1)
        found.post(CHAT, messages=TALK, n=9)
        text = found.get("/metrics").text
    assert sample(text, "guideway_requests_total", route=CHAT, status="200") == 3
    assert sample(text, "guideway_requests_total", route=CHAT, status="400") == 2
    assert sample(text, "guideway_refusals_total", kind="unknown_parameter") == 1
    assert sample(text, "guideway_refusals_total", kind="invalid_value") == 1
    assert sample(text, "guideway_generated_tokens_total") == 9
    assert sample(text, "guideway_prompt_tokens_total") == engine.stats.prompt_tokens
    assert sample(text, "guideway_cached_tokens_total") == engine.stats.cached_tokens
    assert sample(text, "guideway_sources_total", cache="miss") == 1
    assert sample(text, "guideway_sources_total", cache="hit") == 2
    assert sample(text, "guideway_compile_seconds_count") == 1
    assert sample(text, "guideway_compile_seconds_sum") > 0
    for name in ("queue", "time_to_first_token", "time_per_output_token", "mask"):
        assert sample(text, f"guideway_{name}_seconds_count") == 3
        assert sample(text, f"guideway_{name}_seconds_sum") > 0
    assert sample(text, "guideway_request_seconds_count", route=CHAT) == 5
    for name in ("requests_open", "texts_running", "texts_waiting", "compilers_killed"):
        assert sample(text, f"guideway_{name}") == 0
    assert sample(text, "guideway_forwards_total") > 0


def test_spans(client: Client) -> None:
    pytest.importorskip("opentelemetry.sdk")
    trace: Any = import_module("opentelemetry.trace")
    sdk: Any = import_module("opentelemetry.sdk.trace")
    export: Any = import_module("opentelemetry.sdk.trace.export")
    memory: Any = import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter, provider = memory.InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)

    def own() -> Any:
        """Our span: newer releases of FastAPI make some too."""
        spans = exporter.get_finished_spans()
        exporter.clear()
        (span,) = [each for each in spans if "guideway.request.id" in each.attributes]
        return span

    parent = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    for stream in (False, True):
        body = {"messages": TALK, "max_tokens": 9, "temperature": 0.5, "stream": stream, **LETTERS}
        answer = client.send("POST", CHAT, json=body, headers=parent)
        span = own()
        assert span.name == "chat fake"
        assert span.kind is trace.SpanKind.SERVER
        assert f"{span.context.trace_id:x}" == "a" * 32
        assert f"{span.parent.span_id:x}" == "b" * 16
        found = dict(span.attributes)
        assert found["guideway.request.id"] == answer.headers["x-request-id"]
        assert found["gen_ai.usage.output_tokens"] == 3
        assert found["gen_ai.response.finish_reasons"] == ("stop",)
        assert found["gen_ai.request.temperature"] == 0.5
        assert found["gen_ai.request.max_tokens"] == 9
        assert found["http.response.status_code"] == 200
        assert "Who?" not in str(found)
    client.post(CHAT, messages=TALK, foo=1)
    client.get("/health")
    span = own()
    assert span.attributes["error.type"] == "unknown_parameter"
