"""Random choices of searches: a token for each row, and particles by their weights.

All results go to the host at once. The noise depends on the seed, the row's number in its search
and the step, not on the batch. Weights are logarithms.
"""

import math
from collections.abc import Iterable
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from guideway.generation.row.sequence import Sequence
from guideway.logits.rows import log_mass
from guideway.sampling.noise import categorical, keys, stream
from guideway.search.base import Scores


def log_sum(logs: Iterable[float]) -> float:
    """Logarithm of a sum of numbers given by their logarithms."""
    return float(np.logaddexp.reduce([*logs]))


def log_mean(logs: Listed[float]) -> float:
    """The logarithm of the mean of some weights, those of −∞ counted."""
    return log_sum(logs) - math.log(len(logs))


def effective_size(logs: Listed[float]) -> float:
    """(Σ weight)² / Σ weight², the effective number of particles (Kong 1992)."""
    total = log_sum(logs)
    if total == -math.inf:
        return 0.0
    return math.exp(2 * total - log_sum(2 * each for each in logs))


def stratified(logs: Listed[float], uniforms: Listed[float]) -> list[int]:
    """Indices of stratified draws from weighted particles, ascending.

    Draw i is the particle at (i + uniforms[i]) / n of the cumulative weight, so a particle of share
    w is drawn n·w times on average, within less than 2 (Kitagawa 1996; Douc, Cappé and Moulines
    2005, "Comparison of resampling schemes").

    >>> stratified([math.log(0.5), math.log(0.25), math.log(0.25)], [0.9, 0.9, 0.1, 0.9])
    [0, 0, 1, 2]
    """
    shares: NDArray[np.float64] = np.exp(np.array(logs) - max(logs))
    ends, count = shares.cumsum(), len(uniforms)
    places: NDArray[np.float64] = (np.arange(count) + np.array(uniforms)) / count * ends[-1]
    found: list[int] = ends.searchsorted(places, "right").tolist()
    last = int(np.flatnonzero(shares)[-1])
    return [min(place, last) for place in found]


@dataclass(frozen=True, slots=True)
class Draw:
    """The draw of one row."""

    token: int
    log: float  # log-probability of the token under the scores
    total: float  # logarithm of the mass that it was drawn from; −∞ if empty
    own: float  # the model's own log-probability of the token
    kept: float  # log of the model's probability of all allowed tokens
    width: int  # number of allowed and possible tokens
    other: int  # a second token, drawn independently


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
) -> list[Draw]:
    """Draw a token for each row, with probability softmax(offered).

    `streams` are the keys of the rows, `step` is the number of tokens so far; with `twice`, draw a
    second token.
    """
    device = offered.device
    branches = torch.tensor(streams, dtype=torch.int64, device=device)
    moment = torch.full_like(branches, step)
    tokens = categorical(offered, keys(branches, moment))
    # Steps count from 0, so those from −2 down are free.
    others = categorical(offered, keys(branches, -2 - moment)) if twice else tokens
    place = tokens[:, None]
    columns = (
        tokens,
        scores.logs.gather(1, place)[:, 0],
        log_mass(offered.double()),
        scores.own.gather(1, place)[:, 0],
        scores.kept,
        (scores.logs > -torch.inf).sum(1),
        others,
    )
    stacked = torch.stack([each.double() for each in columns], 1)
    found = cast("list[list[float]]", stacked.tolist())  # pyright: ignore[reportUnknownMemberType]
    return [
        Draw(int(token), log, total, own, kept, int(width), int(other))
        for token, log, total, own, kept, width, other in found
    ]
