"""Server-sent events of the three APIs, from the parts of a stream."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from guideway.api.running import Part
from guideway.generation.row.result import Result
from guideway.generation.row.trace import TracedStep
from guideway.server import answers
from guideway.server.answers import Head
from guideway.server.conversation import CALLS
from guideway.server.protocol import ChatRequest, CompletionRequest
from guideway.server.reading import Asked
from guideway.server.refusals import Refusal
from guideway.server.replies import Growth

DONE = "data: [DONE]\n\n"


def _data(body: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n\n"


class ChunkEvents:
    """Chunks of a chat or text completion.

    If a trace is asked for, a chunk with the records of a token precedes those with its text, which
    may be held back.
    """

    def __init__(
        self, head: Head, asked: Asked, body: ChatRequest | CompletionRequest, each: int
    ) -> None:
        """Stream with usage if the body says so; `each` is the number of texts of a prompt."""
        self._chat, options = isinstance(body, ChatRequest), body.stream_options
        self._head = replace(head, kind="chat.completion.chunk") if self._chat else head
        self._asked, self._form, self._each = asked, asked.form, each
        self._usage = options is not None and bool(options.include_usage)
        self._results = dict[int, Result[Any]]()
        self._grown = defaultdict[int, Growth](Growth)
        self._traces = defaultdict[int, list[TracedStep]](list)
        self._sent = defaultdict[int, int](int)  # steps, or characters, in earlier chunks

    def first(self, count: int) -> Iterator[str]:
        """The role of each text of a chat."""
        for number in range(count if self._chat else 0):
            yield self._chat_chunk(number, {"role": "assistant", "content": ""})

    def part(self, number: int, part: Part[Any]) -> Iterator[str]:
        """The new text and calls; in the end the reason."""
        if self._asked.trace and part.steps:
            told = {"trace": answers.records(part.steps, self._asked.trace)}
            empty: dict[str, Any] = {"delta": {}} if self._chat else {"text": ""}
            yield self._chunk(number, empty, None, None, guideway=told)
        if part.result is not None:
            self._results[number] = part.result
        yield from self._chat_part(number, part) if self._chat else self._text_part(number, part)

    def last(self) -> Iterator[str]:
        """The usage, and the end."""
        if self._usage:
            results = [self._results[number] for number in sorted(self._results)]
            yield _data(self._head.of([], usage=answers.usage(results, self._form, self._each)))
        yield DONE

    def failed(self, refusal: Refusal) -> str:
        return _data(refusal.body)

    def _text_part(self, number: int, part: Part[Any]) -> Iterator[str]:
        sent = self._sent[number]
        told = answers.text_logprobs(self._asked, part.steps, sent) if part.steps else None
        self._sent[number] += sum(map(len, told["tokens"])) if told else 0
        ended = None if part.result is None else answers.reason(part.result)
        yield self._chunk(number, {"text": part.delta}, told, ended)

    def _chat_part(self, number: int, part: Part[Any]) -> Iterator[str]:
        self._traces[number] += part.steps
        result = part.result
        reply = self._form.begun(part.text) if result is None else self._form.reply(result)
        for delta in self._grown[number].more(reply):
            yield self._chat_chunk(number, delta)
        if result is not None:
            yield self._chat_chunk(number, {}, answers.reason(result, reply))

    def _chat_chunk(self, number: int, delta: Mapping[str, Any], ended: str | None = None) -> str:
        """A chunk, with the log-probabilities of all tokens since the last one."""
        trace = self._traces[number]
        traced = answers.traced(self._asked, trace, self._sent[number]) or None
        self._sent[number] = len(trace)
        return self._chunk(number, {"delta": delta}, answers.chat_logprobs(traced), ended)

    def _chunk(
        self, number: int, text: Mapping[str, Any], logprobs: Any, ended: str | None, **more: Any
    ) -> str:
        choice = {"index": number, **text, "logprobs": logprobs, "finish_reason": ended, **more}
        return _data(self._head.of([choice]))


class ResponseEvents:
    """Events of the Responses API: each item is added, grows, and is done before the next one."""

    def __init__(self, head: Head, asked: Asked, body: Mapping[str, Any]) -> None:
        self.head, self.body = head, body
        self._asked, self._form = asked, asked.form
        self._number = 0
        self._opened = 0  # items that were added
        self._grown = Growth()
        self._trace = list[TracedStep]()
        self._sent = 0  # steps of the trace in earlier events

    def first(self, count: int) -> Iterator[str]:
        """The response, without output."""
        made = answers.response(self.head, self.body)
        yield self._event("response.created", response=made)
        yield self._event("response.in_progress", response=made)

    def part(self, number: int, part: Part[Any]) -> Iterator[str]:
        """The new text; in the end the whole response."""
        self._trace += part.steps
        result = part.result
        reply = self._form.begun(part.text) if result is None else self._form.reply(result)
        reply = self._grown.named(reply)
        items = answers.items_of(reply, self.head.id, "completed", self._traced())
        for place, item in enumerate(items):
            new = self._grown.new(item["id"], _text_of(item))
            if new or item["type"] in CALLS:
                yield from self._open(place, items)
            if new:
                yield self._delta(new, place, item)
        if result is None:
            return
        status = answers.status_of(result)
        items = answers.items_of(reply, self.head.id, status, self._traced())
        yield from self._open(len(items) - 1, items)
        yield from self._close(len(items) - 1, items[-1])
        counted = answers.usage([result], self._form, 1)
        made = answers.response(self.head, self.body, result, items, counted)
        yield self._event(f"response.{status}", response=made)

    def last(self) -> Iterator[str]:
        """Nothing: the last event was the whole response."""
        yield from ()

    def failed(self, refusal: Refusal) -> str:
        """The error, as an event and as clients raise it."""
        error = refusal.body["error"]
        told = {name: error[name] for name in ("message", "code", "param")}
        return self._event("error", **told, error=error)

    def _traced(self, since: int = 0) -> list[dict[str, Any]]:
        return answers.traced(self._asked, self._trace, since) or []

    def _open(self, place: int, items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """Add the items up to this one; each is done before the next one."""
        while self._opened <= place:
            if self._opened:
                yield from self._close(self._opened - 1, items[self._opened - 1])
            item, at = items[self._opened], {"output_index": self._opened}
            field = _FIELDS[item["type"]][1]
            empty = list[Any]() if field == "content" else ""
            begun = {**item, field: empty, "status": "in_progress"}
            yield self._event("response.output_item.added", **at, item=begun)
            if field == "content":
                part = {**item["content"][0], "text": ""}
                more = {"item_id": item["id"], **at, "content_index": 0}
                yield self._event("response.content_part.added", **more, part=part)
            self._opened += 1

    def _delta(self, text: str, place: int, item: Mapping[str, Any]) -> str:
        """New text of an item, with the log-probabilities of all tokens since the last one."""
        kind, field = _FIELDS[item["type"]]
        more: dict[str, Any] = {"content_index": 0} if field == "content" else {}
        if item["type"] == "message":
            more["logprobs"] = self._traced(self._sent)
            self._sent = len(self._trace)
        at = {"output_index": place, "item_id": item["id"]}
        return self._event(f"response.{kind}.delta", **at, **more, delta=text)

    def _close(self, place: int, item: Mapping[str, Any]) -> Iterator[str]:
        kind, field = _FIELDS[item["type"]]
        at = {"output_index": place, "item_id": item["id"]}
        if field == "content":
            part, at = item["content"][0], {**at, "content_index": 0}
            told = {name: part[name] for name in ("text", "logprobs") if name in part}
            yield self._event(f"response.{kind}.done", **at, **told)
            yield self._event("response.content_part.done", **at, part=part)
        else:
            yield self._event(f"response.{kind}.done", **at, **{field: item[field]})
        yield self._event("response.output_item.done", output_index=place, item=item)

    def _event(self, kind: str, **more: Any) -> str:
        body = {"type": kind, "sequence_number": self._number, **more}
        self._number += 1
        return f"event: {kind}\n{_data(body)}"


_FIELDS: Final = {
    "reasoning": ("reasoning_text", "content"),
    "message": ("output_text", "content"),
    "function_call": ("function_call_arguments", "arguments"),
    "custom_tool_call": ("custom_tool_call_input", "input"),
}
"""The events of the kinds of items, and the fields that grow."""


def _text_of(item: Mapping[str, Any]) -> str:
    """The text of an item that grows."""
    field = _FIELDS[item["type"]][1]
    return item["content"][0]["text"] if field == "content" else item[field]


Events: TypeAlias = ChunkEvents | ResponseEvents
"""The events of one stream: `first`, `part` for each part of each text, `last`, or `failed`."""
