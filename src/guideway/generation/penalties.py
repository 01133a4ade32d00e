"""Biases, penalties and bans of a batch, from the rows' histories.

The order is transformers': bias, repetition, presence and frequency, the flat penalty, DRY, bad
words, repeated n-grams. The ban of n-grams is skipped if it would leave nothing, so it comes after
bad words. Constant settings are uploaded once; tokens of the text at each step.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.logits import penalties
from guideway.logits.mask import send
from guideway.logits.warp import Watch
from guideway.sampling.history import NONE, History, Ids, Rules

LARGEST: Final = 1e30

Histories: TypeAlias = Sequence[History]
Stage: TypeAlias = Callable[[Tensor, Histories], Tensor]


@dataclass(frozen=True, slots=True)
class Penalties:
    """The stages of a batch before temperature, as (name, function)."""

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
