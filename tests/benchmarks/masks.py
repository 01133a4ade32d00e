"""Benchmark `masks`: how long masks take, here, on this machine, beside other engines.

Engines take turns with each schema in one process, in another order each time, so that what else
the machine does hits all alike. A schema compiled a second time carries another comment: no engine
can hand out what it compiled before, while what it knows of strings and numbers it may keep.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, final

import typer

from guideway.cli.console import busy, print_json, print_line, warn
from guideway.cli.options import AsJson

if TYPE_CHECKING:
    from benchmarks.mask_cases import Case
    from benchmarks.mask_engines import Compile
    from guideway.vocabulary.backend import Backend

HEAD: Final = (
    f"{'':12}{'mask + commit, µs':^36}{'compile + first mask, ms':^28}\n"
    f"{'':12}{'mean':>9}{'p50':>9}{'p99':>9}{'p99.9':>9}{'p50':>14}{'p99':>14}"
    f"{'refused':>10}{'wrong':>8}"
)


@final
@dataclass(frozen=True, slots=True)
class Timings:
    """What one engine did.

    Attributes:
        steps: for each schema, seconds of each mask with the commit of a token.
        firsts: seconds of each compilation with the first mask.
        refused: schemas that it refused.
        wrong: schemas with an allowed text that it did not allow.
    """

    steps: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    firsts: list[float] = field(default_factory=list[float])
    refused: set[str] = field(default_factory=set[str])
    wrong: set[str] = field(default_factory=set[str])


@final
@dataclass(frozen=True, slots=True)
class Figures:
    """The same, summed up: microseconds for steps, milliseconds for compilations."""

    engine: str
    mean: float
    p50: float
    p99: float
    p999: float
    first_p50: float
    first_p99: float
    steps: int
    refused: list[str]
    wrong: list[str]


def masks(
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="A tokenizer.json, or its folder; the built-in model's if not given."),
    ] = None,
    rounds: Annotated[int, typer.Option(help="How often each schema is compiled.", min=1)] = 3,
    engine: Annotated[
        list[str] | None, typer.Option(help="Only this engine; may be given several times.")
    ] = None,
    by_schema: Annotated[
        bool, typer.Option("--by-schema", help="Also the mean and the slowest step of each schema.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Masks of small JSON Schemas: guideway, its plain engine, and others that are installed.

    llguidance and xgrammar take part if they are (pip install llguidance xgrammar). Each engine
    compiles a schema and computes the first mask, then goes through texts that the schema allows,
    a mask and a commit for each token.
    """
    from benchmarks.mask_cases import CASES
    from benchmarks.mask_engines import engines, opened
    from guideway.constraint.caches import warmup

    with busy("measuring"):
        backend, vocabulary = opened(tokenizer)
        found = engines(backend, vocabulary)
        for name in engine or ():
            if name not in found:
                raise typer.BadParameter(f"there is no engine {name!r} here, only {list(found)}")
        warmup()
        chosen = {name: found[name] for name in engine or found}
        timings = measure(chosen, CASES, backend, rounds)
    figures = [summed(name, timing) for name, timing in timings.items()]
    if as_json:
        print_json([asdict(one) for one in figures])
        return
    print_line(HEAD)
    for one in figures:
        print_line(line(one))
        for word, names in (("refused", one.refused), ("does not allow", one.wrong)):
            if names:
                warn(f"{one.engine} {word}: {', '.join(names)}")
    if by_schema:
        print_line("\nmean and slowest mask + commit, µs")
        for row in schema_lines(timings):
            print_line(row)


def measure(
    engines: "Mapping[str, Compile]",
    cases: "Sequence[Case]",
    backend: "Backend",
    rounds: int,
) -> dict[str, Timings]:
    """The timings of each engine over all cases."""
    timings = {name: Timings() for name in engines}
    names = list(engines)
    for turn in range(rounds):
        for number, (title, schema, values) in enumerate(cases):
            marked = {**schema, "$comment": f"{title}, round {turn}"}
            texts = [_tokens(backend, value) for value in values]
            first = (number + turn) % len(names)
            for name in names[first:] + names[:first]:
                _one(engines[name], title, marked, texts, timings[name])
    return timings


def summed(name: str, timings: Timings) -> Figures:
    """The figures of one engine, 0 where it did nothing."""
    import numpy as np

    listed = [step for steps in timings.steps.values() for step in steps]
    steps = 1e6 * np.array(listed or [0.0])
    firsts = 1e3 * np.array(timings.firsts or [0.0])
    return Figures(
        engine=name,
        mean=float(steps.mean()),
        p50=float(np.percentile(steps, 50)),
        p99=float(np.percentile(steps, 99)),
        p999=float(np.percentile(steps, 99.9)),
        first_p50=float(np.percentile(firsts, 50)),
        first_p99=float(np.percentile(firsts, 99)),
        steps=len(listed),
        refused=sorted(timings.refused),
        wrong=sorted(timings.wrong),
    )


def line(figures: Figures) -> str:
    """A row of the table."""
    steps = (figures.mean, figures.p50, figures.p99, figures.p999)
    firsts = (figures.first_p50, figures.first_p99)
    return (
        f"{figures.engine:12}"
        + "".join(f"{value:9.1f}" for value in steps)
        + "".join(f"{value:14.2f}" for value in firsts)
        + f"{len(figures.refused):10}{len(figures.wrong):8}"
    )


def schema_lines(timings: Mapping[str, Timings]) -> list[str]:
    """A table with a row for each schema, and two columns for each engine."""
    titles = dict.fromkeys(title for timing in timings.values() for title in timing.steps)
    lines = [" " * 14 + "".join(f"{name:>22}" for name in timings)]
    for title in titles:
        row = f"{title:14}"
        for timing in timings.values():
            steps = timing.steps.get(title, [])
            row += (
                f"{1e6 * sum(steps) / len(steps):11.1f}{1e6 * max(steps):11.1f}"
                if steps
                else (" " * 22)
            )
        lines.append(row)
    return lines


def _one(
    compiled: "Compile",
    title: str,
    schema: Mapping[str, Any],
    texts: list[list[int]],
    timings: Timings,
) -> None:
    begun = time.perf_counter()
    try:
        begin = compiled(schema)
        begin().mask()
    except Exception:  # noqa: BLE001  each library has errors of its own
        timings.refused.add(title)
        return
    timings.firsts.append(time.perf_counter() - begun)
    steps = timings.steps.setdefault(title, [])
    for tokens in texts:
        text = begin()
        for token in tokens:
            begun = time.perf_counter()
            allowed = text.step(token)
            steps.append(time.perf_counter() - begun)
            if not allowed:
                break
        if not text.ends():
            timings.wrong.add(title)


def _tokens(backend: "Backend", value: object) -> list[int]:
    import json

    tokens = backend.encode(json.dumps(value, ensure_ascii=False))
    if tokens is None:
        raise typer.BadParameter("this tokenizer cannot encode the texts of the benchmark")
    return tokens
