"""Results as OpenAI's objects: chat completions, text completions, responses, and their streams."""

import math
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from guideway.api.result import Result
from guideway.engine.trace import TracedStep
from guideway.server.reading import OPENED

ENDS: Final = {"stop": "stop", "length": "length"}


def new_id(kind: str) -> str:
    """A new id; the server makes all of them."""
    return f"{kind}-{uuid.uuid4().hex}"


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """What a chat model said.

    Attributes:
        content: the text for the user, None beside calls.
        reasoning: the model's reasoning.
        calls: the calls in the form of chat completions.
    """

    content: str | None
    reasoning: str | None = None
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def read_reply(
    result: Result[Any], custom: Sequence[str], thinking: tuple[str, str] | None
) -> Reply:
    """Split a result into content, reasoning and calls."""
    reasoning, text = split_reasoning(result.text, thinking)
    calls = [call.message for call in result.tool_calls]
    for name in custom:
        if name in result.captures and text.startswith(OPENED):
            given = {"name": name, "input": str(result.captures[name])}
            calls.append({"id": new_id("call"), "type": "custom", "custom": given})
    if not calls:
        return Reply(text, reasoning)
    before = result.message.get("content")
    return Reply(None if custom and not result.tool_calls else before or None, reasoning, calls)


def split_reasoning(text: str, thinking: tuple[str, str] | None) -> tuple[str | None, str]:
    """(reasoning, answer) of a text.

    >>> split_reasoning("<think>2 + 2</think>4", ("<think>", "</think>"))
    ('2 + 2', '4')
    """
    if thinking is None:
        return None, text
    begin, end = thinking
    before, found, after = text.partition(end)
    return before.removeprefix(begin), after if found else ""


def usage(results: Iterable[Result[Any]], prompts: int | None = None) -> dict[str, Any]:
    """Tokens of a request; a prompt counts once."""
    listed = list(results)
    read = sum(each.stats.prompt_tokens for each in listed[:prompts])
    made = sum(each.stats.completion_tokens for each in listed)
    return {
        "prompt_tokens": read,
        "completion_tokens": made,
        "total_tokens": read + made,
        "prompt_tokens_details": {
            "cached_tokens": max(each.stats.cached_tokens for each in listed)
        },
        "completion_tokens_details": {
            "accepted_prediction_tokens": sum(each.stats.accepted for each in listed),
            "rejected_prediction_tokens": sum(
                each.stats.drafted - each.stats.accepted for each in listed
            ),
        },
    }


def told(result: Result[Any]) -> dict[str, Any]:
    """What guideway adds to a choice: whether the text is whole, and what the constraint cost."""
    return {
        "complete": not result.shortened,
        "mass_removed": result.stats.mass_removed,
        "forwards": result.stats.forwards,
    }


def reason(result: Result[Any], reply: Reply | None = None) -> str:
    """The `finish_reason`."""
    if reply is not None and reply.calls and not result.shortened:
        return "tool_calls"
    return ENDS.get(result.finish_reason, "stop")


def logprobs(steps: Sequence[TracedStep], top: int) -> dict[str, Any]:
    """Log-probabilities of chat completions: those of the model, before the constraint."""
    return {"content": [_token(step, top) for step in steps], "refusal": None}


def _token(step: TracedStep, top: int) -> dict[str, Any]:
    first = step.stages[0].top[:top] if step.stages else ()
    return {
        **_spelled(step.text, step.logprob),
        "top_logprobs": [_spelled(each.text, _log(each.probability)) for each in first],
    }


def _spelled(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": max(logprob, -9999.0), "bytes": [*text.encode()]}


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -9999.0


def message(reply: Reply) -> dict[str, Any]:
    """The message of a chat completion."""
    made: dict[str, Any] = {"role": "assistant", "content": reply.content, "refusal": None}
    if reply.reasoning is not None:
        made["reasoning_content"] = reply.reasoning
    if reply.calls:
        made["tool_calls"] = reply.calls
    return made


@final
@dataclass(frozen=True, slots=True)
class Head:
    """The fields that all objects of a request share."""

    id: str
    kind: str
    model: str
    created: int = field(default_factory=lambda: int(time.time()))

    def of(self, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """An object with these choices."""
        shared = {"id": self.id, "object": self.kind, "created": self.created}
        return {**shared, "model": self.model, "choices": choices, **more}


def chat_choice(number: int, result: Result[Any], reply: Reply, top: int | None) -> dict[str, Any]:
    """A choice of a chat completion."""
    traced = None if top is None else logprobs(result.trace or (), top)
    return {
        "index": number,
        "message": message(reply),
        "finish_reason": reason(result, reply),
        "logprobs": traced,
        "guideway": told(result),
    }


def text_choice(number: int, result: Result[Any], top: int | None) -> dict[str, Any]:
    """A choice of a text completion."""
    traced = None
    if top is not None:
        steps = result.trace or ()
        starts, at = list[int](), 0
        for step in steps:
            starts.append(at)
            at += len(step.text)
        traced = {
            "tokens": [step.text for step in steps],
            "token_logprobs": [step.logprob for step in steps],
            "top_logprobs": [
                {each.text: _log(each.probability) for each in step.stages[0].top[:top]}
                for step in steps
            ],
            "text_offset": starts,
        }
    return {
        "index": number,
        "text": result.text,
        "finish_reason": reason(result),
        "logprobs": traced,
        "guideway": told(result),
    }


def call_deltas(calls: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The deltas of calls: id and name once, then the arguments."""
    for number, call in enumerate(calls):
        kind = call["type"]
        inside = call["function" if kind == "function" else "custom"]
        field_name = "arguments" if kind == "function" else "input"
        first = {"name": inside["name"], field_name: ""}
        yield {"index": number, "id": call["id"], "type": kind, kind: first}
        yield {"index": number, kind: {field_name: inside[field_name]}}


# Responses


def response(
    head: Head, asked: Mapping[str, Any], result: Result[Any] | None, reply: Reply | None
) -> dict[str, Any]:
    """The object of the Responses API; in progress without a result."""
    cut = result is not None and result.shortened
    status = "in_progress" if result is None else "incomplete" if cut else "completed"
    made: dict[str, Any] = {
        "id": head.id,
        "object": "response",
        "created_at": head.created,
        "model": head.model,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": asked.get("instructions"),
        "metadata": asked.get("metadata") or {},
        "output": [] if reply is None else output(reply, head.id, status),
        "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
        "temperature": asked.get("temperature"),
        "top_p": asked.get("top_p"),
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "text": asked.get("text") or {"format": {"type": "text"}},
        "max_output_tokens": asked.get("max_output_tokens"),
    }
    if result is not None:
        counted = usage([result])
        made["usage"] = {
            "input_tokens": counted["prompt_tokens"],
            "input_tokens_details": {
                **counted["prompt_tokens_details"],
                "cache_write_tokens": 0,
            },
            "output_tokens": counted["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": counted["total_tokens"],
        }
        made["guideway"] = told(result)
    return made


def output(reply: Reply, number: str, status: str = "completed") -> list[dict[str, Any]]:
    """The items of a response: reasoning, message, calls."""
    items = list[dict[str, Any]]()
    if reply.reasoning is not None:
        said = [{"type": "reasoning_text", "text": reply.reasoning}]
        items.append({"id": f"rs_{number}", "type": "reasoning", "summary": [], "content": said})
    if reply.content is not None:
        nothing = list[Any]()
        part = {"type": "output_text", "text": reply.content, "annotations": nothing}
        said = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": status}
        items.append({**said, "content": [{**part, "logprobs": nothing}]})
    for call in reply.calls:
        items.append(call_item(call, status))
    return items


def call_item(call: Mapping[str, Any], status: str) -> dict[str, Any]:
    """A call as an item of a response."""
    kind = call["type"]
    inside = call["function" if kind == "function" else "custom"]
    named = {"id": f"fc_{call['id']}", "call_id": call["id"], "name": inside["name"]}
    if kind == "function":
        return {
            **named,
            "type": "function_call",
            "arguments": inside["arguments"],
            "status": status,
        }
    return {**named, "type": "custom_tool_call", "input": inside["input"], "status": status}
