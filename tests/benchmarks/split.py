"""Benchmark `split`: how workers should share reading and decoding, by simulation.

Step times of a model are measured here (`--measure`) or read from a file. The figures of all plans
for a load are printed, then the best plan: the one with the most requests within both limits.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer

import guideway as gw
from benchmarks.charts import chart
from benchmarks.plans import Plan, Served, figures, load_of, plans, saturation, simulate, widest
from benchmarks.steps import SAVED, Steps, measure
from guideway.cli.console import busy, print_json, print_line
from guideway.cli.options import AsJson

CHUNKS: Final = (16, 32, 64, 128, 256, 512)
HEAD: Final = f"{'plan':14}{'first token, s':>16}{'gap, s':>9}{'in time':>9}{'tokens/s':>10}"


def split(
    rate: Annotated[float, typer.Option(help="Requests a second, for all workers.")] = 1.0,
    prompt: Annotated[int, typer.Option(help="Mean tokens of a prompt.", min=1)] = 256,
    output: Annotated[int, typer.Option(help="Mean tokens of a text.", min=1)] = 64,
    workers: Annotated[int, typer.Option(help="Workers.", min=1)] = 4,
    first: Annotated[float, typer.Option(help="Limit of the time to a first token, s.")] = 10.0,
    gap: Annotated[float, typer.Option(help="Limit of the time between tokens, s.")] = 0.5,
    requests: Annotated[int, typer.Option(help="Requests to simulate.", min=2)] = 2000,
    times: Annotated[Path, typer.Option(help="Step times that --measure wrote.")] = SAVED,
    measured: Annotated[
        bool, typer.Option("--measure", help="Measure the built-in model; write --times.")
    ] = False,
    plots: Annotated[Path | None, typer.Option(help="Write charts into this folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Prefill and decode, together or apart: simulated plans for a load."""
    if measured:
        with busy("measuring"):
            model = gw.load("smollm2-135m", device="cpu")
            measure(model, "SmolLM2-135M, float32, one thread of a CPU").save(times)
    steps = Steps.load(times)
    with busy("simulating"):
        saturated = saturation(steps)
        load = Load(rate, prompt, output, requests, first, gap)
        rows = [load.served(plan, steps) for plan in plans(workers, CHUNKS, saturated)]
    best = max(rows, key=lambda row: (row.good, row.tokens, -row.first))
    if plots is not None:
        for name, drawn in charts(steps, load, workers).items():
            (plots / f"{name}.svg").write_text(drawn, encoding="utf-8")
    if as_json:
        print_json({"plans": [asdict(row) for row in rows], "best": best.plan})
        return
    print_line(steps.about)
    print_line(HEAD)
    for row in rows:
        print_line(f"{row.plan:14}{row.first:16.2f}{row.gap:9.3f}{row.good:9.1%}{row.tokens:10.1f}")
    print_line(f"best: {best.plan}")
    texts = round(rate * output * steps.seconds(0, 8) / workers)
    print_line(f"a forward is efficient from {saturated} tokens on")
    print_line(
        f"beside {texts} texts a step ends within {gap:g} s with up to "
        f"{widest(steps, texts, prompt + output, gap)} tokens"
    )


@dataclass(frozen=True, slots=True)
class Load:
    rate: float
    prompt: int
    output: int
    requests: int
    first: float
    gap: float

    def served(self, plan: Plan, steps: Steps) -> Served:
        requests = load_of(self.rate, self.prompt, self.output, self.requests)
        return figures(plan, simulate(plan, steps, requests), self.first, self.gap)


def charts(steps: Steps, load: Load, workers: int) -> dict[str, str]:
    sizes = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
    by_chunk = {size: load.served(Plan(workers, chunk=size), steps) for size in sizes}
    best = max(by_chunk, key=lambda size: by_chunk[size].good)
    compared = [
        Plan(workers),
        Plan(workers, chunk=best),
        *(Plan(workers, n, saturation(steps)) for n in range(1, workers)),
    ]
    rates = [load.rate * share / 10 for share in range(4, 21, 2)]
    goods = {
        str(plan): [
            (rate, replace(load, rate=rate).served(plan, steps).good * 100) for rate in rates
        ]
        for plan in compared
    }
    limits = f"first token within {load.first:g} s, gaps within {load.gap:g} s"
    return {
        "tokens-of-a-forward": chart(
            "Throughput of a forward",
            "tokens of a forward",
            "tokens a second",
            {"measured": [(n, n / seconds) for n, seconds in steps.curve]},
        ),
        "chunk-size": chart(
            f"Chunked prefill at {load.rate:g} requests a second",
            "tokens of a step",
            "seconds",
            {
                "first token, p90": [(n, row.first) for n, row in by_chunk.items()],
                "gap, p99": [(n, row.gap) for n, row in by_chunk.items()],
            },
            log=True,
        ),
        "split": chart(
            f"{workers} workers: {limits}", "requests a second", "% of requests in time", goods
        ),
    }
