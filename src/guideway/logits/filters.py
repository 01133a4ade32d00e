"""Filters: each maps rows of logits to rows with −∞ outside the set that it keeps.

Each row has its own parameter, and a neutral value switches a filter off (k = 0; p, mass and share
= 1 or 0; n = ∞), so a batch is one tensor operation. The most probable token is always kept. Tokens
at −∞ do not count in means, deviations and entropies. Sets are those of transformers' processors,
except at their edge:

- thresholds and shares of mass have a tolerance of 1e-6;
- of tokens tied in the last place, those with low ids are kept; typical sampling keeps all.

A set of most probable tokens is the smallest prefix, by key and then by id, whose weights reach a
share. On a CPU the first 1,024 or 8,192 tokens are found without sorting the row, and nearly always
suffice (0.7 or 2 ms instead of 12 for 128,256 tokens on one core); else the row is sorted. On a GPU
rows are sorted, because asking whether tokens suffice would make the host wait.

XTC needs a coin and mirostat a feedback, which callers pass. Mirostat keeps the surprise −log2 p of
tokens near a target τ: a ceiling μ, at first 2τ, limits the surprise; after each token μ falls by η
times (surprise − τ). p is the distribution before this filter, as in the paper (Basu et al. 2020,
"Mirostat"), not the renormalised one of llama.cpp.
"""

import math
from typing import Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.logits.mask import asks
from guideway.logits.rows import log_mass

TOLERANCE: Final = 1e-6  # of a share
FEW: Final = 1024  # tokens that are looked at before a whole row is sorted
UNSORTED: Final = frozenset({"cpu"})  # where long rows are not sorted at once


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
    ids, kept = first_tokens(row, row.softmax(1) if weights is None else weights, share)
    values = row.gather(1, ids).masked_fill(~kept, -math.inf)
    return torch.where(share[:, None] >= 1, row, widened(values, ids, row.shape[1]))


def first_tokens(
    keys: Float[Tensor, "batch vocabulary"],
    weights: Float[Tensor, "batch vocabulary"],
    share: Float[Tensor, "batch"],
    most: int = FEW,
) -> tuple[Int[Tensor, "batch some"], Bool[Tensor, "batch some"]]:
    """Ids by descending key, ties by id, and True for those before `share` of the weight is held.

    The first is always kept. Of a row with a share of 1 or more, some tokens may be missing. `most`
    are found first.
    """
    width = keys.shape[1]
    most = width if sorts(keys) else min(most, width)
    ids = largest(keys, most)[1]
    sums = weights.gather(1, ids).cumsum(1, dtype=torch.float64)
    target = share[:, None] * weights.sum(1, keepdim=True, dtype=torch.float64) - TOLERANCE
    if most < width and not bool(((share[:, None] >= 1) | (sums[:, -1:] >= target)).all()):
        return first_tokens(keys, weights, share, 8 * FEW if most == FEW else width)
    kept = torch.ones_like(ids, dtype=torch.bool)
    kept[:, 1:] = sums[:, :-1] < target
    return ids, kept


def sorts(row: Tensor) -> bool:
    """Return True if long rows are sorted on this row's device."""
    return row.device.type not in UNSORTED or not asks(row.device)


def cut(
    row: Float[Tensor, "batch vocabulary"], least: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    return torch.where(row < least[:, None], -math.inf, row)


TOP_H: Final = 100  # tokens that top-H looks at, as in transformers
NOWHERE: Final = -1e4  # replaces −∞ in products with a probability of 0
EXTREME: Final = 1e18  # a logit that the coldest temperature makes infinite
SORTED: Final = 10  # rows up to which a GPU sorts as fast as it finds the largest


def temperature(
    row: Float[Tensor, "batch vocabulary"], divisor: Float[Tensor, "batch 1"]
) -> Float[Tensor, "batch vocabulary"]:
    """Divide each row by its temperature; extreme rows have their maximum at 0 first."""
    highest = row.amax(1, keepdim=True)
    extreme = (highest.abs() > EXTREME) & highest.isfinite()
    if asks(row.device) and not bool(extreme.any()):
        return row / divisor
    return (row - highest.where(extreme, 0.0)) / divisor


def top_k(
    row: Float[Tensor, "batch vocabulary"], k: Int[Tensor, "batch"], *, most: int
) -> Float[Tensor, "batch vocabulary"]:
    """Keep the k largest logits of each row; k = 0 keeps all. `most` is the largest k."""
    values, ids = largest(row, most)
    beyond = torch.arange(values.shape[1], device=row.device) >= k[:, None]
    return _unless(k == 0, row, values.masked_fill(beyond, -math.inf), ids)


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
    return cut(row, _at_most(highest, least.log() + log_mass(row)))


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
    nearness = -logs.sub_(negative_entropy[:, None]).abs_()
    ids, kept = first_tokens(nearness, probabilities, mass)
    least = nearness.gather(1, ids).masked_fill(~kept, math.inf).amin(1)
    return torch.where(nearness < least.masked_fill(mass >= 1, -math.inf)[:, None], -math.inf, row)


def top_h(
    row: Float[Tensor, "batch vocabulary"], share: Float[Tensor, "batch"]
) -> Float[Tensor, "batch vocabulary"]:
    """Keep the most probable tokens while their entropy is within `share`; ∞ keeps all.

    The terms −p·log p of the 100 most probable tokens, normalised among themselves, are added up to
    `share` of their sum, as in transformers (top-H decoding, arXiv 2509.02510).
    """
    values, ids = largest(row, TOP_H)
    # In float64: where one token is all but certain, the entropy is next to nothing.
    logs, probabilities = _distribution(values.double())
    sums = -(probabilities * logs).cumsum(1)
    inside = sums <= (share[:, None] + TOLERANCE) * sums[:, -1:]
    inside[:, 0] = True
    return _unless(share == math.inf, row, values.masked_fill(~inside, -math.inf), ids)


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
    ids, by_id = ids.sort(1)
    values = values.gather(1, by_id)
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
    off: Bool[Tensor, "batch"],
    row: Float[Tensor, "batch vocabulary"],
    values: Float[Tensor, "batch few"],
    ids: Int[Tensor, "batch few"],
) -> Float[Tensor, "batch vocabulary"]:
    """Rows of these few tokens alone, and those that are off as they were."""
    kept = widened(values, ids, row.shape[1])
    if asks(row.device) and not bool(off.any()):
        return kept
    return torch.where(off[:, None], row, kept)


def widened(
    values: Float[Tensor, "batch few"], ids: Int[Tensor, "batch few"], width: int
) -> Float[Tensor, "batch vocabulary"]:
    row = values.new_full((len(values), width), -math.inf)
    return row.scatter_(1, ids, values)


def _distribution(
    row: Float[Tensor, "batch choices"],
) -> tuple[Float[Tensor, "batch choices"], Float[Tensor, "batch choices"]]:
    """Log-probabilities, finite where the row is −∞, and probabilities."""
    logs = row.log_softmax(1).clamp_(min=NOWHERE)
    return logs, logs.exp()


def dot(
    left: Float[Tensor, "batch choices"], right: Float[Tensor, "batch choices"]
) -> Float[Tensor, "batch"]:
    """The sum of products of each row.

    `bmm` adds sequentially for several rows on a CPU: over 50,257 products its error was 2e-4 in 2
    ms for six rows; here 3e-7 in 63 µs.
    """
    return (left * right).sum(1)


def _at_most(
    highest: Float[Tensor, "batch"], bound: Float[Tensor, "batch"]
) -> Float[Tensor, "batch"]:
    """A bound that the most probable token meets."""
    return torch.minimum(highest, bound - TOLERANCE)


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

    The last of ties stays. `exempt` tokens (ends, line breaks) are neither removed nor counted;
    `most` bounds the number of such probable tokens, exempt ones included.

    >>> row = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
    >>> xtc(row, torch.tensor([0.2]), torch.arange(4)[None] == 1, most=7).exp()
    tensor([[0.0000, 0.3000, 0.2000, 0.1000]])
    """
    values, ids = largest(row, min(most, row.shape[1]))
    least = log_mass(row) + threshold.log() - TOLERANCE
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
    least = log_mass(row) - ceiling * math.log(2) - TOLERANCE
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
