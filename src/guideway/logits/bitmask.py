"""Bitmasks for other people's loops: made, filled by a `Matcher`, applied to their logits.

The names and the layout are xgrammar's and llguidance's: int32[batch, ceil(width / 32)], token t
being bit t % 32 of word t // 32.

What this module does not know: constraints, models.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.errors import ModelError, SourceError
from guideway.logits.mask import unpack
from guideway.masks.bits import words


def allocate_token_bitmask(batch: int, width: int) -> Int[Tensor, "batch words"]:
    """A bitmask that allows everything, on the CPU.

    Example:
        >>> allocate_token_bitmask(2, 40).tolist()
        [[-1, -1], [-1, -1]]

    Args:
        batch: number of rows.
        width: number of logits of a row (`vocabulary.width`).

    Raises:
        SourceError: they are not positive.
    """
    if batch < 1 or width < 1:
        raise SourceError(f"a bitmask of {batch} rows for {width} tokens: both must be positive")
    return torch.full((batch, words(width)), -1, dtype=torch.int32)


def apply_token_bitmask_inplace(
    logits: Float[Tensor, "*batch vocabulary"], bitmask: Int[Tensor, "*rows words"]
) -> None:
    """Set the logits of all tokens that the bitmask does not allow to −∞.

    Example:
        >>> logits = torch.zeros(1, 3)
        >>> apply_token_bitmask_inplace(logits, torch.tensor([[0b101]], dtype=torch.int32))
        >>> logits.tolist()
        [[0.0, -inf, 0.0]]

    Args:
        logits: any floating type, any device; one row or a batch of them.
        bitmask: int32, as many rows; copied to the device of the logits.

    Raises:
        ModelError: the shapes do not fit.
    """
    width = logits.shape[-1]
    rows = logits.view(-1, width)
    packed = bitmask.view(-1, bitmask.shape[-1])
    if packed.shape != (len(rows), words(width)):
        raise ModelError(
            f"a bitmask of shape {tuple(bitmask.shape)} does not fit logits of shape "
            f"{tuple(logits.shape)}: it must have {words(width)} words for each row"
        )
    allowed = unpack(packed.to(logits.device, non_blocking=True), width)
    rows.masked_fill_(~allowed, -math.inf)
