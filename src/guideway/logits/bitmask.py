"""Bitmasks for other libraries' decoding loops: allocate one, fill it, apply it to logits.

Names and layout are those of xgrammar and llguidance: int32[batch, ceil(width / 32)], where token t
is bit t % 32 of word t // 32. All functions accept numpy arrays and torch tensors, and import torch
only for tensors.
"""

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import words
from guideway.errors import ModelError, SourceError
from guideway.extras import installed, require

if TYPE_CHECKING:
    import torch


def allocate_token_bitmask(batch: int, width: int) -> "torch.Tensor":
    """Return a bitmask that allows every token, int32[batch, ceil(width / 32)].

    It is a torch tensor on the CPU if torch is installed, as in xgrammar, and a numpy array
    otherwise. `numpy.asarray(bitmask)` is an array of the same memory in both cases.

    Example:
        >>> allocate_token_bitmask(2, 40).tolist()
        [[-1, -1], [-1, -1]]

    Args:
        batch: number of rows.
        width: number of logits of a row (`vocabulary.width`).

    Raises:
        SourceError: a number is not positive.
    """
    if batch < 1 or width < 1:
        raise SourceError(f"a bitmask of {batch} rows for {width} tokens: both must be positive")
    bitmask = np.full((batch, words(width)), -1, np.int32)
    if not installed("torch"):
        return cast("Any", bitmask)
    import torch

    return torch.from_numpy(bitmask)  # pyright: ignore[reportUnknownMemberType]


def apply_token_bitmask_inplace(
    logits: "torch.Tensor | NDArray[np.floating]", bitmask: "torch.Tensor | NDArray[np.integer]"
) -> None:
    """Set the logits of all tokens that the bitmask does not allow to −∞.

    Example:
        >>> logits = np.zeros((1, 3))
        >>> apply_token_bitmask_inplace(logits, np.array([[0b101]], np.int32))
        >>> logits.tolist()
        [[0.0, -inf, 0.0]]

    Args:
        logits: float[vocabulary] or float[batch, vocabulary]; numpy, or torch on any device.
        bitmask: int32 or uint32 with as many rows; numpy or torch. Tensors on another device are
            copied to the device of the logits.

    Raises:
        ModelError: the shapes do not fit, or the bitmask has another type.
    """
    width = logits.shape[-1]
    rows = math.prod(logits.shape[:-1])
    if math.prod(bitmask.shape[:-1]) != rows or bitmask.shape[-1:] != (words(width),):
        raise ModelError(
            f"a bitmask of shape {tuple(bitmask.shape)} does not fit logits of shape "
            f"{tuple(logits.shape)}: it must have {words(width)} words for each row"
        )
    if str(bitmask.dtype).removeprefix("torch.") not in ("int32", "uint32"):
        raise ModelError(f"a bitmask has the type int32, not {bitmask.dtype}")
    if isinstance(logits, np.ndarray):
        packed = np.asarray(bitmask).reshape(rows, words(width)).astype("<i4")
        allowed = np.unpackbits(packed.view(np.uint8), axis=1, count=width, bitorder="little")
        logits[allowed.reshape(logits.shape) == 0] = -math.inf
        return
    require("torch", "apply_token_bitmask_inplace")
    import torch

    from guideway.logits.mask import unpack

    # A copy, as torch warns of arrays that cannot be written, such as the rows of constraints.
    given = np.array(bitmask) if isinstance(bitmask, np.ndarray) else bitmask
    tensor = torch.as_tensor(given, device=logits.device).view(torch.int32)
    support = unpack(tensor.reshape(rows, words(width)), width)
    logits.masked_fill_(~support.view(logits.shape), -math.inf)
