"""When Python's collector of garbage waits: it comes once where it would have come ten times.

After 700 new objects it looks at these, the tenth time at those of all ten, too: 3 ms, in which a
schema of 60,000 letters takes half of that to be read. Nothing that a text is turned into is
garbage.

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


@contextmanager
def _waiting() -> Generator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
