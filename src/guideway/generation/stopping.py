"""Stop a generation in another thread when the waiting task is cancelled.

The loops check a context variable before each step, because Python cannot stop a thread.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from threading import Event
from typing import Final, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")

_stop: Final = ContextVar[Event | None]("stop", default=None)


def check_stop() -> None:
    """Raise CancelledError if the task of this thread was cancelled."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise asyncio.CancelledError


def awaited() -> bool:
    """Return True in a thread of `in_thread`."""
    return _stop.get() is not None


async def in_thread(
    function: Callable[Given, Made], *args: Given.args, **more: Given.kwargs
) -> Made:
    """Call `function` in a thread; if this task is cancelled, generation there ends."""
    stop = Event()
    token = _stop.set(stop)
    try:
        return await asyncio.to_thread(function, *args, **more)
    except asyncio.CancelledError:
        stop.set()
        raise
    finally:
        _stop.reset(token)
