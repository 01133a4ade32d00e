"""Temperature and the filters top-k, top-p, min-p on rows of logits, in transformers' order.

Each filter is a function row → row that writes −∞ outside the set it keeps. Each row of a batch has
its own parameter, with a value that switches the filter off (k = 0, p = 1, m = 0), so that a batch
of different settings is still one tensor operation. The order is that of transformers: temperature,
top-k, top-p, min-p. At least the most probable token is always kept.

The sets are those of transformers' processors, except among tokens that are tied to the last bit.
They are found without sorting the vocabulary: a nucleus is looked for among the 1,024 largest
logits (0.5 ms at 49,152 tokens, 0.7 ms at 262,144, where sorting takes 3.3 and 21 ms), and only
where it is not contained in them is the row sorted.

What this module does not know: which tokens a constraint allows (they are −∞ already), randomness.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

CANDIDATES: Final = 1024
COLDEST: Final = 1e-20  # beyond these two, float32 logits would overflow, or −∞ become NaN
HOTTEST: Final = 1e20
MOST: Final = 1 << 31  # tokens, more than any vocabulary has


@final
@dataclass(frozen=True, slots=True)
class Warps:
    """The filters' parameters, one element a row.

    Attributes:
        temperature: divisor of the logits, from COLDEST to HOTTEST.
        top_k: how many tokens are kept, 0 for all of them.
        top_p: probability mass that is kept, 1 for all of it.
        min_p: least probability kept, as a share of the greatest one; 0 keeps all.
    """

    temperature: Float[Tensor, "batch"]
    top_k: Int[Tensor, "batch"]
    top_p: Float[Tensor, "batch"]
    min_p: Float[Tensor, "batch"]
    # Known on the host, so that asking costs no synchronisation with a GPU.
    heated: bool
    most: int
    nucleus: bool
    plausible: bool

    @classmethod
    def of(
        cls, settings: Sequence[tuple[float, int, float, float]], device: torch.device
    ) -> "Warps":
        """One row for each (temperature, top_k, top_p, min_p)."""
        temperature, top_k, top_p, min_p = zip(*settings, strict=True)
        temperature = [min(max(each, COLDEST), HOTTEST) for each in temperature]
        top_k = [min(each, MOST) for each in top_k]
        return cls(
            torch.tensor(temperature, dtype=torch.float32, device=device),
            torch.tensor(top_k, dtype=torch.int64, device=device),
            torch.tensor(top_p, dtype=torch.float64, device=device),
            torch.tensor(min_p, dtype=torch.float32, device=device),
            any(each != 1 for each in temperature),
            max(top_k),
            min(top_p) < 1,
            max(min_p) > 0,
        )


def warp(row: Float[Tensor, "batch vocabulary"], warps: Warps) -> Float[Tensor, "batch vocabulary"]:
    """Temperature, top-k, top-p and min-p in this order.

    Example:
        >>> settings = Warps.of([(0.5, 2, 1.0, 0.0)], torch.device("cpu"))
        >>> warp(torch.tensor([[1.0, 3.0, 2.0]]), settings).tolist()
        [[-inf, 6.0, 4.0]]
    """
    if warps.heated:
        row = row / warps.temperature[:, None]
    if warps.most:
        row = top_k(row, warps.top_k, most=warps.most)
    if warps.nucleus:
        row = top_p(row, warps.top_p)
    if warps.plausible:
        row = min_p(row, warps.min_p)
    return row


def top_k(
    row: Float[Tensor, "batch vocabulary"], k: Int[Tensor, "batch"], *, most: int
) -> Float[Tensor, "batch vocabulary"]:
    """The k largest logits of each row (and what is equal to the last of them); k = 0 keeps all.

    Args:
        row: logits.
        k: how many to keep.
        most: the largest of `k`, known to the caller.
    """
    largest = torch.topk(row, min(most, row.shape[1])).values
    last = (k.clamp(max=row.shape[1]) - 1).clamp(min=0)
    least = largest.gather(1, last[:, None])
    return row.masked_fill((row < least) & (k > 0)[:, None], -math.inf)


def top_p(
    row: Float[Tensor, "batch vocabulary"], p: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """The smallest set of most probable tokens with mass of at least p; p = 1 keeps all."""
    size = row.shape[1]
    kept, whole = _nucleus(row, p, min(CANDIDATES, size))
    if not bool(whole.all()):
        kept, _ = _nucleus(row, p, size)
    return torch.where((p < 1)[:, None], kept, row)


def _nucleus(
    row: Float[Tensor, "batch vocabulary"], p: Float[Tensor, "batch"], count: int
) -> tuple[Float[Tensor, "batch vocabulary"], Tensor]:
    """The nucleus within the `count` largest logits, and for each row whether that is all of it."""
    largest, ids = torch.topk(row, count)
    highest = largest[:, :1]
    # Sums in float64: at p = 0.999 the tokens at the rim weigh 1e-6, as much as float32 rounds off.
    whole = (row - highest).exp().sum(1, keepdim=True, dtype=torch.float64)
    mass = (largest - highest).exp().double() / whole
    before = mass.cumsum(1) - mass  # of those that are more probable
    inside = before < p[:, None]
    inside[:, 0] = True  # p = 0 keeps the most probable
    kept = torch.full_like(row, -math.inf)
    kept.scatter_(1, ids, largest.masked_fill(~inside, -math.inf))
    beyond = inside[:, -1] & (largest[:, -1] > -math.inf) & (p < 1)
    return kept, ~beyond if count < row.shape[1] else torch.ones_like(beyond)


def min_p(
    row: Float[Tensor, "batch vocabulary"], share: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """The tokens at least `share` times as probable as the most probable one; 0 keeps all.

    Compared as logits: log p ≥ log p_max + log share needs no softmax (Nguyen et al. 2024,
    "Min-p sampling", arXiv 2407.01082).
    """
    least = row.amax(1) + share.log()
    return row.masked_fill(row < least[:, None], -math.inf)
