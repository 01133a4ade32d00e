"""`Frames`: captured steps that no batch uses now, bounded in number and memory."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, Final

import torch

from guideway.constraint.caches import clear_too

KEPT: Final = 4  # frames of an expression
SHARE: Final = 8  # an eighth of a device's memory, which all of them may take
MOST_BYTES: Final = 1 << 30  # on other devices than GPUs


class Frames:
    """Frames by their key. `gw.clear_cache()` frees them.

    Example:
        >>> frames = Frames(torch.device("cpu"))
        >>> frames.keep("small", "a frame", 100)
        >>> frames.take("small"), frames.take("small")
        ('a frame', None)
    """

    def __init__(self, device: torch.device) -> None:
        """None yet."""
        self._most = MOST_BYTES
        if device.type == "cuda":
            self._most = torch.cuda.mem_get_info(device)[1] // SHARE
        self._kept = OrderedDict[Hashable, tuple[Any, int]]()
        self._lock = Lock()
        clear_too(self)

    def take(self, key: Hashable) -> Any:
        """Take out the frame of a key; None if there is none."""
        with self._lock:
            frame, _ = self._kept.pop(key, (None, 0))
        return frame

    def keep(self, key: Hashable, frame: Any, nbytes: int) -> None:
        """Keep a frame, and free those that were not used for long."""
        with self._lock:
            self._kept[key] = frame, nbytes
            while len(self._kept) > KEPT or sum(b for _, b in self._kept.values()) > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Free all frames."""
        with self._lock:
            self._kept.clear()
