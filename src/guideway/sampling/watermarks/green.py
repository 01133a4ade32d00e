"""Green tokens: a keyed part of the vocabulary, or of what a constraint allows, gets δ more.

Kirchenbauer et al. 2023, "A watermark for large language models" (arXiv 2301.10226). In free text
a token is green where its bits, as a number from 0 to 1, are below γ: each token by itself, so that
a detector hashes one token a position. Under a constraint the tokens with the least numbers among
those allowed are green, ⌊γ|A|⌋ or ⌈γ|A|⌉ of them by a keyed coin and both colours wherever there
are two tokens: a share of what may come next, however few these are. For any text that was not
marked, a token allowed is green with probability k/|A|, which is what the detector counts with.

End ids have no colour, and keep their probability: what the others gain together, they gain too.

What this module does not know: where contexts come from, constraints (a set is all it sees).
"""

import math
from typing import Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.sampling.noise import coins, shares

ONE: Final = 1 << 53


def green_free(numbers: Int[Tensor, "*shape"], gamma: float) -> Bool[Tensor, "*shape"]:
    """Which tokens of free text are green.

    >>> green_free(torch.tensor([0, -1, 1 << 62]), 0.25).tolist()
    [True, False, False]
    """
    return shares(numbers) < round(gamma * ONE)


def green_count(
    key: Int[Tensor, "batch"], allowed: Int[Tensor, "batch"], gamma: float
) -> Int[Tensor, "batch"]:
    """How many of so many allowed tokens are green.

    >>> green_count(torch.tensor([1, 2, 3]), torch.tensor([4, 2, 1]), 0.5).tolist()
    [2, 1, 0]
    """
    wanted = allowed.double() * gamma
    low = wanted.floor()
    count = (low + (coins(key).double() < wanted - low)).long()
    return torch.minimum(count.clamp(min=1), allowed - 1)


def green_within(
    numbers: Int[Tensor, "batch choices"],
    allowed: Bool[Tensor, "batch choices"],
    count: Int[Tensor, "batch"],
) -> Bool[Tensor, "batch choices"]:
    """The `count` allowed tokens with the least numbers.

    >>> numbers = torch.tensor([[5, 3, 9, 1]]) << 11
    >>> allowed = torch.tensor([[True, True, True, False]])
    >>> green_within(numbers, allowed, torch.tensor([2])).tolist()
    [[True, True, False, False]]
    """
    ordered = shares(numbers).masked_fill(~allowed, ONE).sort(1).values
    last = ordered.gather(1, (count - 1).clamp(min=0)[:, None])
    return allowed & (shares(numbers) <= last) & (count > 0)[:, None]


def biased(
    row: Float[Tensor, "batch choices"],
    green: Bool[Tensor, "batch choices"],
    ends: Bool[Tensor, "batch choices"],
    delta: float,
) -> Float[Tensor, "batch choices"]:
    """The rows with δ on what is green, and ends as probable as they were.

    Where δ is infinite and nothing green is left in a row, the row stays as it is.
    """
    tokens = row.masked_fill(ends, -math.inf)
    if math.isinf(delta):
        marked = tokens.masked_fill(~green, -math.inf)
        marked = torch.where((marked > -math.inf).any(1, keepdim=True), marked, tokens)
    else:
        marked = tokens + green * delta
    gained = (_mass(marked) - _mass(tokens)).nan_to_num(0.0)  # NaN where there are only ends
    return torch.where(ends, row + gained[:, None], marked)


def _mass(row: Float[Tensor, "batch choices"]) -> Float[Tensor, "batch"]:
    """`logsumexp`, for a tenth where −∞ is among numbers: exp is slow on it, softmax is not."""
    return row.amax(1) - row.softmax(1).amax(1).log()
