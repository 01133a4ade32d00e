"""Filters: each maps rows of logits to rows with −∞ outside the set that it keeps.

Each row has its own parameter, and a neutral value switches a filter off (k = 0; p, mass and share
= 1 or 0; n = ∞), so a batch is one tensor operation. The most probable token is always kept. Tokens
at −∞ do not count in means, deviations and entropies. Sets are those of transformers' processors,
except at their edge:

- thresholds and shares of mass have a tolerance of 1e-6;
- of tokens tied in the last place, those with low ids are kept; typical sampling keeps all.

On a CPU nothing sorts the vocabulary (`logits.rim`), and on a GPU the host never waits. Top-k and
top-H keep few tokens; later stages then process only those (`Narrow`).
"""

import math
from typing import Final, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.logits.rim import TOLERANCE, cut, keep_largest, last_key, sorts

TOP_H: Final = 100  # tokens that top-H looks at, as in transformers
NOWHERE: Final = -1e4  # replaces −∞ in products with a probability of 0
SORTED: Final = 10  # rows up to which a GPU sorts as fast as it finds the largest

# Some tokens of each row and their ids, ascending; what else there was is −∞.
Narrow: TypeAlias = tuple[Float[Tensor, "batch narrow"], Int[Tensor, "batch narrow"]]


def top_k(
    row: Float[Tensor, "batch vocabulary"], k: Int[Tensor, "batch"], *, most: int
) -> Float[Tensor, "batch vocabulary"]:
    """Keep the k largest logits of each row; k = 0 keeps all. `most` is the largest k."""
    return _unless(k == 0, row, narrow_top_k(row, k, most=most))


def narrow_top_k(
    row: Float[Tensor, "batch vocabulary"], k: Int[Tensor, "batch"] | None, *, most: int
) -> Narrow:
    """`top_k` for rows that all have a k, as those tokens alone; None where it is `most` in all."""
    values, ids = largest(row, most)
    if k is None:
        return _by_id(values, ids)
    beyond = torch.arange(values.shape[1], device=row.device) >= k[:, None]
    return _by_id(values.masked_fill(beyond, -math.inf), ids)


def top_p(
    row: Float[Tensor, "batch vocabulary"], p: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """The smallest set of most probable tokens with mass of at least p; p = 1 keeps all."""
    return keep_largest(row, None, p)


def min_p(
    row: Float[Tensor, "batch vocabulary"], share: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Keep tokens at least `share` times as probable as the most probable one; 0 keeps all.

    Compared as logits, without a softmax (Nguyen et al. 2024, "Min-p sampling", arXiv 2407.01082).
    """
    return cut(row, row.amax(1) + share.log() - TOLERANCE)


def epsilon(
    row: Float[Tensor, "batch vocabulary"], least: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Keep tokens with a probability of at least `least`; 0 keeps all.

    Hewitt, Manning and Liang 2022, "Truncation Sampling as Language Model Desmoothing".
    """
    highest = row.amax(1)
    return cut(row, _at_most(highest, least.log() + _total(row, highest)))


def eta(
    row: Float[Tensor, "batch vocabulary"], least: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Keep tokens of probability min(ε, √ε · exp(−entropy)) or more, ε = `least`; 0 keeps all.

    The same paper as `epsilon`.
    """
    logs, probabilities = _distribution(row)
    negative_entropy = dot(probabilities, logs)
    highest = row.amax(1)
    bound = torch.minimum(least.log(), least.log() / 2 + negative_entropy)
    return cut(row, _at_most(highest, bound + highest - logs.amax(1)))


def typical(
    row: Float[Tensor, "batch vocabulary"], mass: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Keep tokens whose surprise is nearest to the entropy, up to `mass`; 1 keeps all.

    Ties with the last one are kept, as in transformers (Meister et al. 2023, "Locally Typical
    Sampling").
    """
    logs, probabilities = _distribution(row)
    negative_entropy = dot(probabilities, logs)
    distance = logs.sub_(negative_entropy[:, None]).abs_()
    last = last_key(distance, probabilities, mass)
    if sorts(row):
        return row.masked_fill(distance > last[:, None], -math.inf)
    nearness = -distance
    kept = cut(nearness, -last)
    return kept.sub_(nearness).add_(row)  # 0 or −∞, plus the row


def top_h(
    row: Float[Tensor, "batch vocabulary"], share: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Keep the most probable tokens while their entropy is within `share`; ∞ keeps all.

    The terms −p·log p of the 100 most probable tokens, normalised among themselves, are added up to
    `share` of their sum, as in transformers (top-H decoding, arXiv 2509.02510).
    """
    return _unless(share == math.inf, row, narrow_top_h(row, share))


def narrow_top_h(row: Float[Tensor, "batch vocabulary"], share: Float[Tensor, "batch"]) -> Narrow:
    """`top_h` for rows that all have a share, as those tokens alone."""
    values, ids = largest(row, TOP_H)
    # In float64: where one token is all but certain, the entropy is next to nothing.
    logs, probabilities = _distribution(values.double())
    sums = -(probabilities * logs).cumsum(1)
    inside = sums <= (share[:, None] + TOLERANCE) * sums[:, -1:]
    inside[:, 0] = True
    return _by_id(values.masked_fill(~inside, -math.inf), ids)


def top_n_sigma(
    row: Float[Tensor, "batch vocabulary"], n: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Keep tokens within n standard deviations of the greatest logit; n = ∞ keeps all.

    The sample deviation (count − 1). A temperature does not change the set (Tang et al. 2024,
    "Top-nσ", arXiv 2411.07641).
    """
    highest = row.amax(1)
    below = (row - highest[:, None]).nan_to_num_(neginf=0.0).double()  # 0 adds nothing
    count = (row > -math.inf).sum(1).clamp(min=2)
    total = below.sum(1)
    variance = (below.square().sum(1) - total.square() / count) / (count - 1)
    deviation = variance.clamp(min=0).sqrt().to(row.dtype)
    return cut(row, (highest - n * deviation - TOLERANCE).masked_fill(n == math.inf, -math.inf))


def largest(
    row: Float[Tensor, "batch vocabulary"], most: int
) -> tuple[Float[Tensor, "batch most"], Int[Tensor, "batch most"]]:
    """The `most` largest logits of each row and their ids; ties in the order of ids.

    >>> largest(torch.tensor([[1.0, 2.0, 0.0, 2.0]]), 3)[1].tolist()
    [[1, 3, 0]]
    """
    if most >= row.shape[1] or (sorts(row) and len(row) <= SORTED):
        values, ids = row.sort(dim=1, descending=True, stable=True)
        return values[:, :most], ids[:, :most]
    if sorts(row):
        ids = torch.topk(_untied(row), most).indices
        return row.gather(1, ids), ids
    return _largest_of_searched(row, most)


def _largest_of_searched(
    row: Float[Tensor, "batch vocabulary"], most: int
) -> tuple[Float[Tensor, "batch most"], Int[Tensor, "batch most"]]:
    """`largest` where it costs little to ask whether the last one is tied."""
    values, ids = torch.topk(row, most + 1)
    last = values[:, most - 1 : most]
    tied = (last == values[:, most:]) & (last > -math.inf)
    values, ids = values[:, :most], ids[:, :most].clone()
    if bool(tied.any()):  # which of them are there is chance
        rows, at = (row == last.masked_fill(~tied, math.nan)).nonzero(as_tuple=True)
        starts = torch.searchsorted(rows, torch.arange(len(row), device=row.device))
        place = (values > last).sum(1)[rows] + torch.arange(len(rows), device=row.device)
        place -= starts[rows]
        inside = place < most
        ids[rows[inside], place[inside]] = at[inside]
    values, ids = _by_id(values, ids)
    order = values.argsort(dim=1, descending=True, stable=True)
    return values.gather(1, order), ids.gather(1, order)


def _untied(row: Float[Tensor, "batch vocabulary"]) -> Float[Tensor, "batch vocabulary"]:
    """Logits in float64, each lowered in its last bits by its id, so that none are tied.

    float32 has 29 bits less, so the order of others is unchanged. Below 2⁻¹²⁶, where float32 is
    evenly spaced, the steps are those at 2⁻¹²⁶, still smaller than the spacing.
    """
    ids = torch.arange(1, row.shape[1] + 1, dtype=torch.float64, device=row.device)
    return torch.addcmul(row, row.abs().clamp_(min=2.0**-126), ids, value=-(2.0**-52))


def _unless(
    off: Bool[Tensor, "batch"], row: Float[Tensor, "batch vocabulary"], narrow: Narrow
) -> Float[Tensor, "batch vocabulary"]:
    """The whole rows of the few tokens, and those that are off as they were."""
    kept = widened(narrow, row.shape[1])
    if row.device.type == "cpu" and not bool(off.any()):  # elsewhere, to ask is to wait
        return kept
    return torch.where(off[:, None], row, kept)


def widened(narrow: Narrow, width: int) -> Float[Tensor, "batch vocabulary"]:
    """Rows of the full width."""
    values, ids = narrow
    row = values.new_full((len(values), width), -math.inf)
    return row.scatter_(1, ids, values)


def _by_id(values: Float[Tensor, "batch narrow"], ids: Int[Tensor, "batch narrow"]) -> Narrow:
    ids, order = ids.sort(1)
    return values.gather(1, order), ids


def _distribution(
    row: Float[Tensor, "batch choices"],
) -> tuple[Float[Tensor, "batch choices"], Float[Tensor, "batch choices"]]:
    """Log-probabilities, finite where the row is −∞, and probabilities."""
    if sorts(row):
        logs = row.log_softmax(1).clamp_(min=NOWHERE)
        return logs, logs.exp()
    probabilities = row.softmax(1)
    logs = (row - row.amax(1, keepdim=True)).clamp_(min=NOWHERE)
    return logs.add_(probabilities.amax(1, keepdim=True).log()), probabilities


def dot(
    left: Float[Tensor, "batch choices"], right: Float[Tensor, "batch choices"]
) -> Float[Tensor, "batch"]:
    """The sum of products of each row.

    `bmm` adds sequentially for several rows on a CPU: over 50,257 products its error was 2e-4 in 2
    ms for six rows; here 3e-7 in 63 µs.
    """
    return (left * right).sum(1)


def _total(
    row: Float[Tensor, "batch vocabulary"], highest: Float[Tensor, "batch"]
) -> Float[Tensor, "batch"]:
    """logsumexp, for less: log p = logit − total holds for the greatest logit too."""
    return highest - row.softmax(1).amax(1).log()


def _at_most(
    highest: Float[Tensor, "batch"], bound: Float[Tensor, "batch"]
) -> Float[Tensor, "batch"]:
    """A bound that the most probable token meets."""
    return torch.minimum(highest, bound - TOLERANCE)
