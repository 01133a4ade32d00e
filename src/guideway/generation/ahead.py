"""Masks and drafts that are worked out in threads before a step.

A row that is late misses steps until it is done; no other row waits for it.
"""

from collections.abc import Sequence as Rows
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final, final

from guideway.generation.row.sequence import Sequence
from guideway.generation.speculation import Speculation

PATIENCE: Final = 0.1  # seconds that a step waits for masks
THREADS: Final = 16  # rows that may be late at once


@final
class Ahead:
    """Rows that are prepared for their next step, and those that are late."""

    def __init__(self) -> None:
        """No late rows."""
        self._pool = ThreadPoolExecutor(THREADS, "guideway-mask")
        self._late = dict[Sequence, Future[None]]()

    def late(self, rows: Rows[Sequence], speculation: Speculation | None) -> list[int]:
        """Prepare rows; the places of those that are late."""
        late = {row: job for row, job in self._late.items() if not job.done()}
        new = [row for row in rows if row.position is not None and row not in late]
        jobs = {row: self._pool.submit(_prepare, row, speculation) for row in new}
        wait(jobs.values(), PATIENCE)
        self._late = late | {row: job for row, job in jobs.items() if not job.done()}
        return [place for place, row in enumerate(rows) if row in self._late]

    def wait(self) -> None:
        """Wait for a late row, for a while."""
        wait(self._late.values(), PATIENCE, FIRST_COMPLETED)


def _prepare(row: Sequence, speculation: Speculation | None) -> None:
    if speculation is not None:
        speculation.prepare(row)
    row.row()  # an error stays in the future: the step meets it again
