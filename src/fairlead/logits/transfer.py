"""What the host knows, brought to the device of the logits.

From pageable memory a copy to a GPU waits for all that was begun there, and the host stands still
for as long as a forward takes; only pinned memory is copied while the host goes on. A step brings
over a few hundred numbers, of which each could be such a stop.

What this module does not know: what the numbers are.
"""

from typing import Any

import torch
from torch import Tensor


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
