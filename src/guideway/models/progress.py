"""Progress bars on standard error."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

Progress: TypeAlias = bool | Callable[[int, int], object]
"""Whether to show a bar, or a function of what is done and of all there is to do."""


@contextmanager
def rows_shown(progress: Progress, total: int) -> Generator[Callable[[int], object], None, None]:
    """Show the number of finished rows while the block runs; yields a function that adds rows.

    >>> counts = []
    >>> with rows_shown(lambda done, total: counts.append((done, total)), 3) as add:
    ...     add(2), add(0), add(1)
    (None, None, None)
    >>> counts
    [(2, 3), (3, 3)]
    """
    done = 0

    def add(count: int) -> None:
        nonlocal done
        done += count
        if count and callable(progress):
            progress(done, total)

    if progress is not True:
        yield add
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("generating", total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def progress_bar(title: str) -> Generator[Callable[[float], object], None, None]:
    """Show a bar while the block runs, on a terminal only; yields a function that adds shares."""
    if not sys.stderr.isatty():
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda share: progress.advance(task, share)
