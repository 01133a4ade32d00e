"""Packed masks on a device: upload them, unpack them, apply them to rows of logits.

Values are finite float32 numbers; the support is the set of tokens that may be drawn. −∞ is written
only where they meet, because −∞ − −∞ and deviations of masked rows go wrong. Later filters (`warp`)
ignore tokens at −∞. Masks are uploaded as 32-bit words and unpacked on the device: 6 KB instead of
49 KB for 49,152 tokens, and 14 µs on a CPU.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.automaton.token_tries import Row, words
from guideway.errors import ModelError


def device_of(wanted: str | torch.device | None) -> torch.device:
    """The requested device, checked; by default a GPU if there is one."""
    try:
        place = torch.device(wanted or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=place)
    except Exception as error:  # noqa: BLE001  RuntimeError, AssertionError, NotImplementedError …
        raise ModelError(f"device {str(wanted)!r} cannot be used here: {error}") from None
    return place


def asks(device: torch.device) -> bool:
    """Return True if the host may read numbers at no cost: on a CPU, and not while compiling."""
    return device.type == "cpu" and not torch.compiler.is_compiling()


def send(values: Any, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Numbers, an array or a CPU tensor as a tensor on `device`, without waiting.

    A copy from pageable memory would make the host wait for the GPU's queue, as long as a forward.
    """
    made = torch.as_tensor(values, dtype=dtype)
    if device.type == "cuda":
        return made.pin_memory().to(device, non_blocking=True)
    return made.to(device)


def upload(rows: Sequence[Row], width: int, device: torch.device) -> Int[Tensor, "batch words"]:
    """Packed rows as one tensor on `device`; another width is refused."""
    for row in rows:
        if len(row) != words(width):
            raise ModelError(
                f"a mask of {len(row)} words is for about {32 * len(row)} tokens, but the model "
                f"gives {width} logits: compile the constraint with the model's own vocabulary"
            )
    # torch has next to nothing for uint32; int32 holds the same bits.
    return send(np.stack(rows).view(np.int32), device)


def unpack(packed: Int[Tensor, "batch words"], width: int) -> Bool[Tensor, "batch vocabulary"]:
    """Bit t % 32 of word t // 32 as element t.

    Each byte is looked up as eight elements: 32 rows of 128,256 tokens take 0.4 ms on a CPU, shifts
    of words 2.8 ms.

    >>> unpack(torch.tensor([[5]], dtype=torch.int32), 4).tolist()
    [[True, False, True, False]]
    """
    places = packed.view(torch.uint8).flatten().int()
    elements = _eights(packed.device).index_select(0, places).view(torch.bool)
    return elements.view(len(packed), 32 * packed.shape[1])[:, :width]


def apply_mask(
    values: Float[Tensor, "batch vocabulary"], support: Bool[Tensor, "batch vocabulary"]
) -> Float[Tensor, "batch vocabulary"]:
    """The values where they may be drawn, −∞ elsewhere. The argument is left as it is."""
    return torch.where(support, values, -math.inf)  # a third faster than masked_fill


@cache  # never freed, because captured graphs read it
def _eights(device: torch.device) -> Int[Tensor, "256"]:
    """For each byte its bits, the lowest first, as eight bytes that are 0 or 1."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return torch.as_tensor(bits.view(np.int64)[:, 0].copy()).to(device)
