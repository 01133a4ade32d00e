"""Benchmark `guidance`: a step of an expression beside the steps of its models alone.

What is timed is one token of free text, drawn at a temperature from a nucleus, against the forwards
of the same models on the same rows and nothing else. Both take turns, and the figure is the median
of all steps. A ratio of 1 means that arithmetic, filters and the draw cost nothing.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

import torch
import typer

import guideway as gw
from benchmarks.report import Line, ModelName, Rounds, in_turns, show
from guideway.api.jobs import prompts_of, read_prompts
from guideway.cli.console import busy
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, AsJson
from guideway.generation.ensemble.ensemble import Ensemble, Prompts
from guideway.generation.ensemble.prefix_cache import PrefixCache
from guideway.generation.row.request import Request
from guideway.generation.row.sequence import Sequence
from guideway.generation.step import Batch, step

Work: TypeAlias = Callable[[Ensemble, list[Prompts], int], Iterator[None]]
PROMPT: Final = "The history of the lighthouse begins in the year in which"


def copied(model: gw.Model) -> gw.Model:
    """A guided model. Copies of the same weights are other models: they share no batch."""
    expert, anti = (gw.Model(copy(model.language_model), model.tokenizer) for _ in range(2))
    return gw.dexperts(model, expert, anti)


def cases(model: gw.Model) -> Mapping[str, gw.Model]:
    """Expressions over one model: other prompts, early exits, and copies that run by themselves."""
    return {
        "model": model,
        "cfg": gw.cfg(model.prompted("Kindly: "), model.prompted("Rudely: ")),
        "exit": model - 0.5 * model.exit_at(12),
        "dola": gw.dola(model, "high"),
        "dexperts": copied(model),
    }


def guidance(
    model: ModelName = BUILT_IN,
    rows: Annotated[int, typer.Option(help="Texts at once.", min=1)] = 1,
    steps: Annotated[int, typer.Option(help="Tokens of each measurement.", min=2)] = 16,
    rounds: Rounds = 4,
    as_json: AsJson = False,
) -> None:
    """A step of expressions over several models beside the models' own steps."""
    base = open_model(model)
    with busy("measuring"):
        lines = [measure(name, each, rows, steps, rounds) for name, each in cases(base).items()]
    show(lines, as_json=as_json)


def measure(name: str, model: gw.Model, rows: int, steps: int, rounds: int) -> Line:
    ensemble = Ensemble(model.node)
    prompts = [prompts_of(read_prompts(ensemble, PROMPT))] * rows
    ways = {"models": _forwards, "step": _steps}
    works = {way: partial(_each, work, ensemble, prompts, steps) for way, work in ways.items()}
    # The first two steps warm up.
    times = {
        way: 1e3 * statistics.median(second for each in found for second in each[2:])
        for way, found in in_turns(works, rounds).items()
    }
    return {
        "expression": name,
        "forwards": len(ensemble.backbones),
        "rows": len(ensemble.contexts) * rows,
        "models, ms": times["models"],
        "step, ms": times["step"],
        "ratio": times["step"] / times["models"],
    }


def _each(work: Work, *given: Any) -> list[float]:
    times = list[float]()
    begun = time.perf_counter()
    for _ in work(*given):
        now = time.perf_counter()
        times.append(now - begun)
        begun = now
    return times


def _steps(ensemble: Ensemble, prompts: list[Prompts], steps: int) -> Iterator[None]:
    size = {"min_new_tokens": steps, "max_new_tokens": steps}
    settings = gw.Sampling(temperature=0.7, top_p=0.9, seed=0, **size)
    requests = [Request(each[0], None, settings, others=each[1:]) for each in prompts]
    sequences = [
        Sequence(number, request, ensemble.vocabulary, steps)
        for number, request in enumerate(requests)
    ]
    batch = Batch.of(sequences, ensemble.device)
    while batch.rows:
        _, batch = step(ensemble, batch)
        yield


def _forwards(ensemble: Ensemble, prompts: list[Prompts], steps: int) -> Iterator[None]:
    """The models' forwards and nothing else."""
    caches: list[Any] = [each.prefill(prompts, PrefixCache(0))[0] for each in ensemble.backbones]
    for _ in range(steps):
        for place, backbone in enumerate(ensemble.backbones):
            model: Any = backbone.model
            rows = len(backbone.contexts) * len(prompts)
            token = torch.ones(rows, 1, dtype=torch.int64, device=model.device)
            if backbone.varied:
                made = model.extend_varied(caches[place], token, backbone.exits)
            else:
                made = model.extend(caches[place], token)
            caches[place], logits = made
            float(logits.flatten()[0])  # waits for a GPU
        yield
