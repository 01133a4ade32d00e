"""Results as OpenAI's objects: chat completions, text completions, responses, and their streams.

Log-probabilities are the model's own, before the constraint.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from guideway.generation.row.result import Result
from guideway.generation.row.trace import Likely, TracedStep
from guideway.server.reading import Asked
from guideway.server.replies import Call, Form, Reply, field_of

ENDS: Final = {"stop": "stop", "length": "length"}
LEAST: Final = -9999.0  # instead of −∞, which JSON does not have


def usage(results: Sequence[Result[Any]], form: Form, each: int) -> dict[str, Any]:
    """Tokens of a request. A prompt counts once; it has `each` texts."""
    stats = [result.stats for result in results]
    read = sum(one.prompt_tokens for one in stats[::each])
    made = sum(one.completion_tokens for one in stats)
    accepted = sum(one.accepted for one in stats)
    return {
        "prompt_tokens": read,
        "completion_tokens": made,
        "total_tokens": read + made,
        "prompt_tokens_details": {"cached_tokens": sum(one.cached_tokens for one in stats[::each])},
        "completion_tokens_details": {
            "reasoning_tokens": sum(form.reasoning_tokens(result.tokens) for result in results),
            "accepted_prediction_tokens": accepted,
            "rejected_prediction_tokens": sum(one.drafted for one in stats) - accepted,
        },
    }


def extension(result: Result[Any], trace: int = 0) -> dict[str, Any]:
    """The field `guideway` of a choice: completeness, cost of the constraint, and the trace.

    The trace has so many alternatives for each token.
    """
    made = {
        "complete": not result.shortened,
        "mass_removed": result.stats.mass_removed,
        "forwards": result.stats.forwards,
    }
    return {**made, "trace": records(result.trace or (), trace)} if trace else made


def records(steps: Sequence[TracedStep], alternatives: int) -> list[dict[str, Any]]:
    """A record for each token: the effect of each stage, with its most probable tokens."""
    made = [step.record for step in steps]
    for stage in (stage for record in made for stage in record["stages"]):
        stage["top"] = stage["top"][:alternatives]
    return made


def reason(result: Result[Any], reply: Reply | None = None) -> str:
    if reply is not None and reply.calls and not result.shortened:
        return "tool_calls"
    return ENDS.get(result.finish_reason, "stop")


def message(reply: Reply) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "assistant", "content": reply.content, "refusal": None}
    if reply.reasoning is not None:
        made["reasoning_content"] = reply.reasoning
    if reply.calls:
        made["tool_calls"] = reply.calls
    return made


@dataclass(frozen=True, slots=True)
class Head:
    """The fields that all objects of a request share."""

    id: str
    kind: str
    model: str
    created: int = field(default_factory=lambda: int(time.time()))

    def of(self, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        shared = {"id": self.id, "object": self.kind, "created": self.created}
        return {**shared, "model": self.model, "choices": choices, **more}


def chat_choice(number: int, result: Result[Any], asked: Asked) -> dict[str, Any]:
    reply = asked.form.reply(result)
    return {
        "index": number,
        "message": message(reply),
        "finish_reason": reason(result, reply),
        "logprobs": chat_logprobs(traced(asked, result.trace or ())),
        "guideway": extension(result, asked.trace),
    }


def traced(
    asked: Asked, steps: Sequence[TracedStep], since: int = 0
) -> list[dict[str, Any]] | None:
    """The log-probabilities of the answer, without the reasoning; from the step `since`."""
    if asked.top is None:
        return None
    begin = asked.form.reasoning_tokens(step.token for step in steps)
    return [
        {
            **_token(asked, step.token, step.text, step.logprob),
            "top_logprobs": [
                _token(asked, each.token, each.text, _log(each.probability))
                for each in _likely(asked, step)
            ],
        }
        for step in _drawn(asked, steps[max(begin, since) :])
    ]


def text_logprobs(
    asked: Asked, steps: Iterable[TracedStep] | None, start: int = 0
) -> dict[str, Any] | None:
    """`logprobs` of a text completion, from the character `start` of its text."""
    if asked.top is None:
        return None
    own, offsets = _drawn(asked, steps or ()), list[int]()
    for step in own:
        offsets.append(start)
        start += len(step.text)
    return {
        "tokens": [step.text for step in own],
        "token_logprobs": [max(step.logprob, LEAST) for step in own],
        "top_logprobs": [
            {each.text: _log(each.probability) for each in _likely(asked, step)} for step in own
        ],
        "text_offset": offsets,
    }


def _drawn(asked: Asked, steps: Iterable[TracedStep]) -> list[TracedStep]:
    """The steps of a text, without its end id."""
    return [step for step in steps if step.token not in asked.form.vocabulary.eos_ids]


def _likely(asked: Asked, step: TracedStep) -> Sequence[Likely]:
    """The most probable tokens of the model or expression: the stage before the constraint."""
    place = [stage.name for stage in step.stages].index("constraint") - 1
    return step.stages[place].top[: asked.top]


def _token(asked: Asked, token: int, text: str, logprob: float) -> dict[str, Any]:
    spelled = [*asked.form.vocabulary.shown(token)]
    return {"token": text, "logprob": max(logprob, LEAST), "bytes": spelled}


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else LEAST


def chat_logprobs(tokens: list[dict[str, Any]] | None) -> dict[str, Any] | None:
    return None if tokens is None else {"content": tokens, "refusal": None}


def text_choice(number: int, result: Result[Any], asked: Asked) -> dict[str, Any]:
    return {
        "index": number,
        "text": result.text,
        "finish_reason": reason(result),
        "logprobs": text_logprobs(asked, result.trace),
        "guideway": extension(result, asked.trace),
    }


# Responses


def response(
    head: Head,
    asked: Mapping[str, Any],
    result: Result[Any] | None = None,
    items: Sequence[Mapping[str, Any]] = (),
    counted: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The object of the Responses API; in progress without a result. `counted` is its usage."""
    status = status_of(result)
    cut = status == "incomplete"
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
        "output": items,
        "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
        "temperature": asked.get("temperature"),
        "top_p": asked.get("top_p"),
        "top_logprobs": asked.get("top_logprobs") or 0,
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "text": asked.get("text") or {"format": {"type": "text"}},
        "max_output_tokens": asked.get("max_output_tokens"),
    }
    if result is not None and counted is not None:
        made["usage"] = {
            "input_tokens": counted["prompt_tokens"],
            "input_tokens_details": {
                **counted["prompt_tokens_details"],
                "cache_write_tokens": 0,
            },
            "output_tokens": counted["completion_tokens"],
            "output_tokens_details": {
                "reasoning_tokens": counted["completion_tokens_details"]["reasoning_tokens"]
            },
            "total_tokens": counted["total_tokens"],
        }
        made["guideway"] = extension(result)
    return made


def status_of(result: Result[Any] | None) -> str:
    if result is None:
        return "in_progress"
    return "incomplete" if result.shortened else "completed"


def items_of(
    reply: Reply, number: str, status: str, logprobs: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The items of a response: reasoning, message, calls. The status is that of the last one."""
    items = list[dict[str, Any]]()
    if reply.reasoning is not None:
        said = [{"type": "reasoning_text", "text": reply.reasoning}]
        items.append({"id": f"rs_{number}", "type": "reasoning", "summary": [], "content": said})
    if reply.content is not None:
        text = {"text": reply.content, "annotations": list[Any](), "logprobs": logprobs}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant"}
        items.append({**message, "content": [{"type": "output_text", **text}]})
    items += [_call_item(call) for call in reply.calls]
    last = len(items) - 1
    return [
        {**item, "status": status if n == last else "completed"} for n, item in enumerate(items)
    ]


def _call_item(call: Call) -> dict[str, Any]:
    kind, name = field_of(call)
    inside = call[kind]
    return {
        "id": f"{'fc' if kind == 'function' else 'ctc'}_{call['id']}",
        "type": "function_call" if kind == "function" else "custom_tool_call",
        "call_id": call["id"],
        "name": inside["name"],
        name: inside[name],
    }
