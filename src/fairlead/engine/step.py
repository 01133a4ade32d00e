"""One step of a batch. The heart of the loop:

    forward ─▶ logits ─▶ (guidance) ─▶ mask, warp, draw ─▶ take ─▶ the rows that go on

What this module does not know: how logits are made, what a row allows, when it ends.
"""

from collections import abc
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from fairlead.engine.draw import Plan, draw
from fairlead.engine.model import LanguageModel
from fairlead.engine.sequence import Sequence


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """The rows that go on.

    Attributes:
        rows: what grows.
        plan: their settings.
        cache: the model's cache of all their tokens but the last; None before the first step.
    """

    rows: tuple[Sequence, ...]
    plan: Plan
    cache: Any = None

    @classmethod
    def of(cls, rows: abc.Iterable[Sequence], device: torch.device) -> "Batch":
        """The batch of these rows, before the first step."""
        rows = tuple(rows)
        return cls(rows, plan_of(rows, device))


def step(model: LanguageModel[Any], batch: Batch) -> Batch:
    """One token more in every row, and the batch of those that go on.

    Raises:
        ModelError: the model gave NaN or +∞.
        DeadEndError: it gave everything that is allowed no probability.
    """
    rows = batch.rows
    cache, logits = forward(model, batch)
    # Here guidance will combine the logits of several models, before the mask.
    places = list(range(len(rows)))
    plan = batch.plan
    while places:  # more than once only where a limit refuses a token: it is drawn again
        masks = [rows[place].row() for place in places]
        steps = [len(rows[place].tokens) for place in places]
        histories = [rows[place].history for place in places]
        numbers = [rows[place].number for place in places]
        drawn = draw(logits, masks, plan, histories, steps, numbers)
        refused = [n for n, place in enumerate(places) if not rows[place].take(*drawn.choice(n))]
        places = [places[n] for n in refused]
        if places:
            logits = logits[refused]
            plan = plan_of([rows[place] for place in places], model.device)
    kept = [place for place, row in enumerate(rows) if row.finish_reason is None]
    if len(kept) == len(rows):
        return replace(batch, cache=cache)
    if not kept:
        return replace(batch, rows=(), cache=None)
    rest = Batch.of([rows[place] for place in kept], model.device)
    return replace(rest, cache=model.select(cache, kept))


def plan_of(rows: abc.Sequence[Sequence], device: torch.device) -> Plan:
    """The settings of these rows."""
    return Plan.of([row.request for row in rows], [row.history for row in rows], device)


def forward(
    model: LanguageModel[Any], batch: Batch
) -> tuple[Any, Float[Tensor, "batch vocabulary"]]:
    """The logits after the tokens so far: of the prompts, or of the last token of each row.

    Prompts that several rows share are read once.
    """
    if batch.cache is not None:
        last = torch.tensor([row.tokens[-1:] for row in batch.rows], device=model.device)
        cache, logits = model.extend(batch.cache, last)
        return cache, logits[:, 0]
    prompts = [row.request.prompt for row in batch.rows]
    distinct = list(dict.fromkeys(prompts))
    cache, logits = model.prefill(distinct)
    if len(distinct) == len(prompts):
        return cache, logits
    rows = [distinct.index(prompt) for prompt in prompts]
    return model.select(cache, rows), logits[rows]
