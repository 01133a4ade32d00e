"""Batches for captured steps, compared with the same batches step by step."""

import copy
from functools import cache
from typing import Any, Literal

import pytest
import torch
from pydantic import BaseModel

import guideway as gw
from guideway.generation.captured import STRATEGIES
from guideway.models.transformers import TransformersModel
from small_models import tiny


class Small(BaseModel):
    a: Literal["in", "the"]
    b: int


TREE = {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}
SOURCES: dict[str, Any] = {
    "free": None,
    "type": Small,
    "regex": gw.Regex(r"[a-f]{2,9}(-[0-9]+)?"),
    "recursive": gw.JsonSchema(TREE),
}
DRAWN: dict[str, Any] = {"temperature": 0.9, "seed": 3}
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": DRAWN,
    "filters": {**DRAWN, "top_k": 40, "top_p": 0.95, "min_p": 0.01},
    "others": {**DRAWN, "xtc_probability": 0.5, "xtc_threshold": 0.05, "typical_p": 0.9},
    "penalties": {**DRAWN, "repetition_penalty": 1.2},
    "stop": {**DRAWN, "stop": ["e", "q"]},
    "least": {**DRAWN, "min_new_tokens": 5},
    "samples": {**DRAWN, "num_return_sequences": 2},
}
MARKS: dict[str, Any] = {
    "left": gw.Watermark(key=1, delta=4.0),
    "of all tokens": gw.Watermark(key=1, among="vocabulary"),
    "unigram": gw.Watermark(key=1, scheme="unigram"),
    "self": gw.Watermark(key=1, scheme="self"),
    "synthid": gw.Watermark(key=1, scheme="synthid"),
    "gumbel": gw.Watermark(key=1, scheme="gumbel"),
}
EXPRESSIONS = ("one", "two", "three", "own prompt", "maximum", "classifier")
PROMPTS = ["Tell me", "The quick brown fox jumps over the lazy dog. ", "x"]
MOST = [24, 19, 21]


@cache
def on(device: str, kind: str, seed: int) -> TransformersModel:
    """A tiny model on a device."""
    found = tiny(kind, seed=seed)
    if device == "cpu":
        return found
    return TransformersModel(copy.deepcopy(found.module).to(device), found.tokenizer)


@cache
def model(name: str, kind: str = "llama", device: str = "cpu") -> gw.Model:
    """An expression of tiny models."""
    base, expert, anti = (gw.Model(on(device, kind, n), name=f"m{n}") for n in range(3))
    made = {
        "one": lambda: base,
        "two": lambda: base + 0.5 * expert,
        "three": lambda: gw.dexperts(base, expert, anti),
        "own prompt": lambda: gw.cfg(base, base.prompted("no "), 1.5),
        "maximum": lambda: gw.maximum(base, expert),
        "classifier": lambda: (
            base + gw.classifier(lambda texts: [1 / (1 + len(t) % 3) for t in texts], alpha=2.0)
        ),
    }
    return made[name]()


class Counted:
    """A strategy that runs steps as they are; it counts what it captures and launches."""

    def __init__(self) -> None:
        self.frames = self.launches = 0

    def capture(self, work: Any, device: torch.device) -> Any:
        self.frames += 1

        def launch() -> None:
            self.launches += 1
            work()

        return launch


def results(own: gw.Model, source: Any, **settings: Any) -> list[gw.Result[Any]]:
    """One list of the results of all prompts; each has its own budget."""
    sampling = [gw.Sampling(**{"max_new_tokens": most, **settings}) for most in MOST]
    found: list[Any] = own.generate(
        PROMPTS, source, sampling=sampling, on_error="return", speculate="off"
    )
    return [one for each in found for one in (each if isinstance(each, list) else [each])]


def numbers(found: list[gw.Result[Any]]) -> list[float]:
    return [n for each in found for n in (*each.logprobs, *each.log_allowed, each.log_z)]


def both(own: gw.Model, source: Any, **settings: Any) -> list[gw.Result[Any]]:
    """The results by captured steps, after they were compared with those without."""
    device = own._ensemble.device.type
    found = results(own, source, **settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(STRATEGIES, device)
        expected = results(own, source, **settings)
    for mine, theirs in zip(found, expected, strict=True):
        for name in ("tokens", "text", "finish_reason", "shortened", "pieces"):
            assert getattr(mine, name) == getattr(theirs, name), name
        assert repr(mine.error) == repr(theirs.error)
        for name in ("forwards", "drafted", "prompt_tokens", "completion_tokens"):
            assert getattr(mine.stats, name) == getattr(theirs.stats, name), name
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-4, abs=1e-4)
    return found
