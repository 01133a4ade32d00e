"""Benchmark `masks`: how long masks take, here, on this machine, beside other engines.

Engines take turns with each schema in one process, in another order each time, so that what else
the machine does hits all alike. A schema compiled a second time carries another comment: no engine
can hand out what it compiled before, while what it knows of strings and numbers it may keep.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import guideway as gw
from benchmarks.mask_cases import CASES, Case
from benchmarks.mask_engines import Compile, Schema, engines, opened, tokens_of
from benchmarks.report import Engines, Line, Rounds, TokenizerFile, chosen, rotated, show
from guideway.cli.console import busy
from guideway.cli.options import AsJson
from guideway.vocabulary.backend import Backend


@dataclass(frozen=True, slots=True)
class Timings:
    """What one engine did: seconds, and titles of schemas."""

    steps: list[float] = field(default_factory=list[float])  # a mask and the commit of a token
    firsts: list[float] = field(default_factory=list[float])  # compiling, and the first mask
    refused: set[str] = field(default_factory=set[str])
    wrong: set[str] = field(default_factory=set[str])  # an allowed text was not allowed


def masks(
    tokenizer: TokenizerFile = None,
    rounds: Rounds = 3,
    engine: Engines = None,
    as_json: AsJson = False,
) -> None:
    """Masks of small JSON Schemas: guideway, and other engines that are installed.

    llguidance and xgrammar take part if they are (pip install llguidance xgrammar). Each engine
    compiles a schema and computes the first mask, then goes through texts that the schema allows,
    a mask and a commit for each token.
    """
    with busy("measuring"):
        backend, vocabulary = opened(tokenizer)
        found = chosen(engines(backend, vocabulary), engine)
        gw.warmup()
        timings = measure(found, CASES, backend, rounds)
    show([summed(name, timing) for name, timing in timings.items()], as_json=as_json)


def measure(
    engines: Mapping[str, Compile], cases: Sequence[Case], backend: Backend, rounds: int
) -> dict[str, Timings]:
    timings = {name: Timings() for name in engines}
    for turn in range(rounds):
        for number, (title, schema, values) in enumerate(cases):
            marked = {**schema, "$comment": f"{title}, round {turn}"}
            texts = [tokens_of(backend, json.dumps(each, ensure_ascii=False)) for each in values]
            for name in rotated([*engines], number + turn):
                _one(engines[name], title, marked, texts, timings[name])
    return timings


def summed(name: str, timings: Timings) -> Line:
    """The figures of one engine, 0 where it did nothing."""
    steps = 1e6 * np.array(timings.steps or [0.0])
    firsts = 1e3 * np.array(timings.firsts or [0.0])
    return {
        "engine": name,
        "mask + commit, mean, µs": float(steps.mean()),
        **{f"p{share}, µs": float(np.percentile(steps, share)) for share in (50, 99, 99.9)},
        "compile + first mask, p50, ms": float(np.percentile(firsts, 50)),
        "p99, ms": float(np.percentile(firsts, 99)),
        "steps": len(timings.steps),
        "refused": sorted(timings.refused),
        "wrong": sorted(timings.wrong),
    }


def _one(
    compiled: Compile, title: str, schema: Schema, texts: Sequence[Sequence[int]], timings: Timings
) -> None:
    begun = time.perf_counter()
    try:
        begin = compiled(schema)
        begin().mask()
    except Exception:  # noqa: BLE001  each library has errors of its own
        timings.refused.add(title)
        return
    timings.firsts.append(time.perf_counter() - begun)
    for tokens in texts:
        text = begin()
        for token in tokens:
            begun = time.perf_counter()
            allowed = text.step(token)
            timings.steps.append(time.perf_counter() - begun)
            if not allowed:
                break
        if not text.ends():
            timings.wrong.add(title)
