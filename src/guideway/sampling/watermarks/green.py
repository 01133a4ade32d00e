"""Green tokens: a keyed part of the vocabulary, or of the allowed tokens, gets δ more.

Kirchenbauer et al. 2023, "A watermark for large language models" (arXiv 2301.10226). In free text a
token is green if its bits, as a number in [0, 1), are below γ, so a detector hashes one token for
each position. Under a constraint the allowed tokens with the least numbers are green, ⌊γ|A|⌋ or
⌈γ|A|⌉ by a keyed coin, with both colours if there are two tokens. In an unmarked text an allowed
token is green with probability k/|A|. End ids have no colour and keep their probability.
"""

import math
from typing import Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.sampling.noise import coins, shares

ONE: Final = 1 << 53


def green_free(numbers: Int[Tensor, "*shape"], gamma: float) -> Bool[Tensor, "*shape"]:
    """Green tokens of free text."""
    return shares(numbers) < round(gamma * ONE)


def green_count(
    key: Int[Tensor, "batch"], allowed: Int[Tensor, "batch"], gamma: float
) -> Int[Tensor, "batch"]:
    """Number of green tokens among `allowed` ones."""
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
    """Rows with δ added to green tokens, and unchanged probability of ends.

    A row without green tokens stays unchanged if δ is infinite.
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
