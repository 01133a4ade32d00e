"""Logits to one token a row: mask, warp, draw.

The order is fixed: the constraint's mask enters before any filter, so that a nucleus is computed on
what is allowed and always holds an allowed token; temperature; top-k, top-p, min-p; the draw. All
of it runs on the device of the logits, in float32, and comes back in one transfer.

What this module does not know: constraints (a packed row is all it sees), texts, when to stop.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fairlead.engine.request import Request
from fairlead.errors import DeadEndError, ModelError
from fairlead.logits.mask import apply_mask, unpack, upload
from fairlead.logits.warp import Warps, warp
from fairlead.masks.bits import Row
from fairlead.sampling.categorical import Categorical
from fairlead.sampling.greedy import Greedy
from fairlead.sampling.noise import keys, streams
from fairlead.sampling.sampler import Sampler

GREEDY: Final[Sampler] = Greedy()
CATEGORICAL: Final[Sampler] = Categorical()


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of the rows of a batch, as tensors.

    Attributes:
        warps: temperature and filters of each row.
        streams: the key of each row's random choices.
        random: which rows draw at random; the others take the most probable token.
        held: whether a constraint holds any of the rows.
    """

    warps: Warps
    streams: Int[Tensor, "batch"]
    random: tuple[bool, ...]
    held: bool

    @classmethod
    def of(cls, requests: Sequence[Request], device: torch.device) -> "Plan":
        """The plan of these rows."""
        settings = [request.sampling for request in requests]
        samples = [(request.sampling.seed or 0, request.sample) for request in requests]
        return cls(
            Warps.of([each.warps for each in settings], device),
            streams(samples, device),
            tuple(each.samples for each in settings),
            any(request.constraint is not None for request in requests),
        )


@final
@dataclass(frozen=True, slots=True)
class Drawn:
    """What a step chose, on the host, one element a row.

    Attributes:
        tokens: the tokens.
        logprobs: the model's own log-probabilities of them.
        log_allowed: the logs of the model's probability of everything that was allowed; 0 where no
            constraint holds any row.
    """

    tokens: list[int]
    logprobs: list[float]
    log_allowed: list[float]

    def choice(self, row: int) -> tuple[int, float, float]:
        """Token, log-probability and log of the allowed mass of one row."""
        return self.tokens[row], self.logprobs[row], self.log_allowed[row]


@torch.inference_mode()
def draw(
    logits: Float[Tensor, "batch vocabulary"],
    rows: Sequence[Row],
    plan: Plan,
    steps: Sequence[int],
    numbers: Sequence[int],
) -> Drawn:
    """One token for each row.

    Args:
        logits: what the model gave.
        rows: the tokens allowed in each row, packed.
        plan: the settings of each row.
        steps: how many tokens each row has had: with its stream, the counter of its noise.
        numbers: which request each row is, for messages.

    Raises:
        ModelError: the model gave NaN or +∞.
        DeadEndError: nothing is allowed, or the model gives all that is allowed no probability.
    """
    width = logits.shape[1]
    allowed = unpack(upload(rows, width, logits.device), width)
    values = apply_mask(logits, allowed)
    tokens = _choose(warp(values, plan.warps), plan, steps)
    total = logits.logsumexp(1)  # NaN or +∞ if any logit is
    chosen = values.gather(1, tokens[:, None])[:, 0] - total  # −∞ if nothing may be drawn
    kept = values.logsumexp(1) - total if plan.held else torch.zeros_like(total)
    # One transfer; ids are exact in float64 up to 2^53.
    stacked = torch.stack([each.double() for each in (tokens, chosen, kept, total)])
    back = cast("list[list[float]]", stacked.tolist())  # pyright: ignore[reportUnknownMemberType]
    for place, number in enumerate(numbers):
        _check(back[1][place], back[3][place], f"step {steps[place]} of row {number}")
    return Drawn([int(token) for token in back[0]], back[1], back[2])


def _choose(
    row: Float[Tensor, "batch vocabulary"], plan: Plan, steps: Sequence[int]
) -> Int[Tensor, "batch"]:
    """Each row's token by its own sampler."""
    if not any(plan.random):
        return GREEDY.draw(row, plan.streams)
    key = keys(plan.streams, torch.tensor(steps, device=row.device))
    if all(plan.random):
        return CATEGORICAL.draw(row, key)
    random = torch.tensor(plan.random, device=row.device)
    return torch.where(random, CATEGORICAL.draw(row, key), GREEDY.draw(row, key))


def _check(chosen: float, total: float, where: str) -> None:
    if math.isnan(total) or total == math.inf:
        raise ModelError(
            f"the model gave NaN or infinite logits at {where}: its weights or its precision are "
            "at fault (float16 overflows; try float32 or bfloat16)"
        )
    if math.isnan(chosen) or chosen == -math.inf:
        raise DeadEndError(
            f"no token is left at {where}: the model gives no probability to any token that may "
            "come next"
        )
