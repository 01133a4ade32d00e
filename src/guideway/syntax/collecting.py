"""When Python's collector of garbage waits: it comes once where it would have come ten times.

After 700 new objects it looks at these, the tenth time at those of all ten, too: 3 ms, in which a
schema of 60,000 letters takes half of that to be read. Nothing that a text is turned into is
garbage.

On the way to a first mask the collector waits altogether: nothing of that is garbage (of schemas
that take seconds, not one object), and of 1,873 schemas 29 met a collection of what 70 others had
made, 3 to 8 ms, and three one of all. It comes with the next object that anybody makes, at best
while the model is at work. Other masks do not switch it off and on: without it 854 steps in 640,000
were slow, not 879.

What this module does not know: what is made.
"""

import gc
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

_MANY: Final = 4096
_AS_EVER: Final = nullcontext()


def uncollected(count: int) -> AbstractContextManager[None]:
    """Look for no garbage where this much is made, if that is much: words, or their letters.

    Looking for it takes twice as long as making them.
    """
    return _waiting() if count >= _MANY and gc.isenabled() else _AS_EVER


def pause() -> bool:
    """Let the collector wait, and say whether it did not already.

    No statement, nor a function that is handed what to do: each makes an object (a bound method, a
    tuple) before the collector waits, and that would be what it comes with, between a schema that
    was compiled and its first mask. Of the 66 slowest of 1,883, 15 were so.
    """
    if gc.isenabled():
        gc.disable()
        return True
    return False


def resume(paused: bool) -> None:
    """Let it come with what is made next, if it is this that paused it.

    >>> resume(pause())
    """
    if paused:
        gc.enable()


@contextmanager
def _waiting() -> Generator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
