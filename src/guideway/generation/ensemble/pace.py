"""Threads of a CPU: a hint, once in a process, if they slow each other down; and their end.

Two signs: torch uses more threads than the process has cores (containers with a quota), or steps
become five times slower, when other programs use the same cores. Single slow steps and steps of
microseconds do not count.

GNU's OpenMP keeps worker threads for each thread that ran a forward. If all of them are more than
the cores, they sleep between the parts of a forward: 7,230 wakeups in 15 forwards of the built-in
model with two threads on two cores, and 50 without the workers of another thread. So a thread that
leaves forwards to others releases its own.
"""

import contextlib
import ctypes
import math
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, final

import torch

from guideway.errors import GuidewayWarning, warn

SLOWER: Final = 5.0  # times as slow as before
USUAL: Final = 8  # steps that say what is usual
IN_A_ROW: Final = 3  # slow steps that make a sign
LEAST: Final = 0.02  # seconds of a slow step
SOFT: Final = 1  # omp_pause_soft
QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")

_said: Final = set[str]()


def hint(kind: str, message: str) -> None:
    """Warn, once of each kind. A warning that is turned into an error ends no generation."""
    if kind not in _said:
        _said.add(kind)
        with contextlib.suppress(GuidewayWarning):
            warn(message)


def usable_cores(quota: Path = QUOTA) -> int:
    """The cores that this process may use: by its affinity, and by the quota of its container."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # no cgroups; "max": no quota
        allowed, period = quota.read_text("ascii").split()
        cores = min(cores, max(1, math.ceil(int(allowed) / int(period))))
    return cores


def release_threads() -> None:
    """End the worker threads of this thread's forwards; its next forward starts them again."""
    pause = _pause()
    if pause is not None:
        pause(SOFT)


@cache
def _pause() -> Any:
    """`omp_pause_resource_all` of the library that torch has loaded; None if it is not GNU's."""
    package = Path(torch.__file__).parent
    bundled = [*package.glob("lib/libgomp*"), *package.parent.glob("torch.libs/libgomp*")]
    loaded: int | None = getattr(os, "RTLD_NOLOAD", None)  # Linux
    if loaded is None:
        return None
    for name in [*map(str, bundled), "libgomp.so.1"]:
        with contextlib.suppress(OSError, AttributeError):
            return ctypes.CDLL(name, loaded).omp_pause_resource_all
    return None


@final
class Pace:
    """Step times of a model by the number of tokens; `clock` gives seconds."""

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        threads: Callable[[], int] = torch.get_num_threads,
        cores: Callable[[], int] = usable_cores,
    ) -> None:
        """Nothing is known yet."""
        self.clock, self._threads, self._cores = clock, threads, cores
        self._usual = dict[int, tuple[int, float]]()  # steps, and their mean
        self._slow = 0
        self._looked = False

    def note(self, tokens: int, seconds: float) -> None:
        """Note how long a step took that read so many tokens; warn where that is a sign."""
        if not self._looked:
            self._looked = True
            self._compare()
        count, mean = self._usual.get(tokens, (0, 0.0))
        if count >= USUAL and seconds > max(SLOWER * mean, LEAST):
            self._slow += 1
            if self._slow == IN_A_ROW:
                threads = self._threads()
                fewer = threads // 2
                advice = (
                    f" Set OMP_NUM_THREADS={fewer} before Python starts, or call "
                    f"torch.set_num_threads({fewer})."
                )
                hint(
                    "slow",
                    f"a step of the model takes {seconds / mean:.0f} times as long as before: other"
                    f" programs may use the same cores (torch uses {threads})."
                    f"{advice if fewer else ''}",
                )
            return
        self._slow = 0
        count = min(count + 1, 4 * USUAL)  # the last steps count: texts grow
        self._usual[tokens] = count, mean + (seconds - mean) / count

    def _compare(self) -> None:
        threads, cores = self._threads(), self._cores()
        if threads > cores:
            hint(
                "threads",
                f"torch uses {threads} threads, and this process has {cores} cores. Set "
                f"OMP_NUM_THREADS={cores} before Python starts, or call "
                f"torch.set_num_threads({cores})",
            )
