"""Transfer numbers to the device of the logits without waiting.

A copy from pageable memory makes the host wait for the GPU's queue, as long as a forward pass; a
copy from pinned memory does not.
"""

from typing import Any

import torch
from torch import Tensor

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
    """Numbers, an array or a CPU tensor as a tensor on `device`, without waiting."""
    made = torch.as_tensor(values, dtype=dtype)
    if device.type == "cuda":
        return made.pin_memory().to(device, non_blocking=True)
    return made.to(device)
