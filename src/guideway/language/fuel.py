"""Fuel: counts the work of compiling, and of tokens, in threads that opened `metered`."""

import threading
from collections.abc import Callable
from typing import Final

from guideway.errors import LimitError

_SPARE: Final = 1 << 17  # free parts; with four million, one search took 9 s


class _Account(threading.local):
    tick: Callable[[int], None] | None = None
    spare = 0
    patient = False


_account = _Account()


class metered:  # noqa: N801  generators take four times as long
    """Call `tick` with the number of parts made in this thread; it raises if they are too many.

    `fresh` resets the free parts of `spend_beside` for a new source. With `patient`, other limits
    of searches do not hold (`paying`).
    """

    __slots__ = ("_before", "_fresh", "_patient", "_tick")

    def __init__(
        self, tick: Callable[[int], None], *, fresh: bool = False, patient: bool = False
    ) -> None:
        self._tick, self._fresh, self._patient = tick, fresh, patient

    def __enter__(self) -> None:
        self._before = _account.tick, _account.patient
        _account.tick, _account.patient = self._tick, self._patient
        if self._fresh:
            _account.spare = _SPARE

    def __exit__(self, *_: object) -> None:
        _account.tick, _account.patient = self._before


class Enough(Exception):  # noqa: N818  control flow, not an error
    """The parts of `attempt` are used up."""


def attempt(ask: Callable[[], bool], parts: int) -> bool:
    """Return `ask()`, or False if it takes more than `parts`.

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
    tick = _account.tick
    if tick is not None:
        tick(parts)


def spend_beside(parts: int) -> None:
    """Pay for records made by kernels; each source has `_SPARE` free."""
    tick = _account.tick
    if tick is not None:
        beyond = parts - _account.spare
        _account.spare = max(-beyond, 0)
        if beyond > 0:
            tick(beyond)


class _WhileThereIsRoom:
    """Leave the block on a LimitError and continue after it.

    Used-up fuel is raised all the same: the replacement would not be paid for, and verdicts would
    depend on what was compiled before.
    """

    def __enter__(self) -> None:
        """Without state, so one instance serves all."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        return isinstance(error, LimitError) and error.limit != "fuel"


while_there_is_room: Final = _WhileThereIsRoom()


def metering() -> bool:
    """Return True if the work of this thread is counted."""
    return _account.tick is not None


def paying() -> bool:
    """Return True if this thread compiles; limits of searches hold only then."""
    return _account.tick is not None and not _account.patient
