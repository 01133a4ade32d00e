"""Metrics in Prometheus' text format."""

from collections.abc import Callable
from typing import Any, final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from guideway.api.engine import Engine
from guideway.api.result import Result

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@final
class Metrics:
    """The metrics of one server; each has its own registry."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._registry = own = CollectorRegistry()
        self.requests = Counter(
            "guideway_requests", "Requests by route and status", ["route", "status"], registry=own
        )
        self.refused = Counter(
            "guideway_refusals",
            "Requests refused, by the code of the error",
            ["kind"],
            registry=own,
        )
        self.seconds = Histogram(
            "guideway_request_seconds",
            "Time from a request to the end of its answer",
            ["route"],
            buckets=SECONDS,
            registry=own,
        )
        self.read = Counter("guideway_prompt_tokens", "Tokens of prompts", registry=own)
        self.cached = Counter(
            "guideway_cached_tokens", "Tokens of prompts from the prefix cache", registry=own
        )
        self.made = Counter("guideway_generated_tokens", "Tokens of texts", registry=own)
        self.forwards = Counter("guideway_forwards", "Forwards, counted per text", registry=own)
        self.running = Gauge("guideway_requests_open", "Requests without an answer", registry=own)
        self.queued = Histogram(
            "guideway_queue_seconds",
            "Time of a text from submission to its place in a batch",
            buckets=SECONDS,
            registry=own,
        )
        self.first = Histogram(
            "guideway_time_to_first_token_seconds",
            "Time of a text from submission to its first token",
            buckets=SECONDS,
            registry=own,
        )
        self.each = Histogram(
            "guideway_time_per_output_token_seconds",
            "Mean time of a text from one token to the next",
            buckets=SECONDS,
            registry=own,
        )
        self.masks = Histogram(
            "guideway_mask_seconds",
            "Time in the constraint per text",
            buckets=SECONDS,
            registry=own,
        )
        self.compiling = Histogram(
            "guideway_compile_seconds", "Time to try a source", buckets=SECONDS, registry=own
        )
        self.compiled = Counter(
            "guideway_sources",
            "Sources of requests, by whether they were known",
            ["cache"],
            registry=own,
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
        """Count the tokens and times of a text."""
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
        """The metrics as Prometheus reads them."""
        return generate_latest(self._registry)
