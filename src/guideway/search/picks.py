"""The best continuations of some rows, found on the device, with one transfer."""

import math
from dataclasses import dataclass
from typing import cast, final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.generation.row.sequence import Sequence
from guideway.search.base import Scores


@final
@dataclass(frozen=True, slots=True)
class Pick:
    """A token after a row.

    Attributes:
        place: index of the row.
        rank: criterion of the choice.
        log: log-probability of the text with it, as the search counts it.
        logprob: the model's own log-probability of the token.
        kept: log of the model's probability of all allowed tokens.
    """

    place: int
    token: int
    rank: float
    log: float
    logprob: float
    kept: float

    def child(self, row: Sequence) -> Sequence:
        """The row with the token, which it admits."""
        child = row.fork()
        child.take(self.token, self.logprob, self.kept, rank=self.rank)
        return child


@torch.inference_mode()
def best(
    ranks: Float[Tensor, "rows vocabulary"],
    logs: Float[Tensor, "rows vocabulary"],
    scores: Scores,
    count: int,
) -> list[Pick]:
    """The `count` continuations of the greatest ranks, best first, without those of −∞."""
    width = ranks.shape[1]
    places = ranks.flatten().topk(min(count, ranks.numel())).indices
    row, token = places // width, places % width
    columns = [row, token] + [each[row, token] for each in (ranks, logs, scores.own)]
    # Ids are exact in float64 up to 2^53.
    table = torch.stack([each.double() for each in (*columns, scores.kept[row])], 1)
    found = cast("list[list[float]]", table.tolist())  # pyright: ignore[reportUnknownMemberType]
    return [Pick(int(row), int(token), *rest) for row, token, *rest in found if rest[0] > -math.inf]
