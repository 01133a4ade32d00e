"""Cache of compiled kernels in the user's cache folder (GUIDEWAY_CACHE moves it).

Compiling takes two seconds, once on a machine; without a usable folder it is done in memory.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

from guideway.json_schema.text import pause, resume
from guideway.vocabulary.cache import cache_folder

FILE: Final = "kernels.o"
MOST_FOLDERS: Final = 8
_DIGEST: Final = 16  # bytes of the digest at the start of a file


def cached(what: str, sources: Iterable[Path], compiled: Callable[[], bytes]) -> bytes:
    """Machine code of `sources`, cached; `what` names it in messages."""
    file = _file(_key(sources))
    code = _read(file) if file else None
    if code is not None:
        return code
    once = "once on this machine" if file else "as no cache folder can be written"
    _write(f"guideway compiles {what}, {once} (about two seconds) ...\n")
    begun, paused = time.perf_counter(), pause()  # nothing dies while compiling: saves 0.2 of 2.3 s
    try:
        code = compiled()
    finally:
        resume(paused)
    _write(f"guideway compiles {what}: done in {time.perf_counter() - begun:.1f} s\n")
    if file:
        with suppress(OSError):
            _keep(file, code)
    return code


def _key(sources: Iterable[Path]) -> str:
    """Hash of the sources, the compiler and the processor."""
    digest, llvm = hashlib.blake2b(digest_size=8), import_module("llvmlite")
    binding: Any = import_module("llvmlite.binding")
    features = binding.get_host_cpu_features().flatten()
    for part in (llvm.__version__, sys.version, binding.get_host_cpu_name(), features):
        digest.update(repr(part).encode())
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _file(key: str) -> Path | None:
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
    """Write the file atomically and remove the oldest folders."""
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
