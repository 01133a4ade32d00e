"""Answers of `/v1/decisions`: probabilities of given answers, without a text.

The model reads the input and a question, and the exact probabilities of the answers, of several
tokens each, are those of `Model.choose`.
"""

import json
from collections.abc import Sequence
from typing import Any

from guideway.api.model import Model
from guideway.server import protocol
from guideway.server.conversation import conversation
from guideway.server.reading import Reader
from guideway.server.refusals import of_field

PREDICATE = {"yes": True, "no": False}


def decide(model: Model, asked: protocol.DecisionRequest) -> list[dict[str, Any]]:
    """The answers of all questions, in order."""
    messages = conversation(asked.input, None)
    with of_field("questions"):
        return [_answer(model, messages, question) for question in asked.questions]


def decided_tokens(reader: Reader, asked: protocol.DecisionRequest) -> dict[str, Any]:
    """The tokens of the input, which each question reads; no token is generated."""
    count = len(reader.tokens(conversation(asked.input, None)))
    return {
        "input_tokens": count,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": count,
    }


def _answer(model: Model, messages: list[Any], question: protocol.Question) -> dict[str, Any]:
    text = _text(question.instructions)
    match question:
        case protocol.Predicate():
            asked = f"Is this true? {text}\nAnswer yes or no."
            found = model.choose(_with(messages, asked), list(PREDICATE))
            answer: dict[str, Any] = {"probability": found["yes"]}
        case protocol.ChoiceQuestion():
            labels = [_label(option.value) for option in question.choices]
            found = model.choose(_with(messages, _listed(text, labels, question.choices)), labels)
            shares = [
                {"value": option.value, "probability": found[label]}
                for option, label in zip(question.choices, labels, strict=True)
            ]
            best = max(shares, key=lambda share: share["probability"])
            answer = {"choice": best["value"], "confidence": best["probability"]}
            answer["probabilities"] = shares
        case protocol.Score():
            labels = [level.label for level in question.levels]
            found = model.choose(_with(messages, _listed(text, labels, question.levels)), labels)
            shares = [
                {"value": n, "label": label, "probability": found[label]}
                for n, label in enumerate(labels)
            ]
            mean = sum(n * found[label] for n, label in enumerate(labels))
            answer = {"score": mean, "confidence": max(found.values()), "probabilities": shares}
    return {"type": question.type, "name": question.name, **answer}


def _label(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


def _text(instructions: str | list[dict[str, Any]]) -> str:
    if isinstance(instructions, str):
        return instructions
    parts = [each.get("text", json.dumps(each.get("data"))) for each in instructions]
    return "\n".join(parts)


def _listed(text: str, labels: list[str], given: Sequence[protocol.Option | protocol.Level]) -> str:
    about = [f": {each.description}" if each.description else "" for each in given]
    lines = [f"- {label}{more}" for label, more in zip(labels, about, strict=True)]
    return "\n".join((text, "Answer with one of these:", *lines))


def _with(messages: list[Any], question: str) -> list[Any]:
    """The messages with a question, in the last turn of the user."""
    if messages and messages[-1].get("role") == "user" and isinstance(messages[-1]["content"], str):
        last = {"role": "user", "content": f"{messages[-1]['content']}\n\n{question}"}
        return [*messages[:-1], last]
    return [*messages, {"role": "user", "content": question}]
