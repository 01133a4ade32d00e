"""Masks of a whole batch, on all cores.

Matchers of one constraint share a lock, so they run in one thread. The caller's thread starts alone
and uses other threads after 1 ms: starting one takes as long as a hundred cached rows.
"""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guideway.constraints.matcher import Bitmask, Matcher, as_array
from guideway.errors import LimitError, UnsupportedError
from guideway.masks.bits import words

ALONE: Final = 1e-3  # seconds
Group = list[tuple[int, Matcher]]

_pools: dict[int, ThreadPoolExecutor] = {}


def fill_bitmask(matchers: Sequence[Matcher | None], bitmask: Bitmask) -> None:
    """Write the mask of each matcher's next token into its row of `bitmask`.

    Example:
        >>> import guideway as gw, numpy as np
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> matchers = [gw.Matcher(gw.compile(gw.Choice([text]), vocabulary)) for text in "ab"]
        >>> bitmask = np.zeros((3, 1), np.int32)
        >>> gw.fill_bitmask([*matchers, None], bitmask)
        >>> bitmask.tolist()
        [[1], [2], [-1]]

    Args:
        matchers: one for each row, from the first; None allows every token.
        bitmask: int32[batch, ceil(width / 32)]; numpy, or torch on the CPU.

    Raises:
        UnsupportedError: the bitmask is on another device, or has another shape or type.
        LimitError: the bitmask has fewer rows than there are matchers.
    """
    rows = _rows(bitmask, len(matchers))
    groups: dict[int, Group] = {}
    for row, matcher in enumerate(matchers):
        if matcher is None:
            rows[row] = 0xFFFFFFFF
            continue
        width = matcher.constraint.vocabulary.width
        if rows.shape[1] != words(width):
            raise UnsupportedError(
                f"a row of the bitmask has {rows.shape[1]} words; for a vocabulary of width "
                f"{width} it must have {words(width)}",
                feature="bitmask",
            )
        groups.setdefault(id(matcher.constraint), []).append((row, matcher))
    queue = iter([*groups.values()])  # threads may take from it
    if not _fill(queue, rows, time.perf_counter() + ALONE):
        helpers = min(len(groups), _cores()) - 1
        helping = [_threads().submit(_fill, queue, rows) for _ in range(helpers)]
        _fill(queue, rows)
        for helper in helping:
            helper.result()


def _fill(queue: Iterator[Group], rows: NDArray[np.uint32], until: float = float("inf")) -> bool:
    """Fill the rows of one group after another; return True if none is left."""
    for group in queue:
        for row, matcher in group:
            rows[row] = matcher.constraint.mask(matcher.state)
        if time.perf_counter() > until:
            return False
    return True


def _rows(bitmask: Bitmask, count: int) -> NDArray[np.uint32]:
    array = as_array(bitmask)
    if array.ndim != 2 or array.dtype.str[1:] not in ("i4", "u4"):
        raise UnsupportedError(
            f"a bitmask must be int32[batch, words], not {array.dtype}{list(array.shape)}",
            feature="bitmask",
        )
    if len(array) < count:
        raise LimitError(
            f"a bitmask of {len(array)} rows is too small for {count} matchers",
            limit="rows",
            given=len(array),
            needed=count,
        )
    return array.view(np.uint32)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _threads() -> ThreadPoolExecutor:
    process = os.getpid()  # a forked process has none of its parent's threads
    return _pools.get(process) or _pools.setdefault(
        process, ThreadPoolExecutor(_cores(), "guideway-masks")
    )
