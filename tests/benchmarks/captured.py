"""Benchmark `captured`: steps of `generate` as CUDA graphs, step by step, and by transformers.

For each size of batch: free text, a constraint with tables, a recursive one with masks of the host,
guidance by three models (copies, which share no batch), and a watermark, all drawn at a
temperature. A step is the time between two tokens of the longest row. "step by step" is the same
call without graphs, "transformers" its own `generate` with a static cache, which it compiles on a
GPU. Bandwidth is the share of a copy's that reading the weights of all models once a step takes.

On a CPU nothing is captured: steps run as they are, and figures say nothing.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, Final
from unittest import mock

import typer

from benchmarks.report import Batches, Line, ModelName, Rounds, show
from guideway.cli.console import busy
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, AsJson

if TYPE_CHECKING:
    from guideway.api.model import Model

BATCHES: Final = (1, 32, 256)
PROMPT: Final = "The history of the lighthouse begins in the year in which"
ITEMS: Final = [{"type": "string", "minLength": 8}, {"$ref": "#/$defs/lists"}]
LISTS: Final = {"type": "array", "items": {"anyOf": ITEMS}, "minItems": 1}
NESTED: Final = {"$ref": "#/$defs/lists", "$defs": {"lists": LISTS}}


def captured(
    model: ModelName = BUILT_IN,
    batch: Batches = None,
    tokens: Annotated[int, typer.Option(help="Tokens of each text.", min=18)] = 128,
    rounds: Rounds = 3,
    as_json: AsJson = False,
) -> None:
    """Steps as CUDA graphs beside steps one by one, and transformers' own generate."""
    own = open_model(model)
    with busy("measuring"):
        lines = [line for rows in batch or BATCHES for line in measured(own, rows, tokens, rounds)]
    show(lines, as_json=as_json)


def texts(model: "Model") -> "Mapping[str, tuple[Model, Any]]":
    """Models and sources, by what is measured."""
    import guideway as gw

    expert, anti = (gw.Model(copy(model.language_model), model.tokenizer) for _ in range(2))
    return {
        "free": (model, None),
        "tables": (model, gw.Regex(r"([A-Za-z]{1,12}[ ,.;:]{1,2})+")),
        "host masks": (model, gw.JsonSchema(NESTED)),
        "guidance": (gw.dexperts(model, expert, anti), None),
        "watermark": (model.watermarked(gw.Watermark(key=1)), None),
    }


def measured(model: "Model", rows: int, tokens: int, rounds: int) -> Iterator[Line]:
    """The lines of one size of batch."""
    from guideway.generation.captured import STRATEGIES

    backend: Any = model.language_model
    weights = sum(each.nbytes for each in backend.module.parameters())
    floor, free = 1e3 * weights / bandwidth(backend.device), 0.0
    given = {backend.device.type: lambda work, _: work, **STRATEGIES}
    with mock.patch.dict(STRATEGIES, given):
        for name, (own, source) in texts(model).items():
            made, plain = in_turns(lambda: step(own, source, rows, tokens), rounds)  # noqa: B023
            free = free or made
            reading = floor * len(own._ensemble.backbones)
            yield line(rows, name, made, free, reading) | {"step by step, ms": plain}
    times = [theirs(model, rows, tokens) for _ in range(rounds + 1)][1:]
    yield line(rows, "transformers", statistics.median(times), free, floor)


def line(rows: int, text: str, step: float, free: float, reading: float) -> dict[str, Any]:
    """Milliseconds of a step; of free text in the same batch; of reading the weights."""
    shares = {"× free": step / free, "bandwidth, %": 100 * reading / step}
    return {"rows": rows, "text": text, "captured, ms": step, **shares}


def in_turns(work: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Milliseconds with and without captured steps; the first round captures."""
    times: dict[str, list[float]] = {"on": [], "off": []}
    for turn in range(-1, rounds):
        for how, found in times.items():
            with mock.patch.dict(os.environ, GUIDEWAY_CAPTURE=how):
                made = work()
            if turn >= 0:
                found.append(made)
    return statistics.median(times["on"]), statistics.median(times["off"])


def step(model: "Model", source: Any, rows: int, tokens: int) -> float:
    """Milliseconds between two tokens of the longest row."""
    settings = {"batch_size": rows, "max_new_tokens": tokens, "temperature": 1.0, "seed": 1}
    found = model.generate([PROMPT] * rows, source, speculate="off", **settings)
    longest = max(found, key=lambda each: each.stats.forwards)
    return 1e3 * longest.stats.time_per_output_token


def theirs(model: "Model", rows: int, tokens: int) -> float:
    """Milliseconds of a token in transformers' generate, its share of the prompt included."""
    import torch

    backend: Any = model.language_model
    prompt = torch.tensor([model.tokenizer.encode(PROMPT)] * rows, device=backend.device)
    settings = {"max_new_tokens": tokens, "do_sample": True, "top_k": 0, "pad_token_id": 0}
    settings |= {"cache_implementation": "static", "attention_mask": torch.ones_like(prompt)}
    began = time.perf_counter()
    made = backend.module.generate(prompt, **settings)
    made.tolist()
    return 1e3 * (time.perf_counter() - began) / (made.shape[1] - prompt.shape[1])


def bandwidth(device: Any) -> float:
    """Bytes a second that a copy reads and writes."""
    import torch

    given = torch.zeros(
        1 << (30 if device.type == "cuda" else 24), dtype=torch.uint8, device=device
    )
    taken, times = torch.empty_like(given), list[float]()
    for _ in range(5):
        began = time.perf_counter()
        taken.copy_(given)
        int(taken[0])  # waits
        times.append(time.perf_counter() - began)
    return 2 * len(given) / min(times)
