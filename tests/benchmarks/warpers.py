"""Benchmark `warpers`: what choosing a token costs, beside transformers' processors.

Both get the same rows, normal noise with the deviation of a language model's logits, and take turns
at each round. The figure is the best of the rounds, which is disturbed least by what else the
machine does. What is timed is what a step does: filters and penalties are set up before.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

import torch
import typer
from torch import Tensor
from transformers.generation import logits_process as library

import guideway as gw
from benchmarks.report import Line, Rounds, in_turns, show
from guideway.cli.console import busy
from guideway.cli.options import AsJson
from guideway.generation.draw import Penalties
from guideway.logits.mask import device_of
from guideway.logits.warp import Warps, warp
from guideway.sampling.history import History, Rules

Chain: TypeAlias = Callable[[Tensor], Tensor]
WIDTHS: Final = (49_152, 128_256, 262_144)  # SmolLM2, Llama 3, Gemma 3
PAST: Final = 1000  # tokens of the prompt

CASES: Final[Mapping[str, dict[str, Any]]] = {
    "temperature": {"temperature": 0.7},
    "top-k": {"top_k": 50},
    "top-p": {"top_p": 0.9},
    "min-p": {"min_p": 0.05},
    "typical": {"typical_p": 0.9},
    "epsilon": {"epsilon_cutoff": 3e-4},
    "eta": {"eta_cutoff": 3e-4},
    "top-H": {"top_h": 0.4},
    "usual chain": {"temperature": 0.7, "top_k": 50, "top_p": 0.95},
    "all filters": {
        "temperature": 0.7, "top_h": 0.9, "top_k": 50, "top_p": 0.95, "min_p": 0.01,
        "typical_p": 0.95, "epsilon_cutoff": 1e-4, "eta_cutoff": 1e-4,
    },
    "repetition": {"repetition_penalty": 1.1},
    "no repeated 3-grams": {"no_repeat_ngram_size": 3},
    "50 biases": {"sequence_bias": {(n,): 1.0 for n in range(50)} | {(3, 4): 1.0}},
    "50 bad words": {"bad_words_ids": [[n, n + 1] for n in range(49)] + [[7]]},
}  # fmt: skip


def warpers(
    batch: Annotated[int, typer.Option(help="Rows of a batch.", min=1)] = 1,
    rounds: Rounds = 20,
    device: Annotated[str, typer.Option(help="Where the logits are: cpu or cuda.")] = "cpu",
    spread: Annotated[float, typer.Option(help="Standard deviation of the logits.")] = 3.0,
    width: Annotated[
        list[int] | None, typer.Option(help="Tokens of a vocabulary; several times for several.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Filters and penalties on rows of logits: guideway's and transformers', side by side."""
    device_of(device)
    with busy("measuring"):
        lines = [
            measure(stage, size, batch, rounds, device, spread)
            for size in width or WIDTHS
            for stage in CASES
        ]
    show(lines, as_json=as_json)


def measure(stage: str, width: int, batch: int, rounds: int, device: str, spread: float) -> Line:
    noise = torch.Generator().manual_seed(0)
    row = (torch.randn(batch, width, generator=noise) * spread).to(device)
    prompt = torch.randint(0, width, (batch, PAST), generator=noise).to(device)
    with torch.inference_mode():
        chains = {
            "theirs": _theirs(CASES[stage], prompt),
            "ours": _ours(CASES[stage], prompt, width),
        }
        works = {name: partial(_seconds, chain, row) for name, chain in chains.items()}
        times = in_turns(works, rounds, warm=2)
    theirs, ours = (1e6 * min(times[name]) for name in chains)
    return {
        "stage": stage,
        "tokens": width,
        "transformers, µs": theirs,
        "guideway, µs": ours,
        "ratio": theirs / ours,
    }


def _seconds(chain: Chain, row: Tensor) -> float:
    begun = time.perf_counter()
    float(chain(row)[0, 0])  # waits for a GPU
    return time.perf_counter() - begun


def _ours(settings: Mapping[str, Any], prompt: Tensor, width: int) -> Chain:
    sampling = gw.Sampling.of(settings)
    rules = Rules.of(sampling, gw.Vocabulary([b"a", b"b"], {1}, width=width))
    histories = [History.begin(rules, [int(token) for token in tokens]) for tokens in prompt]
    penalties = Penalties.of([rules] * len(prompt), prompt.device)
    warps = Warps.of([(sampling.stages, sampling.warps)] * len(prompt), prompt.device)
    return lambda row: warp(penalties.apply(row, histories), warps).row


def _theirs(settings: Mapping[str, Any], prompt: Tensor) -> Chain:
    makers: dict[str, Callable[..., Any]] = {
        "sequence_bias": library.SequenceBiasLogitsProcessor,
        "repetition_penalty": library.RepetitionPenaltyLogitsProcessor,
        "no_repeat_ngram_size": library.NoRepeatNGramLogitsProcessor,
        "bad_words_ids": library.NoBadWordsLogitsProcessor,
        "temperature": library.TemperatureLogitsWarper,
        "top_h": library.TopHLogitsWarper,
        "top_k": library.TopKLogitsWarper,
        "top_p": library.TopPLogitsWarper,
        "min_p": library.MinPLogitsWarper,
        "typical_p": library.TypicalLogitsWarper,
        "epsilon_cutoff": library.EpsilonLogitsWarper,
        "eta_cutoff": partial(library.EtaLogitsWarper, device=str(prompt.device)),
    }
    chain: Any = library.LogitsProcessorList(
        [make(settings[name]) for name, make in makers.items() if name in settings]
    )
    return lambda row: chain(prompt, row)
