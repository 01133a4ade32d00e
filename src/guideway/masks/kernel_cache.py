"""Where machine code of kernels is kept, and what a person is told while it is made.

Compiling takes about two seconds, once on a machine; afterwards the code is loaded from the user's
cache folder (GUIDEWAY_CACHE moves it). The installation itself is never written to. Where no folder
can be written, or what is in it cannot be read, kernels are compiled in memory, which only costs
the time.

The name of the folder changes with everything that the code depends on: the sources, llvmlite,
Python and the processor.

What this module does not know: what the kernels do.
"""

import gc
import hashlib
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

from guideway.vocabulary.cache import cache_folder

FILE: Final = "kernels.o"
MOST_FOLDERS: Final = 8
_DIGEST: Final = 16  # bytes at the start of a file, of all that follows


def kept(what: str, sources: Iterable[Path], compiled: Callable[[], bytes]) -> bytes:
    """The machine code that `compiled` gives, from the cache folder if it is there.

    Args:
        what: what the kernels are for, in words that a person is told.
        sources: the files that they are made of.
        compiled: compiles them.
    """
    file = _file(_key(sources))
    code = _read(file) if file else None
    if code is not None:
        return code
    once = "once on this machine" if file else "as no cache folder can be written"
    _write(f"guideway compiles {what}, {once} (about two seconds) ...\n")
    begun = time.perf_counter()
    with _collector_off():
        code = compiled()
    _write(f"guideway compiles {what}: done in {time.perf_counter() - begun:.1f} s\n")
    if file:
        with suppress(OSError):
            _keep(file, code)
    return code


@contextmanager
def _collector_off() -> Generator[None]:
    """Collect no garbage: what compiling builds is alive until it is done (.2 of 2.3 s)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _key(sources: Iterable[Path]) -> str:
    """A name for what is compiled, by what, for which processor."""
    digest, llvm = hashlib.blake2b(digest_size=8), import_module("llvmlite")
    binding: Any = import_module("llvmlite.binding")
    features = binding.get_host_cpu_features().flatten()
    for part in (llvm.__version__, sys.version, binding.get_host_cpu_name(), features):
        digest.update(repr(part).encode())
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _file(key: str) -> Path | None:
    """Where the machine code is kept, None if nothing can be written there."""
    with suppress(OSError):
        folder = cache_folder("kernels") / key
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "probe").touch()
        return folder / FILE
    return None


def _read(file: Path) -> bytes | None:
    with suppress(OSError):
        data = file.read_bytes()
        if data[:_DIGEST] == _digest(data[_DIGEST:]):
            return data[_DIGEST:]
    return None


def _keep(file: Path, code: bytes) -> None:
    """Write the file, which appears complete or not at all, and remove the oldest folders."""
    part = file.with_suffix(f".{os.getpid()}")
    part.write_bytes(_digest(code) + code)
    part.replace(file)
    folders = file.parent.parent
    ages = sorted(((entry.stat().st_mtime, entry) for entry in folders.iterdir()), reverse=True)
    for _, entry in ages[MOST_FOLDERS:]:
        rmtree(entry, ignore_errors=True)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
