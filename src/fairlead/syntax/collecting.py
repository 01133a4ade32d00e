"""When Python's collector of garbage comes: once where it would have come ten times, and early.

After 700 new objects it looks at these, the tenth time at those of all ten, too: 3 ms, in which a
schema of 60,000 letters takes half of that to be read. Nothing that a text is turned into is
garbage.

Between two tokens few objects are made, but after a source that took long to be compiled a few are
enough to make it look at all that is young: so it does that before the first token.

What this module does not know: what is made.
"""

import gc
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

_MANY: Final = 4096
_AS_EVER: Final = nullcontext()
_SOON: Final = 3  # looks at what is new before one at all that is young


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


@contextmanager
def collected() -> Generator[None]:
    """Look for garbage among all that is young at the end of what made much, if that is due soon.

    It came between two tokens of MaskBench 41 times, and so it does 20 times. Those would be 12 if
    what makes little were looked through as well, which would take longer for it.
    """
    looks = gc.get_count()[1]
    yield
    many, turn, turns = gc.get_threshold()
    if gc.isenabled() and gc.get_count()[1] > max(looks, turn - _SOON):
        gc.collect(1)
        if gc.get_count()[2] > turns:  # whether to look at all there is Python decides, when asked
            _: list[list[int]] = [[] for _ in range(2 * min(many, _MANY))]
