"""Pauses of Python's garbage collector.

Parsing a text and the way to a first mask make many objects and no garbage. A collection there
costs 3 to 8 ms: of 1,873 schemas 29 met one. Other masks do not pause it: of 640,000 steps 879 were
slow with it, 854 without.
"""

import gc


def pause() -> bool:
    """Pause the collector; return whether it was running.

    No context manager: that makes an object (a bound method, a tuple) before the collector is
    paused, which may trigger it. Of the 66 slowest first masks of 1,883, 15 were so.
    """
    if gc.isenabled():
        gc.disable()
        return True
    return False


def resume(paused: bool) -> None:
    """Let the collector run again, if `pause` returned True."""
    if paused:
        gc.enable()
