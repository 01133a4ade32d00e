"""Bytes that leave a pair of states of a bounded pattern, or loop on it; see `kernels.bounds`."""

import numpy as np

from guideway.masks.kernels.layout import LEX, LEX_FIRST, NEED_LEX
from guideway.masks.kernels.returns import is_expanded
from guideway.masks.kernels.views import Context, inner, int32s, uint64s


@inner
def leaves(context: Context, state: int, between: int) -> int:
    """Return 1 if a byte that begins no character leads on, else 0."""
    first, outside = uint64s(context, LEX_FIRST), np.uint64(0)
    if not is_expanded(context, state) or not is_expanded(context, between):
        return NEED_LEX
    for word in range(4):
        outside |= first[state * 4 + word] & ~first[between * 4 + word]
    return 1 if outside != 0 else 0


@inner
def repeats(context: Context, state: int, between: int) -> bool:
    """Return True if a one-byte character leads back to the state."""
    rows = int32s(context, LEX)
    for byte in range(256):
        if rows[state * 256 + byte] == state and rows[between * 256 + byte] == between:
            return True
    return False
