"""Immutable growing sequences of token ids.

Trails share an array. The first append writes into its free part; a second one, after a fork,
copies. So appending is as cheap as to a list, and forking is free.
"""

from collections.abc import Sequence
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Ids: TypeAlias = NDArray[np.int64]


@final
class Trail:
    """Token ids, immutable.

    Example:
        >>> trail = Trail([3, 1])
        >>> left, right = trail.append(4), trail.append(5)
        >>> trail.ids.tolist(), left.ids.tolist(), right.ids.tolist()
        ([3, 1], [3, 1, 4], [3, 1, 5])
    """

    __slots__ = ("_buffer", "_length")

    def __init__(self, ids: Sequence[int] | Ids) -> None:
        self._buffer = _Buffer(np.array(ids, np.int64))
        self._length = len(ids)

    def __len__(self) -> int:
        """The number of tokens."""
        return self._length

    @property
    def ids(self) -> Ids:
        """The tokens, read-only."""
        view = self._buffer.array[: self._length]
        view.flags.writeable = False
        return view

    def append(self, token: int) -> "Trail":
        """The trail with one token more."""
        longer = object.__new__(Trail)
        longer._buffer = self._buffer.with_token(self._length, token)
        longer._length = self._length + 1
        return longer


@final
class _Buffer:
    """An array whose first `used` elements are never written again."""

    __slots__ = ("array", "used")

    def __init__(self, array: Ids) -> None:
        self.array, self.used = array, len(array)

    def with_token(self, place: int, token: int) -> "_Buffer":
        """An array with `token` at `place`, and before it what is here."""
        taken = place < self.used
        buffer = self
        if taken or place == len(self.array):
            array = np.empty(max(16, 2 * place), np.int64)
            array[:place] = self.array[:place]
            buffer = _Buffer(array)
        buffer.array[place] = token
        buffer.used = place + 1
        return buffer
