"""A layer of a cache with room ahead: new keys and values are appended in place.

transformers' own layer copies all keys and values for each new token. Here several layers may read
the same tensors, each its first columns:

    │ read by several layers │ read by one │ room │
    0                     shared         used

A layer writes in place if it ends where the written columns end; else it copies what it has read.
"""

import threading
from copy import copy
from typing import Final

from jaxtyping import Float
from torch import Tensor
from transformers.cache_utils import DynamicLayer

ROOM: Final = 32  # columns for tokens to come, at least
SHARE: Final = 8  # of a long text, room for an eighth of it


class _Tensors:
    """Keys and values with room, and which of their columns are written and shared."""

    def __init__(self, keys: Tensor, values: Tensor, used: int) -> None:
        self.keys, self.values = keys, values
        self._used, self._shared, self._lock = used, 0, threading.Lock()

    def claim(self, begin: int, end: int) -> bool:
        """Return True if a layer of `begin` columns may write up to `end`: once for each column."""
        with self._lock:
            fine = begin == self._used and end <= self.keys.shape[2]
            if fine:
                self._used = end
        return fine

    def free(self, end: int, begin: int) -> None:
        """The columns from `begin` on, of a layer that ends at `end`, are not needed any more."""
        with self._lock:
            if end == self._used and begin >= self._shared:
                self._used = begin

    def share(self, end: int) -> None:
        """Note that several layers read the columns up to `end`."""
        with self._lock:
            self._shared = max(self._shared, end)


class GrowingLayer(DynamicLayer):
    """Keys and values of one layer. A layer that was cropped or extended is not used again.

    Example:
        >>> import torch
        >>> layer = GrowingLayer(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4))
        >>> other, new = layer.copy(), torch.ones(1, 2, 1, 4)
        >>> [tuple(each.shape) for each in layer.update(new, new)]
        [(1, 2, 4, 4), (1, 2, 4, 4)]
        >>> other.get_seq_length(), layer.crop_to(2).get_seq_length()
        (3, 2)
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        """A layer of these columns."""
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
        self._read(_Tensors(keys, values, keys.shape[2]), keys.shape[2])

    def update(
        self,
        key_states: Float[Tensor, "rows heads new size"],
        value_states: Float[Tensor, "rows heads new other"],
        *_: object,
        **__: object,
    ) -> tuple[Tensor, Tensor]:
        """Append columns; all keys and all values."""
        tensors, begin = self._tensors, self._columns
        end = begin + key_states.shape[2]
        if not tensors.claim(begin, end):
            roomy = (_with_room(each[:, :, :begin], end) for each in (tensors.keys, tensors.values))
            tensors = _Tensors(*roomy, used=end)
        tensors.keys[:, :, begin:end] = key_states
        tensors.values[:, :, begin:end] = value_states
        return self._read(tensors, end)

    def copy(self) -> "GrowingLayer":
        """The same columns, which stay as they are; both layers can be used on."""
        self._tensors.share(self._columns)
        return copy(self)

    def crop_to(self, columns: int) -> "GrowingLayer":
        """The first columns."""
        self._tensors.free(self._columns, columns)
        cropped = copy(self)
        cropped._read(self._tensors, columns)
        return cropped

    def _read(self, tensors: _Tensors, columns: int) -> tuple[Tensor, Tensor]:
        """Have the first columns of some tensors."""
        self._tensors, self._columns = tensors, columns
        self.keys, self.values = tensors.keys[:, :, :columns], tensors.values[:, :, :columns]
        return self.keys, self.values


def _with_room(given: Tensor, columns: int) -> Tensor:
    """A copy with room for so many columns and more."""
    rows, heads, length, size = given.shape
    made = given.new_empty(rows, heads, columns + max(ROOM, columns // SHARE), size)
    made[:, :, :length] = given
    return made
