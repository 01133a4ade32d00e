"""What an expression says of the next token of the rows of searches (`engine.search.base.Kind`)."""

from collections.abc import Sequence as Listed

import torch

from fairlead.engine.draw import Plan
from fairlead.engine.ensemble import Ensemble, EnsembleCache, Logits
from fairlead.engine.search.base import Kind, Scores, numbers
from fairlead.engine.sequence import Sequence
from fairlead.engine.spread import Spread, centred, check_logits
from fairlead.engine.step import plan_of
from fairlead.logits.evaluate import Step, evaluate
from fairlead.logits.mask import unpack, upload
from fairlead.logits.warp import Moment, warp
from fairlead.sampling.noise import coins, keys


@torch.inference_mode()
def scores(
    ensemble: Ensemble,
    cache: EnsembleCache,
    logits: Logits,
    rows: Listed[Sequence],
    places: Listed[int],
    kind: Kind,
) -> Scores:
    """The scores of some rows of a batch.

    Args:
        ensemble: the expression.
        cache: of the batch.
        logits: of each leaf, for all rows of the batch.
        rows: those that are scored.
        places: where they are in the batch.
        kind: what scores are.

    Raises:
        ModelError: a model gave NaN or +∞.
    """
    width, device = ensemble.vocabulary.width, ensemble.device
    allowed = unpack(upload([row.row() for row in rows], width, device), width)
    before = allowed
    if kind == "open":  # free text has no constraint that could be left out
        held = torch.tensor([row.constrained for row in rows], device=device)
        before = allowed | held[:, None]
    index = torch.tensor(places, device=device)
    texts = [row.text_context() for row in rows] if ensemble.reads_texts else []
    state = Step(
        {leaf: each[index] for leaf, each in logits.items()},
        before,
        ensemble.vocabulary,
        {leaf: each[index] for leaf, each in cache.sums.items()},
        texts,
    )
    plan = plan_of(rows, device)
    made = evaluate(ensemble.node, state)
    spread = Spread.of(made, before, held=True)
    for place, total in enumerate(numbers(spread.total)):
        check_logits(total, f"step {rows[place].steps} of row {rows[place].number}")
    values = spread.values
    if kind == "beam":
        whole = spread.total if made.own is None else values.logsumexp(1)
        values = values - whole[:, None]
    elif (moved := centred(values)) is not None:
        values = moved
    values = _chain(values, plan, rows)
    own = spread.reported - spread.total[:, None]
    kept = spread.kept
    if kind != "beam":
        values = values.log_softmax(1)
    if kind == "open":
        values = values.masked_fill(~allowed, -torch.inf)
        kept = own.masked_fill(~allowed, -torch.inf).logsumexp(1)
    # A row of which nothing is left has NaN for logarithms of shares.
    return Scores(values.nan_to_num(-torch.inf, neginf=-torch.inf), own, kept)


def _chain(values: torch.Tensor, plan: Plan, rows: Listed[Sequence]) -> torch.Tensor:
    """The rows after biases, penalties, temperature and filters."""
    histories = [row.history for row in rows]
    values = plan.penalties.apply(values, histories)
    if not any(plan.random):
        return values
    steps = torch.tensor([row.steps for row in rows], device=values.device)
    ceilings = torch.tensor([each.ceiling for each in histories], device=values.device)
    return warp(values, plan.warps, Moment(coins(keys(plan.streams, steps)), ceilings)).whole
