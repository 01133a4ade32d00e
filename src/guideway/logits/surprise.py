"""XTC and mirostat: filters that need a coin and a feedback, which callers pass.

Mirostat keeps the surprise −log2 p of tokens near a target τ: a ceiling μ, at first 2τ, limits the
surprise; after each token μ falls by η times (surprise − τ). p is the distribution before this
filter, as in the paper (Basu et al. 2020, "Mirostat"), not the renormalised one of llama.cpp.
"""

import math
from typing import Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.logits.filters import largest
from guideway.logits.rim import TOLERANCE, cut, keep_largest

ZIPF: Final = 100  # ratios of neighbouring probabilities to which mirostat fits a power law
FLATTEST: Final = 1e-9  # exponent of a power law; at 0 its inverse would be no number


def xtc(
    row: Float[Tensor, "batch vocabulary"],
    threshold: Float[Tensor, "batch"],
    exempt: Bool[Tensor, "rows tokens"],
    *,
    most: int,
) -> Float[Tensor, "batch vocabulary"]:
    """Remove all tokens of at least this probability, except the least probable of them.

    Of ties the last stays. `exempt` tokens (ends, line breaks) are neither removed nor counted;
    `most` bounds the number of such probable tokens, exempt ones included.

    >>> row = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
    >>> xtc(row, torch.tensor([0.2]), torch.arange(4)[None] == 1, most=7).exp()
    tensor([[0.0000, 0.3000, 0.2000, 0.1000]])
    """
    values, ids = largest(row, min(most, row.shape[1]))
    least = row.amax(1) - row.softmax(1).amax(1).log() + threshold.log() - TOLERANCE
    probable = (values >= least[:, None]) & (values > -math.inf)
    probable &= ~exempt.expand_as(row).gather(1, ids)
    after = probable.long().flip(1).cumsum(1).flip(1)  # of those from here on
    kept = row.clone()
    return kept.scatter_(1, ids, values.masked_fill(probable & (after > 1), -math.inf))


def mirostat(
    row: Float[Tensor, "batch vocabulary"], ceiling: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Version 2: keep tokens whose surprise is at most the ceiling, in bits; ∞ keeps all."""
    highest = row.amax(1)
    least = highest - row.softmax(1).amax(1).log() - ceiling * math.log(2) - TOLERANCE
    return cut(row, torch.minimum(highest, least))


def mirostat_by_rank(
    row: Float[Tensor, "batch vocabulary"], ceiling: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Version 1, the paper's: so many of the most probable tokens that a power law would have the
    ceiling as its mean surprise; ∞ keeps all.

    With s the exponent fitted to the most probable tokens, ε = s − 1 and N tokens, they are
    (ε·2^μ / (1 − N^−ε))^(1/s), rounded, and at least one.
    """
    there = row > -math.inf
    count = there.sum(1).double()
    ranks = (_log_rank(row) + ceiling.double() * math.log(2)) / _exponent(row)
    few = ranks.exp().round().clamp(min=1)
    share = (few / count.clamp(min=1)).masked_fill(ceiling == math.inf, 1.0)
    return keep_largest(row, there.to(row.dtype), share)


def surprises(
    row: Float[Tensor, "batch vocabulary"], tokens: Int[Tensor, "batch"]
) -> Float[Tensor, "batch"]:
    """The surprise of a token of each row, in bits."""
    log = row.gather(1, tokens[:, None])[:, 0] - row.logsumexp(1)
    return -log / math.log(2)


def _exponent(row: Float[Tensor, "batch vocabulary"]) -> Float[Tensor, "batch"]:
    """The power law s that fits best: log p_i − log p_(i+1) ≈ s · log((i + 1) / i)."""
    values = largest(row, min(ZIPF + 1, row.shape[1]))[0].double()
    drops = values[:, :-1] - values[:, 1:]
    there = values[:, 1:] > -math.inf
    rank = torch.arange(1, values.shape[1], dtype=torch.float64, device=row.device)
    steps = ((rank + 1) / rank).log().expand_as(drops).masked_fill(~there, 0.0)
    fitted = (steps * drops.masked_fill(~there, 0.0)).sum(1) / steps.square().sum(1)
    return fitted.nan_to_num(nan=1.0).clamp(min=FLATTEST)  # one token alone has no exponent


def _log_rank(row: Float[Tensor, "batch vocabulary"]) -> Float[Tensor, "batch"]:
    """log(ε / (1 − N^−ε)), which is −log log N where ε is 0."""
    excess = _exponent(row) - 1
    size = (row > -math.inf).sum(1).double().clamp(min=2).log()
    near = excess.abs() < 1e-9
    ratio = excess / -torch.expm1(-excess * size)
    return torch.where(near, 1 / size, ratio).log()
