"""Counts the work of lowering. A thread that has opened `metered` pays; decoding does not."""

import threading
from collections.abc import Callable
from typing import Final, final

from guideway.errors import LimitError

_SPARE: Final = 1 << 17  # parts; of four million, one search took 9 s


class _Account(threading.local):
    tick: Callable[[int], None] | None = None
    spare = 0


_account = _Account()


@final
class metered:  # noqa: N801  a statement, and no generator: those take four times as long
    """Call `tick` with the number of parts made in this thread; it raises if they are too many.

    Args:
        tick: is told how many.
        fresh: whether a new source begins; see `spend_beside`.

    >>> made = []
    >>> with metered(made.append):
    ...     spend(3)
    >>> made
    [3]
    """

    __slots__ = ("_before", "_fresh", "_tick")

    def __init__(self, tick: Callable[[int], None], *, fresh: bool = False) -> None:
        self._tick, self._fresh = tick, fresh

    def __enter__(self) -> None:
        """Have it called from now on."""
        self._before, _account.tick = _account.tick, self._tick
        if self._fresh:
            _account.spare = _SPARE

    def __exit__(self, *_: object) -> None:
        """Have what was called before called again."""
        _account.tick = self._before


@final
class Enough(Exception):  # noqa: N818  it says that an answer was not worth more, and is no error
    """What `attempt` had to spare is spent."""


def attempt(ask: Callable[[], bool], parts: int) -> bool:
    """What `ask` returns, or False if it takes more than so many parts.

    >>> attempt(lambda: spend(3) is None, 3), attempt(lambda: spend(4) is None, 3)
    (True, False)
    """
    before, left = _account.tick, parts

    def tick(spent: int) -> None:
        nonlocal left
        left -= spent
        if before is not None:
            before(spent)
        if left < 0:
            raise Enough

    try:
        with metered(tick):
            return ask()
    except (Enough, LimitError) as error:
        if before is not None and isinstance(error, LimitError):
            raise
        return False


def spend(parts: int) -> None:
    """Pay for so many parts."""
    tick = _account.tick
    if tick is not None:
        tick(parts)


def spend_beside(parts: int) -> None:
    """Pay for records that kernels made; each source has some for nothing.

    >>> made = []
    >>> with metered(made.append, fresh=True):
    ...     spend_beside(131_000)
    ...     spend_beside(75)
    >>> made
    [3]
    """
    tick = _account.tick
    if tick is not None:
        beyond = parts - _account.spare
        _account.spare = max(-beyond, 0)
        if beyond > 0:
            tick(beyond)


@final
class _WhileThereIsRoom:
    """Leave a block where there is no room for what it makes, and go on behind it.

    Used-up fuel goes on as an error: what is done instead would not be paid for, and a source would
    be refused or not by what has been compiled before it.

    >>> with while_there_is_room:
    ...     raise LimitError("full", limit="states")
    """

    def __enter__(self) -> None:
        """Nothing is kept, so one serves all."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        return isinstance(error, LimitError) and error.limit != "fuel"


while_there_is_room: Final = _WhileThereIsRoom()


def paying() -> bool:
    """Whether this thread pays. Limits hold while compiling; afterwards work only takes longer.

    >>> paying()
    False
    """
    return _account.tick is not None
