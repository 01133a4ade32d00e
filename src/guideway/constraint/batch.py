"""The masks of a batch, by several threads, up to a deadline."""

import math
import os
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import words
from guideway.constraint.matcher import Bitmask, Job, Matcher, as_array
from guideway.errors import LimitError, SourceError, UnsupportedError, brief

ALONE: Final = 1e-3  # seconds
_MOST_THREADS: Final = 32  # more than cores: with a deadline, slow masks keep threads busy

_pools: dict[int, ThreadPoolExecutor] = {}


def fill_bitmask(
    matchers: Sequence[Matcher | None],
    bitmask: Bitmask,
    threads: int | None = None,
    deadline: float | None = None,
) -> list[int]:
    """Write the mask of each matcher's next token into its row of `bitmask`.

    Masks that are known are copied. The others are computed constraint by constraint, by several
    threads if that takes more than a millisecond.

    Example:
        >>> import guideway as gw, numpy as np
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> matchers = [gw.Matcher(gw.compile(gw.Choice([text]), vocabulary)) for text in "ab"]
        >>> bitmask = np.zeros((3, 1), np.int32)
        >>> gw.fill_bitmask([*matchers, None], bitmask)
        []
        >>> bitmask.tolist()
        [[1], [2], [-1]]

    Args:
        matchers: one for each row, from the first; None allows every token.
        bitmask: int32[batch, ceil(width / 32)]; numpy, or torch on the CPU.
        threads: number of threads that compute masks, at most. Default: one for each core.
        deadline: seconds after which the call returns, ready or not. Default: it waits for all.

    Returns:
        The late rows, in order: those without a mask at the deadline. They are all zeros, so they
        allow no token, and other threads go on computing their masks. Leave these rows out of the
        step, and call again: they are late again until their masks are there.
        `Matcher.fill_next_token_bitmask` waits for one.

    Raises:
        UnsupportedError: the bitmask is on another device, or has another shape or type.
        LimitError: the bitmask has fewer rows than there are matchers.
        SourceError: `threads` is not a positive number, or `deadline` is negative.
    """
    _check(threads, deadline)
    begun, rows = time.perf_counter(), _rows(bitmask, len(matchers))
    waiting = _copy_known(matchers, rows)
    queue = deque(dict.fromkeys(job for _, matcher, job in waiting if job is not matcher.late))
    if deadline is None:
        _work(queue, begun + ALONE)
    for _ in range(min(len(queue), threads or _cores()) - (deadline is None)):
        _threads().submit(_work, queue)
    if deadline is None:
        _work(queue)
    late = _collect(waiting, rows, None if deadline is None else begun + deadline)
    for _ in range(len(queue)):  # not to wait behind slow masks
        _threads().submit(_work, queue)
    return late


def _copy_known(
    matchers: Sequence[Matcher | None], rows: NDArray[np.uint32]
) -> list[tuple[int, Matcher, Job]]:
    """Write the masks that are known; return the other rows, with the jobs that compute theirs."""
    waiting: list[tuple[int, Matcher, Job]] = []
    jobs: dict[int, Job] = {}  # by constraint
    fitting = set[int]()  # constraints of the right width
    for row, matcher in enumerate(matchers):
        if matcher is None:
            rows[row] = 0xFFFFFFFF
            continue
        constraint, state = matcher.constraint, matcher.state
        if id(constraint) not in fitting:
            _check_width(rows, constraint.vocabulary.width)
            fitting.add(id(constraint))
        if getattr(state, "row", None) is not None:
            rows[row] = constraint.mask(state)
            continue
        job = matcher.late
        if job is None or state not in job.rows:
            job = jobs.get(id(constraint))
            if job is None:
                job = jobs[id(constraint)] = Job(constraint)
            job.rows[state] = None
        waiting.append((row, matcher, job))
    return waiting


def _collect(
    waiting: list[tuple[int, Matcher, Job]], rows: NDArray[np.uint32], until: float | None
) -> list[int]:
    """Write the masks of jobs; return the rows without one, whose matchers keep their jobs."""
    for _, _, job in waiting:
        job.done.wait(None if until is None else max(0.0, until - time.perf_counter()))
    late: list[int] = []
    for row, matcher, job in waiting:
        mask, matcher.late = job.rows[matcher.state], None
        if mask is not None:
            rows[row] = mask
        elif job.error is not None:
            raise job.error
        else:
            rows[row], matcher.late = 0, job
            late.append(row)
    return late


def _work(queue: deque[Job], until: float = math.inf) -> None:
    """Run one job after another."""
    while queue and time.perf_counter() < until:
        try:
            job = queue.popleft()
        except IndexError:  # another thread took the last one
            return
        job.run()


def _check(threads: int | None, deadline: float | None) -> None:
    if threads is not None and (not isinstance(threads, int) or threads < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"threads must be a positive number, not {brief(threads)}")
    if deadline is not None and not deadline >= 0:
        raise SourceError(f"deadline must be seconds from now, not {brief(deadline)}")


def _check_width(rows: NDArray[np.uint32], width: int) -> None:
    if rows.shape[1] != words(width):
        raise UnsupportedError(
            f"a row of the bitmask has {rows.shape[1]} words; for a vocabulary of width "
            f"{width} it must have {words(width)}",
            feature="bitmask",
        )


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
        process, ThreadPoolExecutor(max(_cores(), _MOST_THREADS), "guideway-masks")
    )
