"""Large arrays that take memory only where they are written.

Kernels need arrays that never move, so some are as large as they may ever get. Those of numpy come
from a heap that has to clear what was used before, all of it. What the operating system maps is
zero, and takes memory page by page when it is touched.
"""

from math import prod
from mmap import ACCESS_COPY, mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray


def untouched(shape: int | tuple[int, ...], kind: Any) -> NDArray[Any]:
    """Zeros in memory of their own; a process that is forked writes into copies.

    >>> int(untouched((2, 3), np.int32).sum())
    0
    """
    sizes = (shape,) if isinstance(shape, int) else shape
    count = prod(sizes)
    block = mmap(-1, max(count, 1) * np.dtype(kind).itemsize, access=ACCESS_COPY)
    return np.frombuffer(block, kind, count).reshape(sizes)
