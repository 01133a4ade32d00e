"""SynthID-text's tournament: in each layer, tokens with keyed bit 1 win over those with 0.

Dathathri et al. 2024, "Scalable watermarking for identifying large language model outputs" (Nature
634), with two leaves in each match: p ← p (1 + g − Σ g p). On average over keys nothing changes;
repeated contexts are unmarked, so that this holds for whole texts. The g of all layers are bits of
one number.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def layers(numbers: Int[Tensor, "*shape"], depth: int) -> list[Int[Tensor, "*shape"]]:
    """The bits of each layer."""
    return [(numbers >> layer) & 1 for layer in range(depth)]


def tournament(
    row: Float[Tensor, "batch choices"],
    numbers: Int[Tensor, "batch choices"],
    ends: Bool[Tensor, "batch choices"],
    depth: int,
) -> Float[Tensor, "batch choices"]:
    """Rows after `depth` layers; −∞ and the probability of ends are unchanged.

    >>> row, ends = torch.zeros(1, 2), torch.tensor([[False, False]])
    >>> tournament(row, torch.tensor([[1, 0]]), ends, 1).exp().div(2).round(decimals=4).tolist()
    [[0.75, 0.25]]
    """
    tokens = row.masked_fill(ends, -math.inf)
    share = tokens.softmax(1).nan_to_num(0.0)  # NaN where there are only ends
    top = tokens.amax(1, keepdim=True)
    weight = (top - share.amax(1, keepdim=True).log()).where(top > -math.inf, top)
    for layer in layers(numbers, depth):
        share = share * (1 + layer - (layer * share).sum(1, keepdim=True)).clamp(min=0)
    return torch.where(ends, row, share.log() + weight)
