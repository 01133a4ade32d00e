"""The loop over a batch: one step after another until every row has ended.

Each row has its own constraint, settings and end. Streaming uses the same loop. Calls that run at
the same time, on one expression, can share forwards:

    a thread for each call ─▶ rows ─▶ `Batches` ─▶ events ─▶ the call of each row

There is no further thread: one of those that wait for events runs the next step, for all of them.
"""

import threading
import time
from collections.abc import Iterator
from collections.abc import Sequence as Requests
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final
from weakref import WeakKeyDictionary

from guideway.generation.captured import captured, captures
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.ensemble.threads import release_threads
from guideway.generation.limits import checked
from guideway.generation.marking import check_markable
from guideway.generation.row.request import (
    Event,
    OnError,
    Request,
    peak_memory,
    raise_error,
)
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.generation.scheduling import Batches
from guideway.generation.speculation import Speculation
from guideway.generation.step import Batch, step
from guideway.generation.stopping import check_stop


@dataclass(slots=True, eq=False)
class _Call:
    """The rows of a call that go on, by their number among all, and events that it has not seen."""

    rows: dict[int, Sequence]
    speculation: Speculation | None
    joined: bool = False
    events: list[Event] = field(default_factory=list[Event])
    error: BaseException | None = None


class Shared:
    """The rows of all calls on an expression."""

    def __init__(self) -> None:
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
    return _shared.setdefault(ensemble, Shared())


class Decoding:
    """A batch being generated: iterate to run it, then read `completions`.

    After a `KeyboardInterrupt`, `completions` has the texts so far; rows that had not ended are
    "interrupted".

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> decoding = Decoding(Ensemble.of(model), [Request(prompt=(0,))])
        >>> [event.text for event in decoding], decoding.completions[0].text
        (['b', ''], 'b')
    """

    def __init__(
        self,
        ensemble: Ensemble,
        requests: Requests[Request],
        on_error: OnError = raise_error,
        speculation: Speculation | None = None,
        *,
        shares: bool = False,
    ) -> None:
        """Check the requests. If `on_error` returns, other rows continue.

        With `shares`, batches that run in other threads at the same time share forwards with this,
        unless steps are captured.
        """
        self._ensemble = ensemble
        self._on_error, self._speculation = on_error, speculation
        self._shares = shares and not captures(ensemble)
        check_markable(ensemble.mark, requests)
        self._rows = [
            Sequence(number, request, ensemble.vocabulary, checked(request, ensemble))
            for number, request in enumerate(requests)
        ]

    def __iter__(self) -> Iterator[Event]:
        """Run; yield an event for each token of each row."""
        began = time.perf_counter()
        for row in self._rows:
            row.begin(began)
            if row.finish_reason is not None:
                yield row.event()
        going = [row for row in self._rows if row.finish_reason is None]
        for event in self._run(going) if going else ():
            error = self._rows[event.row].error
            if error is not None and event.finish_reason is not None:
                self._on_error(event.row, error)
            yield event

    def _run(self, going: list[Sequence]) -> Iterator[Event]:
        if self._shares:
            yield from shared(self._ensemble).run(self._ensemble, going, self._speculation)
            return
        batch = Batch.of(going, self._ensemble.device, self._speculation)
        while batch.rows:
            check_stop()
            if (launched := captured(self._ensemble, batch)) is not None:
                yield from launched
                batch = launched.batch
                continue
            events, batch = step(self._ensemble, batch)
            yield from events

    @property
    def completions(self) -> list[Result]:
        """Result of each request, complete or not."""
        memory = peak_memory(self._ensemble.device)
        return [row.completion(memory) for row in self._rows]
