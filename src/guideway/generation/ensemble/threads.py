"""Threads of a CPU: a warning if they are more than the cores, and their end.

GNU's OpenMP keeps worker threads for each thread that ran a forward. If all of them are more than
the cores, they sleep between the parts of a forward: 7,230 wakeups in 15 forwards of the built-in
model with two threads on two cores, and 50 without the workers of another thread. So a thread that
leaves forwards to others releases its own.
"""

import contextlib
import ctypes
import math
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch

from guideway.errors import GuidewayWarning, warn

SOFT: Final = 1  # omp_pause_soft
QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")


@cache
def check_threads() -> None:
    """Warn, once in a process, if torch uses more threads than the process has cores.

    A warning that is turned into an error ends no generation.
    """
    threads, cores = torch.get_num_threads(), usable_cores()
    if threads > cores:
        with contextlib.suppress(GuidewayWarning):
            warn(
                f"torch uses {threads} threads, and this process has {cores} cores. Set "
                f"OMP_NUM_THREADS={cores} before Python starts, or call "
                f"torch.set_num_threads({cores})"
            )


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
