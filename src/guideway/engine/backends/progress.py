"""A progress bar on the terminal, and none where stderr is not one."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def progress_bar(title: str) -> Generator[Callable[[float], object], None, None]:
    """A bar on stderr while the block runs; it gets a function that adds a share of the work.

    Example:
        >>> with progress_bar("Reading") as advance:
        ...     advance(0.5)  # nothing is shown here: stderr is no terminal
    """
    if not sys.stderr.isatty():
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda share: progress.advance(task, share)
