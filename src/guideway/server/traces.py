"""Traces in answers and streams: what each stage did at each token, if a request asks for it.

    "trace": {"alternatives": 5}  ─▶  choices[n].guideway.trace, a record for each token

Records are those of `TracedStep.record`. In a stream a chunk with the records of a token precedes
the chunks with its text, which may be held back.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, final

from guideway.api.result import Part, Result
from guideway.generation.row.trace import TracedStep
from guideway.server.events import ChatEvents, Events, TextEvents
from guideway.server.protocol import Trace
from guideway.server.reading import Asked
from guideway.server.refusals import Refusal


def traced(one: Asked, asked: Trace | None) -> Asked:
    """A request whose steps are traced, if that is asked for; log-probabilities may need more."""
    if asked is None:
        return one
    count = max(asked.alternatives, int(one.more["trace"]))
    return replace(one, more={**one.more, "trace": count})


def add_traces(
    choices: list[dict[str, Any]], results: Iterable[Result[Any]], asked: Trace | None
) -> None:
    """Add the records of each result to its choice."""
    if asked is not None:
        for choice, result in zip(choices, results, strict=True):
            choice["guideway"]["trace"] = _records(result.trace or (), asked)


def with_traces(events: ChatEvents | TextEvents, asked: Trace | None) -> Events:
    """The events of a stream, with the records of its tokens if they are asked for."""
    return events if asked is None else _Traced(events, asked)


def _records(steps: Iterable[TracedStep], asked: Trace) -> list[dict[str, Any]]:
    made = [step.record for step in steps]
    for record in made:
        for stage in record["stages"]:
            stage["top"] = stage["top"][: asked.alternatives]
    return made


@final
class _Traced:
    """Events with records before them."""

    def __init__(self, events: ChatEvents | TextEvents, asked: Trace) -> None:
        self._events, self._asked = events, asked
        chat = isinstance(events, ChatEvents)
        self._empty: dict[str, Any] = {"delta": {}} if chat else {"text": ""}

    def first(self, count: int) -> Iterator[str]:
        """The first events."""
        return self._events.first(count)

    def part(self, number: int, part: Part[Any]) -> Iterator[str]:
        """The records of a part, then its events."""
        if part.steps:
            choice = {"index": number, **self._empty, "logprobs": None, "finish_reason": None}
            told = {"trace": _records(part.steps, self._asked)}
            chunk = self._events.head.of([{**choice, "guideway": told}])
            yield f"data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n"
        yield from self._events.part(number, part)

    def last(self) -> Iterator[str]:
        """The last events."""
        return self._events.last()

    def failed(self, refusal: Refusal) -> str:
        """The error."""
        return self._events.failed(refusal)
