"""Where compiled kernels are kept, and what a person is told while they are compiled.

Compiling takes seconds, once on a machine; afterwards they are loaded from the user's cache folder
(GUIDEWAY_CACHE moves it). The installation itself is never written to. Where no folder can be
written, or what is in it cannot be read, kernels are compiled in memory, which only costs the time.

The name of the folder changes with everything that a kernel depends on: the sources of all of them
(numba's own cache looks at one file only), numba, Python and the processor. So a folder in which a
compilation was finished has all that is needed, and only where it was not is anything said.

What this module does not know: what the kernels do.
"""

import gc
import hashlib
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from typing import Any, Final, TypeVar, cast, final

from guideway.vocabulary.cache import cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])
FINISHED: Final = "finished"
MOST_FOLDERS: Final = 8


@final
class Kernels:
    """The kernels of a module, which are compiled or loaded while it is imported.

    Example::

        kernels = Kernels("masks", Path(__file__).parent.glob("*.py"), count=2)

        @kernels.compiled("int64(int64[::1])")
        def first(context): ...

        @kernels.compiled("void(int64[::1])")
        def second(context): ...

        kernels.finish()

    Args:
        what: what they are for, in words that a person is told.
        sources: the files that they are made of.
        count: how many there are.
        settings: further settings of `numba.njit`.
    """

    def __init__(
        self,
        what: str,
        sources: Iterable[Path],
        count: int,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._what, self._count, self._done = what, count, 0
        self._settings = {"error_model": "numpy", **(settings or {})}
        self._folder = _folder(_key(sources))
        self._begun = time.perf_counter()
        self._silent = self._folder is not None and (self._folder / FINISHED).exists()

    def compiled(self, signature: str, *, holds: bool = False) -> Callable[[Function], Function]:
        """A decorator: the function compiled for `signature`.

        It releases Python's lock, unless it `holds` it: where a kernel takes a few microseconds,
        another thread that gets the lock meanwhile keeps it for much longer.
        """

        def compiled(function: Function) -> Function:
            if self._silent:
                return self._numba(function, signature, holds)
            self._tell()
            with _collector_off():
                self._done += 1
                return self._numba(function, signature, holds)

        return compiled

    def _numba(self, function: Function, signature: str, holds: bool) -> Function:
        import numba

        library = cast("Any", numba)
        settings = {**self._settings, "nogil": not holds}
        if self._folder is not None:
            before, library.config.CACHE_DIR = library.config.CACHE_DIR, str(self._folder)
            try:
                kernel = library.njit(signature, cache=True, **settings)(function)
                return cast("Function", kernel)
            except Exception:  # noqa: BLE001  a file that is cut off, a full disk; or a real mistake,
                pass  # which the same without a cache will show
            finally:
                library.config.CACHE_DIR = before
        return cast("Function", library.njit(signature, **settings)(function))

    def finish(self) -> None:
        """All are compiled: remember it, and say so where something was said."""
        if self._silent:
            return
        seconds = time.perf_counter() - self._begun
        _write(f"{self._head()}: done in {seconds:.0f} s\n")
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / FINISHED).touch()
                _prune(self._folder.parent)

    def _tell(self) -> None:
        if self._done == 0:
            once = "once on this machine" if self._folder else "as no cache folder can be written"
            _write(f"{self._head()}, {once} (about ten seconds) ...\n")
        elif sys.stderr.isatty():
            seconds = time.perf_counter() - self._begun
            _write(f"\r{self._done} of {self._count}, {seconds:.0f} s \r")

    def _head(self) -> str:
        return f"guideway compiles {self._what}"


@contextmanager
def _collector_off() -> Generator[None]:
    """What numba builds is alive until it is done: looking through it took 13 % of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _key(sources: Iterable[Path]) -> str:
    """A name for what is compiled, by what, for which processor."""
    import numba

    digest = hashlib.blake2b(digest_size=8)
    processor: Any = import_module("llvmlite.binding")
    for part in (numba.__version__, sys.version, processor.get_host_cpu_name()):
        digest.update(repr(part).encode())
    for path in sorted(sources):
        digest.update(path.read_bytes())
        digest.update(repr((str(path), path.stat().st_mtime_ns)).encode())  # numba looks at these
    return digest.hexdigest()


def _folder(key: str) -> Path | None:
    """The folder for compiled code, None if nothing can be written there."""
    with suppress(OSError):
        folder = cache_folder("kernels") / key
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / "probe"
        probe.touch()
        return folder
    return None


def _prune(folder: Path) -> None:
    """Remove what older sources and versions left behind."""
    ages = sorted(((entry.stat().st_mtime, entry) for entry in folder.iterdir()), reverse=True)
    for _, entry in ages[MOST_FOLDERS:]:
        rmtree(entry, ignore_errors=True)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
