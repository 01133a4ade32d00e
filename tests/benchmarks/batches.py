"""Benchmark `batches`: the masks of a batch of 256 rows, beside llguidance's parallel filler.

Both engines run in one process and take turns. Rows stand at different places of the texts of
`mask_cases` that all engines take. A batch is filled three times:

cold     the constraints were just compiled; their cursors were moved there without masks
warm     new cursors at the same places, as when a server decodes other texts
again    the same cursors, which have not moved
"""

import json
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Final

import numpy as np
import typer

import guideway as gw
from benchmarks.mask_cases import CASES, Case
from benchmarks.mask_engines import llguidance_grammar, opened, tokens_of
from benchmarks.report import Line, Rounds, TokenizerFile, rotated, show
from guideway.cli.console import busy
from guideway.cli.options import AsJson
from guideway.vocabulary.backend import Backend

STAGES: Final = ("cold", "warm", "again")
BATCHES: Final = {"person": ("person",), "order": ("order",), "all schemas": ()}

Place = tuple[int, tuple[int, ...]]
"""The number of a case, and the first tokens of one of its texts."""
Fill = Callable[[], object]
Begin = Callable[[Sequence[Case], Sequence[Place]], Callable[[], Fill]]
"""Compiles schemas; the result moves new cursors to the places, and returns what fills them."""


def batches(
    tokenizer: TokenizerFile = None,
    rows: Annotated[int, typer.Option(help="Rows of the batch.", min=1)] = 256,
    rounds: Rounds = 9,
    as_json: AsJson = False,
) -> None:
    """Masks of a batch: gw.fill_bitmask, and llguidance's parallel filler where it is installed."""
    with busy("measuring"):
        backend, vocabulary = opened(tokenizer)
        engines: dict[str, Begin] = {"guideway": _guideway(vocabulary, rows)}
        if find_spec("llguidance"):
            engines["llguidance"] = _llguidance(backend, rows)
        gw.warmup()
        taken = [case for case in CASES if all(_takes(e, case, backend) for e in engines.values())]
        lines = list[Line]()
        for name, titles in BATCHES.items():
            cases = [case for case in taken if case[0] in titles or not titles]
            if cases:  # llguidance does not take all with each tokenizer
                lines += measure(name, cases, backend, engines, rounds)
    show(lines, as_json=as_json)


def measure(
    name: str, cases: Sequence[Case], backend: Backend, engines: dict[str, Begin], rounds: int
) -> list[Line]:
    """Milliseconds of each engine for one batch: the median of rounds, by stage."""
    places = prefixes(cases, backend)
    times: dict[tuple[str, str], list[tuple[float, float]]] = {
        (engine, stage): [] for engine in engines for stage in STAGES
    }
    for turn in range(rounds):
        marked = [(t, {**s, "$comment": f"{t}, round {turn}"}, v) for t, s, v in cases]
        order = rotated([*engines], turn)
        begun = {engine: engines[engine](marked, places) for engine in order}
        fills = {engine: begin() for engine, begin in begun.items()}
        for stage in STAGES:
            for engine in order:
                if stage == "warm":
                    fills[engine] = begun[engine]()
                wall, cpu = time.perf_counter(), time.process_time()
                fills[engine]()
                seconds = time.perf_counter() - wall, time.process_time() - cpu
                times[engine, stage].append(seconds)
    return [
        {
            "schemas": name,
            "engine": engine,
            **{
                f"{stage}, {unit}": 1e3
                * float(np.median([each[n] for each in times[engine, stage]]))
                for stage in STAGES
                for n, unit in enumerate(("ms", "CPU ms"))
            },
        }
        for engine in engines
    ]


def _takes(engine: Begin, case: Case, backend: Backend) -> bool:
    try:
        engine([case], prefixes([case], backend))()
    except ValueError:
        return False
    return True


def prefixes(cases: Sequence[Case], backend: Backend) -> list[Place]:
    """All places of the texts, in an order that mixes the schemas."""
    found = [
        (number, tuple(tokens[:length]))
        for number, (_, _, values) in enumerate(cases)
        for value in values
        for tokens in (tokens_of(backend, json.dumps(value, ensure_ascii=False)),)
        for length in range(len(tokens) + 1)
    ]
    return [found[place] for place in np.random.default_rng(0).permutation(len(found))]


def _guideway(vocabulary: gw.Vocabulary, rows: int) -> Begin:
    bitmask = np.zeros((rows, -(-vocabulary.width // 32)), np.int32)

    def begin(cases: Sequence[Case], places: Sequence[Place]) -> Callable[[], Fill]:
        constraints = [gw.compile(gw.JsonSchema(schema), vocabulary) for _, schema, _ in cases]

        def moved() -> Fill:
            matchers = list[gw.Matcher | None]()
            for row in range(rows):
                number, tokens = places[row % len(places)]
                matchers.append(matcher := gw.Matcher(constraints[number]))
                if not matcher.accept_tokens(tokens):
                    raise ValueError(cases[number])
            return lambda: gw.fill_bitmask(matchers, bitmask)

        return moved

    return begin


def _llguidance(backend: Backend, rows: int) -> Begin:
    library, fills = import_module("llguidance"), import_module("llguidance.numpy")
    tokenizer, executor = library.LLTokenizer(backend.tokenizer.to_str()), library.LLExecutor()
    bitmask = fills.allocate_token_bitmask(rows, tokenizer.vocab_size)

    def begin(cases: Sequence[Case], places: Sequence[Place]) -> Callable[[], Fill]:
        grammars = [llguidance_grammar(schema) for _, schema, _ in cases]
        compiled = [library.LLMatcher(tokenizer, grammar) for grammar in grammars]

        def moved() -> Fill:
            matchers: list[tuple[Any, int]] = []
            for row in range(rows):
                number, tokens = places[row % len(places)]
                matcher = compiled[number].deep_copy()
                if not matcher.consume_tokens(list(tokens)):
                    raise ValueError(cases[number])
                matchers.append((matcher, row))
            return lambda: fills.fill_next_token_bitmask_par(executor, matchers, bitmask)

        return moved

    return begin
