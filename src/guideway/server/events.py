"""Server-sent events of the three APIs, from the parts of a stream.

Beside tools, the text is held back until it is known whether it is a call: calls come whole.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, final

from guideway.api.result import Part, Result
from guideway.server import answers
from guideway.server.answers import Head, Reply
from guideway.server.protocol import StreamOptions
from guideway.server.reading import Asked
from guideway.syntax.tools import tools_of

DONE = "data: [DONE]\n\n"


class Events(Protocol):
    """The events of one stream."""

    def first(self, count: int) -> Iterator[str]:
        """Before the first token of `count` texts."""
        ...

    def part(self, number: int, part: Part[Any]) -> Iterator[str]:
        """For a part of one of the texts."""
        ...

    def last(self) -> Iterator[str]:
        """After all texts."""
        ...


def _data(body: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n\n"


@final
class TextEvents:
    """Chunks of a text completion."""

    def __init__(self, head: Head, options: StreamOptions | None) -> None:
        """Stream with usage if the options say so."""
        self.head, self._results = head, list[Result[Any]]()
        self._usage = options is not None and bool(options.include_usage)

    def first(self, count: int) -> Iterator[str]:
        """Nothing: text completions have no roles."""
        yield from ()

    def part(self, number: int, part: Part[Any]) -> Iterator[str]:
        """The new text; with the last part, the reason of the end."""
        ended = None if part.result is None else answers.reason(part.result)
        if part.result is not None:
            self._results.append(part.result)
        choice = {"index": number, "text": part.delta, "logprobs": None, "finish_reason": ended}
        yield _data(self.head.of([choice]))

    def last(self) -> Iterator[str]:
        """The usage, and the end."""
        if self._usage:
            yield _data(self.head.of([], usage=answers.usage(self._results)))
        yield DONE


@final
class ChatEvents:
    """Chunks of a chat completion."""

    def __init__(
        self,
        head: Head,
        thinking: tuple[str, str] | None,
        asked: Asked,
        options: StreamOptions | None,
    ) -> None:
        """Stream with usage if the options say so."""
        self.head = Head(head.id, "chat.completion.chunk", head.model, head.created)
        self._splitter = Splitter(asked, thinking)
        self._usage = options is not None and bool(options.include_usage)
        self._results = list[Result[Any]]()

    def first(self, count: int) -> Iterator[str]:
        """The role of each text."""
        for number in range(count):
            yield self._chunk(number, {"role": "assistant", "content": ""})

    def part(self, number: int, part: Part[Any]) -> Iterator[str]:
        """The new text, and in the end calls and the reason."""
        for name, text in self._splitter.deltas(number, part):
            yield self._chunk(number, {name: text})
        result = part.result
        if result is None:
            return
        self._results.append(result)
        reply = self._splitter.reply(result)
        for delta in answers.call_deltas(reply.calls):
            yield self._chunk(number, {"tool_calls": [delta]})
        yield self._chunk(number, {}, answers.reason(result, reply))

    def last(self) -> Iterator[str]:
        """The usage, and the end."""
        if self._usage:
            yield _data(self.head.of([], usage=answers.usage(self._results, 1)))
        yield DONE

    def _chunk(self, number: int, delta: Mapping[str, Any], ended: str | None = None) -> str:
        choice = {"index": number, "delta": delta, "logprobs": None, "finish_reason": ended}
        return _data(self.head.of([choice]))


@final
class Splitter:
    """Splits texts that grow into content and reasoning; holds texts back that may be calls."""

    def __init__(self, asked: Asked, thinking: tuple[str, str] | None) -> None:
        """Split texts of one request."""
        self.custom, self.thinking = asked.custom, thinking
        source = asked.source
        self._calls = bool(asked.custom) or (source is not None and bool(tools_of(source)))
        self._sent: dict[int, dict[str, int]] = {}

    def reply(self, result: Result[Any]) -> Reply:
        """The reply in the end."""
        return answers.read_reply(result, self.custom, self.thinking)

    def deltas(self, number: int, part: Part[Any]) -> Iterator[tuple[str, str]]:
        """(field, new text) of a part."""
        if part.result is not None:
            reply = self.reply(part.result)
            whole = {"reasoning_content": reply.reasoning or "", "content": reply.content or ""}
        else:
            reasoning, content = self._split(part.text)
            whole = {"reasoning_content": reasoning, "content": "" if self._calls else content}
        sent = self._sent.setdefault(number, {})
        for name, text in whole.items():
            if len(text) > sent.get(name, 0):
                yield name, text[sent.get(name, 0) :]
                sent[name] = len(text)

    def _split(self, text: str) -> tuple[str, str]:
        if self.thinking is None:
            return "", text
        begin, end = self.thinking
        before, found, after = text.partition(end)
        if found:
            return before.removeprefix(begin), after
        # The end of the text may become a mark.
        kept = next((n for n in range(len(end) - 1, 0, -1) if before.endswith(end[:n])), 0)
        before = before[: len(before) - kept]
        return ("" if begin.startswith(before) else before.removeprefix(begin)), ""


@final
class ResponseEvents:
    """Events of the Responses API."""

    def __init__(
        self,
        head: Head,
        thinking: tuple[str, str] | None,
        asked: Asked,
        body: Mapping[str, Any],
    ) -> None:
        """Stream one response."""
        self.head, self.body = head, body
        self._splitter = Splitter(asked, thinking)
        self._number = 0
        self._open = False
        self._item = {
            "item_id": f"msg_{head.id}",
            "output_index": 0,
            "content_index": 0,
        }

    def first(self, count: int) -> Iterator[str]:
        """The response, without output."""
        made = answers.response(self.head, self.body, None, None)
        yield self._event("response.created", response=made)
        yield self._event("response.in_progress", response=made)

    def part(self, number: int, part: Part[Any]) -> Iterator[str]:
        """The new text, and in the end all items."""
        for name, text in self._splitter.deltas(number, part):
            if name == "content":
                yield from self._opened()
                more = {"delta": text, "logprobs": list[Any]()}
                yield self._event("response.output_text.delta", **self._item, **more)
        if part.result is None:
            return
        reply = self._splitter.reply(part.result)
        made = answers.response(self.head, self.body, part.result, reply)
        yield from self._closed(reply, made)
        kind = "incomplete" if made["status"] == "incomplete" else "completed"
        yield self._event(f"response.{kind}", response=made)

    def last(self) -> Iterator[str]:
        """Nothing: the last event was the whole response."""
        yield from ()

    def _opened(self) -> Iterator[str]:
        """The message and its part, before their first text."""
        if self._open:
            return
        self._open = True
        item = {"id": self._item["item_id"], "type": "message", "role": "assistant"}
        empty: dict[str, Any] = {**item, "status": "in_progress", "content": []}
        yield self._event("response.output_item.added", output_index=0, item=empty)
        part: dict[str, Any] = {
            "type": "output_text",
            "text": "",
            "annotations": [],
            "logprobs": [],
        }
        yield self._event("response.content_part.added", **self._item, part=part)

    def _closed(self, reply: Reply, made: Mapping[str, Any]) -> Iterator[str]:
        """The end of the message, and the calls."""
        if self._open:
            text = {"text": reply.content or "", "logprobs": list[Any]()}
            yield self._event("response.output_text.done", **self._item, **text)
            part = {"type": "output_text", "annotations": [], **text}
            yield self._event("response.content_part.done", **self._item, part=part)
        for number, item in enumerate(made["output"]):
            at = {"output_index": number}
            if item["type"].endswith("_call"):
                name = (
                    "function_call_arguments" if "arguments" in item else "custom_tool_call_input"
                )
                key = "arguments" if "arguments" in item else "input"
                begun = {**item, key: "", "status": "in_progress"}
                yield self._event("response.output_item.added", **at, item=begun)
                named = {**at, "item_id": item["id"]}
                yield self._event(f"response.{name}.delta", **named, delta=item[key])
                yield self._event(f"response.{name}.done", **named, **{key: item[key]})
            yield self._event("response.output_item.done", **at, item=item)

    def _event(self, kind: str, **more: Any) -> str:
        body = {"type": kind, "sequence_number": self._number, **more}
        self._number += 1
        return f"event: {kind}\n{_data(body)}"
