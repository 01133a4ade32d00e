"""Observability: a log record for each request, metrics, and spans of OpenTelemetry.

    request ─▶ Observer ─▶ Guard ─▶ routes, which fill in the `Record`
                  └─▶ counters, a record of logging, the span

A record has no texts, unless `log_texts` is set. `JsonLines` writes records as lines of JSON. Spans
need the package opentelemetry-api; their attributes are those of its conventions for generative
models (https://opentelemetry.io/docs/specs/semconv/gen-ai), and `traceparent` gives the parent.
"""

import contextlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guideway.api.engine import Engine
from guideway.extras import installed, library
from guideway.generation.row.result import Result
from guideway.server.refusals import Refusal

logger = logging.getLogger("guideway.server.requests")
SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
OPERATIONS: Final[Mapping[str, str]] = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "text_completion",
    "/v1/responses": "chat",
}
SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "top_k": ("top_k",),
    "seed": ("seed",),
    "choice.count": ("n",),
    "frequency_penalty": ("frequency_penalty",),
    "presence_penalty": ("presence_penalty",),
    "max_tokens": ("max_completion_tokens", "max_output_tokens", "max_tokens"),
}
"""Attributes of a span, and the fields of requests that have them."""


@dataclass(slots=True)
class Record:
    """One request, as far as it is known.

    Attributes:
        id: the server's own id, which the header `x-request-id` of the answer has.
    """

    id: str = field(default_factory=lambda: f"req-{uuid.uuid4().hex}")
    status: int = 500
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])  # the request, as JSON
    model: str | None = None  # the model that it names
    results: list[Result[Any]] = field(default_factory=list[Result[Any]])  # the texts
    refusal: Refusal | None = None  # the error, also one in a stream that has begun

    def facts(self, *, texts: bool) -> dict[str, Any]:
        """The fields of the log record: counts and times of the texts, and the error."""
        found: dict[str, Any] = {"id": self.id, "status": self.status, "model": self.model}
        if self.results:
            stats = [result.stats for result in self.results]
            found |= {
                "stream": bool(self.body.get("stream")),
                "prompt_tokens": stats[0].prompt_tokens,
                "cached_tokens": stats[0].cached_tokens,
                "completion_tokens": sum(each.completion_tokens for each in stats),
                "finish_reasons": [result.finish_reason for result in self.results],
                "queue_time": round(max(each.queue_time for each in stats), 6),
                "time_to_first_token": round(min(each.time_to_first_token for each in stats), 6),
            }
        if self.refusal is not None:
            found |= {"error": self.refusal.code, "param": self.refusal.more.get("param")}
        if texts:
            found |= {"request": self.body, "texts": [result.text for result in self.results]}
        return found


def record_of(scope: Scope) -> Record:
    state: dict[str, Any] = scope.setdefault("state", {})
    return state.setdefault("record", Record())


class Metrics:
    """The metrics of one server; each has its own registry."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        counter = partial(Counter, registry=own)
        times = partial(Histogram, buckets=SECONDS, registry=own)
        self.requests = counter(
            "guideway_requests", "Requests by route and status", ["route", "status"]
        )
        self.refused = counter(
            "guideway_refusals", "Requests refused, by the code of the error", ["kind"]
        )
        self.seconds = times(
            "guideway_request_seconds", "Time from a request to the end of its answer", ["route"]
        )
        self.read = counter("guideway_prompt_tokens", "Tokens of prompts")
        self.cached = counter("guideway_cached_tokens", "Tokens of prompts from the prefix cache")
        self.made = counter("guideway_generated_tokens", "Tokens of texts")
        self.forwards = counter("guideway_forwards", "Forwards, counted per text")
        self.running = Gauge("guideway_requests_open", "Requests without an answer", registry=own)
        self.queued = times(
            "guideway_queue_seconds", "Time of a text from submission to its place in a batch"
        )
        self.first = times(
            "guideway_time_to_first_token_seconds",
            "Time of a text from submission to its first token",
        )
        self.each = times(
            "guideway_time_per_output_token_seconds",
            "Mean time of a text from one token to the next",
        )
        self.masks = times("guideway_mask_seconds", "Time in the constraint per text")
        self.compiling = times("guideway_compile_seconds", "Time to try a source")
        self.compiled = counter(
            "guideway_sources", "Sources of requests, by whether they were known", ["cache"]
        )

    def watch(self, engine: Engine, killed: Callable[[], int]) -> None:
        """Show the counts of an engine, and of the killed compilers, as they are when read."""
        for name, about, count in (
            ("guideway_texts_running", "Texts that are generated", lambda: engine.stats.running),
            ("guideway_texts_waiting", "Texts that wait", lambda: engine.stats.waiting),
            ("guideway_compilers_killed", "Compilers that a source cost", killed),
        ):
            Gauge(name, about, registry=self._registry).set_function(count)

    def count(self, result: Result[Any]) -> None:
        stats = result.stats
        self.read.inc(stats.prompt_tokens)
        self.cached.inc(stats.cached_tokens)
        self.made.inc(stats.completion_tokens)
        self.forwards.inc(stats.forwards)
        self.queued.observe(stats.queue_time)
        self.first.observe(stats.time_to_first_token)
        self.each.observe(stats.time_per_output_token)
        self.masks.observe(stats.mask_time)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class Observer:
    """Counts and logs requests, and makes their spans; the outermost part of the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics, *, log_texts: bool) -> None:
        self.app, self._metrics, self._texts = app, metrics, log_texts
        self._tracer = _tracer()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        record, began = record_of(scope), time.perf_counter()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", record.id.encode())]
            await send(message)

        with self._span(scope, record):
            try:
                await self.app(scope, receive, sent)
            finally:
                self._record(scope, record, time.perf_counter() - began)

    def _record(self, scope: Scope, record: Record, seconds: float) -> None:
        route = _route(scope)
        self._metrics.requests.labels(route, str(record.status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if record.refusal is not None:
            self._metrics.refused.labels(record.refusal.code).inc()
        level = logging.INFO if route.startswith("/v1/") or record.refusal else logging.DEBUG
        level = level if record.status < 500 else logging.ERROR
        facts = {"method": scope["method"], "route": route, **record.facts(texts=self._texts)}
        facts["seconds"] = round(seconds, 6)
        logger.log(level, "%s %s %d", scope["method"], route, record.status, extra={"facts": facts})

    @contextlib.contextmanager
    def _span(self, scope: Scope, record: Record) -> Generator[None]:
        """A span around a request, if OpenTelemetry is there and the path is one of the API."""
        if self._tracer is None or not scope["path"].startswith("/v1/"):
            yield
            return
        trace: Any = library("opentelemetry.trace", "spans")
        headers = {
            name.decode("latin-1"): each.decode("latin-1") for name, each in scope["headers"]
        }
        parent = library("opentelemetry.propagate", "spans").extract(headers)
        kind, name = trace.SpanKind.SERVER, f"{scope['method']} {scope['path'][:80]}"
        with self._tracer.start_as_current_span(name, context=parent, kind=kind) as span:
            try:
                yield
            finally:
                route = _route(scope)
                operation = OPERATIONS.get(route)
                named = f"{scope['method']} {route}"
                span.update_name(f"{operation} {record.model}" if operation else named)
                span.set_attributes(_attributes(scope, route, record))
                if record.status >= 500 or (record.refusal and record.status == 200):
                    span.set_status(trace.StatusCode.ERROR)


def _attributes(scope: Scope, route: str, record: Record) -> dict[str, Any]:
    facts = record.facts(texts=False)
    found = {
        "http.request.method": scope["method"],
        "http.route": route,
        "http.response.status_code": record.status,
        "guideway.request.id": record.id,
        "error.type": facts.get("error"),
    }
    if operation := OPERATIONS.get(route):
        found |= {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "guideway",
            "gen_ai.request.model": record.model,
            "gen_ai.response.model": record.model,
            "gen_ai.response.finish_reasons": facts.get("finish_reasons"),
            "gen_ai.usage.input_tokens": facts.get("prompt_tokens"),
            "gen_ai.usage.output_tokens": facts.get("completion_tokens"),
            "guideway.queue_time": facts.get("queue_time"),
            "guideway.time_to_first_token": facts.get("time_to_first_token"),
        }
        for name, fields in SETTINGS.items():
            given = [record.body[each] for each in fields if record.body.get(each) is not None]
            found[f"gen_ai.request.{name}"] = given[0] if given else None
    return {name: value for name, value in found.items() if value is not None}


def _tracer() -> Any:
    """OpenTelemetry's tracer; None where the package is not installed."""
    if not installed("opentelemetry"):
        return None
    return library("opentelemetry.trace", "spans").get_tracer("guideway.server")


def _route(scope: Scope) -> str:
    """The path of the route: names in a path are no label of a metric."""
    return str(getattr(scope.get("route"), "path", "other"))


class JsonLines(logging.Formatter):
    """Writes records of logging as JSON, one a line, with the facts of requests.

    Example:
        >>> known = {"msg": "hi", "levelname": "INFO", "created": 0.0, "facts": {"status": 200}}
        >>> print(JsonLines().format(logging.makeLogRecord(known)))
        {"time": "1970-01-01T00:00:00.000Z", "level": "info", ..., "message": "hi", "status": 200}
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        found = {
            "time": f"{moment}.{int(record.created % 1 * 1000):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False, default=str)
