"""Counts the work of lowering, for whoever pays for it.

Every constructor that makes a node says so here, and so do the loops that make none. A thread that
has opened `metered` pays; all others, decoding among them, work for nothing. The meter is the
thread's and not an argument, as every function that builds an expression would have to hand it on.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class _Account(threading.local):
    tick: Callable[[int], None] | None = None


_account = _Account()


@contextmanager
def metered(tick: Callable[[int], None]) -> Generator[None]:
    """Have `tick` called with the number of parts made in this thread; it raises if too many.

    >>> made = []
    >>> with metered(made.append):
    ...     spend(3)
    >>> made
    [3]
    """
    before, _account.tick = _account.tick, tick
    try:
        yield
    finally:
        _account.tick = before


def spend(parts: int) -> None:
    """Pay for so many parts."""
    tick = _account.tick
    if tick is not None:
        tick(parts)


def paying() -> bool:
    """Whether this thread pays: limits hold while compiling; afterwards work only takes longer.

    >>> paying()
    False
    """
    return _account.tick is not None
