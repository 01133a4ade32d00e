"""Schedulers: rows that join and leave between steps, so that no row waits for a batch to end.

`Batches` runs any expression: a batch, and one forward, for the rows of each.
`generation.paged` reads all rows in one forward, with models that have a paged cache. Laws of both:

- A row gets the tokens that it would get alone (in float32), whatever the rows around it.
- `step` returns the events of rows that took a token, ended or failed. An event names the number of
  its row, which no other row may have.
- Every row has events after finitely many steps, until it ends; then the scheduler forgets it.
- An error of a row is kept in the row; `step` raises only if no row can go on.
- A removed row has no more events. Rows are added and removed between steps only.
- A row whose mask takes long misses steps; rows of other constraints do not wait for it.

Masks and drafts are worked out in threads before a step (`Ahead`). A row that is late misses steps
until it is done; no other row waits for it. One thread works on all rows in turn, so that a step
costs one change of threads; only where a row takes long, another thread goes on with those after
it.
"""

import contextlib
import time
from collections import deque
from collections.abc import Sequence as Rows
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

from guideway.errors import GuidewayError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.row.request import Event
from guideway.generation.row.sequence import Sequence
from guideway.generation.speculation import Speculation
from guideway.generation.step import Batch, drawn_step, held_step, rest

PATIENCE: Final = 0.1  # seconds that a step waits for masks
LONG: Final = 0.02  # seconds of a thread, after which another one helps
THREADS: Final = 16  # rows that may be late at once


class Ahead:
    """Rows that are prepared for their next step, and those that are late."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "guideway-mask")
        self._late = set[Sequence]()
        self._working = set[Future[None]]()

    def late(self, rows: Rows[Sequence], speculation: Speculation | None = None) -> list[int]:
        """Prepare rows; the places of those that are late."""
        new = [row for row in rows if row.position is not None and row not in self._late]
        left, until = deque(new), time.monotonic() + PATIENCE
        self._late.update(new)
        while True:
            if left:
                self._working.add(self._pool.submit(self._prepare, left, speculation))
            rest = until - time.monotonic()
            if self._late.isdisjoint(new) or rest <= 0:
                break
            self._working -= wait(self._working, min(LONG, rest), FIRST_COMPLETED).done
        return [place for place, row in enumerate(rows) if row in self._late]

    def wait(self) -> None:
        """Wait for a late row, for a while."""
        wait(self._working, PATIENCE, FIRST_COMPLETED)

    def _prepare(self, rows: deque[Sequence], speculation: Speculation | None) -> None:
        """Prepare rows until others have taken the last one."""
        with contextlib.suppress(IndexError):
            for row in iter(rows.popleft, None):
                with contextlib.suppress(Exception):  # the step meets it again
                    if speculation is not None:
                        speculation.prepare(row)
                    row.row()
                self._late.discard(row)


PART: Final = 256  # tokens of a prompt that a forward reads beside other rows


class Batches:
    """A scheduler over any models.

    Rows that join are one batch for a step, which reads their prompts; then they join the batch of
    their expression. Beside other rows, a long prompt is read in parts, which the prefix cache
    keeps. Models whose cache cannot be joined (`CroppingModel`) keep a batch, and a forward, for
    each group, and read a prompt in one piece.

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.generation.row.request import Request
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> row, batches = Sequence(0, Request((0,)), vocabulary, 5), Batches()
        >>> batches.add(row, Ensemble.of(model))
        >>> [[each.text for each in batches.step()] for _ in range(3)]
        [['b'], [''], []]

    Attributes:
        forwards: how often the models ran.
    """

    def __init__(self) -> None:
        self._joining: dict[tuple[Ensemble, Speculation | None], list[Sequence]] = {}
        self._running, self._held = list[tuple[Ensemble, Batch]](), list[tuple[Ensemble, Batch]]()
        self._read = WeakKeyDictionary[Sequence, int]()  # tokens of prompts, of rows that join
        self._ahead = Ahead()
        self.forwards = 0

    def add(
        self, row: Sequence, ensemble: Ensemble, speculation: Speculation | None = None
    ) -> None:
        """Let a row join; `ensemble` is the expression that generates it.

        Rows that share `speculation`, the drafts of their tokens, share forwards.
        """
        self._joining.setdefault((ensemble, speculation), []).append(row)

    def remove(self, row: Sequence) -> None:
        """Forget a row that was added and has not ended."""
        for key, rows in [*self._joining.items()]:
            rows[:] = [each for each in rows if each is not row]
            if not rows:
                del self._joining[key]
        self._running = self._remove_row(self._running, row)
        self._held = self._remove_row(self._held, row)

    def step(self) -> list[Event]:
        """Run each batch once; an error of a forward fails the rows of its batch."""
        events, running = list[Event](), list[tuple[Ensemble, Batch]]()
        for ensemble, batch in self._ready():
            self.forwards += batch.logits is None
            run = held_step if batch.logits is None else drawn_step
            try:
                taken, after, waiting = run(ensemble, batch, self._ahead.late)
            except GuidewayError as error:
                for row in batch.rows:
                    row.fail(error)
                events += [row.event() for row in batch.rows]
                continue
            events += taken
            if after.rows:
                running.append((ensemble, after))
            if waiting.rows:
                self._held.append((ensemble, waiting))
        self._running = _joined(running)
        if self._held and not events:
            self._ahead.wait()
        return events

    def _ready(self) -> list[tuple[Ensemble, Batch]]:
        """The batches without rows whose masks are late, which are held."""
        batches, joining = self._running + self._held, self._joining
        self._joining = {}
        for (ensemble, speculation), rows in joining.items():
            begun = self._last_parts(ensemble, rows) if self._running and ensemble.crops else rows
            if begun:
                batches.append((ensemble, Batch.of(begun, ensemble.device, speculation)))
            if len(begun) < len(rows):
                self._joining[ensemble, speculation] = [row for row in rows if row not in begun]
        ready, self._held = list[tuple[Ensemble, Batch]](), list[tuple[Ensemble, Batch]]()
        for ensemble, batch in batches:
            reads = batch.cache is not None and batch.logits is None
            late = self._ahead.late(batch.rows, batch.speculation if reads else None)
            places = [place for place in range(len(batch.rows)) if place not in late]
            if late:
                self._held.append((ensemble, rest(ensemble, batch, late)))
            if places:
                ready.append((ensemble, rest(ensemble, batch, places)))
        return ready

    def _last_parts(self, ensemble: Ensemble, rows: list[Sequence]) -> list[Sequence]:
        """The rows whose prompts have only one part left to read; of another, read a part."""
        left = {row: max(map(len, row.request.prompts)) - self._read.get(row, 0) for row in rows}
        long = next((row for row in rows if left[row] > PART), None)
        if long is not None:
            read = self._read[long] = self._read.get(long, 0) + PART
            parts = tuple(prompt[:read] for prompt in long.request.prompts)
            cache, _ = ensemble.prefill([parts])
            self.forwards += 1
            if read > PART and not any(cache.known):  # the prefix cache has no room
                left[long] = 0
        return [row for row in rows if left[row] <= PART]

    def _remove_row(
        self, batches: list[tuple[Ensemble, Batch]], row: Sequence
    ) -> list[tuple[Ensemble, Batch]]:
        places = [[n for n, own in enumerate(each.rows) if own is not row] for _, each in batches]
        pairs = zip(batches, places, strict=True)
        return [(whole, rest(whole, batch, kept)) for (whole, batch), kept in pairs if kept]


def _joined(running: list[tuple[Ensemble, Batch]]) -> list[tuple[Ensemble, Batch]]:
    """One batch for each expression whose models can join rows, and its drafts."""
    batches = dict[tuple[Ensemble, Speculation | None], list[Batch]]()
    for ensemble, batch in running:
        batches.setdefault((ensemble, batch.speculation), []).append(batch)
    joined = list[tuple[Ensemble, Batch]]()
    for (ensemble, speculation), own in batches.items():
        caches = [batch.cache for batch in own if batch.cache is not None]
        if len(own) > 1 and len(caches) == len(own) and ensemble.crops:
            rows = [row for batch in own for row in batch.rows]
            whole = Batch.of(rows, ensemble.device, speculation)
            joined.append((ensemble, replace(whole, cache=ensemble.concat(caches))))
        else:
            joined += [(ensemble, batch) for batch in own]
    return joined
