"""What the host knows, brought to the device of the logits.

From pageable memory a copy to a GPU waits for all that was begun there, and the host stands still
for as long as a forward takes; only pinned memory is copied while the host goes on. A step brings
over a few hundred numbers, of which each could be such a stop.

What this module does not know: what the numbers are.
"""

from typing import Any

import torch
from torch import Tensor

from guideway.errors import ModelError


def device_of(wanted: str | torch.device | None) -> torch.device:
    """The device that was asked for, tried with one number; a GPU, if there is one, if none was.

    Raises:
        ModelError: it cannot be used here.
    """
    try:
        place = torch.device(wanted or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=place)
    except Exception as error:  # noqa: BLE001  RuntimeError, AssertionError, NotImplementedError …
        raise ModelError(f"device {str(wanted)!r} cannot be used here: {error}") from None
    return place


def send(values: Any, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Numbers, an array or a tensor of the CPU as a tensor on `device`, without waiting for it.

    Example:
        >>> send([1, 2], torch.device("cpu"), torch.float32)
        tensor([1., 2.])
    """
    made = torch.as_tensor(values, dtype=dtype)
    if device.type == "cuda":
        return made.pin_memory().to(device, non_blocking=True)
    return made.to(device)
