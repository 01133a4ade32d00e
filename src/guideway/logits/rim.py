"""Find the first tokens of a row by some order, without sorting the row.

A filter keeps the first tokens in an order until their weights reach a share. The order matters
only at the edge of the set (rim), so only that bucket is sorted:

    keys      0.0  0.1 | 0.7  0.9  0.9 | 2.3  8.1 …       cut into buckets, 64 for each power of two
    weights   .30  .20 | .15  .10  .10 | .10  .05
    sums           .50            .85           1        p = 0.6 is reached in the second bucket,
    kept       ✓    ✓     ✓                              which is sorted: by key, then by id

Sets are the smallest whose weights reach the share within 1e-6. Sums are float64: at p = 0.999 a
token at the rim weighs as much as the rounding of float32. Short rows, and all rows on a GPU, are
sorted: there a sort costs ten small operations, and indexing a bucket would make the host wait.
"""

import math
from dataclasses import dataclass
from typing import Final, cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

TOLERANCE: Final = 1e-6  # of a share
FEW: Final = 1024  # tokens in a row that is sorted after all
UNSORTED: Final = frozenset({"cpu"})  # where longer ones are not
# The bits of a positive float32 in their order: 8 of the exponent, then the mantissa. Without the
# last 17 of them there are 64 buckets for each power of two, here from 2⁻²⁰ to 2⁷.
SHIFT: Final = 17
LOWEST: Final = (127 - 20) * 64
BUCKETS: Final = (20 + 7) * 64 + 1
# Tokens that are added up at once on a CPU: what is needed in between fits into its cache. With
# whole rows, typical sampling took 5.6 instead of 1.6 ms at 262,144 tokens: fresh memory is slow.
CHUNK: Final = 1 << 15


@final
@dataclass(frozen=True, slots=True)
class Rim:
    """The end of the kept tokens.

    Attributes:
        last: greatest kept key of each row; ∞ if all are kept.
        rows: row of each token in the rim buckets, ascending.
        ids: its id; within a row in the order of (key, id).
        kept: True if it is kept.
    """

    last: Float[Tensor, "batch"]
    rows: Int[Tensor, "rim"]
    ids: Int[Tensor, "rim"]
    kept: Bool[Tensor, "rim"]


def find_rim(
    keys: Float[Tensor, "batch vocabulary"],
    weights: Float[Tensor, "batch vocabulary"],
    share: Float[Tensor, "batch"],
    finer: Float[Tensor, "batch vocabulary"] | None = None,
) -> Rim:
    """The smallest set of tokens with the least keys and at least `share` of the weight.

    `keys` are float32, not negative, ∞ for missing tokens; `finer` are the negated keys before
    rounding, to break ties.

    >>> keys = torch.tensor([[0.5, 0.0, 0.5]])
    >>> rim = find_rim(keys, torch.full((1, 3), 1 / 3), torch.tensor([0.6]))
    >>> rim.last, rim.ids[rim.kept]
    (tensor([0.5000]), tensor([0]))
    """
    place = (keys.view(torch.int32) >> SHIFT).sub_(LOWEST).clamp_(0, BUCKETS - 1)
    sums = torch.zeros(len(keys), BUCKETS, dtype=torch.float64, device=keys.device)
    columns = max(1, CHUNK // len(keys)) if keys.device.type == "cpu" else keys.shape[1]
    for first in range(0, keys.shape[1], columns):
        part = slice(first, first + columns)
        sums.scatter_add_(1, place[:, part].long(), weights[:, part].double())
    sums = sums.cumsum(1)
    whole = share >= 1
    target = (share.double() * sums[:, -1] - TOLERANCE).clamp(min=1e-300)
    target = target.masked_fill(whole, 0.0)  # a rim at the first token, which costs nothing
    bucket = torch.searchsorted(sums, target[:, None]).clamp_(max=BUCKETS - 1)
    before = torch.where(bucket > 0, sums.gather(1, (bucket - 1).clamp(min=0)), 0.0)[:, 0]
    rows, ids = (place == bucket).nonzero(as_tuple=True)
    ranked = keys if finer is None else finer
    order = ranked[rows, ids].argsort(stable=True, descending=finer is not None)
    order = order[rows[order].argsort(stable=True)]
    ids = ids[order]  # `rows` is ascending already
    running = torch.nn.functional.pad(
        weights[rows, ids].double().cumsum(0), (1, 0)
    )  # before each token
    starts = torch.searchsorted(rows, torch.arange(len(keys), device=rows.device))
    kept = running[:-1] + (before - running[starts])[rows] < target[rows]
    reached = torch.full_like(share, -math.inf, dtype=keys.dtype)
    reached.scatter_reduce_(0, rows[kept], keys[rows, ids][kept], "amax")
    unbound = whole | (reached == -math.inf)
    return Rim(reached.masked_fill(unbound, math.inf), rows, ids, kept | unbound[rows])


def keep_largest(
    row: Float[Tensor, "batch vocabulary"],
    weights: Float[Tensor, "batch vocabulary"] | None,
    share: Float[Tensor, "batch"],
) -> Float[Tensor, "batch vocabulary"]:
    """Keep the largest logits with `share` of the weight (None: probabilities); ties keep low ids.

    >>> row = torch.tensor([[1.0, 3.0, 1.0, 0.0]])
    >>> keep_largest(row, torch.ones(1, 4), torch.tensor([0.5])).tolist()
    [[1.0, 3.0, -inf, -inf]]
    """
    if row.shape[1] <= FEW or sorts(row):
        return _keep_largest_by_sorting(row, weights, share)
    weights = row.softmax(1) if weights is None else weights
    rim = find_rim(row.amax(1, keepdim=True) - row, weights, share, row)
    least = torch.full_like(rim.last, math.inf)
    least.scatter_reduce_(0, rim.rows[rim.kept], row[rim.rows, rim.ids][rim.kept], "amin")
    kept = cut(row, least.masked_fill(rim.last == math.inf, -math.inf))
    kept[rim.rows[~rim.kept], rim.ids[~rim.kept]] = -math.inf
    return kept


def _keep_largest_by_sorting(
    row: Float[Tensor, "batch tokens"],
    weights: Float[Tensor, "batch tokens"] | None,
    share: Float[Tensor, "batch"],
) -> Float[Tensor, "batch tokens"]:
    values, order = row.sort(dim=1, descending=True, stable=True)
    held, target = _held(values.softmax(1) if weights is None else weights.gather(1, order), share)
    values[:, 1:].masked_fill_(held[:, :-1] >= target, -math.inf)  # the first one is always kept
    return torch.empty_like(row).scatter_(1, order, values)


def last_key(
    keys: Float[Tensor, "batch vocabulary"],
    weights: Float[Tensor, "batch vocabulary"],
    share: Float[Tensor, "batch"],
) -> Float[Tensor, "batch"]:
    """The greatest kept key, as in `find_rim`; ∞ or the greatest key if all are kept."""
    if not sorts(keys):
        return find_rim(keys, weights, share).last
    values, order = keys.sort(dim=1)
    held, target = _held(weights.gather(1, order), share)
    last = (held[:, :-1] < target).sum(1, keepdim=True)
    return values.gather(1, last)[:, 0]


def sorts(row: Tensor) -> bool:
    """Return True if long rows are sorted on this row's device."""
    return row.device.type not in UNSORTED


def _held(
    weights: Float[Tensor, "batch tokens"], share: Float[Tensor, "batch"]
) -> tuple[Float[Tensor, "batch tokens"], Float[Tensor, "batch 1"]]:
    """Cumulative weights, and the target weight (∞ to keep all)."""
    sums = weights.cumsum(1, dtype=torch.float64)
    whole = share[:, None] >= 1
    return sums, (share[:, None] * sums[:, -1:] - TOLERANCE).masked_fill_(whole, math.inf)


def cut(
    row: Float[Tensor, "batch vocabulary"], least: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Set logits below `least` to −∞."""
    if row.device.type != "cpu":
        return _cut_by_comparison(row, least)
    # Boolean comparisons are not vectorised on a CPU: 0.46 ms at 262,144 tokens, this takes 0.05.
    # `threshold` is strict, so the bound is one step lower.
    kept = row.clone()
    bounds = torch.nextafter(least.to(row.dtype), torch.tensor(-math.inf, dtype=row.dtype))
    listed = cast("list[float]", bounds.tolist())  # pyright: ignore[reportUnknownMemberType]
    for place, bound in enumerate(listed):
        torch.nn.functional.threshold(kept[place], bound, -math.inf, inplace=True)
    return kept


def _cut_by_comparison(
    row: Float[Tensor, "batch vocabulary"], least: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """`cut` without going through the rows one by one."""
    return row.masked_fill(row < least[:, None], -math.inf)
