"""Schedulers: rows that join and leave between steps, so that no row waits for a batch to end.

`Batches` runs any expression: a batch, and one forward, for the rows of each.
`engine.paged` reads all rows in one forward, with models that have a paged cache.
"""

from dataclasses import replace
from typing import Protocol, final, runtime_checkable

from guideway.engine.ensemble import Ensemble
from guideway.engine.request import Event
from guideway.engine.sequence import Sequence
from guideway.engine.step import Batch, rest, step
from guideway.errors import GuidewayError


@runtime_checkable  # the tests check annotations
class Scheduler(Protocol):
    """Rows of different expressions, settings and lengths, side by side.

    Laws:

    - A row gets the tokens that it would get alone (in float32), whatever the rows around it.
    - `step` returns the events of rows that took a token, ended or failed. An event names the
      number of its row, which no other row may have.
    - Every row has events after finitely many steps, until it ends; then the scheduler forgets it.
    - An error of a row is kept in the row; `step` raises only if no row can go on.
    - A removed row has no more events. Rows are added and removed between steps only.
    """

    def add(self, row: Sequence, ensemble: Ensemble) -> None:
        """Let a row join; `ensemble` is the expression that generates it."""
        ...

    def remove(self, row: Sequence) -> None:
        """Forget a row that was added and has not ended."""
        ...

    def step(self) -> list[Event]:
        """Run the models once."""
        ...


@final
class Batches:
    """A scheduler over any models.

    Rows that join are one batch for a step, which reads their prompts; then they join the batch of
    their expression. Models whose cache cannot be joined (`CroppingModel`) keep a batch, and a
    forward, for each group. A prompt is read in one piece, and all rows wait for it.

    Example:
        >>> from guideway.engine.fake import FakeModel
        >>> from guideway.engine.request import Request
        >>> from guideway.vocabulary.spellings import Vocabulary
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> row, batches = Sequence(0, Request((0,)), vocabulary, 5), Batches()
        >>> batches.add(row, Ensemble.of(model))
        >>> [[each.text for each in batches.step()] for _ in range(3)]
        [['b'], [''], []]
    """

    def __init__(self) -> None:
        """No rows yet."""
        self._joining: dict[Ensemble, list[Sequence]] = {}
        self._running = list[tuple[Ensemble, Batch]]()

    def add(self, row: Sequence, ensemble: Ensemble) -> None:
        """Let a row join at the next step."""
        self._joining.setdefault(ensemble, []).append(row)

    def remove(self, row: Sequence) -> None:
        """Forget a row."""
        for rows in self._joining.values():
            rows[:] = [each for each in rows if each is not row]
        running = list[tuple[Ensemble, Batch]]()
        for ensemble, batch in self._running:
            kept = [n for n, each in enumerate(batch.rows) if each is not row]
            if kept:
                running.append((ensemble, rest(ensemble, batch, kept)))
        self._running = running

    def step(self) -> list[Event]:
        """Run each batch once; an error of a forward fails the rows of its batch."""
        self._running += [
            (ensemble, Batch.of(rows, ensemble.device))
            for ensemble, rows in self._joining.items()
            if rows
        ]
        self._joining.clear()
        events, running = list[Event](), list[tuple[Ensemble, Batch]]()
        for ensemble, batch in self._running:
            try:
                taken, after = step(ensemble, batch)
            except GuidewayError as error:
                for row in batch.rows:
                    row.fail(error)
                events += [row.event() for row in batch.rows]
                continue
            events += taken
            if after.rows:
                running.append((ensemble, after))
        self._running = _joined(running)
        return events


def _joined(running: list[tuple[Ensemble, Batch]]) -> list[tuple[Ensemble, Batch]]:
    """One batch for each expression whose models can join rows."""
    batches = dict[Ensemble, list[Batch]]()
    for ensemble, batch in running:
        batches.setdefault(ensemble, []).append(batch)
    joined = list[tuple[Ensemble, Batch]]()
    for ensemble, own in batches.items():
        caches = [batch.cache for batch in own if batch.cache is not None]
        if len(own) > 1 and len(caches) == len(own) and ensemble.crops:
            rows = [row for batch in own for row in batch.rows]
            whole = replace(Batch.of(rows, ensemble.device), cache=ensemble.concat(caches))
            joined.append((ensemble, whole))
        else:
            joined += [(ensemble, batch) for batch in own]
    return joined
