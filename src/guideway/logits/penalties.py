"""Penalties, biases and bans on closed rows of logits (−∞ where a token may not be drawn).

They act on raw logits, before any temperature: the repetition penalty is not indifferent to a shift
of the row. What they are about is a list of tokens for each row, never the whole vocabulary. A
penalty or a bias never bans: it pushes nothing beyond ±1e9, so that no temperature makes it −∞.

What this module does not know: texts, what the tokens have been.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from guideway.logits.transfer import send

BOUND: Final = 1e9


@final
@dataclass(frozen=True, slots=True)
class Marks:
    """Tokens of some rows, each with a number.

    Attributes:
        rows: the row of each.
        ids: the token of each; none twice in a row.
        values: the number of each.
    """

    rows: Int[Tensor, "marks"]
    ids: Int[Tensor, "marks"]
    values: Float[Tensor, "marks"]

    @classmethod
    def of(
        cls,
        tokens: Sequence[NDArray[np.int64]],
        values: Sequence[NDArray[np.float64]] | None,
        device: torch.device,
    ) -> "Marks | None":
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
    """Positive logits of these tokens divided by the penalty, negative ones multiplied by it.

    Keskar et al. 2019, "CTRL"; 1 changes nothing. A token may be there several times.

    Example:
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
    """The penalty subtracted from the logits of these tokens; once, however often they are there.

    Example:
        >>> row = torch.tensor([[2.0, -2.0, 1.0]])
        >>> flat(row, torch.tensor([[0, 1, 0]]), torch.tensor([4.0])).tolist()
        [[-2.0, -6.0, 1.0]]
    """
    logits = row.gather(1, ids)
    return row.scatter(1, ids, _bounded(logits, logits - penalty[:, None]))


def counted(
    row: Float[Tensor, "batch vocabulary"],
    ids: Int[Tensor, "batch generated"],
    there: Float[Tensor, "batch generated"],
    presence: Float[Tensor, "batch"],
    frequency: Float[Tensor, "batch"],
) -> Float[Tensor, "batch vocabulary"]:
    """Presence once and frequency for each time, subtracted from the logits of these tokens.

    Example:
        >>> ids, there = torch.tensor([[0, 1, 0]]), torch.ones(1, 3)
        >>> one, two = torch.tensor([1.0]), torch.tensor([2.0])
        >>> counted(torch.zeros(1, 3), ids, there, one, two).tolist()
        [[-5.0, -3.0, 0.0]]

    Args:
        row: logits.
        ids: the tokens of a text, in any order.
        there: 1 for them, 0 for what only fills the shape.
        presence: subtracted once.
        frequency: subtracted for each time that a token is there.
    """
    counts = torch.zeros_like(row).scatter_add_(1, ids, there).gather(1, ids)
    logits = row.gather(1, ids)
    changed = logits - frequency[:, None] * counts - presence[:, None] * (counts > 0)
    return row.scatter(1, ids, _bounded(logits, changed))


def added(
    row: Float[Tensor, "batch vocabulary"], *marks: Marks | None
) -> Float[Tensor, "batch vocabulary"]:
    """The numbers of the marks added to their tokens; where two have a token, the last one's.

    Example:
        >>> marks = Marks.of([np.array([2])], [np.array([-1.5])], torch.device("cpu"))
        >>> added(torch.zeros(1, 3), marks, None).tolist()
        [[0.0, 0.0, -1.5]]
    """
    result = row.clone()
    for each in marks:
        if each is not None:
            logits = row[each.rows, each.ids]
            result[each.rows, each.ids] = _bounded(logits, logits + each.values)
    return result


def banned(
    row: Float[Tensor, "batch vocabulary"], *marks: Marks | None
) -> Float[Tensor, "batch vocabulary"]:
    """−∞ for all tokens that are marked.

    Example:
        >>> marks = Marks.of([np.array([2])], None, torch.device("cpu"))
        >>> banned(torch.zeros(1, 3), marks).tolist()
        [[0.0, 0.0, -inf]]
    """
    result = row.clone()
    for each in marks:
        if each is not None:
            # A number of Python's would be copied to a GPU, and the host wait for that.
            result.index_put_((each.rows, each.ids), result.new_full((), -math.inf))
    return result


def banned_if_others(
    row: Float[Tensor, "batch vocabulary"], marks: Marks | None
) -> Float[Tensor, "batch vocabulary"]:
    """−∞ for all tokens that are marked, in the rows where that leaves another one.

    Example:
        >>> marks = Marks.of([np.array([1]), np.array([0, 1])], None, torch.device("cpu"))
        >>> banned_if_others(torch.zeros(2, 2), marks).tolist()
        [[0.0, -inf], [0.0, 0.0]]
    """
    result = banned(row, marks)
    empty = result.amax(1) == -math.inf
    if row.device.type == "cpu" and not bool(empty.any()):  # elsewhere, to ask is to wait
        return result
    return torch.where(empty[:, None], row, result)


def _bounded(
    before: Float[Tensor, "*shape"], after: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """`after`, pushed beyond ±1e9 by nothing; what was −∞ before is."""
    return after.clamp(before.clamp(max=-BOUND), before.clamp(min=BOUND))
