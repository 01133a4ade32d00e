"""Penalties, biases and bans on rows of logits with −∞ for tokens that may not be drawn.

They act before any temperature: the repetition penalty is not invariant under shifts. Their
arguments are lists of tokens for each row. Penalties and biases are bounded by ±1e9, so no
temperature makes them a ban.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from guideway.logits.mask import asks, send

BOUND: Final = 1e9


@dataclass(frozen=True, slots=True)
class TokenValues:
    """Tokens of some rows, each with a number."""

    rows: Int[Tensor, "marks"]
    ids: Int[Tensor, "marks"]
    values: Float[Tensor, "marks"]

    @classmethod
    def of(
        cls,
        tokens: Sequence[NDArray[np.int64]],
        values: Sequence[NDArray[np.float64]] | None,
        device: torch.device,
    ) -> "TokenValues | None":
        """The marks of each row, one array a row; None if there are none in any."""
        counts = [len(each) for each in tokens]
        if not any(counts):
            return None
        packed = np.zeros((3, sum(counts)), np.int32)  # one copy to a GPU instead of three
        packed[0] = np.repeat(np.arange(len(tokens)), counts)
        packed[1] = np.concatenate(tokens)
        if values is not None:
            packed[2].view(np.float32)[:] = np.concatenate(values)
        sent = send(packed, device)
        places = sent[:2].long()
        return cls(places[0], places[1], sent[2].view(torch.float32))


def repetition(
    row: Float[Tensor, "batch vocabulary"],
    ids: Int[Tensor, "batch seen"],
    penalty: Float[Tensor, "batch"],
) -> Float[Tensor, "batch vocabulary"]:
    """Divide positive logits of these tokens by the penalty, and multiply negative ones.

    Keskar et al. 2019, "CTRL"; 1 changes nothing. Ids may be repeated.

    >>> row = torch.tensor([[2.0, -2.0, 1.0]])
    >>> repetition(row, torch.tensor([[0, 1, 0]]), torch.tensor([4.0])).tolist()
    [[0.5, -8.0, 1.0]]
    """
    logits = row.gather(1, ids)
    factor = penalty[:, None]
    changed = torch.where(logits < 0, logits * factor, logits / factor)
    return row.scatter(1, ids, _bounded(logits, changed))


def flat(
    row: Float[Tensor, "batch vocabulary"],
    ids: Int[Tensor, "batch seen"],
    penalty: Float[Tensor, "batch"],
) -> Float[Tensor, "batch vocabulary"]:
    """Subtract the penalty from the logits of these tokens, once for each token."""
    logits = row.gather(1, ids)
    return row.scatter(1, ids, _bounded(logits, logits - penalty[:, None]))


def counted(
    row: Float[Tensor, "batch vocabulary"],
    ids: Int[Tensor, "batch generated"],
    there: Float[Tensor, "batch generated"],
    presence: Float[Tensor, "batch"],
    frequency: Float[Tensor, "batch"],
) -> Float[Tensor, "batch vocabulary"]:
    """Subtract presence once and frequency for each occurrence.

    `ids` may be padded; `there` is 1 for tokens and 0 for padding.

    >>> ids, there = torch.tensor([[0, 1, 0]]), torch.ones(1, 3)
    >>> one, two = torch.tensor([1.0]), torch.tensor([2.0])
    >>> counted(torch.zeros(1, 3), ids, there, one, two).tolist()
    [[-5.0, -3.0, 0.0]]
    """
    counts = torch.zeros_like(row).scatter_add_(1, ids, there).gather(1, ids)
    logits = row.gather(1, ids)
    changed = logits - frequency[:, None] * counts - presence[:, None] * (counts > 0)
    return row.scatter(1, ids, _bounded(logits, changed))


def biased(
    row: Float[Tensor, "batch vocabulary"],
    bias: Float[Tensor, "batch vocabulary"] | None,
    marks: TokenValues | None,
) -> Float[Tensor, "batch vocabulary"]:
    """Add biases, and the numbers of the marks."""
    if bias is None and marks is None:
        return row
    bias = torch.zeros_like(row) if bias is None else bias
    if marks is not None:
        bias = bias.index_put((marks.rows, marks.ids), marks.values, accumulate=True)
    return _bounded(row, row + bias)


def banned(
    row: Float[Tensor, "batch vocabulary"], *marks: TokenValues | None
) -> Float[Tensor, "batch vocabulary"]:
    result = row.clone()
    for each in marks:
        if each is not None:
            # A Python number would be copied to the GPU, and the host would wait.
            result.index_put_((each.rows, each.ids), result.new_full((), -math.inf))
    return result


def banned_if_others(
    row: Float[Tensor, "batch vocabulary"], marks: TokenValues | None
) -> Float[Tensor, "batch vocabulary"]:
    """Set marked tokens to −∞ in the rows where another token remains."""
    result = banned(row, marks)
    empty = result.amax(1) == -math.inf
    if asks(row.device) and not bool(empty.any()):
        return result
    return torch.where(empty[:, None], row, result)


def _bounded(
    before: Float[Tensor, "*shape"], after: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """`after`, pushed beyond ±1e9 by nothing; what was −∞ before is."""
    return after.clamp(before.clamp(max=-BOUND), before.clamp(min=BOUND))
