"""What one row of a batch is asked for, and what comes out of it. Values only."""

import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, final

from guideway.constraints.compiled import CompiledConstraint
from guideway.engine.trace import TracedStep
from guideway.errors import GuidewayError
from guideway.sampling.settings import Sampling

FinishReason: TypeAlias = Literal["stop", "length", "interrupted", "error"]
OnError: TypeAlias = Callable[[int, GuidewayError], object]
"""Is told which request failed and why; it raises, or the others go on."""
DEFAULT: Final = Sampling()


@final
@dataclass(frozen=True, slots=True)
class Request:
    """One text to generate.

    Attributes:
        prompt: the tokens that the text follows.
        constraint: the language of the text, None for any text.
        sampling: how tokens are chosen and where the text ends.
        joint: bytes between the prompt and the text that belong to neither: the model spells them
            first, and they are not part of the text (`engine.prompt` says which).
        taken: the tokens at the end of the prompt that were taken back, if the joint is what they
            spell: then free text has to begin with it, too (`vocabulary.healing`).
        sample: number of this sample among those of the same prompt; with the seed it decides the
            random choices.
        others: the tokens that the other contexts of an expression read in place of the prompt
            (`engine.ensemble`), in their order.
        asked: the prompt as a text, for classifiers; "" for chats.
        trace: how many tokens of each stage are kept for `Completion.trace`; 0 keeps no trace.
        free: whether the text may be any, and is cut at `max_new_tokens`, though a constraint says
            which tokens spell it.
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
        """Whether anything is left out of what the model may write."""
        return self.constraint is not None or bool(self.taken)

    @property
    def prompts(self) -> tuple[tuple[int, ...], ...]:
        """What each context reads, the main one first."""
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


@final
@dataclass(frozen=True, slots=True)
class Event:
    """What one step brought to one row.

    Attributes:
        row: which request, by its place in the batch.
        token: the token drawn, None if it was an end id or the row was interrupted.
        text: what may be shown now: whole characters that cannot become part of a stop string.
        finish_reason: why the row ends with this event, None while it goes on.
    """

    row: int
    token: int | None
    text: str
    finish_reason: FinishReason | None = None


@final
@dataclass(frozen=True, slots=True)
class Stats:
    """What a generation cost. Times are in seconds.

    Attributes:
        time_to_first_token: from the call to the first token, the prompt's forward included.
        time_per_output_token: mean time between two tokens after the first; 0 for one token.
        tokens_per_second: tokens of this row per second of its whole time.
        mask_time: time spent in the constraint, all steps together.
        mass_removed: mean share of the model's probability that the constraint took away, per step.
        peak_memory: the most bytes held so far: of the device's memory on a GPU, else by the whole
            process (0 where the system does not say).
        prompt_tokens: tokens of the prompt that the model read, those of a chat template included.
        completion_tokens: tokens of the text, end ids left out.
    """

    time_to_first_token: float = 0.0
    time_per_output_token: float = 0.0
    tokens_per_second: float = 0.0
    mask_time: float = 0.0
    mass_removed: float = 0.0
    peak_memory: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@final
@dataclass(frozen=True, slots=True)
class Particle:
    """One of the texts that sequential Monte Carlo ends with.

    Attributes:
        text: the text.
        tokens: its tokens, end ids left out.
        log_weight: the logarithm of its weight; weights of a population need not sum to 1.
    """

    text: str
    tokens: tuple[int, ...]
    log_weight: float


@final
@dataclass(frozen=True, slots=True)
class Population:
    """What sequential Monte Carlo ends with.

    Attributes:
        particles: the texts with their weights; those that came to nothing are left out.
        log_evidence: the logarithm of an unbiased estimate of the probability that the model gives
            to the whole language (times the critic's worth, where there is one).
        effective_sample_size: (Σ weight)² / Σ weight², from 1 to the number of particles.
    """

    particles: tuple[Particle, ...]
    log_evidence: float
    effective_sample_size: float


@final
@dataclass(frozen=True, slots=True)
class Completion:
    """One generated text.

    Attributes:
        tokens: the tokens drawn, end ids left out. Where a stop string ended the text they go on to
            the end of the token that completed it.
        text: their text without the joint, cut before the stop string.
        logprobs: for each token, the model's own log-probability of it (natural logarithm), before
            the constraint, temperature and filters, as vLLM and OpenAI report it; of an
            expression, that of its arithmetic and its own filters, before classifiers.
        log_allowed: for each step (one more than tokens where an end id was drawn), the log of the
            model's probability of all tokens that were allowed: 0 without a constraint. A token's
            log-probability under the constraint is its `logprob - log_allowed`.
        log_end: the model's own log-probability of the end id, 0 where none was drawn.
        finish_reason: "stop" (an end id, a stop string, or nothing more could follow), "length"
            (max_new_tokens ended a text that could go on, or took a token away that would have been
            chosen) or "interrupted". "error" where the row failed.
        seed: the seed of its random choices, None where none were made.
        stats: what it cost.
        trace: what each stage of each step did, where it was asked for.
        score: what a search ranked it by: of beams the log-probability over the power of the
            length, of stochastic beams the perturbed log-probability, of contrastive search the
            mean of what its tokens were chosen by.
        weight: the importance weight of a text drawn without replacement.
        population: what sequential Monte Carlo ended with; the text is a draw from it.
        attempts: how many texts rejection drew for this one: it, and those given up since the one
            before.
        error: why the row failed.
    """

    tokens: tuple[int, ...]
    text: str
    logprobs: tuple[float, ...]
    log_allowed: tuple[float, ...]
    finish_reason: FinishReason
    seed: int | None
    stats: Stats = field(compare=False)
    trace: tuple[TracedStep, ...] | None = None
    score: float | None = None
    weight: float | None = None
    population: Population | None = None
    attempts: int | None = None
    log_end: float = 0.0
    error: GuidewayError | None = None

    @property
    def log_z(self) -> float:
        """The allowed mass of all steps, as a logarithm: how far from the model this is."""
        return math.fsum(self.log_allowed)
