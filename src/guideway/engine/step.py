"""One step of a batch: forward, expression, mask, warp, draw, take."""

from collections import abc
from dataclasses import dataclass, replace
from typing import final

import torch

from guideway.engine.draw import Drawn, Plan, draw
from guideway.engine.ensemble import Ensemble, EnsembleCache, Logits
from guideway.engine.marking import Marking
from guideway.engine.sequence import Sequence
from guideway.engine.trace import Recorder
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.mask import unpack, upload


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """The rows that go on, their settings, and the models' cache of all tokens but the last.

    `cache` is None before the first step.
    """

    rows: tuple[Sequence, ...]
    plan: Plan
    cache: EnsembleCache | None = None

    @classmethod
    def of(cls, rows: abc.Iterable[Sequence], device: torch.device) -> "Batch":
        """The batch of these rows, before the first step."""
        rows = tuple(rows)
        return cls(rows, plan_of(rows, device))


def step(ensemble: Ensemble, batch: Batch) -> Batch:
    """One token more in every row, and the batch of those that go on; a row may fail."""
    rows = batch.rows
    cache, logits = forward(ensemble, batch)
    places = list(range(len(rows)))
    plan = batch.plan
    while places:  # more than once only where a limit refuses a token: it is drawn again
        going = [rows[place] for place in places]
        if len(places) < len(rows):
            plan = plan_of(going, ensemble.device)
        recorder = _recorder(ensemble, going)
        drawn = _drawn(ensemble, cache, logits, going, places, plan, recorder)
        for n, error in drawn.errors.items():
            going[n].fail(error)
        fine = [n for n in range(len(going)) if n not in drawn.errors]
        refused = [n for n in fine if not going[n].take(*drawn.choice(n))]
        if recorder is not None:
            _note(recorder, drawn, going, {*fine} - {*refused})
        places = [places[n] for n in refused]
    kept = [place for place, row in enumerate(rows) if row.finish_reason is None]
    if len(kept) == len(rows):
        return replace(batch, cache=cache)
    if not kept:
        return replace(batch, rows=(), cache=None)
    rest = Batch.of([rows[place] for place in kept], ensemble.device)
    return replace(rest, cache=ensemble.select(cache, kept))


def _drawn(
    ensemble: Ensemble,
    cache: EnsembleCache,
    logits: Logits,
    rows: list[Sequence],
    places: list[int],
    plan: Plan,
    recorder: Recorder | None,
) -> Drawn:
    """A token for each of some rows of the batch."""
    width, device = ensemble.vocabulary.width, ensemble.device
    allowed = unpack(upload([row.row() for row in rows], width, device), width)
    sums = cache.sums
    if len(places) < cache.rows:
        logits = {leaf: row[places] for leaf, row in logits.items()}
        sums = {leaf: row[places] for leaf, row in sums.items()}
    texts = [row.text_context() for row in rows] if ensemble.reads_texts else []
    watch, nodes = (None, None) if recorder is None else (recorder.watch, recorder.watch_node)
    marking = ensemble.mark and Marking.of(ensemble.mark, rows, ensemble.vocabulary, device)
    state = Step(logits, allowed, ensemble.vocabulary, sums, texts, nodes)
    return draw(
        evaluate(ensemble.node, state),
        allowed,
        plan,
        [row.history for row in rows],
        [len(row.tokens) for row in rows],
        watch,
        marking,
    )


def _recorder(ensemble: Ensemble, rows: list[Sequence]) -> Recorder | None:
    """A recorder if one of the rows wants to be traced."""
    count = max(row.request.trace for row in rows)
    return Recorder(ensemble.vocabulary, count) if count else None


def _note(recorder: Recorder, drawn: Drawn, rows: list[Sequence], taken: set[int]) -> None:
    """Keep the step in each row that wants it and took its token."""
    for place, row in enumerate(rows):
        if row.request.trace and place in taken:
            token, logprob, log_allowed, _ = drawn.choice(place)
            row.note(recorder.step(place, token, logprob, log_allowed))


def plan_of(rows: abc.Sequence[Sequence], device: torch.device) -> Plan:
    """The settings of these rows."""
    return Plan.of([row.request for row in rows], [row.history for row in rows], device)


def forward(ensemble: Ensemble, batch: Batch) -> tuple[EnsembleCache, Logits]:
    """The logits of each leaf after the tokens so far: of the prompts, or of each row's last."""
    if batch.cache is None:
        return ensemble.prefill([row.request.prompts for row in batch.rows])
    last = torch.tensor([row.tokens[-1:] for row in batch.rows], device=ensemble.device)
    cache, logits = ensemble.extend(batch.cache, last)
    return cache, {leaf: row[:, 0] for leaf, row in logits.items()}
