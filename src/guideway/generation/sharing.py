"""Calls that run at the same time, on one expression, share forwards.

    a thread for each call ─▶ rows ─▶ `Batches` ─▶ events ─▶ the call of each row

There is no further thread: one of those that wait for events runs the next step, for all of them.
"""

import threading
from collections.abc import Iterator
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, final
from weakref import WeakKeyDictionary

from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.ensemble.pace import release_threads
from guideway.generation.row.request import Event
from guideway.generation.row.sequence import Sequence
from guideway.generation.scheduling import Batches
from guideway.generation.speculation import Speculation
from guideway.generation.stopping import check_stop


@final
@dataclass(slots=True, eq=False)
class _Call:
    """The rows of a call that go on, by their number among all, and events that it has not seen."""

    rows: dict[int, Sequence]
    speculation: Speculation | None
    joined: bool = False
    events: list[Event] = field(default_factory=list[Event])
    error: BaseException | None = None


@final
class Shared:
    """The rows of all calls on an expression."""

    def __init__(self) -> None:
        """No calls yet."""
        self._changed = threading.Condition()
        self._batches, self._calls, self._left = Batches(), list[_Call](), list[Sequence]()
        self._numbers = count()
        self._led = False  # a thread runs a step

    def run(
        self, ensemble: Ensemble, rows: Rows[Sequence], speculation: Speculation | None
    ) -> Iterator[Event]:
        """The events of these rows until all have ended; rows that are left before go away.

        Raises:
            CancelledError: the task of this thread was cancelled.
        """
        places = dict[int, int]()
        for row in rows:
            number = next(self._numbers)
            places[number], row.number = row.number, number
        call = _Call({row.number: row for row in rows}, speculation)
        with self._changed:
            self._calls.append(call)
        try:
            while call.rows or call.events:
                for event in self._next(call) or self._lead(ensemble):
                    yield replace(event, row=places[event.row])
        finally:
            with self._changed:
                self._calls.remove(call)
                self._left += [*call.rows.values()]
                self._tidy()
                self._changed.notify_all()

    def _next(self, call: _Call) -> list[Event]:
        """The events of a call since it asked last; none if it has to run the next step."""
        check_stop()
        with self._changed:
            while self._led and not (call.events or call.error):
                self._changed.wait()
                check_stop()
            if call.error is not None:
                raise call.error
            events, call.events = call.events, []
            self._led = self._led or not events
        return events

    def _lead(self, ensemble: Ensemble) -> tuple[Event, ...]:
        """Run a step for all calls; one that fails leaves its rows in no state to go on."""
        with self._changed:
            calls = [*self._calls]
            for call in calls:
                for row in () if call.joined else call.rows.values():
                    self._batches.add(row, ensemble, call.speculation)
                call.joined = True
            owners = {number: call for call in calls for number in call.rows}
        events, error = list[Event](), None
        try:
            events = self._batches.step()
        except BaseException as failed:  # noqa: BLE001  each call raises it
            error, self._batches = failed, Batches()
        release_threads()  # another thread may run the next step
        with self._changed:
            self._led = False
            for event in events:
                call = owners[event.row]
                call.events.append(event)
                if event.finish_reason is not None:
                    del call.rows[event.row]
            for call in calls:
                call.error = error
            self._tidy()
            self._changed.notify_all()
        return ()

    def _tidy(self) -> None:
        """Remove the rows of calls that have left; a step that runs does it at its end."""
        if not self._led:
            for row in self._left:
                self._batches.remove(row)
            self._left.clear()
            if not self._calls:
                self._batches = Batches()  # its threads end


_shared: Final = WeakKeyDictionary[Ensemble, Shared]()


def shared(ensemble: Ensemble) -> Shared:
    """The rows of all calls on an expression."""
    return _shared.setdefault(ensemble, Shared())
