"""Draw one token for each row: mask, bias and penalties, temperature and filters, draw.

The mask comes first, so a nucleus is computed on allowed tokens and always contains one. Then come
biases, penalties and bans (`Penalties`), temperature and filters in the order of the
settings (`logits.warp`), and the draw. All runs on the device of the logits, in float32, with one
transfer.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.errors import DeadEndError, GuidewayError, ModelError
from guideway.generation.marking import Marking, early, late
from guideway.generation.row.request import Request
from guideway.logits import penalties
from guideway.logits.filters import surprises
from guideway.logits.mask import send
from guideway.logits.rows import LEAST, Rows, log_mass
from guideway.logits.warp import Moment, Warps, Watch, warp
from guideway.sampling.history import NONE, History, Ids, Rules
from guideway.sampling.noise import categorical, coins, keys, streams
from guideway.vocabulary.vocabulary import Vocabulary

LARGEST: Final = 1e30

Histories: TypeAlias = Sequence[History]
Stage: TypeAlias = Callable[[Tensor, Histories], Tensor]


@dataclass(frozen=True, slots=True)
class Penalties:
    """The stages of a batch before temperature, as (name, function).

    The order is transformers': bias, repetition, presence and frequency, the flat penalty, DRY, bad
    words, repeated n-grams. The ban of n-grams is skipped if it would leave nothing, so it comes
    after bad words. Constant settings are uploaded once; tokens of the text at each step.
    """

    stages: tuple[tuple[str, Stage], ...]

    @classmethod
    def of(cls, rules: Sequence[Rules], device: torch.device) -> "Penalties":
        settings = [each.sampling for each in rules]
        stages = list[tuple[str, Stage]]()
        if any(each.logit_bias for each in settings):
            stages.append(("logit_bias", _bias(rules, device)))
        if any(each.repetition_penalty not in (None, 1) for each in settings):
            factor = _column([each.repetition_penalty or 1 for each in settings], device)
            factor.clamp_(min=1 / LARGEST)
            stages.append(("repetition_penalty", _seen(penalties.repetition, factor)))
        if any(each.presence_penalty or each.frequency_penalty for each in settings):
            presence = _column([each.presence_penalty or 0 for each in settings], device)
            frequency = _column([each.frequency_penalty or 0 for each in settings], device)
            stages.append(("presence_frequency", _counted(presence, frequency)))
        if any(each.flat_penalty for each in settings):
            amount = _column([each.flat_penalty or 0 for each in settings], device)
            stages.append(("flat_penalty", _seen(penalties.flat, amount)))
        if any(each.dry_multiplier for each in settings):
            stages.append(("dry", _dry))
        if any(each.bad_words_ids for each in settings):
            stages.append(("bad_words_ids", _words(rules, device)))
        if any(each.no_repeat_ngram_size for each in settings):
            stages.append(("no_repeat_ngram_size", _ngrams))
        return cls(tuple(stages))

    def apply(
        self,
        row: Float[Tensor, "batch vocabulary"],
        histories: Sequence[History],
        watch: Watch | None = None,
    ) -> Float[Tensor, "batch vocabulary"]:
        """Apply all stages; `watch` gets the name and rows of each."""
        for name, stage in self.stages:
            row = stage(row, histories)
            if watch is not None:
                watch(name, row)
        return row


def _column(values: Iterable[float | int], device: torch.device) -> Float[Tensor, "batch"]:
    """One number a row, far enough from what float32 has that sums and products stay finite."""
    bounded = [min(max(float(value), -LARGEST), LARGEST) for value in values]
    return torch.tensor(bounded, dtype=torch.float32, device=device)


def _seen(function: Callable[[Tensor, Tensor, Tensor], Tensor], amount: Tensor) -> Stage:
    """A penalty on all tokens of prompt and text."""

    def stage(row: Tensor, histories: Histories) -> Tensor:
        # Shorter rows are filled up with a token of their own: to come twice changes nothing.
        ids = _padded([history.seen for history in histories], row.device)
        return function(row, ids, amount)

    return stage


def _counted(presence: Tensor, frequency: Tensor) -> Stage:
    def stage(row: Tensor, histories: Histories) -> Tensor:
        texts = [history.generated for history in histories]
        ids = _padded(texts, row.device)
        lengths = send([[len(text)] for text in texts], row.device)
        there = (torch.arange(ids.shape[1], device=row.device) < lengths).to(row.dtype)
        return penalties.counted(row, ids, there, presence, frequency)

    return stage


def _dry(row: Tensor, histories: Histories) -> Tensor:
    ids, amounts = zip(*(history.dry() for history in histories), strict=True)
    marks = penalties.TokenValues.of(ids, [-each for each in amounts], row.device)
    return penalties.biased(row, None, marks)


def _ngrams(row: Tensor, histories: Histories) -> Tensor:
    width = row.shape[1]
    found = [history.repeated_ngrams() for history in histories]
    marks = penalties.TokenValues.of([ids[ids < width] for ids in found], None, row.device)
    return row if marks is None else penalties.banned_if_others(row, marks)


def _words(rules: Sequence[Rules], device: torch.device) -> Stage:
    always = [[ids for ids, _ in each.words.always] for each in rules]
    fixed = penalties.TokenValues.of(
        [np.unique(np.concatenate([NONE, *ids])) for ids in always], None, device
    )

    def stage(row: Tensor, histories: Histories) -> Tensor:
        moving = penalties.TokenValues.of(
            [history.bad_words() for history in histories], None, row.device
        )
        if fixed is None and moving is None:
            return row
        left = penalties.banned(row, fixed, moving)
        for place, history in enumerate(histories):
            if history.taken:
                left[place, history.taken[0]] = row[place, history.taken[0]]
        return left

    return stage


def _bias(rules: Sequence[Rules], device: torch.device) -> Stage:
    fixed = None
    if any(each.bias.always for each in rules):
        whole = np.zeros((len(rules), rules[0].vocabulary.width), np.float32)
        for row, each in zip(whole, rules, strict=True):
            for ids, value in each.bias.always:
                row[ids] += np.float32(value)
        fixed = send(whole, device)

    def stage(row: Tensor, histories: Histories) -> Tensor:
        each = [history.biases() for history in histories]
        ids = [np.concatenate([NONE, *(ids for ids, _ in groups)]) for groups in each]
        values = [
            np.concatenate([np.zeros(0), *(np.full(len(ids), value) for ids, value in groups)])
            for groups in each
        ]
        return penalties.biased(row, fixed, penalties.TokenValues.of(ids, values, row.device))

    return stage


def _padded(rows: Sequence[Ids], device: torch.device) -> Int[Tensor, "batch longest"]:
    """Rows of ids as one tensor, padded with their own first token, or token 0."""
    ids = np.zeros((len(rows), max(map(len, rows))), np.int32)  # half of what int64 would be
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        ids[place, len(row) :] = row[0] if len(row) else 0
    return send(ids, device).long()


@dataclass(frozen=True, slots=True)
class Spread:
    """Rows after the constraint, before the draw.

    Attributes:
        values: logits, not normalised; −∞ for tokens that may not be drawn.
        reported: logits of the reported probabilities: before classifiers.
        total: logarithm of the whole mass, the denominator of reported probabilities; NaN if a
            model's logits have NaN or +∞.
        kept: logarithm of the share that the constraint allows; 0 without one.
    """

    values: Float[Tensor, "batch vocabulary"]
    reported: Float[Tensor, "batch vocabulary"]
    total: Float[Tensor, "batch"]
    kept: Float[Tensor, "batch"]

    @classmethod
    def of(cls, rows: Rows, allowed: Bool[Tensor, "batch vocabulary"], *, held: bool) -> "Spread":
        """Apply the mask to the rows of an expression; `held`: any row has a constraint."""
        total = rows.total()
        values = rows.closed(allowed)
        reported = values if rows.own is None else rows.reported(allowed)
        if not held:
            return cls(values, reported, total, torch.zeros_like(total))
        mass = log_mass(reported)
        # The allowed mass can be so small that the difference is beyond float32.
        kept = (mass - total).clamp(min=LEAST).where(mass > -math.inf, -math.inf)
        return cls(values, reported, total, kept)


def logits_error(total: float, step: int) -> ModelError | None:
    """The error of a row of logits, by the logarithm of its whole mass: NaN or +∞ is no mass."""
    if not (math.isnan(total) or total == math.inf):
        return None
    return ModelError(
        f"the model gave NaN or infinite logits at step {step}: its weights or its precision are "
        "at fault (float16 overflows; try float32 or bfloat16)"
    )


NAMED: Final = 5  # bad words in a message


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of the rows of a batch, as tensors."""

    penalties: Penalties
    warps: Warps
    streams: Int[Tensor, "batch"]  # noise key of each row
    random: tuple[bool, ...]  # rows that draw at random; others take the most probable token
    held: bool  # True if any row has a constraint

    @property
    def kind(self) -> Hashable | None:
        """The settings of a captured draw, without `numbers`; None if the host takes part in it."""
        stages, random = self.warps.stages, set(self.random)
        mirostat = any(stage.name == "mirostat" for stage in stages)
        if len(random) > 1 or mirostat or self.penalties.stages:
            return None
        return self.held, *random, *((stage.name, stage.kind) for stage in stages)

    @property
    def numbers(self) -> list[Tensor]:
        """The tensors that differ between plans of one kind."""
        return [self.streams, *(each for stage in self.warps.stages for each in stage.numbers)]

    @classmethod
    def of(
        cls, requests: Sequence[Request], histories: Sequence[History], device: torch.device
    ) -> "Plan":
        settings = [request.sampling for request in requests]
        samples = [(request.sampling.seed or 0, request.sample) for request in requests]
        exempt = _never_left_out(histories[0].rules.vocabulary) if histories else ()
        return cls(
            Penalties.of([history.rules for history in histories], device),
            Warps.of([(each.stages, each.warps) for each in settings], device, exempt),
            streams(samples, device),
            tuple(each.samples for each in settings),
            any(request.held for request in requests),
        )


@dataclass(frozen=True, slots=True)
class Drawn:
    """The tokens that a step chose, on the host, one for each row.

    Attributes:
        logprobs: the model's log-probability of each token.
        log_allowed: log of the model's probability of all allowed tokens; 0 without constraints.
        surprises: of the tokens, in bits, for mirostat; None without it, or with a single token.
        errors: by row: a `ModelError` for NaN or +∞; a `DeadEndError` if no allowed token has a
            probability, or bad words forbid all.
    """

    tokens: list[int]
    logprobs: list[float]
    log_allowed: list[float]
    surprises: list[float | None]
    errors: dict[int, GuidewayError]

    def choice(self, row: int) -> tuple[int, float, float, float | None]:
        return self.tokens[row], self.logprobs[row], self.log_allowed[row], self.surprises[row]


@torch.inference_mode()
def draw(
    rows: Rows,
    allowed: Bool[Tensor, "batch vocabulary"],
    plan: Plan,
    histories: Sequence[History],
    steps: Sequence[int],
    watch: Watch | None = None,
    marking: Marking | None = None,
) -> Drawn:
    """Draw one token for each row.

    Args:
        rows: values of the expression.
        allowed: allowed tokens of each row.
        plan: settings of the rows.
        histories: history of each row.
        steps: number of tokens so far, the counter of the row's noise.
        watch: called with each stage's name and rows, the constraint first.
        marking: watermark of this step.
    """
    spread = Spread.of(rows, allowed, held=plan.held)
    values = spread.values
    if watch is not None:
        watch("constraint", values)

    key, ceilings = plan.streams, plan.streams  # nobody reads them
    if any(plan.random):
        key = keys(plan.streams, send([*steps], rows.values.device))
        ceilings = send([each.ceiling for each in histories], rows.values.device)

    row = plan.penalties.apply(values, histories, watch)
    made = choose(spread, row, plan, key, ceilings, watch, marking)
    back = cast("list[list[float]]", made.tolist())  # pyright: ignore[reportUnknownMemberType]

    def failed(place: int, step: int) -> GuidewayError | None:
        error = logits_error(back[3][place], step)
        if error is not None or back[1][place] > -math.inf:
            return error
        possible = rows.values[place][rows.support[place] & allowed[place]] > -math.inf
        return _dead_end(values[place], histories[place], step, filtered=bool(possible.any()))

    found = {place: failed(place, step) for place, step in enumerate(steps)}
    errors = {place: error for place, error in found.items() if error is not None}
    surprise = [None if math.isnan(each) else each for each in back[4]]
    return Drawn([int(token) for token in back[0]], back[1], back[2], surprise, errors)


def choose(
    spread: Spread,
    row: Float[Tensor, "batch vocabulary"],
    plan: Plan,
    key: Int[Tensor, "batch"],
    ceilings: Tensor,
    watch: Watch | None,
    marking: Marking | None,
) -> Float[Tensor, "5 batch"]:
    """Draw from rows after the penalties, without asking the host for anything.

    Returns the token, its log-probability, the logs of the allowed and of the whole mass, and the
    surprise or NaN, in float64, in which ids are exact up to 2^53. The log-probability is −∞ if
    nothing may be drawn.
    """
    tokens, left, bits = _drawn(row, plan, key, ceilings, watch, marking)
    found = spread.reported.gather(1, tokens[:, None])[:, 0] - spread.total
    found = torch.where(left.isfinite(), found.clamp(min=LEAST), -math.inf)
    each = (tokens, found, spread.kept, spread.total, bits)
    return torch.stack([one.double() for one in each])  # one transfer


def _drawn(
    row: Float[Tensor, "batch vocabulary"],
    plan: Plan,
    key: Int[Tensor, "batch"],
    ceilings: Tensor,
    watch: Watch | None,
    marking: Marking | None,
) -> tuple[Int[Tensor, "batch"], Float[Tensor, "batch"], Float[Tensor, "batch"]]:
    """Each row's token by its own sampler, its logit in the end, and its surprise or NaN."""
    nothing = torch.full_like(row[:, 0], math.nan)
    row = early(marking, row, watch)
    if not any(plan.random):
        row = late(marking, row, plan.streams, watch)
        tokens = row.argmax(1)
        return tokens, row.gather(1, tokens[:, None])[:, 0], nothing
    warped = warp(row, plan.warps, Moment(coins(key), ceilings), watch)
    row = late(marking, warped.row, key, watch)
    tokens = categorical(row, key if marking is None else marking.noise(key))
    if not all(plan.random):
        tokens = torch.where(send(plan.random, row.device), tokens, row.argmax(1))
    left = row.gather(1, tokens[:, None])[:, 0]
    if warped.before is None:
        return tokens, left, nothing
    free = (warped.before > -math.inf).sum(1) > 1
    return tokens, left, torch.where(free, surprises(warped.before, tokens), nothing)


@lru_cache(16)
def _never_left_out(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Ends of texts and of lines, without which a text goes on for ever: XTC keeps them."""
    lines = [token for token, spelled in enumerate(vocabulary.tokens) if spelled == b"\n"]
    return (*sorted(vocabulary.eos_ids), *lines)


def _dead_end(
    values: Float[Tensor, "vocabulary"], history: History, step: int, *, filtered: bool
) -> DeadEndError:
    """Why nothing may be drawn: bad words, filters of the expression, or the model."""
    if bool((values > -math.inf).any()):  # a bias or a penalty never bans
        words = history.rules.sampling.bad_words_ids or ()
        named = ", ".join(map(repr, words[:NAMED])) + (", …" if len(words) > NAMED else "")
        reason = f"bad_words_ids forbid the rest: {named}"
    elif filtered:
        reason = "the filters of the expression leave none of those that may come next"
    else:
        reason = "the model gives no probability to any token that may come next"
    return DeadEndError(f"no token is left at step {step}: {reason}")
