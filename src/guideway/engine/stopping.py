"""Stopping a generation that runs in a thread of its own, when the task that waits is cancelled.

Python cannot stop a thread from outside. So the loops ask before each step, by a context variable
that the thread gets from the task.
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
    """End the thread's work here if its task was cancelled.

    Raises:
        CancelledError: it was.
    """
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise asyncio.CancelledError


async def in_thread(
    function: Callable[Given, Made], *args: Given.args, **more: Given.kwargs
) -> Made:
    """Call `function` in a thread; when this task is cancelled, generation there ends.

    Raises:
        CancelledError: the task was cancelled. The thread ends with its current step.
    """
    stop = Event()
    token = _stop.set(stop)
    try:
        return await asyncio.to_thread(function, *args, **more)
    except asyncio.CancelledError:
        stop.set()
        raise
    finally:
        _stop.reset(token)
