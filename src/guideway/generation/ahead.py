"""Masks and drafts that are worked out in threads before a step.

A row that is late misses steps until it is done; no other row waits for it. One thread works on all
rows in turn, so that a step costs one change of threads; only where a row takes long, another
thread goes on with those after it.
"""

import contextlib
import time
from collections import deque
from collections.abc import Sequence as Rows
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final, final

from guideway.generation.row.sequence import Sequence
from guideway.generation.speculation import Speculation

PATIENCE: Final = 0.1  # seconds that a step waits for masks
LONG: Final = 0.02  # seconds of a thread, after which another one helps
THREADS: Final = 16  # rows that may be late at once


@final
class Ahead:
    """Rows that are prepared for their next step, and those that are late."""

    def __init__(self) -> None:
        """No late rows."""
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
