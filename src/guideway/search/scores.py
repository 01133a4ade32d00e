"""Scores of the next tokens of rows in searches, by kind (`search.base.Kind`)."""

from collections.abc import Sequence as Listed
from typing import final

import torch

from guideway.generation.draw import Plan
from guideway.generation.ensemble.ensemble import Ensemble, EnsembleCache, Logits
from guideway.generation.marking import Marking, early, late
from guideway.generation.masked_distribution import Spread, centred, logits_error
from guideway.generation.row.sequence import Sequence
from guideway.generation.step import plan_of
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.mask import apply_mask, unpack, upload
from guideway.logits.rows import log_mass
from guideway.logits.transfer import send
from guideway.logits.warp import Moment, warp
from guideway.sampling.noise import coins, keys
from guideway.search.base import Kind, Scores, numbers


@final
class Plans:
    """The settings of the rows of a call, read once for each set of requests."""

    def __init__(self, device: torch.device) -> None:
        """None are known yet."""
        self._device = device
        self._known = dict[tuple[int, ...], Plan]()

    def of(self, rows: Listed[Sequence]) -> Plan:
        """Settings of these rows, by the numbers of their requests."""
        numbers = tuple(row.number for row in rows)
        if numbers not in self._known:
            self._known[numbers] = plan_of(rows, self._device)
        return self._known[numbers]


@torch.inference_mode()
def scores(
    ensemble: Ensemble,
    cache: EnsembleCache,
    logits: Logits,
    rows: Listed[Sequence],
    places: Listed[int],
    kind: Kind,
    plans: Plans,
) -> Scores:
    """Scores of rows of a batch; a row fails on NaN or +∞.

    `places` are the indices of `rows` in the batch, `plans` caches settings for this call.
    """
    width, device = ensemble.vocabulary.width, ensemble.device
    allowed = unpack(upload([row.row() for row in rows], width, device), width)
    before = allowed
    if kind == "open":  # free text has no constraint that could be left out
        held = send([row.constrained for row in rows], device)
        before = allowed | held[:, None]
    sums = cache.sums
    if [*places] != [*range(cache.rows)]:
        index = send([*places], device)
        logits = {leaf: each[index] for leaf, each in logits.items()}
        sums = {leaf: each[index] for leaf, each in sums.items()}
    texts = [row.text_context() for row in rows] if ensemble.reads_texts else []
    asked = allowed if kind == "open" else None
    state = Step(logits, before, ensemble.vocabulary, sums, texts, asked=asked)
    made = _evaluated(ensemble, state, rows, kind)
    marking = ensemble.mark and Marking.of(ensemble.mark, rows, ensemble.vocabulary, device)
    values = _chain(made.logs, plans.of(rows), rows, marking)
    own, kept = made.own, made.kept
    if kind != "beam":
        values = values.log_softmax(1)
    if kind == "open":
        values = apply_mask(values, allowed)
        if any(row.constrained for row in rows):
            kept = log_mass(apply_mask(own, allowed))
    # A row without any mass has NaN for logarithms of shares.
    return Scores(values.nan_to_num(-torch.inf, neginf=-torch.inf), own, kept)


def _evaluated(ensemble: Ensemble, state: Step, rows: Listed[Sequence], kind: Kind) -> Scores:
    """Scores of an expression, not normalised over allowed tokens."""
    made = evaluate(ensemble.node, state)
    spread = Spread.of(made, state.allowed, held=any(row.constrained for row in rows))
    for row, total in zip(rows, numbers(spread.total), strict=True):
        if (error := logits_error(total, row.steps)) is not None:
            row.fail(error)
    values = spread.values
    if kind == "beam":
        whole = spread.total if made.own is None else log_mass(values)
        values = values - whole[:, None]
    elif (moved := centred(values)) is not None:
        values = moved
    return Scores(values, spread.reported - spread.total[:, None], spread.kept)


def _chain(
    values: torch.Tensor, plan: Plan, rows: Listed[Sequence], marking: Marking | None
) -> torch.Tensor:
    """The rows after biases, penalties, temperature, filters and a watermark."""
    histories = [row.history for row in rows]
    values = early(marking, plan.penalties.apply(values, histories), None)
    if not any(plan.random):
        return late(marking, values, None, plan.streams, None)
    steps = send([row.steps for row in rows], values.device)
    ceilings = send([each.ceiling for each in histories], values.device)
    moment = Moment(coins(keys(plan.streams, steps)), ceilings)
    return late(marking, warp(values, plan.warps, moment).whole, None, plan.streams, None)
