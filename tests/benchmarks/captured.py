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
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Final
from unittest import mock

import torch
import typer

import guideway as gw
from benchmarks.guidance import PROMPT, copied
from benchmarks.report import Batches, Line, ModelName, Rounds, in_turns, show
from guideway.cli.console import busy
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, AsJson
from guideway.generation.captured import STRATEGIES

BATCHES: Final = (1, 32, 256)
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


def texts(model: gw.Model) -> Mapping[str, tuple[gw.Model, Any]]:
    return {
        "free": (model, None),
        "tables": (model, gw.Regex(r"([A-Za-z]{1,12}[ ,.;:]{1,2})+")),
        "host masks": (model, gw.JsonSchema(NESTED)),
        "guidance": (copied(model), None),
        "watermark": (model.watermarked(gw.Watermark(key=1)), None),
    }


def measured(model: gw.Model, rows: int, tokens: int, rounds: int) -> Iterator[Line]:
    """The lines of one size of batch; the first round of each captures."""
    backend: Any = model.language_model
    weights = sum(each.nbytes for each in backend.module.parameters())
    floor, free = 1e3 * weights / bandwidth(backend.device), 0.0
    given = {backend.device.type: lambda work, _: work, **STRATEGIES}
    with mock.patch.dict(STRATEGIES, given):
        for name, (own, source) in texts(model).items():
            ways = {how: partial(step, how, own, source, rows, tokens) for how in ("on", "off")}
            times = in_turns(ways, rounds, warm=1)
            made, plain = (statistics.median(times[how]) for how in ways)
            free = free or made
            reading = floor * len(own._ensemble.backbones)
            yield line(rows, name, made, free, reading) | {"step by step, ms": plain}
    works = {"transformers": partial(theirs, model, rows, tokens)}
    for name, found in in_turns(works, rounds, warm=1).items():
        yield line(rows, name, statistics.median(found), free, floor)


def line(rows: int, text: str, step: float, free: float, reading: float) -> dict[str, Any]:
    """Milliseconds of a step; of free text in the same batch; of reading the weights."""
    shares = {"× free": step / free, "bandwidth, %": 100 * reading / step}
    return {"rows": rows, "text": text, "captured, ms": step, **shares}


def step(how: str, model: gw.Model, source: Any, rows: int, tokens: int) -> float:
    """Milliseconds between two tokens of the longest row, with steps captured ("on") or not."""
    settings = {"batch_size": rows, "max_new_tokens": tokens, "temperature": 1.0, "seed": 1}
    with mock.patch.dict(os.environ, GUIDEWAY_CAPTURE=how):
        found = model.generate([PROMPT] * rows, source, speculate="off", **settings)
    longest = max(found, key=lambda each: each.stats.forwards)
    return 1e3 * longest.stats.time_per_output_token


def theirs(model: gw.Model, rows: int, tokens: int) -> float:
    """Milliseconds of a token in transformers' generate, its share of the prompt included."""
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
    size = 1 << (30 if device.type == "cuda" else 24)
    given = torch.zeros(size, dtype=torch.uint8, device=device)
    taken, times = torch.empty_like(given), list[float]()
    for _ in range(5):
        began = time.perf_counter()
        taken.copy_(given)
        int(taken[0])  # waits
        times.append(time.perf_counter() - began)
    return 2 * len(given) / min(times)
