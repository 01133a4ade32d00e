"""A token for each row of a search by noise of its own, and all that is known of it, on the host.

Noise is a function of the settings' seed, of the number of the row in its search and of the step,
so it is the same whatever the batch around it. All that a step needs comes back in one transfer.

What this module does not know: what the rows are searched for.
"""

import math
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Final, cast, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.engine.search.base import Scores
from guideway.engine.sequence import Sequence
from guideway.sampling.categorical import Categorical
from guideway.sampling.noise import coins, keys, stream

CATEGORICAL: Final = Categorical()


@final
@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn for one row.

    Attributes:
        token: the token.
        log: the logarithm of its probability under the scores.
        total: the logarithm of the mass that it was drawn from; −∞ where there was nothing.
        own: the model's own log-probability of the token.
        kept: the log of the model's probability of all that is allowed.
        width: how many tokens are allowed and possible.
        other: a second token, drawn by itself.
    """

    token: int
    log: float
    total: float
    own: float
    kept: float
    width: int
    other: int


def stream_of(row: Sequence, number: int) -> int:
    """The key of the random choices of row `number` of this row's search."""
    request = row.request
    return stream(stream(request.sampling.seed or 0, request.sample), number)


def draw(
    scores: Scores,
    offered: Float[Tensor, "rows vocabulary"],
    streams: Listed[int],
    step: int,
    *,
    twice: bool = False,
) -> list[Drawn]:
    """A token for each row, with probability softmax(offered).

    Args:
        scores: of the rows.
        offered: logarithms of what the tokens are drawn by; −∞ where the scores are.
        streams: the key of each row.
        step: how many tokens were drawn before.
        twice: whether a second token is wanted.
    """
    device = offered.device
    branches = torch.tensor(streams, dtype=torch.int64, device=device)
    moment = torch.full_like(branches, step)
    tokens = CATEGORICAL.draw(offered, keys(branches, moment))
    if twice:  # steps count from 0, so those from −2 down are free
        others, totals = _laid_out(offered, coins(keys(branches, -2 - moment)))
    else:
        others, (totals, _) = tokens, _shares(offered)
    place = tokens[:, None]
    columns = (
        tokens,
        scores.logs.gather(1, place)[:, 0],
        totals,
        scores.own.gather(1, place)[:, 0],
        scores.kept,
        (scores.logs > -torch.inf).sum(1),
        others,
    )
    stacked = torch.stack([each.double() for each in columns], 1)
    found = cast("list[list[float]]", stacked.tolist())  # pyright: ignore[reportUnknownMemberType]
    return [
        Drawn(int(token), log, total, own, kept, int(width), int(other))
        for token, log, total, own, kept, width, other in found
    ]


def _laid_out(
    logs: Float[Tensor, "rows vocabulary"], coins: Float[Tensor, "rows"]
) -> tuple[Int[Tensor, "rows"], Float[Tensor, "rows"]]:
    """A token of each row where its number falls in the shares laid end to end, and the total.

    Noise for every token would cost as much again as the first draw; the sums are needed anyway.
    """
    totals, shares = _shares(logs)
    ends = shares.cumsum(1, dtype=torch.float64)
    places = torch.searchsorted(ends, coins.double()[:, None] * ends[:, -1:], right=True)
    return places[:, 0].clamp_(max=logs.shape[1] - 1), totals


def _shares(
    logs: Float[Tensor, "rows vocabulary"],
) -> tuple[Float[Tensor, "rows"], Float[Tensor, "rows vocabulary"]]:
    """The logarithm of the mass of each row, of which the sum is one of float64, and the shares.

    torch's softmax takes a tenth of its exp where −∞ is among numbers: .2 ms and 2 for 8 rows of
    49,152 tokens of which half are allowed.
    """
    top = logs.amax(1).double()
    shares = logs.softmax(1).nan_to_num_(0.0)  # NaN where nothing is left
    over = shares.sum(1, dtype=torch.float64) / shares.amax(1).double()
    return (top + over.log()).where(top > -math.inf, top), shares
