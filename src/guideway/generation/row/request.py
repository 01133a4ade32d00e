"""Values: requests for a row of a batch, events, and costs."""

import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import torch

from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import GuidewayError
from guideway.generation.row.trace import TracedStep
from guideway.sampling.settings import Sampling

FinishReason: TypeAlias = Literal["stop", "length", "interrupted", "error"]
OnError: TypeAlias = Callable[[int, GuidewayError], object]
"""Is told which request failed and why; it raises, or the others go on."""
DEFAULT: Final = Sampling()


@dataclass(frozen=True, slots=True)
class Request:
    """One text to generate.

    Attributes:
        prompt: the tokens before the text.
        constraint: the language of the text, None for any text.
        joint: bytes between the prompt and the text that the model spells first
            (`generation.ensemble.prompt`).
        taken: tokens taken back from the end of the prompt, if the joint is their spelling: then
            free text must begin with it too (`vocabulary.healing`).
        sample: number among the samples of the prompt; with the seed it determines random choices.
        others: tokens of the other contexts of an expression (`generation.ensemble.ensemble`), in
            their order.
        asked: the prompt as a text, for classifiers; "" for chats.
        trace: tokens kept of each stage for `Result.trace`; 0 keeps no trace.
        free: True if the text may be any, cut at `max_new_tokens`, although a constraint restricts
            its tokens.
    """

    prompt: tuple[int, ...]
    constraint: CompiledConstraint | None = None
    sampling: Sampling = DEFAULT
    joint: bytes = b""
    sample: int = 0
    others: tuple[tuple[int, ...], ...] = ()
    asked: str = ""
    trace: int = 0
    taken: tuple[int, ...] = ()
    free: bool = False

    @property
    def held(self) -> bool:
        """Return True if some tokens are not allowed."""
        return self.constraint is not None or bool(self.taken)

    @property
    def prompts(self) -> tuple[tuple[int, ...], ...]:
        """Tokens of each context, the main one first."""
        return (self.prompt, *self.others)

    def samples(self) -> Iterator["Request"]:
        """`num_return_sequences` requests that differ in `sample` and share one seed."""
        sampling = self.sampling
        if sampling.samples and sampling.seed is None:
            sampling = replace(sampling, seed=secrets.randbits(63))
        for sample in range(sampling.num_return_sequences):
            yield replace(self, sampling=sampling, sample=sample)


def raise_error(row: int, error: GuidewayError) -> None:
    """Raise the error of a row, with its number."""
    raise error.in_row(row)


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one row.

    Attributes:
        finish_reason: why the row ends with this event, None if it continues.
        steps: the traced steps since the last event, if the request asks for a trace.
    """

    row: int  # index of the request in the batch
    token: int | None  # the token drawn, None for an end id or an interruption
    text: str  # new whole characters that cannot become part of a stop string
    finish_reason: FinishReason | None = None
    steps: tuple[TracedStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Stats:
    """Costs of a generation. Times are in seconds.

    Attributes:
        time_to_first_token: from the call to the first token, with the prompt's forward pass.
        queue_time: the part of it before an engine took the request, compiling included; else 0.
        time_per_output_token: mean time between two tokens after the first; 0 for one token.
        tokens_per_second: tokens of this row per second of its whole time.
        mask_time: time spent in the constraint, all steps together.
        mass_removed: mean share of the model's probability that the constraint removed, per step.
        peak_memory: the most bytes used so far: of the device's memory on a GPU, else by the whole
            process (0 if the system does not report it).
        prompt_tokens: tokens of the prompt that the model read, with those of a chat template.
        cached_tokens: those of them that the prefix cache had, so that they were not read again; 0
            in a search.
        completion_tokens: tokens of the text, without end ids.
        forwards: calls of the model for this row; reading the prompt is one.
        drafted: tokens that speculation proposed (`generation.drafts`).
        accepted: those of them that the model would have chosen too.
    """

    time_to_first_token: float = 0.0
    time_per_output_token: float = 0.0
    tokens_per_second: float = 0.0
    mask_time: float = 0.0
    mass_removed: float = 0.0
    peak_memory: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    forwards: int = 0
    drafted: int = 0
    accepted: int = 0
    queue_time: float = 0.0


@dataclass(frozen=True, slots=True)
class Particle:
    """One of the texts of sequential Monte Carlo.

    Attributes:
        text: the text.
        tokens: its tokens, without end ids.
        log_weight: the logarithm of its weight; weights of a population need not sum to 1.
    """

    text: str
    tokens: tuple[int, ...]
    log_weight: float


@dataclass(frozen=True, slots=True)
class Population:
    """The result of sequential Monte Carlo.

    Attributes:
        particles: the texts with their weights, without those of weight 0.
        log_evidence: the logarithm of an unbiased estimate of the probability that the model gives
            to the whole language (times the critic's factor, if there is one).
        effective_sample_size: (Σ weight)² / Σ weight², from 1 to the number of particles.
    """

    particles: tuple[Particle, ...]
    log_evidence: float
    effective_sample_size: float


def peak_memory(device: torch.device) -> int:
    """Most bytes used so far: by torch on a GPU, else by the process; 0 if unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # bytes there, kilobytes elsewhere
