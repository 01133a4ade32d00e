"""Benchmark `guidance`: a step of an expression beside the steps of its models alone.

What is timed is one token of free text, drawn at a temperature from a nucleus, against the forwards
of the same models on the same rows and nothing else. Both take turns, and the figure is the median
of all steps. A ratio of 1 means that arithmetic, filters and the draw cost nothing.
"""

import statistics
import time
from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from benchmarks.report import Line, ModelName, Rounds, show
from guideway.cli.console import busy
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, AsJson

if TYPE_CHECKING:
    from guideway.api.model import Model
    from guideway.generation.ensemble.ensemble import Backbone, Ensemble, Prompts

PROMPT: Final = "The history of the lighthouse begins in the year in which"


def cases(model: "Model") -> "Mapping[str, Model]":
    """Expressions over one model: other prompts, early exits, and copies that run by themselves."""
    import guideway as gw

    # Copies of the same weights are other models: they share no batch.
    expert, anti = (gw.Model(copy(model.language_model), model.tokenizer) for _ in range(2))
    return {
        "model": model,
        "cfg": gw.cfg(model.prompted("Kindly: "), model.prompted("Rudely: ")),
        "exit": model - 0.5 * model.exit_at(12),
        "dola": gw.dola(model, "high"),
        "dexperts": gw.dexperts(model, expert, anti),
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


def measure(name: str, model: "Model", rows: int, steps: int, rounds: int) -> Line:
    """Times of a step, and of its models' forwards alone."""
    from guideway.api.jobs import prompts_of, read_prompts
    from guideway.generation.ensemble.ensemble import Ensemble

    ensemble = Ensemble(model.node)
    prompts = [prompts_of(read_prompts(ensemble, PROMPT))] * rows
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            work = (
                _forwards(ensemble, prompts, steps) if which else _steps(ensemble, prompts, steps)
            )
            # The first two steps warm up.
            times[which].extend(_each(work)[2:])
    step, models = (1e3 * statistics.median(each) for each in times)
    return {
        "expression": name,
        "forwards": len(ensemble.backbones),
        "rows": len(ensemble.contexts) * rows,
        "models, ms": models,
        "step, ms": step,
        "ratio": step / models,
    }


def _each(work: Iterator[object]) -> list[float]:
    """The seconds of each step."""
    times = list[float]()
    begun = time.perf_counter()
    for _ in work:
        now = time.perf_counter()
        times.append(now - begun)
        begun = now
    return times


def _steps(ensemble: "Ensemble", prompts: "list[Prompts]", steps: int) -> Iterator[None]:
    """Whole steps, as generation does them."""
    from guideway.generation.row.request import Request
    from guideway.generation.row.sequence import Sequence
    from guideway.generation.step import Batch, step
    from guideway.sampling.settings import Sampling

    settings = Sampling(
        temperature=0.7, top_p=0.9, seed=0, min_new_tokens=steps, max_new_tokens=steps
    )
    requests = [Request(each[0], None, settings, others=each[1:]) for each in prompts]
    sequences = [
        Sequence(number, request, ensemble.vocabulary, steps)
        for number, request in enumerate(requests)
    ]
    batch = Batch.of(sequences, ensemble.device)
    while batch.rows:
        _, batch = step(ensemble, batch)
        yield


def _forwards(ensemble: "Ensemble", prompts: "list[Prompts]", steps: int) -> Iterator[None]:
    """The models' forwards and nothing else."""
    from guideway.generation.ensemble.prefix_cache import PrefixCache

    caches = [each.prefill(prompts, PrefixCache(0))[0] for each in ensemble.backbones]
    for _ in range(steps):
        for place, backbone in enumerate(ensemble.backbones):
            caches[place] = _forward(backbone, caches[place], len(prompts))
        yield


def _forward(backbone: "Backbone", cache: object, rows: int) -> object:
    """The cache after one more token in each row."""
    import torch

    model: Any = backbone.model
    token = torch.ones(len(backbone.contexts) * rows, 1, dtype=torch.int64, device=model.device)
    if backbone.varied:
        cache, logits = model.extend_varied(cache, token, backbone.exits)
    else:
        cache, logits = model.extend(cache, token)
    float(logits.flatten()[0])  # waits for a GPU
    return cache
